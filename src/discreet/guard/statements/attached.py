"""CREATE and DROP of policies, masks, controls and triggers."""

from __future__ import annotations

from typing import Literal

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    ColumnMask,
    Command,
    Event,
    InferenceControl,
    RowPolicy,
    Timing,
    Trigger,
)
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression
from discreet.guard.statements.objects import (
    AlterPolicy,
    CreateControl,
    CreateMask,
    CreatePolicy,
    CreateTrigger,
    DropAttached,
)
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement, Written
from discreet.guard.statements.views import parse_options, switch

_COMMANDS: dict[str, Command] = {
    "all": "ALL",
    "select": "SELECT",
    "insert": "INSERT",
    "update": "UPDATE",
    "delete": "DELETE",
}
_EVENTS: dict[str, Event] = {"insert": "INSERT", "update": "UPDATE", "delete": "DELETE"}
_MOST = 1_000_000_000  # people
_TIMINGS: dict[str, Timing] = {"before": "BEFORE", "after": "AFTER"}


def parse_create_policy(cursor: StatementCursor) -> Statement:
    """CREATE POLICY name ON table [AS …] [FOR …] [TO …] [USING (…)] [WITH CHECK (…)]."""
    name = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    permissive = True
    if cursor.take("as"):
        permissive = cursor.choose("permissive", "restrictive") == "permissive"
    command = _COMMANDS[cursor.choose(*_COMMANDS)] if cursor.take("for") else "ALL"
    roles = _parse_roles(cursor) if cursor.take("to") else (PUBLIC,)
    using = expression(cursor.enclosed()) if cursor.take("using") else None
    check = expression(cursor.enclosed()) if cursor.take("with", "check") else None
    return CreatePolicy(relation, RowPolicy(name, roles, command, using, check, permissive))


def parse_alter_policy(cursor: StatementCursor) -> Statement:
    """ALTER POLICY name ON table [TO …] [USING (…)] [WITH CHECK (…)] | RENAME TO name."""
    name = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    if cursor.take("rename", "to"):
        return AlterPolicy(relation, name, new=cursor.name())
    roles = _parse_roles(cursor) if cursor.take("to") else None
    using = expression(cursor.enclosed()) if cursor.take("using") else None
    check = expression(cursor.enclosed()) if cursor.take("with", "check") else None
    return AlterPolicy(relation, name, roles, using, check)


def parse_create_mask(cursor: StatementCursor) -> Statement:
    """CREATE MASK name ON table (column) [TO roles] USING (expression)."""
    name = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    cursor.need("(")
    column = cursor.name()
    cursor.need(")")
    roles = _parse_roles(cursor) if cursor.take("to") else (PUBLIC,)
    cursor.need("using")
    return CreateMask(relation, ColumnMask(name, column, roles, expression(cursor.enclosed())))


def parse_create_control(cursor: StatementCursor) -> Statement:
    """CREATE CONTROL name ON table TO roles WITH (size = n, overlap = n, audit, everybody)."""
    name = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    cursor.need("to")
    roles = _parse_roles(cursor)
    options = parse_options(cursor)
    size, overlap = (
        _take_number(options, name, least) for name, least in (("size", 1), ("overlap", 0))
    )
    audit = switch(options, "audit", default=False)
    everybody = switch(options, "everybody", default=False)
    if options:
        raise StatementFailed("22023", f'unrecognized parameter "{next(iter(options))}"')
    if size is None:
        # Without it, a query about one person would be answered.
        raise StatementFailed("22023", "a control needs a size", hint="Write: WITH (size = 5).")
    return CreateControl(relation, InferenceControl(name, roles, size, overlap, audit, everybody))


def _take_number(options: dict[str, str], name: str, least: int) -> int | None:
    value = options.pop(name, None)
    if value is None:
        return None
    is_number = value.isascii() and value.isdigit() and len(value) <= len(str(_MOST))
    if not (is_number and least <= int(value) <= _MOST):
        raise StatementFailed(
            "22023", f'"{name}" is a whole number of people, from {least} to {_MOST}'
        )
    return int(value)


def _parse_roles(cursor: StatementCursor) -> tuple[str, ...]:
    return cursor.listed(lambda: parse_role_name(cursor))


def parse_drop_attached(cursor: StatementCursor, kind: str) -> Statement:
    """DROP POLICY | MASK | CONTROL | TRIGGER [IF EXISTS] name ON table."""
    if_exists = cursor.take("if", "exists")
    name = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    if not cursor.take("cascade"):  # nothing depends on them
        cursor.take("restrict")
    match kind:
        case "policy" | "mask" | "control" | "trigger":
            return DropAttached(relation, kind, name, if_exists)
        case _:
            raise cursor.unexpected()


def parse_create_trigger(cursor: StatementCursor) -> Statement:
    """CREATE TRIGGER, in PostgreSQL's order or in the seed's."""
    name = cursor.name()
    if cursor.take("on"):
        return _parse_seed_trigger(cursor, name)
    if cursor.at("instead"):
        raise StatementFailed("0A000", "INSTEAD OF is not supported: write BEFORE or AFTER")
    timing = _TIMINGS[cursor.choose(*_TIMINGS)]
    events, columns = _parse_events(cursor, "or")
    cursor.need("on")
    relation = cursor.relation()
    each = _parse_each(cursor)
    condition = expression(cursor.enclosed()) if cursor.take("when") else "TRUE"
    message = _parse_message(cursor)
    trigger = Trigger(name, timing, events, each, condition, message, columns)
    return _check_trigger(relation, trigger)


def _check_trigger(relation: Written, trigger: Trigger) -> Statement:
    from sqlglot import exp

    from discreet.guard.statements.fragments import expression_tree

    named = {column.table for column in expression_tree(trigger.condition).find_all(exp.Column)}
    if trigger.each == "STATEMENT" and named & {"old", "new"}:
        raise StatementFailed(
            "42P17", "statement trigger's WHEN condition cannot reference column values"
        )
    for word, event in (("old", "INSERT"), ("new", "DELETE")):
        if word in named and event in trigger.events:
            raise StatementFailed(
                "42P17",
                f"{event} trigger's WHEN condition cannot reference {word.upper()} values",
            )
    return CreateTrigger(relation, trigger)


def _parse_events(
    cursor: StatementCursor, between: str
) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    events: list[Event] = []
    columns: tuple[str, ...] = ()
    while True:
        if cursor.at("truncate"):
            raise StatementFailed("0A000", "triggers on TRUNCATE are not supported: name DELETE")
        event = _EVENTS[cursor.choose(*_EVENTS)]
        if event in events:
            raise StatementFailed("42601", "duplicate trigger events specified")
        events.append(event)
        if event == "UPDATE" and cursor.take("of"):
            columns = cursor.listed(cursor.name)
        if not cursor.take(between):
            return tuple(events), columns


def _parse_each(cursor: StatementCursor) -> Literal["ROW", "STATEMENT"]:
    if not cursor.take("for"):
        return "STATEMENT"
    cursor.take("each")
    return "ROW" if cursor.choose("row", "statement") == "row" else "STATEMENT"


def _parse_message(cursor: StatementCursor) -> str:
    if cursor.at("execute"):
        raise StatementFailed(
            "0A000",
            "triggers do not execute functions",
            hint="Write: … WHEN (condition) RAISE 'message'.",
        )
    cursor.need("raise")
    cursor.take("exception")
    return cursor.string()


def _parse_seed_trigger(cursor: StatementCursor, name: str) -> Statement:
    """Parse ON table AFTER INSERT, UPDATE FOR EACH ROW BEGIN IF c BEGIN RAISERROR ('m') END END [END]."""
    relation = cursor.relation()
    timing = _TIMINGS[cursor.choose(*_TIMINGS)]
    events, columns = _parse_events(cursor, ",")
    each = _parse_each(cursor)
    cursor.need("begin", "if")
    condition = expression(cursor.text_until(lambda: cursor.at("begin")))
    cursor.need("begin")
    cursor.choose("raiserror", "raise")
    is_enclosed = cursor.take("(")
    if cursor.word.kind not in ("string", "name"):  # the seed writes texts in double quotes
        raise cursor.unexpected()
    message = cursor.step().text
    if is_enclosed:
        cursor.need(")")
    cursor.need("end", "end")
    cursor.take("end")
    trigger = Trigger(name, timing, events, each, condition, message, columns)
    return _check_trigger(relation, trigger)
