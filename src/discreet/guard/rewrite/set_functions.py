"""Checks of functions that return rows: `unnest`, `generate_series`, and any allowed one in FROM.

In the tree that runs they stand in a SELECT list, never in FROM: there the second parser finds no function.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    require_arrays,
    rule,
    settle_literal,
)
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    WHOLE,
    InferredType,
    category,
    common,
    data_type,
    element_kind,
    long_name,
)
from discreet.guard.rewrite.naming import select_column_name
from discreet.guard.rewrite.scope import RangeTableEntry, Scope, ScopeField
from discreet.sql import build
from discreet.sql.names import fold_identifier

LONGEST_SERIES = 1_000_000  # numbers or moments of one generate_series
SETS = "sets"  # of a SELECT with such a function in its list
_MOMENTS = ("timestamp", "timestamptz")


def is_function(node: exp.Expr) -> bool:
    """Whether a part of FROM is a function."""
    inner = node.this if isinstance(node, (exp.Table, exp.Lateral)) else node
    return isinstance(inner, (exp.Unnest, exp.Func))


def read_function(
    reading: StatementAnalysis, node: exp.Expr, around: Scope, *, is_lateral: bool
) -> RangeTableEntry:
    """Check a function in FROM, which becomes a SELECT of it; `around` has the parts to its left."""
    if node.args.get("joins") or node.args.get("ordinality"):
        raise unsupported_feature("WITH ORDINALITY, or a join in brackets after a function")
    call = node if isinstance(node, exp.Unnest) else node.this
    if isinstance(call, exp.Unnest):
        if call.args.get("offset"):
            raise unsupported_feature("WITH ORDINALITY", "Use row_number() OVER ().")
        parts = [(exp.Explode(this=each), "unnest") for each in call.expressions]
    else:
        parts = [(call, select_column_name(call))]
    alias = node.args.get("alias")
    name = fold_identifier(alias.this) if alias is not None else parts[0][1]
    names = (
        [fold_identifier(column) for column in (alias.args.get("columns") or [])] if alias else []
    )
    if len(names) > len(parts):
        raise StatementFailed(
            "42P10",
            f'table "{name}" has {len(parts)} columns available but {len(names)} columns specified',
        )
    # Of one function, the alias of the table is also that of the column.
    called = [own if len(parts) > 1 or alias is None else name for _, own in parts]
    called[: len(names)] = names
    handle = reading.handles.new(name)
    keys = [f"f{place}" for place in range(1, len(parts) + 1)]
    select = exp.select(
        *(build.alias_as(each, key) for (each, _), key in zip(parts, keys, strict=True))
    )
    subquery = exp.Subquery(this=select)
    shown = exp.TableAlias(this=exp.to_identifier(handle, quoted=True))
    place = ExpressionContext(around, "functions in FROM")
    found = [_infer_item(reading, item, place) for item in select.expressions]
    if is_lateral:
        node.replace(exp.Lateral(this=subquery, alias=shown))
    else:
        subquery.set("alias", shown)
        node.replace(subquery)
    fields = [
        ScopeField(title, key, one.kind, one.weight)
        for title, key, one in zip(called, keys, found, strict=True)
    ]
    return RangeTableEntry(name, handle, fields)


def _infer_item(
    reading: StatementAnalysis, item: exp.Expr, place: ExpressionContext
) -> InferredType:
    node = item.this
    if isinstance(node, exp.Explode):
        return _read_elements(reading, node, place)
    if isinstance(node, exp.ExplodingGenerateSeries):
        return _read_series(reading, node, place)
    found = infer_type(reading, node, place)
    if found.kind == UNKNOWN:
        settle_literal(reading, item.this, "text")
        return InferredType("text", found.weight)
    return found


@rule(exp.Explode, exp.ExplodingGenerateSeries)
def _read_set(reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext) -> InferredType:
    if place.clause != "SELECT" or not isinstance(node.parent, exp.Alias):
        raise unsupported_feature("A function that returns rows here", "Use it in FROM.")
    place.level.seen.add(SETS)
    if isinstance(node, exp.Explode):
        return _read_elements(reading, node, place)
    return _read_series(reading, node, place)


def _read_elements(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    require_arrays(reading)
    inner = _without_rows(place)
    found = infer_type(reading, node.this, inner)
    element = element_kind(found.kind)
    if found.kind == UNKNOWN:
        raise StatementFailed("42725", "function unnest(unknown) is not unique")
    if element is None:
        raise StatementFailed(
            "42883",
            f"function unnest({long_name(found.kind)}) does not exist",
            hint="You might need to add explicit type casts.",
        )
    return InferredType(element, found.weight)


def _without_rows(place: ExpressionContext) -> ExpressionContext:
    """Return the context of arguments, which are values of one row."""
    return ExpressionContext(place.scope, "functions that return rows", place.level)


def _read_series(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    inner = _without_rows(place)
    found = [infer_type(reading, node.args[name], inner) for name in ("start", "end")]
    kinds = {one.kind for one in found}
    if kinds == {UNKNOWN} and not isinstance(node.args["start"].unnest(), exp.Parameter):
        raise StatementFailed("42725", "function generate_series(unknown, unknown) is not unique")
    if kinds <= {UNKNOWN, *WHOLE}:
        return _read_numbers(reading, node, found)
    if kinds <= {UNKNOWN, "date", *_MOMENTS}:
        return _read_moments(reading, node, inner, found)
    listed = ", ".join(long_name(one.kind) for one in found)
    if None in kinds or all(category(kind) == "N" for kind in kinds - {UNKNOWN}):
        raise unsupported_feature(f"generate_series({listed})")
    raise StatementFailed("42883", f"function generate_series({listed}) does not exist")


def _read_numbers(
    reading: StatementAnalysis, node: exp.Expr, found: list[InferredType]
) -> InferredType:
    step = node.args.get("step")
    size = 1 if step is None else _whole_number(step)
    if size is None:
        raise unsupported_feature("A step of generate_series that is no literal number")
    if size == 0:
        raise StatementFailed("22023", "step size cannot equal zero")
    for name, one in zip(("start", "end"), found, strict=True):
        if one.kind == UNKNOWN:
            settle_literal(reading, node.args[name], "int4")
    ends = [_whole_number(node.args[name]) for name in ("start", "end")]
    if (
        None not in ends
        and abs(int(ends[1] or 0) - int(ends[0] or 0)) // abs(size) >= LONGEST_SERIES
    ):
        raise StatementFailed("54000", f"generate_series returns at most {LONGEST_SERIES:,} rows")
    kinds = [one.kind if one.kind != UNKNOWN else "int4" for one in found]
    kind = common(*kinds)
    return InferredType("int4" if kind == "int2" else kind)


def _whole_number(node: exp.Expr) -> int | None:
    """Return a literal whole number, None for anything else."""
    inner = node.unnest()
    sign = -1 if isinstance(inner, exp.Neg) else 1
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    is_number = isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdecimal()
    return sign * int(inner.name) if is_number else None


def _read_moments(
    reading: StatementAnalysis,
    node: exp.Expr,
    place: ExpressionContext,
    found: list[InferredType],
) -> InferredType:
    step = node.args.get("step")
    if step is None or not isinstance(step.unnest(), (exp.Interval, exp.Cast, exp.Literal)):
        raise unsupported_feature("generate_series of moments without a literal interval")
    one = infer_type(reading, step, place)
    if one.kind == UNKNOWN:
        settle_literal(reading, step, "interval")
    elif one.kind != "interval":
        raise StatementFailed("42883", "generate_series needs an interval between moments")
    kinds = [one.kind for one in found if one.kind != UNKNOWN]
    kind = "timestamptz" if "timestamp" not in kinds else "timestamp"
    if "date" in kinds and kind == "timestamptz":
        # PostgreSQL takes midnight in the session's time zone.
        reading.passing.add("timezone")
        zone = reading.subject.settings.get("timezone", "UTC")
        if zone.upper() not in ("UTC", "ETC/UTC", "GMT"):
            raise unsupported_feature(
                "generate_series of dates in this time zone", "Cast them to timestamp."
            )
    for name, each in zip(("start", "end"), found, strict=True):
        if each.kind == UNKNOWN:
            settle_literal(reading, node.args[name], kind)
        elif each.kind != kind:
            node.set(name, exp.Cast(this=node.args[name], to=data_type(kind)))
    return InferredType(kind)
