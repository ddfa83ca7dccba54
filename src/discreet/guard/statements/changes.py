"""CREATE and DROP of schemas, DROP of relations, and ALTER of tables, views and schemas."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.access.authority import ForeignKey
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression
from discreet.guard.statements.objects import (
    AddColumn,
    AddConstraint,
    AlterConstraint,
    AlterOwner,
    AlterRowSecurity,
    AlterTable,
    CommentOn,
    CreateSchema,
    Drop,
    DropColumn,
    DropConstraint,
    DropSchema,
    EncryptColumn,
    RenameColumn,
    RenameConstraint,
    RenameRelation,
    SetDefault,
    SetIdentity,
    SetNotNull,
    SetType,
    TableAction,
)
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement, Written
from discreet.guard.statements.tables import (
    TABLE_CONSTRAINTS,
    TableParts,
    parse_column,
    parse_default,
    parse_deferral,
    parse_identity,
    parse_table_constraint,
)
from discreet.guard.statements.types import parse_type
from discreet.guard.statements.views import parse_alter_options


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
    what = "view" if kind == "view" else "sequence" if kind == "sequence" else "table"
    return Drop(relations, what, if_exists, _parse_cascade(cursor))


def parse_comment(cursor: StatementCursor) -> Statement:
    """COMMENT ON TABLE | VIEW | SEQUENCE | COLUMN name IS text | NULL."""
    cursor.need("comment", "on")
    column = None
    if cursor.take("column"):
        names = [cursor.name()]
        while cursor.take("."):
            names.append(cursor.name())
        if not 2 <= len(names) <= 3:
            raise StatementFailed("42601", "column name must be qualified")
        kind, column = "column", names[-1]
        relation: Written = (names[-3] if len(names) == 3 else None, names[-2])
    else:
        kind = next((one for one in ("table", "view", "sequence") if cursor.take(one)), None)
        if kind is None:
            raise StatementFailed(
                "0A000",
                f"comments on a {cursor.word.text} are not stored",
                hint="Tables, views, sequences and columns have comments.",
            )
        relation = cursor.relation()
    cursor.need("is")
    text = None if cursor.take("null") else cursor.string()
    match kind:
        case "table" | "view" | "sequence" | "column":
            return CommentOn(kind, relation, column, text)
        case _:
            raise cursor.unexpected()


def parse_alter_schema(cursor: StatementCursor) -> Statement:
    """ALTER SCHEMA name OWNER TO role."""
    name = cursor.name()
    if cursor.at("rename"):
        raise StatementFailed("0A000", "schemas cannot be renamed")
    cursor.need("owner", "to")
    return AlterOwner(None, name, parse_role_name(cursor))


def parse_alter_view(cursor: StatementCursor) -> Statement:
    """ALTER VIEW name OWNER TO role | RENAME …."""
    if_exists = cursor.take("if", "exists")
    relation = cursor.relation()
    if cursor.at("rename"):
        return AlterTable(relation, (_parse_rename(cursor),), "view", if_exists)
    if cursor.at("alter"):
        return AlterTable(relation, (_parse_action(cursor),), "view", if_exists)
    if cursor.at("set", "(") or cursor.at("reset", "("):
        return parse_alter_options(cursor, relation, if_exists=if_exists)
    _refuse_if_exists(if_exists)
    if not cursor.at("owner"):
        raise StatementFailed(
            "0A000",
            "only ALTER VIEW … OWNER TO, RENAME, SET, RESET and ALTER COLUMN are supported",
            hint="Write CREATE OR REPLACE VIEW.",
        )
    cursor.need("owner", "to")
    return AlterOwner(relation, None, parse_role_name(cursor))


def _refuse_if_exists(given: bool) -> None:
    if given:
        raise StatementFailed("0A000", "this ALTER takes no IF EXISTS: leave it out")


def parse_alter_table(cursor: StatementCursor) -> Statement:
    """ALTER TABLE name …: its owner, row security, encrypted columns, or its columns and constraints."""
    if_exists = cursor.take("if", "exists")
    cursor.take("only")
    relation = cursor.relation()
    cursor.take("*")
    whole = _parse_whole(cursor, relation)
    if whole is not None:
        _refuse_if_exists(if_exists)
        return whole
    if cursor.at("rename"):
        return AlterTable(relation, (_parse_rename(cursor),), "table", if_exists)
    actions = cursor.listed(lambda: _parse_action(cursor))
    return AlterTable(relation, actions, "table", if_exists)


def _parse_whole(cursor: StatementCursor, relation: Written) -> Statement | None:
    """Parse what cannot be combined: OWNER TO, ROW LEVEL SECURITY and ENCRYPTED."""
    if cursor.take("owner"):
        cursor.need("to")
        return AlterOwner(relation, None, parse_role_name(cursor))
    for words in (("enable",), ("disable",), ("force",), ("no", "force")):
        if cursor.at(*words, "row"):
            cursor.need(*words, "row", "level", "security")
            return _parse_row_security(relation, " ".join(words))
    place = cursor.place
    if not cursor.at("alter", "constraint") and cursor.take("alter"):
        cursor.take("column")
        column = cursor.name()
        if cursor.take("set", "encrypted"):
            cursor.need("with", "key")
            key = cursor.string() if cursor.word.kind == "string" else cursor.name()
            return EncryptColumn(relation, column, key)
        if cursor.take("drop", "encrypted"):
            return EncryptColumn(relation, column, None)
        cursor.place = place
    return None


def _parse_row_security(relation: Written, action: str) -> Statement:
    match action:
        case "enable" | "disable" | "force" | "no force":
            return AlterRowSecurity(relation, action)
        case _:
            raise StatementFailed("42601", "syntax error")


def _parse_rename(cursor: StatementCursor) -> TableAction:
    cursor.need("rename")
    if cursor.take("to"):
        return RenameRelation(cursor.name())
    is_constraint = cursor.take("constraint")
    if not is_constraint:
        cursor.take("column")
    name = cursor.name()
    cursor.need("to")
    return (RenameConstraint if is_constraint else RenameColumn)(name, cursor.name())


def _parse_action(cursor: StatementCursor) -> TableAction:
    if cursor.take("add"):
        return _parse_add(cursor)
    if cursor.take("drop", "constraint"):
        if_exists = cursor.take("if", "exists")
        return DropConstraint(cursor.name(), if_exists, _parse_cascade(cursor))
    if cursor.take("drop"):
        cursor.take("column")
        if_exists = cursor.take("if", "exists")
        return DropColumn(cursor.name(), if_exists, _parse_cascade(cursor))
    if cursor.take("alter", "constraint"):
        name = cursor.name()
        found = parse_deferral(cursor, ForeignKey((), ("", ""), ()))
        return AlterConstraint(name, found.deferrable, found.deferred)
    if cursor.take("alter"):
        cursor.take("column")
        return _parse_alter_column(cursor)
    if cursor.word.kind == "end":
        raise cursor.unexpected()
    raise StatementFailed(
        "0A000",
        f"ALTER TABLE … {cursor.word.text.upper()} is not supported",
        hint="Create a new table AS a query over the old one.",
    )


def _parse_add(cursor: StatementCursor) -> TableAction:
    """ADD [COLUMN] [IF NOT EXISTS] column | ADD table constraint."""
    parts = TableParts()
    if cursor.at_any(*TABLE_CONSTRAINTS):
        parse_table_constraint(cursor, parts)
        return AddConstraint(parts.as_table())
    cursor.take("column")
    if_not_exists = cursor.take("if", "not", "exists")
    parse_column(cursor, parts)
    return AddColumn(parts.as_table(), if_not_exists)


def _parse_alter_column(cursor: StatementCursor) -> TableAction:
    column = cursor.name()
    if cursor.take("set", "default"):
        return SetDefault(column, parse_default(cursor))
    if cursor.take("drop", "default"):
        return SetDefault(column, None)
    if cursor.take("set", "not", "null"):
        return SetNotNull(column, not_null=True)
    if cursor.take("drop", "not", "null"):
        return SetNotNull(column, not_null=False)
    if cursor.take("set", "data", "type") or cursor.take("type"):
        kind = parse_type(cursor)
        using = None
        if cursor.take("using"):
            using = expression(cursor.text_until(lambda: cursor.at(",")))
        return SetType(column, kind, using)
    found = _parse_set_identity(cursor, column)
    if found is not None:
        return found
    raise StatementFailed(
        "0A000",
        f"ALTER COLUMN … {cursor.word.text.upper()} is not supported",
        hint="Supported are SET and DROP of DEFAULT, NOT NULL and ENCRYPTED, and TYPE.",
    )


def _parse_set_identity(cursor: StatementCursor, column: str) -> SetIdentity | None:
    if cursor.take("drop", "identity"):
        return SetIdentity(column, "", None, cursor.take("if", "exists"))
    if cursor.take("add"):
        identity, options = parse_identity(cursor)
        return SetIdentity(column, identity, options)
    if cursor.take("set", "generated"):
        is_always = cursor.take("always")
        if not is_always:
            cursor.need("by", "default")
        return SetIdentity(column, "always" if is_always else "by default")
    return None
