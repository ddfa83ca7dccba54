"""Checks of calls: arguments have the types that a function takes, and are allowed there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.adapt import SUMMED
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    mark_fallible,
    require_arrays,
    rule,
    settle_literal,
)
from discreet.guard.rewrite.expressions import check_condition, match_kinds, settle_text
from discreet.guard.rewrite.functions import (
    DATE_PARTS,
    FUNCTIONS,
    TRUNCATIONS,
    AllowedFunction,
    function_of,
)
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    InferredType,
    array_of_kind,
    category,
    common,
    data_type,
    element_kind,
    long_name,
)
from discreet.guard.rewrite.session import SESSION_CALLS

_LONGEST_PAD = 10_000
_GATHERED = 100  # the weight of all rows of a group in one value: a few such values per statement
_SETTLED = {"S": "text", "N": "float8", "B": "bool", "D": "timestamp", "?": "text"}
_SIDES = ("PRECEDING", "FOLLOWING", None)
_ENDS = ("UNBOUNDED", "CURRENT ROW", None)


def _no_function(name: str, found: Sequence[InferredType]) -> StatementFailed:
    kinds = ", ".join(long_name(one.kind) for one in found)
    return StatementFailed(
        "42883",
        f"function {name}({kinds}) does not exist",
        hint="You might need to add explicit type casts.",
    )


@rule(*FUNCTIONS, exp.Anonymous)
def _read_call(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    if isinstance(node, exp.Anonymous) and node.name.lower() in SESSION_CALLS:
        return SESSION_CALLS[node.name.lower()](reading, node)
    function = function_of(node)
    if function is None:
        raise unsupported_feature("This function")
    if function.sort == "window":
        raise StatementFailed("42809", f"window function {function.name} requires an OVER clause")
    if function.sort == "aggregate":
        _check_aggregate_place(place)
        return _read_aggregate(reading, node, function, place)
    return _check_call(reading, node, function, place)


def _check_aggregate_place(place: ExpressionContext) -> None:
    if not place.aggregates:
        nested = place.clause == "aggregate functions"
        raise StatementFailed(
            "42803",
            "aggregate function calls cannot be nested"
            if nested
            else f"aggregate functions are not allowed in {place.clause}",
        )
    place.level.seen.add("aggregate")


def _read_aggregate(
    reading: StatementAnalysis, node: exp.Expr, function: AllowedFunction, place: ExpressionContext
) -> InferredType:
    result = _check_call(reading, node, function, place.inside_aggregate())
    handles = {entry.handle for entry in place.scope.entries}
    tables = {column.table for column in node.find_all(exp.Column) if column.table}
    if tables and not tables & handles:
        raise unsupported_feature(
            "An aggregate of an outer query's columns", "Aggregate in the outer query."
        )
    return result


def _call_arguments(
    reading: StatementAnalysis, node: exp.Expr, function: AllowedFunction, place: ExpressionContext
) -> list[exp.Expr]:
    """Return the arguments, without DISTINCT and ORDER BY, which only aggregates may have."""
    out: list[exp.Expr] = []
    for name in function.places:
        value = node.args.get(name)
        values = value if isinstance(value, list) else [value] if value is not None else []
        for argument in values:
            out += _unwrap_argument(reading, argument, function, place)
    return out


def _unwrap_argument(
    reading: StatementAnalysis,
    argument: exp.Expr,
    function: AllowedFunction,
    place: ExpressionContext,
) -> list[exp.Expr]:
    if isinstance(argument, (exp.Order, exp.Distinct)) and function.sort != "aggregate":
        raise StatementFailed("42809", f"{function.name} is not an aggregate function")
    if isinstance(argument, exp.Order):
        order_terms(reading, argument, place)
        return _unwrap_argument(reading, argument.this, function, place)
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1 or argument.args.get("on"):
            raise unsupported_feature("DISTINCT of several columns in an aggregate")
        return list(argument.expressions)
    return [argument]


def order_terms(reading: StatementAnalysis, order: exp.Expr, place: ExpressionContext) -> None:
    """Check ORDER BY inside an aggregate or a window, where numbers are not positions."""
    for term in order.expressions:
        settle_text(reading, term.this, infer_type(reading, term.this, place))


def _check_call(
    reading: StatementAnalysis, node: exp.Expr, function: AllowedFunction, place: ExpressionContext
) -> InferredType:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return InferredType("int8")
    arguments = _call_arguments(reading, node, function, place)
    found = [infer_type(reading, argument, place) for argument in arguments]
    needed = sum(bool(node.arg_types.get(name)) for name in function.places)
    is_whole = len(arguments) >= _LEAST.get(type(node), needed)
    if not is_whole or not _fits_signature(function, arguments, found):
        raise _no_function(function.name, found)
    _check_arguments(reading, node, arguments, found)
    if not function.total:
        mark_fallible(node)
    if isinstance(node, exp.Sum):
        node.meta[SUMMED] = found[0].kind
    weight = _result_weight(node, arguments, found)
    if function.result == "common":
        return replace(match_kinds(reading, arguments, found, function.name.upper()), weight=weight)
    for number, (argument, one) in enumerate(zip(arguments, found, strict=True)):
        if one.kind == UNKNOWN:
            letter = _category_letter(function, number)
            settle_literal(reading, argument, _settled_kind(letter, found))
    return InferredType(_result_kind(function, found), weight)


def _settled_kind(letter: str, found: Sequence[InferredType]) -> str:
    """Return the kind of an untyped literal or parameter that a function takes."""
    if letter in ("A", "E"):
        arrays = (one.kind for one in found if element_kind(one.kind) is not None)
        array = next(arrays, "text[]") or "text[]"
        return array if letter == "A" else str(element_kind(array))
    return _SETTLED.get(letter, "text")


def _check_arguments(
    reading: StatementAnalysis,
    node: exp.Expr,
    arguments: Sequence[exp.Expr],
    found: Sequence[InferredType],
) -> None:
    """Refuse arguments that engines understand differently."""
    has_arrays = any(element_kind(one.kind) is not None for one in found)
    if has_arrays or isinstance(node, (exp.StringToArray, exp.ArrayAgg)):
        require_arrays(reading)
    if has_arrays and isinstance(node, (exp.Concat, exp.ConcatWs)):
        raise unsupported_feature("An array in a text", "Use array_to_string.")
    is_known = bool(found) and found[0].kind not in (UNKNOWN, None)
    if isinstance(node, exp.ArrayAgg) and is_known and array_of_kind(found[0].kind) is None:
        raise unsupported_feature(f"An array of {long_name(found[0].kind)}")
    if isinstance(node, exp.ArrayToString) and element_kind(found[0].kind) not in _WRITTEN:
        raise unsupported_feature("array_to_string of this array", "Cast its elements to text.")
    known = _LAST.get(type(node))
    if known is not None and not known.fits(arguments):
        raise unsupported_feature(known.refused, known.hint)


@dataclass(frozen=True)
class LastArgument:
    """The last argument of a function that engines understand alike for some literals only."""

    pattern: str
    refused: str
    hint: str | None = None
    number: int = 2  # how many arguments there are then; with fewer, all is well
    may_be_parameter: bool = False

    def fits(self, arguments: Sequence[exp.Expr]) -> bool:
        """Whether a call can run."""
        last = arguments[-1]
        if len(arguments) < self.number or isinstance(last, exp.Null):
            return True
        if self.may_be_parameter and isinstance(last, exp.Parameter):
            return True
        return isinstance(last, exp.Literal) and bool(re.fullmatch(self.pattern, last.name))


_LAST: Mapping[type[exp.Expr], LastArgument] = {
    exp.RegexpReplace: LastArgument(
        "|g|i|gi|ig", "This option of regexp_replace", "Use 'g', 'i' or 'gi'.", 4
    ),
    exp.TimeToStr: LastArgument(
        "(%[YmdHMSfj]|[-/:., ])*",
        "This format of to_char",
        "Use YYYY, MM, DD, HH24, MI, SS, US and DDD between - / : . , and spaces.",
    ),
    exp.ArraySize: LastArgument("1", "array_length of any dimension but 1"),
    exp.StringToArray: LastArgument("(?s:.+)", "string_to_array without a literal separator"),
    exp.GroupConcat: LastArgument(
        "(?s:.*)", "string_agg without a constant separator", may_be_parameter=True
    ),
}
_WRITTEN = ("text", "int2", "int4", "int8", "uuid", "date", None)  # engines write them alike


# Arguments without which the function does not exist, though it can be parsed.
_LEAST: dict[type[exp.Expr], int] = {
    **dict.fromkeys((exp.Replace, exp.Translate, exp.RegexpReplace), 3),
    **dict.fromkeys((exp.Pad, exp.GroupConcat, exp.ArrayToString, exp.StringToArray), 2),
    **dict.fromkeys((exp.ArraySize, exp.ArrayConcat), 2),
}


def _category_letter(function: AllowedFunction, number: int) -> str:
    return function.takes[min(number, len(function.takes) - 1)] if function.takes else ""


def _fits_signature(
    function: AllowedFunction, arguments: Sequence[exp.Expr], found: Sequence[InferredType]
) -> bool:
    many = "expressions" in function.places and function.result in ("common", "text", "bool")
    if not many and len(arguments) > max(len(function.takes), 0):
        return False
    if function.places == ("expressions",) and len(arguments) < len(function.takes):
        return False
    arrays = {one.kind for one in found if element_kind(one.kind) is not None}
    return all(
        category(one.kind) is None
        or _fits_letter(_category_letter(function, number), one.kind, arrays)
        for number, one in enumerate(found)
    )


def _fits_letter(letter: str, kind: str | None, arrays: set[str | None]) -> bool:
    if letter == "A":
        return arrays == {kind}
    if letter == "E":
        element = next((element_kind(array) for array in arrays), None)
        return element is None or common(element, kind) == element
    return letter in ("?", category(kind))


def _result_kind(function: AllowedFunction, found: Sequence[InferredType]) -> str | None:
    first = found[0].kind if found else None
    first = "text" if first == UNKNOWN else first
    match function.result:
        case "same":
            return first
        case "real":
            return "numeric" if "numeric" in [one.kind for one in found] else "float8"
        case "array":
            return array_of_kind(first)
        case "sum":
            return {"int2": "int8", "int4": "int8", "int8": "numeric"}.get(str(first), first)
        case kind:
            return kind


def _result_weight(
    node: exp.Expr, arguments: Sequence[exp.Expr], found: Sequence[InferredType]
) -> float:
    weights = [one.weight for one in found]
    if isinstance(node, (exp.Pad, exp.Repeat)):
        return _padded_weight(node, arguments[1], weights[0])
    weigh = _WEIGHTS.get(type(node))
    return weigh(arguments, weights) if weigh else max(weights, default=1.0)


def _padded_weight(node: exp.Expr, count: exp.Expr, weight: float) -> float:
    if not (isinstance(count, exp.Literal) and count.name.isdecimal()):
        raise unsupported_feature("A length of padding that is no literal")
    if int(count.name) > _LONGEST_PAD:
        raise unsupported_feature(f"Padding to more than {_LONGEST_PAD} letters")
    return max(1.0, int(count.name) * (weight if isinstance(node, exp.Repeat) else 0.01))


Weigh: TypeAlias = Callable[[Sequence[exp.Expr], Sequence[float]], float]
_WEIGHTS: Mapping[type[exp.Expr], Weigh] = {
    exp.Concat: lambda _, weights: sum(weights),
    exp.ConcatWs: lambda _, weights: 2 * sum(weights),
    exp.ArrayAppend: lambda _, weights: sum(weights),
    exp.ArrayConcat: lambda _, weights: sum(weights),
    exp.ArrayAgg: lambda _, weights: _GATHERED * sum(weights),
    exp.GroupConcat: lambda _, weights: _GATHERED * sum(weights),
    exp.Replace: lambda given, weights: weights[0] * _count_letters(given[2], weights[2]),
    exp.RegexpReplace: lambda given, weights: weights[0] * _count_letters(given[2], weights[2]),
    exp.Translate: lambda _, weights: weights[0],
    exp.ArrayToString: lambda given, weights: weights[0] * _count_letters(given[1], weights[1]),
}


def _count_letters(node: exp.Expr, weight: float) -> float:
    """Return how many letters a text may have, at least 1."""
    return max(1, len(node.name) if isinstance(node, exp.Literal) else 100 * weight)


@rule(exp.Filter)
def _read_filter(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    function = function_of(node.this)
    if isinstance(node.this, exp.WithinGroup):
        pass
    elif function is None or function.sort != "aggregate":
        raise StatementFailed("42809", "FILTER is for aggregate functions")
    inner = replace(place.inside_aggregate(), clause="FILTER")
    check_condition(reading, node.expression.this, inner, "FILTER")
    return infer_type(reading, node.this, place)


@rule(exp.WithinGroup)
def _read_within_group(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    if not isinstance(node.this, (exp.PercentileCont, exp.PercentileDisc)):
        raise unsupported_feature("WITHIN GROUP of this function")
    if not isinstance(node.this.this, (exp.Literal, exp.Parameter)):
        raise unsupported_feature("A quantile that is no literal")
    if isinstance(node.this.this, exp.Literal) and node.this.this.is_string:
        raise unsupported_feature("A quantile that is a text", "Write a number, such as 0.5.")
    order = node.expression
    if not isinstance(order, exp.Order) or len(order.expressions) != 1:
        raise StatementFailed("42883", "a quantile is of one column")
    fraction = infer_type(reading, node.this, place)
    value = infer_type(reading, order.expressions[0].this, place.inside_aggregate())
    is_exact = isinstance(node.this, exp.PercentileDisc)
    if not is_exact and category(value.kind) not in ("N", None):
        raise _no_function("percentile_cont", [fraction, value])
    if not is_exact:
        term = order.expressions[0]
        term.set("this", exp.Cast(this=term.this, to=data_type("float8")))
    return InferredType(value.kind if is_exact else "float8")


@rule(exp.Window)
def _read_window(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    if not place.windows:
        raise StatementFailed("42P20", f"window functions are not allowed in {place.clause}")
    place.level.seen.add("window")
    inner = replace(place, windows=False, clause="window definitions")
    call = node.this
    if isinstance(call, exp.Filter):
        check_condition(
            reading,
            call.expression.this,
            replace(inner, aggregates=False, clause="FILTER"),
            "FILTER",
        )
        call = call.this
    function = function_of(call)
    if function is None or function.sort == "scalar":
        raise StatementFailed("42809", "OVER is for aggregate and window functions")
    result = _check_call(reading, call, function, inner)
    window_parts(reading, node, inner)
    return result


def window_parts(reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext) -> None:
    """Check the partition and order of a window."""
    for part in node.args.get("partition_by") or []:
        settle_text(reading, part, infer_type(reading, part, place))
    if node.args.get("order") is not None:
        order_terms(reading, node.args["order"], place)
    spec = node.args.get("spec")
    if spec is None:
        return
    for name, word in spec.args.items():
        if isinstance(word, str):
            spec.set(name, word.upper())
    if spec.args.get("kind") not in ("ROWS", "RANGE", "GROUPS"):
        raise unsupported_feature("This frame of a window")
    for end in ("start", "end"):
        bound = spec.args.get(end)
        is_number = isinstance(bound, exp.Literal) and bound.name.isdecimal()
        if (not is_number and bound not in _ENDS) or spec.args.get(f"{end}_side") not in _SIDES:
            raise unsupported_feature("This frame of a window", "Use whole numbers of rows.")


@rule(exp.Grouping)
def _read_grouping(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    _check_aggregate_place(place)
    for argument in node.expressions:
        infer_type(reading, argument, place.inside_aggregate())
    return InferredType("int4")


@rule(exp.Extract)
def _read_extract(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    if not isinstance(node.this, exp.Var) or node.this.name.upper() not in DATE_PARTS:
        raise unsupported_feature("This part of a date")
    found = infer_type(reading, node.expression, place)
    if category(found.kind) not in ("D", "T", "I", None) or found.kind == UNKNOWN:
        raise _no_function("extract", [found])
    return InferredType("numeric")


@rule(exp.TimestampTrunc)
def _read_truncation(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    unit = node.args.get("unit")
    if not isinstance(unit, exp.Var) or unit.name.upper() not in TRUNCATIONS:
        raise unsupported_feature("This unit of date_trunc")
    found = infer_type(reading, node.this, place)
    if found.kind not in ("date", "timestamp", "timestamptz"):
        raise _no_function("date_trunc", [InferredType("text"), found])
    kind = "timestamp" if found.kind == "date" else found.kind
    node.set("this", exp.Cast(this=node.this, to=data_type(kind)))
    return InferredType(kind)


@rule(exp.AtTimeZone)
def _read_time_zone(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    zone = node.args["zone"]
    if not isinstance(zone, exp.Literal) or not zone.is_string:
        raise unsupported_feature("A time zone that is no literal")
    found = infer_type(reading, node.this, place)
    if common(found.kind, "timestamptz") is None or found.kind == UNKNOWN:
        raise _no_function("timezone", [InferredType("text"), found])
    mark_fallible(node)
    return InferredType("timestamp" if found.kind == "timestamptz" else "timestamptz")
