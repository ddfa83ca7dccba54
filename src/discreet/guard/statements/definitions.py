"""Definitions: statements about roles, privileges, relations and labels, parsed from text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from discreet.errors import StatementFailed
from discreet.guard.statements import (
    attached,
    changes,
    grants,
    indexes,
    labels,
    roles,
    sequences,
    tables,
    views,
)
from discreet.guard.statements.cursor import StatementCursor, words_of
from discreet.guard.statements.rights import AlterRole, CreateRole
from discreet.guard.statements.statement import Statement

_BEGINNINGS = ("comment", "create", "alter", "drop", "grant", "revoke", "declassify", "reassign")

# PostgreSQL's features that are not supported, and their alternatives.
_ELSEWHERE: dict[str, str] = {
    "aggregate": "Write the expression in a view.",
    "cast": "Write CAST in the query.",
    "collation": "Sort in the client.",
    "conversion": "Only UTF-8 is supported.",
    "database": "One database is served; write CREATE SCHEMA.",
    "default": "Grant on each table, or on ALL TABLES IN SCHEMA.",
    "domain": "Write a CHECK constraint.",
    "event": "Write CREATE TRIGGER … RAISE.",
    "extension": "There are none.",
    "foreign": "Register the source with the server.",
    "function": "Write the expression in a view, or CREATE TRIGGER … RAISE.",
    "language": "There are none.",
    "materialized": "Write CREATE TABLE … AS.",
    "operator": "Write the expression.",
    "owned": "Drop or give away each object.",
    "procedure": "Write the statements.",
    "publication": "Read the journal instead.",
    "recursive": "Write WITH RECURSIVE in the query of the view.",
    "rule": "Write a view or a trigger.",
    "server": "Register the source with the server.",
    "statistics": "The engine keeps its own.",
    "subscription": "Read the source instead.",
    "system": "Settings are in the server's configuration.",
    "tablespace": "There are none.",
    "text": "There are none.",
    "transform": "There are none.",
    "type": "Write a CHECK constraint.",
    "unlogged": "Write CREATE TABLE.",
}


def parse_definition(text: str, *, lenient: bool = False) -> Statement | None:
    """Return a text as a definition, or None when it does not begin like one.

    The seed's forms are always accepted; `lenient` changes nothing here, as opposed to queries.
    In the stored text, a password is `'********'`.

    Raises:
        StatementFailed: 42601 when it cannot be parsed, 0A000 when it is not supported.

    >>> parse_definition("GRANT SELECT ON patients TO bob").grantees
    ('bob',)
    >>> parse_definition("SELECT 1") is None
    True
    """
    del lenient
    words = words_of(text)
    cursor = StatementCursor(text, words)
    if not cursor.at_any(*_BEGINNINGS) and not cursor.at("security", "label"):
        return None
    statement = _parse_statement(cursor)
    cursor.end()
    return replace(statement, text=_remove_password(text, cursor, statement))


def _remove_password(text: str, cursor: StatementCursor, statement: Statement) -> str:
    """Return the text without semicolon and without a password."""
    text = text[: cursor.words[-1].end]
    if isinstance(statement, CreateRole | AlterRole):
        for index in range(len(cursor.words) - 1, 0, -1):
            before, word = cursor.words[index - 1], cursor.words[index]
            if word.kind == "string" and (before.kind, before.text) == ("word", "password"):
                text = f"{text[: word.start]}'********'{text[word.end :]}"
    return text.strip()


def _parse_statement(cursor: StatementCursor) -> Statement:
    if cursor.take("grant"):
        return grants.parse_grant(cursor)
    if cursor.take("revoke"):
        return grants.parse_revoke(cursor)
    if cursor.at("security"):
        return labels.parse_security_label(cursor)
    if cursor.at("comment"):
        return changes.parse_comment(cursor)
    if cursor.at("declassify"):
        return labels.parse_declassify(cursor)
    if cursor.take("create"):
        return _create(cursor)
    if cursor.take("alter"):
        return _one_of(cursor, _ALTERS, "ALTER")
    if cursor.take("drop"):
        return _one_of(cursor, _DROPS, "DROP")
    raise StatementFailed(
        "0A000", "REASSIGN OWNED is not supported: ALTER … OWNER TO of each object"
    )


def _create(cursor: StatementCursor) -> Statement:
    is_replacing = cursor.take("or", "replace")
    is_anonymized = cursor.take("anonymized")
    if cursor.take("view"):
        return views.parse_create_view(cursor, replace=is_replacing, anonymized=is_anonymized)
    if is_anonymized:
        raise cursor.unexpected()
    if is_replacing:
        _refuse_unknown(cursor, "CREATE OR REPLACE")
        word = cursor.word.text.upper()
        raise StatementFailed("0A000", f"CREATE OR REPLACE {word} is not supported: DROP it first")
    return _one_of(cursor, _CREATES, "CREATE")


def _one_of(
    cursor: StatementCursor, readers: dict[str, Callable[[StatementCursor], Statement]], verb: str
) -> Statement:
    for word, reader in readers.items():
        if cursor.take(word):
            return reader(cursor)
    _refuse_unknown(cursor, verb)
    raise cursor.unexpected()


def _refuse_unknown(cursor: StatementCursor, verb: str) -> None:
    word = cursor.word
    kind = word.text
    if word.kind == "word" and kind in _ELSEWHERE:
        raise StatementFailed(
            "0A000", f"{verb} {kind.upper()} is not supported", hint=_ELSEWHERE[kind]
        )


def _create_unique(cursor: StatementCursor) -> Statement:
    cursor.need("index")
    return indexes.parse_create_index(cursor, unique=True)


_CREATES: dict[str, Callable[[StatementCursor], Statement]] = {
    "role": lambda cursor: roles.parse_create_role(cursor, "role"),
    "user": lambda cursor: roles.parse_create_role(cursor, "user"),
    "group": lambda cursor: roles.parse_create_role(cursor, "group"),
    "exclusion": roles.parse_create_exclusion,
    "schema": changes.parse_create_schema,
    "table": tables.parse_create_table,
    "sequence": sequences.parse_create_sequence,
    "local": tables.parse_create_temporary,
    "global": tables.parse_create_temporary,
    "temp": tables.parse_create_temporary,
    "temporary": tables.parse_create_temporary,
    "index": lambda cursor: indexes.parse_create_index(cursor, unique=False),
    "unique": _create_unique,
    "policy": attached.parse_create_policy,
    "mask": attached.parse_create_mask,
    "control": attached.parse_create_control,
    "trigger": attached.parse_create_trigger,
}

_ALTERS: dict[str, Callable[[StatementCursor], Statement]] = {
    "role": lambda cursor: roles.parse_alter_role(cursor, "role"),
    "user": lambda cursor: roles.parse_alter_role(cursor, "user"),
    "group": lambda cursor: roles.parse_alter_role(cursor, "group"),
    "schema": changes.parse_alter_schema,
    "table": changes.parse_alter_table,
    "policy": attached.parse_alter_policy,
    "index": indexes.parse_alter_index,
    "sequence": sequences.parse_alter_sequence,
    "view": changes.parse_alter_view,
}

_DROPS: dict[str, Callable[[StatementCursor], Statement]] = {
    "role": roles.parse_drop_role,
    "user": roles.parse_drop_role,
    "group": roles.parse_drop_role,
    "exclusion": roles.parse_drop_exclusion,
    "schema": changes.parse_drop_schema,
    "table": lambda cursor: changes.parse_drop_relations(cursor, "table"),
    "view": lambda cursor: changes.parse_drop_relations(cursor, "view"),
    "index": indexes.parse_drop_index,
    "sequence": lambda cursor: changes.parse_drop_relations(cursor, "sequence"),
    "policy": lambda cursor: attached.parse_drop_attached(cursor, "policy"),
    "mask": lambda cursor: attached.parse_drop_attached(cursor, "mask"),
    "control": lambda cursor: attached.parse_drop_attached(cursor, "control"),
    "trigger": lambda cursor: attached.parse_drop_attached(cursor, "trigger"),
}
