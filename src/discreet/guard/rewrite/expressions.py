"""How expressions are read: names are resolved, kinds are compared, nothing is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import refused
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    Typed,
    can_cast,
    common,
    is_lossless,
    kind_of_cast,
    long_name,
)
from discreet.guard.rewrite.reading import (
    Place,
    Reading,
    fails,
    place_moment,
    resolved,
    rule,
    settle,
    typed,
)
from discreet.guard.rewrite.scope import Scope, column_of, folded
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES = "of bytes"  # meta of a cast: what is cast are bytes
_BOOLEAN = Typed("bool")
_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    for plural in ("", "S")
)


def condition(reading: Reading, node: exp.Expr, place: Place, of: str) -> None:
    """Read a condition: what it is must be true, false or missing."""
    kind = typed(reading, node, place).kind
    if kind == UNKNOWN:
        settle(reading, node, "bool")
    elif kind not in ("bool", None):
        raise StatementFailed(
            "42804", f"argument of {of} must be type boolean, not type {long_name(kind)}"
        )


@rule(exp.Column)
def _column(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    if isinstance(node.this, exp.Star):
        return _whole_row(place.scope, folded(node.args.get("table")))
    name, table = folded(node.this), node.args.get("table")
    if table is not None:
        entry = place.scope.entry(folded(table), folded(node.args.get("db")) or None)
        if entry is None:
            raise StatementFailed("42P01", f'missing FROM-clause entry for table "{folded(table)}"')
        item = column_of(entry, name)
        node.replace(resolved(entry.reference(item), item))
        return Typed(item.kind, item.weight)
    is_quoted = bool(node.this.args.get("quoted"))
    if not is_quoted and name in ("user", "current_role"):
        node.replace(session_text(reading.subject.role))
        return Typed("text")
    visible = place.scope.column(name)
    if visible is not None:
        node.replace(resolved(visible.reference(), visible.item))
        return Typed(visible.item.kind, visible.item.weight)
    if place.scope.entry(name) is not None:
        return _whole_row(place.scope, name)
    if is_quoted and reading.is_lenient():
        node.replace(build.text(name))
        return Typed(UNKNOWN)
    raise StatementFailed("42703", f'column "{name}" does not exist')


def _whole_row(scope: Scope, name: str) -> Typed:
    """Remember that a row itself was referred to: refused later, after the rights to all of it."""
    entry = scope.entry(name)
    if entry is None:
        raise StatementFailed("42P01", f'missing FROM-clause entry for table "{name}"')
    if entry.relation is None:
        raise refused("A row as a value", "Name its columns.")
    entry.used.update(item.key for item in entry.fields if item.in_star)
    entry.is_whole = True
    return Typed(None)


def session_text(value: str) -> exp.Expr:
    """Return a text of the session as a literal of that type."""
    return exp.cast(build.text(value), exp.DataType.Type.TEXT)


@rule(exp.Literal)
def _literal(_reading: Reading, node: exp.Expr, _place: Place) -> Typed:
    value = str(node.this)
    if node.args.get("is_string"):
        if "\0" in value:
            raise StatementFailed("22021", "a text cannot hold a zero byte")
        return Typed(UNKNOWN, max(1.0, len(value) / 100))
    if value.isdecimal():
        return Typed("int4" if int(value) < 2**31 else "int8" if int(value) < 2**63 else "numeric")
    return Typed("float8" if "e" in value.lower() else "numeric")


@rule(exp.Null)
def _null(_reading: Reading, _node: exp.Expr, _place: Place) -> Typed:
    return Typed(UNKNOWN)


@rule(exp.Boolean)
def _boolean(_reading: Reading, _node: exp.Expr, _place: Place) -> Typed:
    return _BOOLEAN


@rule(exp.Parameter)
def _parameter(reading: Reading, node: exp.Expr, _place: Place) -> Typed:
    if not isinstance(node.this, exp.Literal) or not node.name.isdecimal():
        raise StatementFailed("42601", "syntax error at a parameter")
    return Typed(reading.parameter(int(node.name)))


@rule(exp.Interval)
def _interval(_reading: Reading, node: exp.Expr, _place: Place) -> Typed:
    unit = node.args.get("unit")
    if not isinstance(node.this, exp.Literal) or (
        unit is not None and not (isinstance(unit, exp.Var) and unit.name.upper() in _UNITS)
    ):
        raise refused("This interval", "Write interval '1 day'.")
    return Typed("interval")


@rule(exp.Paren)
def _paren(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    return typed(reading, node.this, place)


@rule(exp.And, exp.Or)
def _connected(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    word = "AND" if isinstance(node, exp.And) else "OR"
    # A long chain is as deep as it is long: it is read side by side.
    for part in list(node.flatten(unnest=False)):
        condition(reading, part, place, word)
    return _BOOLEAN


@rule(exp.Not)
def _not(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    condition(reading, node.this, place, "NOT")
    return _BOOLEAN


@rule(exp.Is)
def _is(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    if isinstance(node.expression, exp.Boolean):
        condition(reading, node.this, place, "IS TRUE")
    elif isinstance(node.expression, exp.Null):
        settle_text(reading, node.this, typed(reading, node.this, place))
    else:
        raise refused("This IS")
    return _BOOLEAN


def settle_text(reading: Reading, node: exp.Expr, found: Typed) -> None:
    """Make a literal or parameter without a type a text."""
    if found.kind == UNKNOWN:
        settle(reading, node, "text")


def matched(
    reading: Reading, nodes: Sequence[exp.Expr], found: Sequence[Typed], what: str
) -> Typed:
    """Return what values become that stand for each other, as in CASE, and settle literals."""
    kind: str | None = UNKNOWN
    for one in found:
        met = common(kind, one.kind)
        if met is None and kind is not None and one.kind is not None:
            raise StatementFailed(
                "42804",
                f"{what} types {long_name(kind)} and {long_name(one.kind)} cannot be matched",
            )
        kind = met
    kind = "text" if kind == UNKNOWN else kind
    for node, one in zip(nodes, found, strict=True):
        if one.kind == UNKNOWN:
            settle(reading, node, kind)
    return Typed(kind, max((one.weight for one in found), default=1.0))


@rule(exp.Exists)
def _exists(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    reading.query(node.this, Scope(parent=place.scope))
    return _BOOLEAN


@rule(exp.Subquery)
def _subquery(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    fields = reading.query(node.this, Scope(parent=place.scope))
    if len(fields) != 1:
        raise StatementFailed("42601", "subquery must return only one column")
    return Typed(fields[0].kind, fields[0].weight)


@rule(exp.Cast)
def _cast(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    kind = kind_of_cast(node.args["to"])
    if kind in ("float4", "float8"):
        node.args["to"].set("expressions", None)  # float(24) has a length for PostgreSQL only
    found = typed(reading, node.this, place)
    if not can_cast(found.kind, kind):
        raise StatementFailed(
            "42846", f"cannot cast type {long_name(found.kind)} to {long_name(kind)}"
        )
    inner = node.this.unnest()
    if isinstance(inner, exp.Parameter):
        settle(reading, inner, kind)
    place_moment(reading, inner, kind)
    if found.kind == "bytea":
        node.meta[BYTES] = True
    # A literal fails or not whatever the rows are.
    if not isinstance(inner, (exp.Literal, exp.Null)) and (
        not is_lossless(found.kind, kind) or node.args["to"].expressions
    ):
        fails(node)
    return Typed(kind, found.weight)
