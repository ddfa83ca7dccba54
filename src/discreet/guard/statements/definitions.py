"""Definitions: statements about roles, rights, relations and labels, read from text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.statements import attached, changes, grants, labels, roles, tables, views
from discreet.guard.statements.cursor import Cursor, words_of
from discreet.guard.statements.rights import AlterRole, CreateRole

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.guard.statements.statement import Statement

_BEGINNINGS = ("create", "alter", "drop", "grant", "revoke", "declassify", "reassign")

# What PostgreSQL has and we do not, and what to do instead.
_ELSEWHERE: dict[str, str] = {
    "aggregate": "Write the expression in a view.",
    "cast": "Write CAST in the query.",
    "collation": "Sort in the client.",
    "conversion": "Clients speak UTF-8.",
    "database": "One place is served; write CREATE SCHEMA.",
    "default": "Grant on each table, or on ALL TABLES IN SCHEMA.",
    "domain": "Write a CHECK constraint.",
    "event": "Write CREATE TRIGGER … RAISE.",
    "extension": "There are none.",
    "foreign": "Register the source with the server.",
    "function": "Write the expression in a view, or CREATE TRIGGER … RAISE.",
    "global": "Tables are kept; there are no temporary ones.",
    "index": "A PRIMARY KEY or UNIQUE constraint has one.",
    "language": "There are none.",
    "local": "Tables are kept; there are no temporary ones.",
    "materialized": "Write CREATE TABLE … AS.",
    "operator": "Write the expression.",
    "owned": "Drop or give away each object.",
    "procedure": "Write the statements.",
    "publication": "Read the journal instead.",
    "recursive": "Write WITH RECURSIVE in the query of the view.",
    "rule": "Write a view or a trigger.",
    "sequence": "Give the numbers yourself.",
    "server": "Register the source with the server.",
    "statistics": "The engine keeps its own.",
    "subscription": "Read the source instead.",
    "system": "Settings are in the server's configuration.",
    "tablespace": "There are none.",
    "temp": "Tables are kept; there are no temporary ones.",
    "temporary": "Tables are kept; there are no temporary ones.",
    "text": "There are none.",
    "transform": "There are none.",
    "type": "Write a CHECK constraint.",
    "unlogged": "Write CREATE TABLE.",
}


def parse_definition(text: str, *, lenient: bool = False) -> Statement | None:
    """Return the definition that a text is, or None when it does not begin like one.

    The seed's forms are always read; `lenient` changes nothing here and stands for symmetry with
    queries, where it does. In what is kept of the text, a password is `'********'`.

    Raises:
        StatementFailed: 42601 when it cannot be read, 0A000 when there is no such thing here.

    >>> parse_definition("GRANT SELECT ON patients TO bob").grantees
    ('bob',)
    >>> parse_definition("SELECT 1") is None
    True
    """
    del lenient
    words = words_of(text)
    cursor = Cursor(text, words)
    if not cursor.at_any(*_BEGINNINGS) and not cursor.at("security", "label"):
        return None
    statement = _statement(cursor)
    cursor.end()
    return replace(statement, text=_kept(text, cursor, statement))


def _kept(text: str, cursor: Cursor, statement: Statement) -> str:
    """Return the text without semicolon and without a password."""
    text = text[: cursor.words[-1].end]
    if isinstance(statement, CreateRole | AlterRole):
        for index in range(len(cursor.words) - 1, 0, -1):
            before, word = cursor.words[index - 1], cursor.words[index]
            if word.kind == "string" and (before.kind, before.text) == ("word", "password"):
                text = f"{text[: word.start]}'********'{text[word.end :]}"
    return text.strip()


def _statement(cursor: Cursor) -> Statement:
    if cursor.take("grant"):
        return grants.grant(cursor)
    if cursor.take("revoke"):
        return grants.revoke(cursor)
    if cursor.at("security"):
        return labels.security_label(cursor)
    if cursor.at("declassify"):
        return labels.declassify(cursor)
    if cursor.take("create"):
        return _create(cursor)
    if cursor.take("alter"):
        return _one_of(cursor, _ALTERS, "ALTER")
    if cursor.take("drop"):
        return _one_of(cursor, _DROPS, "DROP")
    raise StatementFailed(
        "0A000", "REASSIGN OWNED is not supported: ALTER … OWNER TO of each object"
    )


def _create(cursor: Cursor) -> Statement:
    is_replacing = cursor.take("or", "replace")
    is_anonymized = cursor.take("anonymized")
    if cursor.take("view"):
        return views.create_view(cursor, replace=is_replacing, anonymized=is_anonymized)
    if is_anonymized:
        raise cursor.unexpected()
    if is_replacing:
        _refuse_unknown(cursor, "CREATE OR REPLACE")
        word = cursor.word.text.upper()
        raise StatementFailed("0A000", f"CREATE OR REPLACE {word} is not supported: DROP it first")
    return _one_of(cursor, _CREATES, "CREATE")


def _one_of(
    cursor: Cursor, readers: dict[str, Callable[[Cursor], Statement]], verb: str
) -> Statement:
    for word, reader in readers.items():
        if cursor.take(word):
            return reader(cursor)
    _refuse_unknown(cursor, verb)
    raise cursor.unexpected()


def _refuse_unknown(cursor: Cursor, verb: str) -> None:
    word = cursor.word
    kind = "index" if cursor.at("unique", "index") else word.text
    if word.kind == "word" and kind in _ELSEWHERE:
        raise StatementFailed(
            "0A000", f"{verb} {kind.upper()} is not supported", hint=_ELSEWHERE[kind]
        )


_CREATES: dict[str, Callable[[Cursor], Statement]] = {
    "role": lambda cursor: roles.create(cursor, "role"),
    "user": lambda cursor: roles.create(cursor, "user"),
    "group": lambda cursor: roles.create(cursor, "group"),
    "exclusion": roles.create_exclusion,
    "schema": changes.create_schema,
    "table": tables.create_table,
    "policy": attached.create_policy,
    "mask": attached.create_mask,
    "control": attached.create_control,
    "trigger": attached.create_trigger,
}

_ALTERS: dict[str, Callable[[Cursor], Statement]] = {
    "role": lambda cursor: roles.alter(cursor, "role"),
    "user": lambda cursor: roles.alter(cursor, "user"),
    "group": lambda cursor: roles.alter(cursor, "group"),
    "schema": changes.alter_schema,
    "table": changes.alter_table,
    "view": changes.alter_view,
}

_DROPS: dict[str, Callable[[Cursor], Statement]] = {
    "role": roles.drop,
    "user": roles.drop,
    "group": roles.drop,
    "exclusion": roles.drop_exclusion,
    "schema": changes.drop_schema,
    "table": lambda cursor: changes.drop_relations(cursor, "table"),
    "view": lambda cursor: changes.drop_relations(cursor, "view"),
    "policy": lambda cursor: attached.drop(cursor, "policy"),
    "mask": lambda cursor: attached.drop(cursor, "mask"),
    "control": lambda cursor: attached.drop(cursor, "control"),
    "trigger": lambda cursor: attached.drop(cursor, "trigger"),
}
