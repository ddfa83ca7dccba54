"""How operators are read: comparisons, patterns, CASE and arithmetic, between kinds that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import refused
from discreet.guard.rewrite.expressions import condition, matched, settle_text
from discreet.guard.rewrite.kinds import UNKNOWN, WHOLE, Typed, category, common, long_name
from discreet.guard.rewrite.reading import Place, Reading, fails, rule, settle, typed
from discreet.guard.rewrite.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_BOOLEAN = Typed("bool")


def no_operator(symbol: str, left: str | None, right: str | None) -> StatementFailed:
    """Return PostgreSQL's answer to an operator between kinds that it does not have."""
    return StatementFailed(
        "42883",
        f"operator does not exist: {long_name(left)} {symbol} {long_name(right)}",
        hint="You might need to add explicit type casts.",
    )


def compare(
    reading: Reading,
    symbol: str,
    left: tuple[exp.Expr, Typed],
    right: tuple[exp.Expr | None, Typed],
) -> bool:
    """Check that two values can be compared, settle literals, and tell whether that cannot fail."""
    met = common(left[1].kind, right[1].kind)
    if met is None and left[1].kind is not None and right[1].kind is not None:
        raise no_operator(symbol, left[1].kind, right[1].kind)
    kind = "text" if met == UNKNOWN else met
    for node, found in (left, right):
        if found.kind == UNKNOWN and node is not None:
            settle(reading, node, kind)
    return met is not None


@rule(*list(_SYMBOLS)[:8])
def _comparison(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    symbol = _SYMBOLS[type(node)]
    if isinstance(node.expression, (exp.Any, exp.All)):
        lefts = _row(node.this)
        _compare_with_query(reading, lefts, node.expression.this, place, symbol)
        return _BOOLEAN
    lefts, rights = _row(node.this), _row(node.expression)
    if len(lefts) != len(rights):
        raise StatementFailed("42601", "unequal number of entries in row expressions")
    for left, right in zip(lefts, rights, strict=True):
        pair = typed(reading, left, place), typed(reading, right, place)
        if not compare(reading, symbol, (left, pair[0]), (right, pair[1])):
            fails(node)
    return _BOOLEAN


def _row(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts of a row in brackets, or the one value."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _compare_with_query(
    reading: Reading, lefts: list[exp.Expr], query: exp.Expr, place: Place, symbol: str
) -> None:
    if not isinstance(query, (exp.Query, exp.Values)):
        raise refused("ANY or ALL of an array", "Use IN with a list of values.")
    found = [typed(reading, left, place) for left in lefts]
    fields = reading.query(query, Scope(parent=place.scope))
    if len(fields) != len(lefts):
        few = "few" if len(fields) < len(lefts) else "many"
        raise StatementFailed("42601", f"subquery has too {few} columns")
    for left, one, item in zip(lefts, found, fields, strict=True):
        compare(reading, symbol, (left, one), (None, Typed(item.kind)))


@rule(exp.In)
def _in(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    query = node.args.get("query")
    if query is not None:
        _compare_with_query(reading, _row(node.this), query, place, "=")
        return _BOOLEAN
    lefts = _row(node.this)
    found = [typed(reading, left, place) for left in lefts]
    for option in node.expressions:
        rights = _row(option)
        if len(rights) != len(lefts):
            raise StatementFailed("42601", "unequal number of entries in row expressions")
        for left, one, right in zip(lefts, found, rights, strict=True):
            if not compare(reading, "=", (left, one), (right, typed(reading, right, place))):
                fails(node)
    return _BOOLEAN


@rule(exp.Between)
def _between(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    value = typed(reading, node.this, place)
    for symbol, bound in ((">=", "low"), ("<=", "high")):
        limit = node.args[bound]
        if not compare(reading, symbol, (node.this, value), (limit, typed(reading, limit, place))):
            fails(node)
    return _BOOLEAN


@rule(exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike)
def _match(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    for part in (node.this, node.expression):
        found = typed(reading, part, place)
        if category(found.kind) not in ("S", None):
            raise no_operator("~~", found.kind, "unknown")
        settle_text(reading, part, found)
    if isinstance(node, (exp.RegexpLike, exp.RegexpILike)):
        fails(node)
    return _BOOLEAN


@rule(exp.Escape)
def _escape(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    letter = node.expression
    if not isinstance(letter, exp.Literal) or len(letter.name) != 1:
        raise refused("ESCAPE of anything but one letter")
    if not isinstance(node.this, (exp.Like, exp.ILike)):
        raise refused("This ESCAPE")
    return typed(reading, node.this, place)


@rule(exp.Case)
def _case(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    value = node.this
    found = typed(reading, value, place) if value is not None else None
    results = [branch.args["true"] for branch in node.args["ifs"]]
    for branch in node.args["ifs"]:
        if found is None:
            condition(reading, branch.this, place, "CASE/WHEN")
        elif not compare(
            reading, "=", (node.this, found), (branch.this, typed(reading, branch.this, place))
        ):
            fails(node)
    if node.args.get("default") is not None:
        results.insert(0, node.args["default"])
    return matched(reading, results, [typed(reading, result, place) for result in results], "CASE")


@rule(exp.Neg)
def _negative(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    found = typed(reading, node.this, place)
    if category(found.kind) not in ("N", "I", None):
        raise no_operator("-", None, found.kind)
    if found.kind == UNKNOWN:
        settle(reading, node.this, "float8")
    if not isinstance(node.this, exp.Literal):
        fails(node)
    return found


@rule(exp.DPipe)
def _joined(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    pair = [(part, typed(reading, part, place)) for part in (node.this, node.expression)]
    kinds = [found.kind for _, found in pair]
    if not any(category(kind) in ("S", None) for kind in kinds):
        raise no_operator("||", *kinds)
    for part, found in pair:
        settle_text(reading, part, found)
    return Typed("text", sum(found.weight for _, found in pair))


# What dates, times and intervals become: operator, left and right (category, or kind) to kind;
# `left` and `right` are the kind of that side, a date with a time.
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
def _arithmetic(reading: Reading, node: exp.Expr, place: Place) -> Typed:
    symbol = _SYMBOLS[type(node)]
    left, right = typed(reading, node.this, place), typed(reading, node.expression, place)
    left = _settled(reading, node.this, left, right.kind, symbol)
    right = _settled(reading, node.expression, right, left.kind, symbol)
    kinds = left.kind, right.kind
    fails(node)
    if None in kinds:
        return Typed(None)
    if category(kinds[0]) == category(kinds[1]) == "N":
        kind = common(*kinds)
        if isinstance(node, exp.Div) and kind in WHOLE:
            node.meta["whole"] = True
        return Typed(kind)
    return Typed(_time(symbol, *kinds))


def _settled(
    reading: Reading, node: exp.Expr, found: Typed, other: str | None, symbol: str
) -> Typed:
    """Give a literal or parameter beside a number or a date the kind that it must have."""
    if found.kind != UNKNOWN:
        return found
    if category(other) == "D":
        kind = "interval" if symbol == "+" else str(other)
    else:
        kind = "int4" if other in (None, UNKNOWN) else str(other)
    settle(reading, node, kind)
    return Typed(kind)


def _time(symbol: str, left: str | None, right: str | None) -> str:
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
