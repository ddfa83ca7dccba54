"""The list: each construct that may be asked, the rule that makes it total, and the arguments it may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions import arithmetic, casts, choices, compare, dates, functions, texts
from discreet.answer.expressions.refusals import called, not_allowed
from discreet.answer.expressions.typed import (
    LARGEST,
    NULL,
    SMALLEST,
    Typed,
    boolean,
    integer,
    real_literal,
    refused,
    text_literal,
)
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

Visit = Callable[[exp.Expr], Typed]
Rule = Callable[[exp.Expr, Visit], Typed]


def _literal(node: exp.Expr, visit: Visit) -> Typed:
    del visit
    written = str(node.this)
    if node.is_string:
        return text_literal(written)
    rough = float(written)  # first: a fraction of 1e999999999 would fill the memory
    is_zero = not any(digit in "123456789" for digit in written.lower().partition("e")[0])
    if not (is_zero or SMALLEST <= rough <= LARGEST):
        raise refused("A number is too large or too small.", "Numbers go from 1e-30 to 1e30.")
    value = Fraction(0) if is_zero else Fraction(written)
    if value.denominator == 1 and value < 2**63:
        return integer(int(value))
    size = Fraction(float(value))
    return Typed(
        tree=real_literal(float(value)),
        kind=Kind.REAL,
        low=size,
        high=size,
        step=value,
        nullable=False,
        most=size,
        least=size,
    )


def _truth(node: exp.Expr, visit: Visit) -> Typed:
    del visit
    value = bool(node.this)
    return replace(boolean(exp.Boolean(this=value)), values=(value,))


def _null(node: exp.Expr, visit: Visit) -> Typed:
    del node, visit
    return NULL


def _is(node: exp.Expr, visit: Visit) -> Typed:
    value = visit(node.this)
    if isinstance(node.expression, exp.Boolean):
        return compare.is_truth(value, wanted=bool(node.expression.this))
    if isinstance(node.expression, exp.Null):
        return compare.is_null(value)
    raise not_allowed(node)


def _joined(node: exp.Expr, visit: Visit) -> Typed:
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    return compare.both(kind, [visit(item) for item in flat(node, type(node))])


def flat(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Return the operands of a chain of one operator, from left to right."""
    found: list[exp.Expr] = []
    stack = [node]
    while stack:
        item = stack.pop()
        while isinstance(item, exp.Paren):
            item = item.this
        if type(item) is kind:
            stack += [item.args["expression"], item.this]
        else:
            found.append(item)
    return found


def _in(node: exp.Expr, visit: Visit) -> Typed:
    return compare.among(visit(node.this), [visit(item) for item in node.expressions])


def _like(node: exp.Expr, visit: Visit) -> Typed:
    escape = None
    matched = node
    if isinstance(node, exp.Escape):
        matched, escape = node.this, _constant_text(node.expression, visit)
        if not isinstance(matched, (exp.Like, exp.ILike)) or len(escape) != 1:
            raise not_allowed(node)
    value = visit(matched.this)
    pattern = _constant_text(matched.expression, visit)
    if isinstance(matched, exp.ILike):
        value, pattern = texts.lower(value), pattern.lower()
    found = texts.like(value, texts.read_pattern(pattern, escape))
    return compare.negation(found) if matched.args.get("negate") else found


def _contains(node: exp.Expr, visit: Visit) -> Typed:
    name = called(node).lower()
    parts: list[exp.Expr] = node.expressions or [node.this, node.expression]
    if len(parts) != 2:
        raise not_allowed(node)
    letters: list[str | None] = [*_constant_text(parts[1], visit)]
    before: list[str | None] = [] if name in ("starts_with", "prefix") else [None]
    after: list[str | None] = [] if name in ("ends_with", "suffix") else [None]
    return texts.like(visit(parts[0]), [*before, *letters, *after])


def _case(node: exp.Expr, visit: Visit) -> Typed:
    ifs: list[exp.Expr] = node.args["ifs"]
    tested = visit(node.this) if node.this is not None else None
    tests = [
        compare.truth(visit(item.this), "WHEN")
        if tested is None
        else compare.compare(exp.EQ, tested, visit(item.this))
        for item in ifs
    ]
    default = node.args.get("default")
    return choices.choose(
        [test.tree.copy() for test in tests],
        [visit(item.args["true"]) for item in ifs],
        NULL if default is None else visit(default),
    )


def _if(node: exp.Expr, visit: Visit) -> Typed:
    test = compare.truth(visit(node.this), "IF").tree.copy()
    default = node.args.get("false")
    return choices.choose(
        [test], [visit(node.args["true"])], NULL if default is None else visit(default)
    )


def _several(combine: Callable[[list[Typed]], Typed]) -> Rule:
    def rule(node: exp.Expr, visit: Visit) -> Typed:
        first = [] if node.this is None else [node.this]
        return combine([visit(item) for item in (*first, *node.expressions)])

    return rule


def _one(compute: Callable[[Typed], Typed]) -> Rule:
    return lambda node, visit: compute(visit(node.this))


def _two(compute: Callable[[Typed, Typed], Typed]) -> Rule:
    return lambda node, visit: compute(visit(node.this), visit(node.expression))


def _comparison(kind: type[exp.Binary]) -> Rule:
    return _two(lambda left, right: compare.compare(kind, left, right))


def _sum(node: exp.Expr, visit: Visit) -> Typed:
    is_minus = isinstance(node, exp.Sub)
    left = visit(node.this)
    if isinstance(node.expression, exp.Interval):
        return _shifted(left, node.expression, -1 if is_minus else 1)
    right = visit(node.expression)
    if left.kind is Kind.DATE and right.kind is Kind.DATE and is_minus:
        return dates.days_between(right, left)
    if left.kind is Kind.DATE and isinstance(right.constant, int):
        return dates.shift(left, -right.constant if is_minus else right.constant, "DAY")
    if Kind.TIMESTAMP in (left.kind, right.kind):
        raise refused("A difference of timestamps is refused.", "Use date_diff('day', a, b).")
    return arithmetic.minus(left, right) if is_minus else arithmetic.plus(left, right)


def _shifted(value: Typed, interval: exp.Expr, sign: int) -> Typed:
    amount = interval.this
    written = str(amount.this) if isinstance(amount, exp.Literal) else ""
    unit = interval.args.get("unit")
    if not written.lstrip("-").isdecimal() or not isinstance(unit, exp.Var) or len(written) > 12:
        raise refused(
            "An INTERVAL must be one constant whole number of units.", "Write INTERVAL 3 MONTH."
        )
    return NULL if value.is_null else dates.shift(value, sign * int(written), unit.name)


def _date_added(node: exp.Expr, visit: Visit) -> Typed:
    if not isinstance(node.expression, exp.Interval):
        raise not_allowed(node)
    return _shifted(visit(node.this), node.expression, 1)


def _round(node: exp.Expr, visit: Visit) -> Typed:
    decimals = node.args.get("decimals")
    digits = 0 if decimals is None else _constant_integer(decimals, visit)
    return functions.rounded(visit(node.this), digits)


def _trim(node: exp.Expr, visit: Visit) -> Typed:
    return texts.trim(visit(node.this), str(node.args.get("position") or "BOTH"))


def _substring(node: exp.Expr, visit: Visit) -> Typed:
    length = node.args.get("length")
    start = node.args.get("start")
    if start is None:
        raise refused("substring() needs a place to start from.", "Write substring(text, 1, 3).")
    count = None if length is None else _constant_integer(length, visit)
    return texts.substring(visit(node.this), _constant_integer(start, visit), count)


def _ends(take: Callable[[Typed, int], Typed]) -> Rule:
    return lambda node, visit: take(visit(node.this), _constant_integer(node.expression, visit))


def _replace(node: exp.Expr, visit: Visit) -> Typed:
    replacement = node.args.get("replacement")
    old = _constant_text(node.expression, visit)
    new = _constant_text(replacement, visit) if replacement is not None else ""
    return texts.replaced(visit(node.this), old, new)


def _extract(node: exp.Expr, visit: Visit) -> Typed:
    return dates.part(node.name, visit(node.expression))


def _named_part(name: str) -> Rule:
    return lambda node, visit: dates.part(name, visit(node.this))


def _truncated(node: exp.Expr, visit: Visit) -> Typed:
    return dates.truncate(node.args["unit"].name, visit(node.this))


def _difference(node: exp.Expr, visit: Visit) -> Typed:
    unit = node.args.get("unit")
    if unit is None:
        raise not_allowed(node)
    return dates.difference(unit.name, visit(node.expression), visit(node.this))


def _cast(node: exp.Expr, visit: Visit) -> Typed:
    return casts.cast(visit(node.this), node.args["to"])


def _called(node: exp.Expr, visit: Visit) -> Typed:
    name, parts = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(parts) == 2:
        return dates.part(_constant_text(parts[0], visit), visit(parts[1]))
    if name in ("prefix", "suffix"):
        return _contains(node, visit)
    raise not_allowed(node)


def _constant_text(node: exp.Expr, visit: Visit) -> str:
    value = visit(node).constant
    if isinstance(value, str):
        return value
    raise refused("A text is needed here that the question itself contains.", "Write a literal.")


def _constant_integer(node: exp.Expr, visit: Visit) -> int:
    value = visit(node).constant
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise refused("A whole number is needed here that the question contains.", "Write a literal.")


_PAIR = ("this", "expression")
_LIST = ("this", "expressions", "ignore_nulls")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
RULES: Mapping[type[exp.Expr], tuple[Rule, tuple[str, ...]]] = {
    exp.Literal: (_literal, ("this", "is_string")),
    exp.Boolean: (_truth, ("this",)),
    exp.Null: (_null, ()),
    exp.Paren: (_one(lambda value: value), ("this",)),
    exp.And: (_joined, _PAIR),
    exp.Or: (_joined, _PAIR),
    exp.Not: (_one(compare.negation), ("this",)),
    **{kind: (_comparison(kind), _PAIR) for kind in _COMPARISONS},
    exp.Is: (_is, _PAIR),
    exp.In: (_in, ("this", "expressions")),
    exp.Between: (
        lambda node, visit: compare.between(
            visit(node.this), visit(node.args["low"]), visit(node.args["high"])
        ),
        ("this", "low", "high"),
    ),
    exp.Like: (_like, (*_PAIR, "negate")),
    exp.ILike: (_like, (*_PAIR, "negate")),
    exp.Escape: (_like, _PAIR),
    exp.StartsWith: (_contains, _PAIR),
    exp.EndsWith: (_contains, _PAIR),
    exp.Contains: (_contains, _PAIR),
    exp.Case: (_case, ("this", "ifs", "default")),
    exp.If: (_if, ("this", "true", "false")),
    exp.Coalesce: (_several(choices.first_known), _LIST),
    exp.Nullif: (_two(choices.unless_equal), _PAIR),
    exp.Least: (_several(choices.least), _LIST),
    exp.Greatest: (_several(choices.greatest), _LIST),
    exp.Add: (_sum, _PAIR),
    exp.Sub: (_sum, _PAIR),
    exp.Mul: (_two(arithmetic.times), _PAIR),
    exp.Div: (_two(arithmetic.over), _PAIR),
    exp.IntDiv: (_two(arithmetic.whole_over), _PAIR),
    exp.Mod: (_two(arithmetic.rest), _PAIR),
    exp.Neg: (_one(arithmetic.negative), ("this",)),
    exp.Abs: (_one(functions.absolute), ("this",)),
    exp.Round: (_round, ("this", "decimals")),
    exp.Floor: (_one(functions.floor), ("this",)),
    exp.Ceil: (_one(functions.ceil), ("this",)),
    exp.Sign: (_one(functions.sign), ("this",)),
    exp.Sqrt: (_one(functions.root), ("this",)),
    exp.Cast: (_cast, ("this", "to")),
    exp.TryCast: (_cast, ("this", "to", "safe")),
    exp.DPipe: (
        lambda node, visit: texts.join([visit(item) for item in flat(node, exp.DPipe)]),
        (*_PAIR, "safe"),
    ),
    exp.Concat: (_several(texts.join_known), (*_LIST, "safe", "coalesce")),
    exp.Lower: (_one(texts.lower), ("this",)),
    exp.Upper: (_one(texts.upper), ("this",)),
    exp.Trim: (_trim, ("this", "position")),
    exp.Length: (_one(texts.length), ("this",)),
    exp.Substring: (_substring, ("this", "start", "length")),
    exp.Left: (_ends(texts.left), _PAIR),
    exp.Right: (_ends(texts.right), _PAIR),
    exp.Replace: (_replace, (*_PAIR, "replacement")),
    exp.Extract: (_extract, _PAIR),
    exp.Year: (_named_part("YEAR"), ("this",)),
    exp.Quarter: (_named_part("QUARTER"), ("this",)),
    exp.Month: (_named_part("MONTH"), ("this",)),
    exp.Week: (_named_part("WEEK"), ("this",)),
    exp.WeekOfYear: (_named_part("WEEK"), ("this",)),
    exp.Day: (_named_part("DAY"), ("this",)),
    exp.DayOfMonth: (_named_part("DAY"), ("this",)),
    exp.DayOfYear: (_named_part("DOY"), ("this",)),
    exp.DayOfWeek: (_named_part("DOW"), ("this",)),
    exp.Hour: (_named_part("HOUR"), ("this",)),
    exp.Minute: (_named_part("MINUTE"), ("this",)),
    exp.TimestampTrunc: (_truncated, ("this", "unit")),
    exp.DateTrunc: (_truncated, ("this", "unit")),
    exp.DateAdd: (_date_added, _PAIR),
    exp.DateDiff: (_difference, (*_PAIR, "unit", "date_part_boundary")),
    exp.Anonymous: (_called, ("this", "expressions")),
}
