"""A text as tokens, and as the texts of its statements; quotes and comments hide semicolons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import StatementFailed
from discreet.sql.limits import (
    DEFAULT,
    MOST,
    StatementBounds,
    check_text,
    check_tokens,
    too_deep,
)

# A parameter that something other than a blank follows, and another dollar somewhere behind.
_CLOSE = re.compile(r"\$\d+[^\s\d][^$]*\$", re.ASCII)
# What hides a dollar: texts, names, comments, dollar quotes.
_LEXEME = re.compile(
    r"(?P<escaping>[eE]')|(?P<text>')|(?P<name>\")|(?P<line>--)|(?P<block>/\*)"
    r"|(?P<dollar>\$(?:[^\W\d]\w*)?\$)|(?P<parameter>\$[0-9]+(?=[^\s0-9]))|(?P<word>[^\W\d][\w$]*)"
)
_ENDS = {
    "escaping": re.compile(r"(?:[^'\\]|\\.|'')*+'", re.DOTALL),
    "text": re.compile(r"(?:[^']|'')*+'"),
    "name": re.compile(r'(?:[^"]|"")*+"'),
    "line": re.compile(r"[^\n\r]*"),
}
_NESTED = re.compile(r"/\*|\*/")
_DIMENSIONS = 6  # of an array, as in PostgreSQL
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


class _Tokenizer(Postgres.Tokenizer):
    """PostgreSQL's, but words that begin a command do not swallow the rest of the text."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def tokenize(text: str, bounds: StatementBounds = DEFAULT) -> list[Token]:
    """Return the tokens of a text, without comments.

    Raises:
        StatementFailed: 42601 for a quote that is not closed, 54000 and 54001 for texts that are too
            long or too deep.
    """
    check_text(text, bounds)
    try:
        tokens = _Tokenizer(dialect=Postgres()).tokenize(text)
    except TokenError:
        raise StatementFailed("42601", "a quote or comment is not closed") from None
    check_tokens(len(tokens), bounds)
    _check_depth(tokens, bounds)
    return tokens


def _check_depth(tokens: Sequence[Token], bounds: StatementBounds) -> None:
    """Refuse brackets that are nested deeply, and subscripts in a row, which nest as well."""
    depth = subscripts = 0
    before = None
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if kind == TokenType.L_BRACKET:
            subscripts = subscripts + 1 if before == TokenType.R_BRACKET else 0
        if depth > bounds.depth or subscripts > _DIMENSIONS:
            raise too_deep()
        before = kind


def split_statements(text: str, bounds: StatementBounds = DEFAULT) -> tuple[str, ...]:
    """Return the statements of a text, as they were written, without semicolons.

    Parameters have a blank after them: `$1,$2` would be taken for a dollar quote.

    >>> split_statements("SELECT ';'; /* done; */ SELECT 2;")
    ("SELECT ';'", 'SELECT 2')
    """
    check_text(text, bounds)
    text = set_apart(text)
    found: list[str] = []
    group: list[Token] = []
    for token in tokenize(text, bounds):
        if token.token_type != TokenType.SEMICOLON:
            group.append(token)
        elif group:
            found.append(_source_text(text, group))
            group = []
    if group:
        found.append(_source_text(text, group))
    if len(found) > MOST:
        raise StatementFailed("54000", "the text has too many statements")
    return tuple(found)


def _source_text(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1]


def set_apart(text: str) -> str:
    """Return a text with a blank after every parameter; quoted parts stay as they are.

    >>> set_apart("VALUES ($1,$2,'$1,$2')")
    "VALUES ($1 ,$2 ,'$1,$2')"
    """
    if not _CLOSE.search(text):
        return text
    parts: list[str] = []
    done = at = 0
    while found := _LEXEME.search(text, at):
        at = _lexeme_end(text, found)
        if found.lastgroup == "parameter":
            parts += (text[done:at], " ")
            done = at
    return "".join((*parts, text[done:]))


def _lexeme_end(text: str, found: re.Match[str]) -> int:
    """Return the end of a lexeme; an unclosed one is refused later, and ends with the text."""
    kind, at = found.lastgroup or "", found.end()
    if kind in _ENDS:
        rest = _ENDS[kind].match(text, at)
        return rest.end() if rest else len(text)
    if kind == "dollar":
        closing = text.find(found.group(), at)
        return closing + len(found.group()) if closing >= 0 else len(text)
    if kind != "block":
        return at
    depth = 1
    for mark in _NESTED.finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)
