"""A text as tokens, and as the texts of its statements; quotes and comments hide semicolons."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import StatementFailed
from discreet.guard.statements.limits import DEEPEST_BRACKETS, MOST, check_length, too_deep
from discreet.guard.statements.placeholders import set_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


class _Tokenizer(Postgres.Tokenizer):
    """PostgreSQL's, but words that begin a command do not swallow the rest of the text."""

    COMMANDS: ClassVar[set[TokenType]] = set()


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text, without comments.

    Raises:
        StatementFailed: 42601 for a quote that is not closed, 54000 and 54001 for texts that are too
            long or too deep.
    """
    check_length(text)
    try:
        tokens = _Tokenizer(dialect=Postgres()).tokenize(text)
    except TokenError:
        raise StatementFailed("42601", "a quote or comment is not closed") from None
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > DEEPEST_BRACKETS:
            raise too_deep()
    return tokens


def split(text: str) -> tuple[str, ...]:
    """Return the statements of a text, as they were written, without semicolons.

    Parameters have a blank after them: `$1,$2` would be taken for a dollar quote.

    >>> split("SELECT ';'; /* done; */ SELECT 2;")
    ("SELECT ';'", 'SELECT 2')
    """
    check_length(text)
    text = set_apart(text)
    found: list[str] = []
    group: list[Token] = []
    for token in tokenize(text):
        if token.token_type != TokenType.SEMICOLON:
            group.append(token)
        elif group:
            found.append(_written(text, group))
            group = []
    if group:
        found.append(_written(text, group))
    if len(found) > MOST:
        raise StatementFailed("54000", "the text has too many statements")
    return tuple(found)


def _written(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1]
