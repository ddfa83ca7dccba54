"""CREATE and DROP of schemas, DROP of relations, and ALTER of tables, views and schemas."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.objects import (
    AlterOwner,
    AlterRowSecurity,
    CreateSchema,
    Drop,
    DropSchema,
    EncryptColumn,
)
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement, Written


def parse_create_schema(cursor: StatementCursor) -> Statement:
    """CREATE SCHEMA [IF NOT EXISTS] name [AUTHORIZATION role]."""
    if_not_exists = cursor.take("if", "not", "exists")
    if cursor.take("authorization"):
        owner = parse_role_name(cursor)
        return CreateSchema(owner, owner, if_not_exists)
    name = cursor.name()
    owner = parse_role_name(cursor) if cursor.take("authorization") else None
    if cursor.at_any("create", "grant"):
        raise StatementFailed("0A000", "CREATE SCHEMA takes no elements: write them as statements")
    return CreateSchema(name, owner, if_not_exists)


def _parse_cascade(cursor: StatementCursor) -> bool:
    if cursor.take("cascade"):
        return True
    cursor.take("restrict")
    return False


def parse_drop_schema(cursor: StatementCursor) -> Statement:
    """DROP SCHEMA [IF EXISTS] name [CASCADE]."""
    if_exists = cursor.take("if", "exists")
    name = cursor.name()
    if cursor.at(","):
        raise StatementFailed("0A000", "DROP SCHEMA takes one schema at a time")
    return DropSchema(name, if_exists, _parse_cascade(cursor))


def parse_drop_relations(cursor: StatementCursor, kind: str) -> Statement:
    """DROP TABLE | VIEW [IF EXISTS] names [CASCADE]."""
    if_exists = cursor.take("if", "exists")
    relations = cursor.listed(cursor.relation)
    return Drop(relations, "view" if kind == "view" else "table", if_exists, _parse_cascade(cursor))


def parse_alter_schema(cursor: StatementCursor) -> Statement:
    """ALTER SCHEMA name OWNER TO role."""
    name = cursor.name()
    if cursor.at("rename"):
        raise StatementFailed("0A000", "schemas cannot be renamed")
    cursor.need("owner", "to")
    return AlterOwner(None, name, parse_role_name(cursor))


def parse_alter_view(cursor: StatementCursor) -> Statement:
    """ALTER VIEW name OWNER TO role."""
    _refuse_if_exists(cursor)
    relation = cursor.relation()
    if not cursor.at("owner"):
        raise StatementFailed(
            "0A000", "only ALTER VIEW … OWNER TO is supported", hint="Write CREATE OR REPLACE VIEW."
        )
    cursor.need("owner", "to")
    return AlterOwner(relation, None, parse_role_name(cursor))


def _refuse_if_exists(cursor: StatementCursor) -> None:
    if cursor.at("if", "exists"):
        raise StatementFailed("0A000", "ALTER takes no IF EXISTS: leave it out")


def parse_alter_table(cursor: StatementCursor) -> Statement:
    """ALTER TABLE name OWNER TO …, … ROW LEVEL SECURITY, or ALTER COLUMN … ENCRYPTED."""
    _refuse_if_exists(cursor)
    cursor.take("only")
    relation = cursor.relation()
    if cursor.take("owner"):
        cursor.need("to")
        return AlterOwner(relation, None, parse_role_name(cursor))
    for words in (("enable",), ("disable",), ("force",), ("no", "force")):
        if cursor.at(*words, "row"):
            cursor.need(*words, "row", "level", "security")
            return _parse_row_security(relation, " ".join(words))
    if cursor.take("alter", "column") or cursor.take("alter"):
        return _parse_alter_column(cursor, relation)
    if cursor.word.kind == "end":
        raise cursor.unexpected()
    raise StatementFailed(
        "0A000",
        f"ALTER TABLE … {cursor.word.text.upper()} is not supported",
        hint="Create a new table AS a query over the old one.",
    )


def _parse_row_security(relation: Written, action: str) -> Statement:
    match action:
        case "enable" | "disable" | "force" | "no force":
            return AlterRowSecurity(relation, action)
        case _:
            raise StatementFailed("42601", "syntax error")


def _parse_alter_column(cursor: StatementCursor, relation: Written) -> Statement:
    column = cursor.name()
    if cursor.take("set", "encrypted"):
        cursor.need("with", "key")
        key = cursor.string() if cursor.word.kind == "string" else cursor.name()
        return EncryptColumn(relation, column, key)
    if cursor.take("drop", "encrypted"):
        return EncryptColumn(relation, column, None)
    raise StatementFailed(
        "0A000",
        "only SET ENCRYPTED WITH KEY and DROP ENCRYPTED are supported of a column",
        hint="Create a new table AS a query over the old one.",
    )
