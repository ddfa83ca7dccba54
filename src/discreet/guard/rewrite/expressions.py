"""Checks of expressions: names are resolved, types are compared, nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    mark_fallible,
    mark_resolved,
    place_moment,
    read_subquery,
    require_arrays,
    rule,
    settle_literal,
)
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    InferredType,
    can_cast,
    category,
    common,
    element_kind,
    is_lossless,
    kind_of_cast,
    long_name,
)
from discreet.guard.rewrite.scope import Scope, entry_column
from discreet.sql import build
from discreet.sql.names import fold_identifier

BYTES = "of bytes"  # meta of a cast: its operand is bytes
TEXTS = "of texts"  # meta of a cast: its operand is text, and no literal
_BOOLEAN = InferredType("bool")
_UNITS = frozenset(
    f"{unit}{plural}"
    for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    for plural in ("", "S")
)


def check_condition(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext, of: str
) -> None:
    """Check a condition: it must be boolean."""
    kind = infer_type(reading, node, place).kind
    if kind == UNKNOWN:
        settle_literal(reading, node, "bool")
    elif kind not in ("bool", None):
        raise StatementFailed(
            "42804", f"argument of {of} must be type boolean, not type {long_name(kind)}"
        )


@rule(exp.Column)
def _read_column(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    if isinstance(node.this, exp.Star):
        return _whole_row(place.scope, fold_identifier(node.args.get("table")))
    name, table = fold_identifier(node.this), node.args.get("table")
    if table is not None:
        entry = place.scope.entry(
            fold_identifier(table), fold_identifier(node.args.get("db")) or None
        )
        if entry is None:
            raise StatementFailed(
                "42P01", f'missing FROM-clause entry for table "{fold_identifier(table)}"'
            )
        item = entry_column(entry, name)
        node.replace(mark_resolved(entry.reference(item), item))
        return InferredType(item.kind, item.weight)
    is_quoted = bool(node.this.args.get("quoted"))
    if not is_quoted and name in ("user", "current_role"):
        node.replace(session_text(reading.subject.role))
        return InferredType("text")
    visible = place.scope.column(name)
    if visible is not None:
        node.replace(mark_resolved(visible.reference(), visible.item))
        return InferredType(visible.item.kind, visible.item.weight)
    if place.scope.entry(name) is not None:
        return _whole_row(place.scope, name)
    if is_quoted and reading.is_lenient():
        node.replace(build.text(name))
        return InferredType(UNKNOWN)
    raise StatementFailed("42703", f'column "{name}" does not exist')


def _whole_row(scope: Scope, name: str) -> InferredType:
    """Record a whole-row reference: refused later, after the rights to all of it are checked."""
    entry = scope.entry(name)
    if entry is None:
        raise StatementFailed("42P01", f'missing FROM-clause entry for table "{name}"')
    if entry.relation is None:
        raise unsupported_feature("A row as a value", "Name its columns.")
    entry.used.update(item.key for item in entry.fields if item.in_star)
    entry.is_whole = True
    return InferredType(None)


def session_text(value: str) -> exp.Expr:
    """Return a text of the session as a literal of that type."""
    return exp.cast(build.text(value), exp.DataType.Type.TEXT)


@rule(exp.Literal)
def _read_literal(
    _reading: StatementAnalysis, node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    value = str(node.this)
    if node.args.get("is_string"):
        if "\0" in value:
            raise StatementFailed("22021", "a text cannot hold a zero byte")
        return InferredType(UNKNOWN, max(1.0, len(value) / 100))
    if value.isdecimal():
        return InferredType(
            "int4" if int(value) < 2**31 else "int8" if int(value) < 2**63 else "numeric"
        )
    return InferredType("float8" if "e" in value.lower() else "numeric")


@rule(exp.Null)
def _read_null(
    _reading: StatementAnalysis, _node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    return InferredType(UNKNOWN)


@rule(exp.Boolean)
def _read_boolean(
    _reading: StatementAnalysis, _node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    return _BOOLEAN


@rule(exp.Parameter)
def _read_parameter(
    reading: StatementAnalysis, node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    if not isinstance(node.this, exp.Literal) or not node.name.isdecimal():
        raise StatementFailed("42601", "syntax error at a parameter")
    return InferredType(reading.parameter(int(node.name)))


@rule(exp.Interval)
def _read_interval(
    _reading: StatementAnalysis, node: exp.Expr, _place: ExpressionContext
) -> InferredType:
    unit = node.args.get("unit")
    if not isinstance(node.this, exp.Literal) or (
        unit is not None and not (isinstance(unit, exp.Var) and unit.name.upper() in _UNITS)
    ):
        raise unsupported_feature("This interval", "Write interval '1 day'.")
    return InferredType("interval")


@rule(exp.Paren)
def _read_parentheses(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    return infer_type(reading, node.this, place)


@rule(exp.And, exp.Or)
def _read_connective(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    word = "AND" if isinstance(node, exp.And) else "OR"
    # A long chain is as deep as it is long: it is processed iteratively.
    for part in list(node.flatten(unnest=False)):
        check_condition(reading, part, place, word)
    return _BOOLEAN


@rule(exp.Not)
def _read_not(reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext) -> InferredType:
    check_condition(reading, node.this, place, "NOT")
    return _BOOLEAN


@rule(exp.Is)
def _read_is(reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext) -> InferredType:
    if isinstance(node.expression, exp.Boolean):
        check_condition(reading, node.this, place, "IS TRUE")
    elif isinstance(node.expression, exp.Null):
        settle_text(reading, node.this, infer_type(reading, node.this, place))
    else:
        raise unsupported_feature("This IS")
    return _BOOLEAN


def settle_text(reading: StatementAnalysis, node: exp.Expr, found: InferredType) -> None:
    """Make a literal or parameter without a type a text."""
    if found.kind == UNKNOWN:
        settle_literal(reading, node, "text")


def match_kinds(
    reading: StatementAnalysis, nodes: Sequence[exp.Expr], found: Sequence[InferredType], what: str
) -> InferredType:
    """Return the common type of alternative values, as in CASE, and type their literals."""
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
            settle_literal(reading, node, kind)
    return InferredType(kind, max((one.weight for one in found), default=1.0))


@rule(exp.Exists)
def _read_exists(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    read_subquery(reading, node.this, Scope(parent=place.scope))
    return _BOOLEAN


@rule(exp.Subquery)
def _read_subquery(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    fields = read_subquery(reading, node.this, Scope(parent=place.scope))
    if len(fields) != 1:
        raise StatementFailed("42601", "subquery must return only one column")
    return InferredType(fields[0].kind, fields[0].weight)


def _check_array_cast(reading: StatementAnalysis, source: str | None, kind: str) -> None:
    is_array = element_kind(kind) is not None
    if source not in (UNKNOWN, None) and is_array != (element_kind(source) is not None):
        raise unsupported_feature("A cast between an array and another type")
    if is_array:
        require_arrays(reading)
        if element_kind(source) == "text" != element_kind(kind):
            raise unsupported_feature("A cast of texts in an array")


@rule(exp.Cast)
def _read_cast(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    kind = kind_of_cast(node.args["to"])
    if kind in ("float4", "float8"):
        node.args["to"].set("expressions", None)  # float(24) has a length for PostgreSQL only
    found = infer_type(reading, node.this, place)
    _check_array_cast(reading, found.kind, kind)
    if not can_cast(found.kind, kind):
        raise StatementFailed(
            "42846", f"cannot cast type {long_name(found.kind)} to {long_name(kind)}"
        )
    inner = node.this.unnest()
    if isinstance(inner, exp.Parameter):
        settle_literal(reading, inner, kind)
    place_moment(reading, inner, kind)
    if found.kind == "bytea":
        node.meta[BYTES] = True
    if category(found.kind) == "S" and not isinstance(inner, exp.Literal):
        node.meta[TEXTS] = True
    # Whether a literal fails does not depend on the rows.
    if not isinstance(inner, (exp.Literal, exp.Null)) and (
        not is_lossless(found.kind, kind) or node.args["to"].expressions
    ):
        mark_fallible(node)
    return InferredType(kind, found.weight)
