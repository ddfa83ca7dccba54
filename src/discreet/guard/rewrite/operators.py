"""Checks of operators: comparisons, patterns, CASE and arithmetic, by the types of operands."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    mark_fallible,
    read_subquery,
    rule,
    settle_literal,
)
from discreet.guard.rewrite.arrays import match_arrays, read_quantified
from discreet.guard.rewrite.expressions import check_condition, match_kinds, settle_text
from discreet.guard.rewrite.kinds import (
    UNKNOWN,
    WHOLE,
    InferredType,
    category,
    common,
    element_kind,
    long_name,
)
from discreet.guard.rewrite.scope import Scope

_SYMBOLS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "=",
    exp.NullSafeNEQ: "=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
}
_BOOLEAN = InferredType("bool")
QUANTIFIED = "quantified"  # meta of a comparison with ANY or ALL of an array
JOINED = "of arrays"  # meta of a concatenation: its operands are arrays


def no_operator(symbol: str, left: str | None, right: str | None) -> StatementFailed:
    """Return PostgreSQL's error for an operator that does not exist between two types."""
    return StatementFailed(
        "42883",
        f"operator does not exist: {long_name(left)} {symbol} {long_name(right)}",
        hint="You might need to add explicit type casts.",
    )


def check_comparison(
    reading: StatementAnalysis,
    symbol: str,
    left: tuple[exp.Expr, InferredType],
    right: tuple[exp.Expr | None, InferredType],
) -> bool:
    """Check that two values can be compared, type literals, and return whether that cannot fail."""
    met = common(left[1].kind, right[1].kind)
    if met is None and left[1].kind is not None and right[1].kind is not None:
        raise no_operator(symbol, left[1].kind, right[1].kind)
    kind = "text" if met == UNKNOWN else met
    for node, found in (left, right):
        if found.kind == UNKNOWN and node is not None:
            settle_literal(reading, node, kind)
    return met is not None


@rule(*list(_SYMBOLS)[:8])
def _read_comparison(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    symbol = _SYMBOLS[type(node)]
    if isinstance(node.expression, (exp.Any, exp.All)):
        if isinstance(node.expression.this.unnest(), (exp.Query, exp.Values)):
            lefts = _row_parts(node.this)
            _compare_with_query(reading, lefts, node.expression.this, place, symbol)
        else:
            _compare_with_array(reading, node, place, symbol)
        return _BOOLEAN
    lefts, rights = _row_parts(node.this), _row_parts(node.expression)
    if len(lefts) != len(rights):
        raise StatementFailed("42601", "unequal number of entries in row expressions")
    for left, right in zip(lefts, rights, strict=True):
        pair = infer_type(reading, left, place), infer_type(reading, right, place)
        if not check_comparison(reading, symbol, (left, pair[0]), (right, pair[1])):
            mark_fallible(node)
    return _BOOLEAN


def _row_parts(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a row in brackets, or the one value."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _compare_with_array(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext, symbol: str
) -> None:
    if isinstance(node, (exp.NullSafeEQ, exp.NullSafeNEQ)):
        raise unsupported_feature("IS DISTINCT FROM of ANY or ALL")
    left = infer_type(reading, node.this, place)
    array, element = read_quantified(reading, node.expression, place, left)
    if left.kind not in (UNKNOWN, None) and common(left.kind, element.kind) is None:
        raise no_operator(symbol, left.kind, element.kind)
    if left.kind == UNKNOWN:
        settle_literal(reading, node.this, element.kind)
    node.meta[QUANTIFIED] = array


def _compare_with_query(
    reading: StatementAnalysis,
    lefts: list[exp.Expr],
    query: exp.Expr,
    place: ExpressionContext,
    symbol: str,
) -> None:
    found = [infer_type(reading, left, place) for left in lefts]
    fields = read_subquery(reading, query, Scope(parent=place.scope))
    if len(fields) != len(lefts):
        few = "few" if len(fields) < len(lefts) else "many"
        raise StatementFailed("42601", f"subquery has too {few} columns")
    for left, one, item in zip(lefts, found, fields, strict=True):
        check_comparison(reading, symbol, (left, one), (None, InferredType(item.kind)))


@rule(exp.In)
def _read_in(reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext) -> InferredType:
    query = node.args.get("query")
    if query is not None:
        _compare_with_query(reading, _row_parts(node.this), query, place, "=")
        return _BOOLEAN
    lefts = _row_parts(node.this)
    found = [infer_type(reading, left, place) for left in lefts]
    for option in node.expressions:
        rights = _row_parts(option)
        if len(rights) != len(lefts):
            raise StatementFailed("42601", "unequal number of entries in row expressions")
        for left, one, right in zip(lefts, found, rights, strict=True):
            if not check_comparison(
                reading, "=", (left, one), (right, infer_type(reading, right, place))
            ):
                mark_fallible(node)
    return _BOOLEAN


@rule(exp.Between)
def _read_between(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    value = infer_type(reading, node.this, place)
    for symbol, bound in ((">=", "low"), ("<=", "high")):
        limit = node.args[bound]
        if not check_comparison(
            reading, symbol, (node.this, value), (limit, infer_type(reading, limit, place))
        ):
            mark_fallible(node)
    return _BOOLEAN


@rule(exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike)
def _read_match(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    for part in (node.this, node.expression):
        found = infer_type(reading, part, place)
        if category(found.kind) not in ("S", None):
            raise no_operator("~~", found.kind, "unknown")
        settle_text(reading, part, found)
    if isinstance(node, (exp.RegexpLike, exp.RegexpILike)):
        mark_fallible(node)
    return _BOOLEAN


@rule(exp.Escape)
def _read_escape(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    letter = node.expression
    if not isinstance(letter, exp.Literal) or len(letter.name) != 1:
        raise unsupported_feature("ESCAPE of anything but one letter")
    if not isinstance(node.this, (exp.Like, exp.ILike)):
        raise unsupported_feature("This ESCAPE")
    return infer_type(reading, node.this, place)


@rule(exp.Case)
def _read_case(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    value = node.this
    found = infer_type(reading, value, place) if value is not None else None
    results = [branch.args["true"] for branch in node.args["ifs"]]
    for branch in node.args["ifs"]:
        if found is None:
            check_condition(reading, branch.this, place, "CASE/WHEN")
        elif not check_comparison(
            reading, "=", (node.this, found), (branch.this, infer_type(reading, branch.this, place))
        ):
            mark_fallible(node)
    if node.args.get("default") is not None:
        results.insert(0, node.args["default"])
    return match_kinds(
        reading, results, [infer_type(reading, result, place) for result in results], "CASE"
    )


@rule(exp.Neg)
def _read_negative(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    found = infer_type(reading, node.this, place)
    if category(found.kind) not in ("N", "I", None):
        raise no_operator("-", None, found.kind)
    if found.kind == UNKNOWN:
        settle_literal(reading, node.this, "float8")
    if not isinstance(node.this, exp.Literal):
        mark_fallible(node)
    return found


@rule(exp.DPipe)
def _read_concatenation(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    pair = [(part, infer_type(reading, part, place)) for part in (node.this, node.expression)]
    kinds = [found.kind for _, found in pair]
    if any(element_kind(kind) is not None for kind in kinds):
        return _concatenate_arrays(reading, node, pair)
    if not any(category(kind) in ("S", None) for kind in kinds):
        raise no_operator("||", *kinds)
    for part, found in pair:
        settle_text(reading, part, found)
    return InferredType("text", sum(found.weight for _, found in pair))


# Keys that engines take for what they are: DuckDB takes a star for all keys.
_KEY = re.compile(r'[^"\\*]+')


@rule(exp.JSONExtract, exp.JSONExtractScalar)
def _read_member(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    symbol = "->" if isinstance(node, exp.JSONExtract) else "->>"
    found = infer_type(reading, node.this, place)
    if found.kind != "json":
        raise no_operator(symbol, found.kind, UNKNOWN)
    key = node.expression
    is_place = isinstance(key, exp.Literal) and not key.is_string and key.name.isdecimal()
    is_key = isinstance(key, exp.Literal) and key.is_string and _KEY.fullmatch(key.name)
    if not is_place and not is_key:
        raise unsupported_feature(
            f"{symbol} with this key", "Write a literal name or number, without quotes and stars."
        )
    return InferredType("json" if symbol == "->" else "text", found.weight)


def _concatenate_arrays(
    reading: StatementAnalysis, node: exp.Expr, pair: list[tuple[exp.Expr, InferredType]]
) -> InferredType:
    """Make an element beside an array an array of one."""
    weight = sum(found.weight for _, found in pair)
    array = next(found.kind for _, found in pair if element_kind(found.kind) is not None)
    for key, (_, found) in zip(("this", "expression"), pair, strict=True):
        if found.kind not in (UNKNOWN, array) and common(found.kind, element_kind(array)) == (
            element_kind(array)
        ):
            node.set(key, exp.Array(expressions=[node.args[key]]))
    sides = [node.this, node.expression]
    kinds = [
        InferredType(array) if isinstance(side, exp.Array) else found
        for side, (_, found) in zip(sides, pair, strict=True)
    ]
    match_arrays(reading, sides, kinds, "||")
    node.meta[JOINED] = True
    return InferredType(array, weight)


# Results of arithmetic on dates, times and intervals: operator, left and right (category, or kind)
# to kind; `left` and `right` are the kind of that side, a date with a time.
_TIMES: Mapping[tuple[str, str | None, str | None], str] = {
    ("+", "date", "int4"): "date",
    ("+", "int4", "date"): "date",
    ("-", "date", "int4"): "date",
    ("-", "date", "date"): "int4",
    ("+", "D", "I"): "left",
    ("+", "I", "D"): "right",
    ("-", "D", "I"): "left",
    ("-", "D", "D"): "interval",
    ("+", "date", "T"): "timestamp",
    ("+", "T", "I"): "time",
    ("-", "T", "I"): "time",
    ("-", "T", "T"): "interval",
    ("+", "I", "I"): "interval",
    ("-", "I", "I"): "interval",
    ("*", "I", "N"): "interval",
    ("*", "N", "I"): "interval",
    ("/", "I", "N"): "interval",
}


@rule(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
def _read_arithmetic(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    symbol = _SYMBOLS[type(node)]
    left, right = infer_type(reading, node.this, place), infer_type(reading, node.expression, place)
    left = _settle_operand(reading, node.this, left, right.kind, symbol)
    right = _settle_operand(reading, node.expression, right, left.kind, symbol)
    kinds = left.kind, right.kind
    mark_fallible(node)
    if None in kinds:
        return InferredType(None)
    if category(kinds[0]) == category(kinds[1]) == "N":
        kind = common(*kinds)
        if isinstance(node, exp.Div) and kind in WHOLE:
            node.meta["whole"] = True
        return InferredType(kind)
    return InferredType(_time_kind(symbol, *kinds))


def _settle_operand(
    reading: StatementAnalysis, node: exp.Expr, found: InferredType, other: str | None, symbol: str
) -> InferredType:
    """Give a literal or parameter beside a number or a date its required kind."""
    if found.kind != UNKNOWN:
        return found
    if category(other) == "D":
        kind = "interval" if symbol == "+" else str(other)
    else:
        kind = "int4" if other in (None, UNKNOWN) else str(other)
    settle_literal(reading, node, kind)
    return InferredType(kind)


def _time_kind(symbol: str, left: str | None, right: str | None) -> str:
    for key in (
        (symbol, left, right),
        (symbol, left, category(right)),
        (symbol, category(left), category(right)),
    ):
        kind = _TIMES.get(key)
        if kind in ("left", "right"):
            side = left if kind == "left" else right
            return "timestamp" if side == "date" else str(side)
        if kind is not None:
            return kind
    raise no_operator(symbol, left, right)
