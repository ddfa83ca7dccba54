"""Functions about the session: replaced by literals, so that no engine evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import DEFAULT_SCHEMA
from discreet.guard.access.decide import has_privs_of
from discreet.guard.rewrite.analysis import ExpressionContext, StatementAnalysis, rule
from discreet.guard.rewrite.expressions import session_text
from discreet.guard.rewrite.kinds import InferredType, data_type
from discreet.guard.statements.cursor import DATABASE
from discreet.sql import build


def _database_name(reading: StatementAnalysis) -> str:
    return reading.subject.settings.get("discreet.database", DATABASE)


_TEXTS: Mapping[type[exp.Expr], Callable[[StatementAnalysis], str]] = {
    exp.CurrentUser: lambda reading: reading.subject.role,
    exp.SessionUser: lambda reading: reading.subject.user,
    exp.CurrentSchema: lambda _: DEFAULT_SCHEMA,
    **dict.fromkeys((exp.CurrentCatalog, exp.CurrentDatabase), _database_name),
}


@rule(*_TEXTS)
def _read_session_text(
    reading: StatementAnalysis, node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    node.replace(session_text(_TEXTS[type(node)](reading)))
    return InferredType("text")


# The type of each function, and how much of an ISO timestamp it has.
_MOMENTS: Mapping[type[exp.Expr], tuple[str, int]] = {
    exp.CurrentDate: ("date", 10),
    exp.Localtimestamp: ("timestamp", 26),
    exp.CurrentTimestamp: ("timestamptz", 26),
}


@rule(*_MOMENTS)
def _read_moment(
    reading: StatementAnalysis, node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    kind, length = _MOMENTS[type(node)]
    now = reading.subject.settings.get("discreet.now")
    reading.passing.add("time")
    if now is not None:
        now = now.rstrip("Z").split("+")[0][:length]
        if kind == "timestamptz":
            now += "+00"
        node.replace(exp.Cast(this=build.text(now), to=data_type(kind)))
    return InferredType(kind)


def _literal_arguments(node: exp.Expr) -> list[str | None]:
    """Return the arguments of a call as texts; None for one that is not a literal."""
    return [
        argument.name
        if isinstance(argument, exp.Literal) and argument.is_string
        else str(argument.this).lower()
        if isinstance(argument, exp.Boolean)
        else None
        for argument in node.expressions
    ]


def _current_setting(reading: StatementAnalysis, node: exp.Expr) -> InferredType:
    arguments = _literal_arguments(node)
    if None in arguments or len(arguments) not in (1, 2):
        raise StatementFailed("0A000", "current_setting takes literals only")
    name = str(arguments[0]).lower()
    reading.passing.add(name)
    value = reading.subject.settings.get(name)
    if value is None and arguments[1:] != ["true"]:
        raise StatementFailed("42704", f'unrecognized configuration parameter "{name}"')
    literal = exp.Null() if value is None else build.text(value)
    node.replace(exp.cast(literal, exp.DataType.Type.TEXT))
    return InferredType("text")


def _pg_has_role(reading: StatementAnalysis, node: exp.Expr) -> InferredType:
    arguments = list(node.expressions)
    who = reading.subject.role
    if len(arguments) == 3:
        if not isinstance(arguments[0], (exp.CurrentUser, exp.SessionUser)):
            raise StatementFailed(
                "0A000", "pg_has_role supports current_user and session_user only"
            )
        who = reading.subject.user if isinstance(arguments[0], exp.SessionUser) else who
    words = _literal_arguments(node)[-2:]
    if None in words or len(arguments) not in (2, 3) or len(words) != 2:
        raise StatementFailed("0A000", "pg_has_role takes literals only")
    role, right = str(words[0]), str(words[1]).lower()
    if role not in reading.authority.roles:
        raise StatementFailed("42704", f'role "{role}" does not exist')
    if right not in ("member", "usage"):
        raise StatementFailed("22023", "unrecognized privilege type")
    found = has_privs_of(reading.authority, who, role)
    node.replace(exp.true() if found else exp.false())
    return InferredType("bool")


def _current_database(reading: StatementAnalysis, node: exp.Expr) -> InferredType:
    node.replace(session_text(_database_name(reading)))
    return InferredType("text")


SESSION_CALLS: Mapping[str, Callable[[StatementAnalysis, exp.Expr], InferredType]] = {
    "current_setting": _current_setting,
    "pg_has_role": _pg_has_role,
    "current_database": _current_database,
}
