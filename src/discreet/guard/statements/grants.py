"""GRANT and REVOKE: of rights on relations and schemas, of roles, and the seed's CREATE USER and TABLE."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Allowance, Privilege
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.rights import (
    Grant,
    GrantRole,
    GrantSystem,
    Revoke,
    RevokeRole,
    Right,
)
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement, Written

_OTHER_KINDS = (
    "database",
    "domain",
    "foreign",
    "function",
    "language",
    "large",
    "parameter",
    "procedure",
    "routine",
    "tablespace",
    "type",
)
_MAGNITUDE = 100  # powers of ten that a budget's number may be above or below 1
_OTHER_PRIVILEGES = ("connect", "temporary", "temp", "execute", "set", "alter", "maintain")


@dataclass(frozen=True)
class _GrantTarget:
    relations: tuple[Written, ...] = ()
    schemas: tuple[str, ...] = ()
    all_in_schema: bool = False
    columns: tuple[str, ...] = ()  # the seed's ON employee (address)
    of_sequences: bool = False


@dataclass(frozen=True)
class _GrantItem:
    """A privilege or, when there is no ON, a role."""

    name: str
    is_quoted: bool
    columns: tuple[str, ...] = ()


def parse_grant(cursor: StatementCursor) -> Statement:
    """GRANT, whatever is granted."""
    if _at_system(cursor):
        return _parse_system_grant(cursor, "to", revoke=False)
    items = _parse_items(cursor)
    if cursor.take("to"):
        return _parse_grant_role(cursor, _role_names(cursor, items))
    target = _parse_target(cursor)
    rights = _make_rights(items, target)
    cursor.need("to")
    grantees = cursor.listed(lambda: _parse_grantee(cursor))
    option, budget = _parse_with(cursor)
    return Grant(
        rights,
        target.relations,
        target.schemas,
        grantees,
        option,
        budget,
        target.all_in_schema,
        _parse_granted_by(cursor),
        target.of_sequences,
    )


def parse_revoke(cursor: StatementCursor) -> Statement:
    """REVOKE, whatever is revoked."""
    if _at_system(cursor):
        return _parse_system_grant(cursor, "from", revoke=True)
    for option in ("admin", "inherit", "set"):
        if cursor.take(option, "option", "for"):
            items = _parse_items(cursor)
            cursor.need("from")
            return _parse_revoke_role(cursor, _role_names(cursor, items), option)
    option_only = cursor.take("grant", "option", "for")
    items = _parse_items(cursor)
    if not option_only and cursor.take("from"):
        return _parse_revoke_role(cursor, _role_names(cursor, items), None)
    target = _parse_target(cursor)
    rights = _make_rights(items, target)
    cursor.need("from")
    grantees = cursor.listed(lambda: _parse_grantee(cursor))
    grantor = _parse_granted_by(cursor)
    cascade = _parse_cascade(cursor)
    return Revoke(
        rights,
        target.relations,
        target.schemas,
        grantees,
        option_only,
        cascade,
        target.all_in_schema,
        grantor,
        target.of_sequences,
    )


def _parse_grantee(cursor: StatementCursor) -> str:
    cursor.take("group")
    return parse_role_name(cursor)


def _parse_cascade(cursor: StatementCursor) -> bool:
    if cursor.take("cascade"):
        return True
    cursor.take("restrict")
    return False


def _parse_granted_by(cursor: StatementCursor) -> str | None:
    return parse_role_name(cursor) if cursor.take("granted", "by") else None


def _at_system(cursor: StatementCursor) -> bool:
    return any(cursor.at("create", what) for what in ("user", "role", "table"))


def _parse_system_grant(cursor: StatementCursor, before: str, *, revoke: bool) -> Statement:
    cursor.need("create")
    table = cursor.choose("user", "role", "table") == "table"
    cursor.need(before)
    grantees = cursor.listed(lambda: parse_role_name(cursor))
    return GrantSystem("create table" if table else "create user", grantees, revoke)


def _parse_items(cursor: StatementCursor) -> tuple[_GrantItem, ...]:
    return cursor.listed(lambda: _parse_item(cursor))


def _parse_item(cursor: StatementCursor) -> _GrantItem:
    for word in ("all", "select", "references", "create"):
        if cursor.take(word):
            if word == "all":
                cursor.take("privileges")
            name, is_quoted = word, False
            break
    else:
        is_quoted = cursor.word.kind == "name"
        name = cursor.name()
    columns = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    return _GrantItem(name, is_quoted, columns)


def _role_names(cursor: StatementCursor, items: tuple[_GrantItem, ...]) -> tuple[str, ...]:
    for item in items:
        if item.columns:
            raise StatementFailed("0LP01", "column names cannot be included in GRANT/REVOKE ROLE")
        if item.name == "all" and not item.is_quoted:
            raise cursor.unexpected()
    return tuple(item.name for item in items)


def _make_rights(items: tuple[_GrantItem, ...], target: _GrantTarget) -> tuple[Right, ...]:
    if target.columns and any(item.columns for item in items):
        raise StatementFailed("42601", "columns are given twice")
    return tuple(Right(_find_privilege(item), item.columns or target.columns) for item in items)


def _find_privilege(item: _GrantItem) -> Privilege | None:
    if item.name == "all" and not item.is_quoted:
        return None
    try:
        return Privilege(item.name.upper())
    except ValueError:
        pass
    if item.name in _OTHER_PRIVILEGES:
        raise StatementFailed("0LP01", f"invalid privilege type {item.name.upper()} for relation")
    raise StatementFailed("42601", f'unrecognized privilege type "{item.name}"')


def _parse_target(cursor: StatementCursor) -> _GrantTarget:
    cursor.need("on")
    if cursor.take("all", "tables", "in", "schema"):
        return _GrantTarget(schemas=cursor.listed(cursor.name), all_in_schema=True)
    if cursor.take("all", "sequences", "in", "schema"):
        schemas = cursor.listed(cursor.name)
        return _GrantTarget(schemas=schemas, all_in_schema=True, of_sequences=True)
    if cursor.at("all"):
        raise StatementFailed("0A000", "only ALL TABLES | SEQUENCES IN SCHEMA are supported")
    if _names_a_kind(cursor, "sequence"):
        cursor.need("sequence")
        return _GrantTarget(relations=cursor.listed(cursor.relation), of_sequences=True)
    if _names_a_kind(cursor, "schema"):
        cursor.need("schema")
        return _GrantTarget(schemas=cursor.listed(cursor.name))
    for kind in _OTHER_KINDS:
        if _names_a_kind(cursor, kind):
            raise StatementFailed(
                "0A000", f"there are no rights on a {kind} here: name a table, view or schema"
            )
    cursor.take("table")
    relations = cursor.listed(cursor.relation)
    columns = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    if columns and len(relations) > 1:
        raise cursor.unexpected()
    return _GrantTarget(relations=relations, columns=columns)


def _names_a_kind(cursor: StatementCursor, kind: str) -> bool:
    """Whether the word is a kind of object and not the name of a table: a name follows it."""
    after = cursor.words[cursor.place + 1 : cursor.place + 2]
    return (
        cursor.at(kind)
        and bool(after)
        and (after[0].kind == "name" or (after[0].kind == "word" and after[0].text != "to"))
        and not (after[0].kind == "word" and after[0].text == "from")
    )


def _parse_with(cursor: StatementCursor) -> tuple[bool, Allowance | None]:
    option, budget = False, None
    while cursor.take("with"):
        if cursor.take("grant", "option"):
            option = True
        elif cursor.take("budget"):
            budget = _parse_budget(cursor)
        else:
            raise cursor.unexpected()
    return option, budget


def _parse_budget(cursor: StatementCursor) -> Allowance:
    cursor.need("(")
    amounts: dict[str, Decimal] = {}
    while not cursor.take(")"):
        if amounts:
            cursor.need(",")
        name = cursor.choose("epsilon", "delta")
        cursor.take("=")
        if name in amounts:
            raise StatementFailed("42601", "conflicting or redundant options")
        amounts[name] = _parse_decimal(cursor.number())
    if "epsilon" not in amounts:
        raise StatementFailed("42601", "a budget needs EPSILON", hint="DELTA is 0 unless given.")
    epsilon, delta = amounts["epsilon"], amounts.get("delta", Decimal(0))
    if epsilon <= 0 or not 0 <= delta < 1:
        raise StatementFailed("22023", "a budget has EPSILON above 0 and DELTA from 0 to below 1")
    return Allowance(epsilon, delta)


def _parse_decimal(written: str) -> Decimal:
    try:
        number = Decimal(written)
    except InvalidOperation:
        raise StatementFailed("42601", f'syntax error at or near "{written}"') from None
    if not number.is_finite() or (number and abs(number.adjusted()) > _MAGNITUDE):
        raise StatementFailed("22003", "a number of the budget is out of range")
    return number


def _parse_grant_role(cursor: StatementCursor, roles: tuple[str, ...]) -> Statement:
    members = cursor.listed(lambda: _parse_grantee(cursor))
    options: dict[str, bool] = {}
    if cursor.take("with"):
        for name, value in cursor.listed(lambda: _parse_option(cursor)):
            if name in options:
                raise StatementFailed("42601", "conflicting or redundant options")
            options[name] = value
    return GrantRole(
        roles,
        members,
        options.get("admin"),
        options.get("inherit"),
        options.get("set"),
        _parse_granted_by(cursor),
    )


def _parse_option(cursor: StatementCursor) -> tuple[str, bool]:
    name = cursor.choose("admin", "inherit", "set")
    if cursor.take("false"):
        return name, False
    if not cursor.take("true"):
        cursor.need("option")
    return name, True


def _parse_revoke_role(
    cursor: StatementCursor, roles: tuple[str, ...], option: str | None
) -> Statement:
    members = cursor.listed(lambda: _parse_grantee(cursor))
    grantor = _parse_granted_by(cursor)
    cascade = _parse_cascade(cursor)
    match option:
        case "admin" | "inherit" | "set":
            return RevokeRole(roles, members, option, cascade, grantor)
        case _:
            return RevokeRole(roles, members, None, cascade, grantor)
