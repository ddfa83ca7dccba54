"""Statements without their literals: the structure is kept, the values are removed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from discreet.errors import StatementFailed
from discreet.sql.limits import check_text

# A statement with one of these words is never kept with its literals, whatever the policy.
_SECRET = frozenset(
    ("password", "identified", "secret", "token", "discreet_unlock", "discreet_key", "unlock")
)
# Allowed words in a text that cannot be parsed: none that a user could have made up.
_KEYWORDS = frozenset(
    re.findall(
        r"[a-z]+",
        "abort aggregate all alter analyze and as begin by call cascade check close column "
        "comment commit constraint copy create cursor database deallocate declare declassify "
        "delete discard distinct do drop end exclusion execute explain fetch for from function "
        "grant group if in index inner insert into is join key label left limit lock login "
        "mask materialized merge not null off offset on option or order outer owner policy "
        "prepare primary privileges public reassign release rename replace reset revoke right "
        "role rollback row savepoint schema security select session set show start table "
        "temporary to transaction trigger truncate union update user using vacuum values view "
        "where with work ",
    )
)
_LEADING = re.compile(r"\s*([A-Za-z]+)")
_QUOTED = re.compile('".*"', re.DOTALL)
_GONE, _MORE = "?", "…"
# After these words, even a word without quotes may be a password.
_PASSWORDS = ("password", "identified", "discreet_unlock")
_STARTS = tuple("0123456789")
_LONGEST_CACHED = 4_000  # letters of a statement whose redacted form is kept


def redact_statement(statement: str, *, hide_quoted: bool = False) -> str:
    """Return `statement` with `?` for every literal, and without comments.

    Of a text that cannot be parsed, only its leading keywords are kept. `hide_quoted` treats words
    in double quotes as literals, too, as lenient sessions do.

    >>> redact_statement("SELECT * FROM patients WHERE name = 'Ada' AND age > 30 -- mine")
    'SELECT * FROM patients WHERE name = ? AND age > ?'
    >>> redact_statement("ALTER ROLE ada PASSWORD 'geheim")
    'ALTER ROLE …'
    """
    # A cache of long texts would fill the memory: a statement may have millions of letters.
    redact = _redact_text if len(statement) > _LONGEST_CACHED else _redact_cached
    return redact(statement, hide_quoted=hide_quoted)


def _redact_text(statement: str, *, hide_quoted: bool) -> str:
    tokens = _tokenize_statement(statement)
    if tokens is None:
        return leading_keywords(statement)
    writing = _RedactedText(hide_quoted=hide_quoted or _has_secret(tokens))
    for token in tokens:
        writing.add(statement[token.start : token.end + 1], token.start)
    return "".join(writing.parts)


_redact_cached = lru_cache(maxsize=4096)(_redact_text)


def without_secrets(statement: str) -> str:
    """Return `statement` as it is, unless it may hold a password or a key: then without literals."""
    return redact_statement(statement) if may_hold_secret(statement) else statement


def may_hold_secret(statement: str) -> bool:
    """Return whether a text may hold a password or a key."""
    if not any(word in statement.lower() for word in _SECRET):
        return False
    tokens = _tokenize_statement(statement)
    return tokens is None or _has_secret(tokens)


def remove_quoted_words(reason: str | None) -> str | None:
    """Return the reason of a failure without the words quoted there.

    >>> remove_quoted_words('syntax error at or near "geheim"')
    'syntax error at or near …'
    """
    return None if reason is None else _QUOTED.sub(_MORE, reason)


def without_literals(reason: str | None, statement: str) -> str | None:
    """Return the reason of a failure without the statement's literals that may be quoted there.

    >>> without_literals("The sum of 'Ada' is not defined.", "SELECT sum('Ada') FROM t")
    'The sum of … is not defined.'
    """
    tokens = _tokenize_statement(statement)
    if reason is None or tokens is None:
        return remove_quoted_words(reason)
    writing, gone = _RedactedText(hide_quoted=False), set[str]()
    for token in tokens:
        written = statement[token.start : token.end + 1]
        if writing.add(written, token.start):
            gone |= {written, token.text, token.text.replace("'", "''")}
    # Folded names are in there, too. Only quoted words: a statement may have many literals.
    lowered = reason.lower()
    quoted = {text for text in gone if text and text.lower() in lowered}
    if not quoted:
        return reason
    any_of = "|".join(re.escape(text) for text in sorted(quoted, key=len, reverse=True))
    return re.sub(rf"(?<![\w.])(?:{any_of})(?!\w)", _MORE, reason, flags=re.IGNORECASE)


def leading_keywords(statement: str) -> str:
    """Return the keywords that a text starts with, at most three."""
    words: list[str] = []
    at = 0
    while len(words) < 3:
        match = _LEADING.match(statement, at)
        if match is None or match[1].lower() not in _KEYWORDS:
            break
        words.append(match[1])
        at = match.end()
    return " ".join([*words, _MORE])


class _RedactedText:
    """A text that is assembled from tokens."""

    def __init__(self, *, hide_quoted: bool) -> None:
        self.parts: list[str] = []
        self._hide_quoted = hide_quoted
        self._hide_words = False
        self._before, self._end, self._is_gone = "", 0, False

    def add(self, text: str, start: int) -> bool:
        """Append one token, or `?` in its place; return whether that was done."""
        is_adjacent = start == self._end
        self._end = start + len(text)
        if is_adjacent and self._is_gone and _is_wordlike(text):
            return True  # the rest of a literal that sqlglot splits: 1_000
        if self.parts and not is_adjacent:
            self.parts.append(" ")
        is_parameter = is_adjacent and self._before == "$" and text.isdigit()
        self._is_gone = not is_parameter and self._is_literal(text)
        self.parts.append(_GONE if self._is_gone else text)
        self._before = text
        self._hide_words |= text.lower() in _PASSWORDS
        return self._is_gone

    def _is_literal(self, text: str) -> bool:
        if text.startswith('"'):
            return self._hide_quoted  # a password may be in the wrong quotes
        if self._hide_words and _is_wordlike(text):
            return text.lower() not in _KEYWORDS  # or in none
        return "'" in text or text.startswith(_STARTS) or (text[:1] == "$" and len(text) > 1)


def _tokenize_statement(statement: str) -> list[Any] | None:
    from sqlglot.dialects.postgres import Postgres
    from sqlglot.errors import SqlglotError

    try:
        check_text(statement)
    except StatementFailed:
        return None  # parsing it would take longer than refusing it did
    try:
        return list(Postgres().tokenize(statement))
    except SqlglotError:
        return None


def _has_secret(tokens: list[Any]) -> bool:
    return any(token.text.lower() in _SECRET for token in tokens)


def _is_wordlike(text: str) -> bool:
    return text[:1].isalnum() or text[:1] == "_"
