"""The allow-list of expressions: each construct, the rule that makes it total, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions import arithmetic, casts, choices, compare, dates, functions, texts
from discreet.answer.expressions.refusals import node_name, not_allowed
from discreet.answer.expressions.typed import (
    LARGEST,
    NULL,
    SMALLEST,
    TypedExpression,
    boolean_expression,
    integer_literal,
    make_refusal,
    real_literal,
    text_literal,
)
from discreet.engines.engine import Kind

Visit = Callable[[exp.Expr], TypedExpression]
Rule = Callable[[exp.Expr, Visit], TypedExpression]


def _literal_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    del visit
    written = str(node.this)
    if node.is_string:
        return text_literal(written)
    rough = float(written)  # first: a fraction of 1e999999999 would fill the memory
    is_zero = not any(digit in "123456789" for digit in written.lower().partition("e")[0])
    if not (is_zero or SMALLEST <= rough <= LARGEST):
        raise make_refusal("A number is too large or too small.", "Numbers go from 1e-30 to 1e30.")
    value = Fraction(0) if is_zero else Fraction(written)
    if value.denominator == 1 and value < 2**63:
        return integer_literal(int(value))
    size = Fraction(float(value))
    return TypedExpression(
        tree=real_literal(float(value)),
        kind=Kind.REAL,
        low=size,
        high=size,
        step=value,
        nullable=False,
        most=size,
        least=size,
    )


def _boolean_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    del visit
    value = bool(node.this)
    return replace(boolean_expression(exp.Boolean(this=value)), values=(value,))


def _null_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    del node, visit
    return NULL


def _is_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    value = visit(node.this)
    if isinstance(node.expression, exp.Boolean):
        return compare.truth_condition(value, wanted=bool(node.expression.this))
    if isinstance(node.expression, exp.Null):
        return compare.null_condition(value)
    raise not_allowed(node)


def _connective_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    kind = exp.And if isinstance(node, exp.And) else exp.Or
    return compare.join_conditions(kind, [visit(item) for item in flatten_chain(node, type(node))])


def flatten_chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
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


def _in_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    return compare.membership_condition(
        visit(node.this), [visit(item) for item in node.expressions]
    )


def _like_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    escape = None
    matched = node
    if isinstance(node, exp.Escape):
        matched, escape = node.this, _constant_text(node.expression, visit)
        if not isinstance(matched, (exp.Like, exp.ILike)) or len(escape) != 1:
            raise not_allowed(node)
    value = visit(matched.this)
    pattern = _constant_text(matched.expression, visit)
    if isinstance(matched, exp.ILike):
        value, pattern = texts.lower_case(value), pattern.lower()
    found = texts.match_like(value, texts.parse_like_pattern(pattern, escape))
    return compare.negate_condition(found) if matched.args.get("negate") else found


def _contains_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    name = node_name(node).lower()
    parts: list[exp.Expr] = node.expressions or [node.this, node.expression]
    if len(parts) != 2:
        raise not_allowed(node)
    letters: list[str | None] = [*_constant_text(parts[1], visit)]
    before: list[str | None] = [] if name in ("starts_with", "prefix") else [None]
    after: list[str | None] = [] if name in ("ends_with", "suffix") else [None]
    return texts.match_like(visit(parts[0]), [*before, *letters, *after])


def _case_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    ifs: list[exp.Expr] = node.args["ifs"]
    tested = visit(node.this) if node.this is not None else None
    tests = [
        compare.require_condition(visit(item.this), "WHEN")
        if tested is None
        else compare.compare_values(exp.EQ, tested, visit(item.this))
        for item in ifs
    ]
    default = node.args.get("default")
    return choices.choose_case(
        [test.tree.copy() for test in tests],
        [visit(item.args["true"]) for item in ifs],
        NULL if default is None else visit(default),
    )


def _if_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    test = compare.require_condition(visit(node.this), "IF").tree.copy()
    default = node.args.get("false")
    return choices.choose_case(
        [test], [visit(node.args["true"])], NULL if default is None else visit(default)
    )


def _variadic_rule(combine: Callable[[list[TypedExpression]], TypedExpression]) -> Rule:
    def rule(node: exp.Expr, visit: Visit) -> TypedExpression:
        first = [] if node.this is None else [node.this]
        return combine([visit(item) for item in (*first, *node.expressions)])

    return rule


def _unary_rule(compute: Callable[[TypedExpression], TypedExpression]) -> Rule:
    return lambda node, visit: compute(visit(node.this))


def _binary_rule(compute: Callable[[TypedExpression, TypedExpression], TypedExpression]) -> Rule:
    return lambda node, visit: compute(visit(node.this), visit(node.expression))


def _comparison_rule(kind: type[exp.Binary]) -> Rule:
    return _binary_rule(lambda left, right: compare.compare_values(kind, left, right))


def _sum_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    is_minus = isinstance(node, exp.Sub)
    left = visit(node.this)
    if isinstance(node.expression, exp.Interval):
        return _shift_by_interval(left, node.expression, -1 if is_minus else 1)
    right = visit(node.expression)
    if left.kind is Kind.DATE and right.kind is Kind.DATE and is_minus:
        return dates.days_between(right, left)
    if left.kind is Kind.DATE and isinstance(right.constant, int):
        return dates.shift_date(left, -right.constant if is_minus else right.constant, "DAY")
    if Kind.TIMESTAMP in (left.kind, right.kind):
        raise make_refusal("A difference of timestamps is refused.", "Use date_diff('day', a, b).")
    return arithmetic.minus(left, right) if is_minus else arithmetic.plus(left, right)


def _shift_by_interval(value: TypedExpression, interval: exp.Expr, sign: int) -> TypedExpression:
    amount = interval.this
    written = str(amount.this) if isinstance(amount, exp.Literal) else ""
    unit = interval.args.get("unit")
    if not written.lstrip("-").isdecimal() or not isinstance(unit, exp.Var) or len(written) > 12:
        raise make_refusal(
            "An INTERVAL must be one constant whole number of units.", "Write INTERVAL 3 MONTH."
        )
    return NULL if value.is_null else dates.shift_date(value, sign * int(written), unit.name)


def _date_addition_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    if not isinstance(node.expression, exp.Interval):
        raise not_allowed(node)
    return _shift_by_interval(visit(node.this), node.expression, 1)


def _round_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    decimals = node.args.get("decimals")
    digits = 0 if decimals is None else _constant_integer(decimals, visit)
    return functions.round_number(visit(node.this), digits)


def _trim_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    return texts.trim_text(visit(node.this), str(node.args.get("position") or "BOTH"))


def _substring_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    length = node.args.get("length")
    start = node.args.get("start")
    if start is None:
        raise make_refusal(
            "substring() needs a place to start from.", "Write substring(text, 1, 3)."
        )
    count = None if length is None else _constant_integer(length, visit)
    return texts.take_substring(visit(node.this), _constant_integer(start, visit), count)


def _text_end_rule(take: Callable[[TypedExpression, int], TypedExpression]) -> Rule:
    return lambda node, visit: take(visit(node.this), _constant_integer(node.expression, visit))


def _replace_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    replacement = node.args.get("replacement")
    old = _constant_text(node.expression, visit)
    new = _constant_text(replacement, visit) if replacement is not None else ""
    return texts.replace_in_text(visit(node.this), old, new)


def _extract_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    return dates.extract_date_part(node.name, visit(node.expression))


def _date_part_rule(name: str) -> Rule:
    return lambda node, visit: dates.extract_date_part(name, visit(node.this))


def _date_truncation_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    return dates.truncate_date(node.args["unit"].name, visit(node.this))


def _date_difference_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    unit = node.args.get("unit")
    if unit is None:
        raise not_allowed(node)
    return dates.date_difference(unit.name, visit(node.expression), visit(node.this))


def _cast_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    return casts.cast_expression(visit(node.this), node.args["to"])


def _function_call_rule(node: exp.Expr, visit: Visit) -> TypedExpression:
    name, parts = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(parts) == 2:
        return dates.extract_date_part(_constant_text(parts[0], visit), visit(parts[1]))
    if name in ("prefix", "suffix"):
        return _contains_rule(node, visit)
    raise not_allowed(node)


def _constant_text(node: exp.Expr, visit: Visit) -> str:
    value = visit(node).constant
    if isinstance(value, str):
        return value
    raise make_refusal(
        "A text is needed here that the question itself contains.", "Write a literal."
    )


def _constant_integer(node: exp.Expr, visit: Visit) -> int:
    value = visit(node).constant
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise make_refusal(
        "A whole number is needed here that the question contains.", "Write a literal."
    )


_PAIR = ("this", "expression")
_LIST = ("this", "expressions", "ignore_nulls")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
RULES: Mapping[type[exp.Expr], tuple[Rule, tuple[str, ...]]] = {
    exp.Literal: (_literal_rule, ("this", "is_string")),
    exp.Boolean: (_boolean_rule, ("this",)),
    exp.Null: (_null_rule, ()),
    exp.Paren: (_unary_rule(lambda value: value), ("this",)),
    exp.And: (_connective_rule, _PAIR),
    exp.Or: (_connective_rule, _PAIR),
    exp.Not: (_unary_rule(compare.negate_condition), ("this",)),
    **{kind: (_comparison_rule(kind), _PAIR) for kind in _COMPARISONS},
    exp.Is: (_is_rule, _PAIR),
    exp.In: (_in_rule, ("this", "expressions")),
    exp.Between: (
        lambda node, visit: compare.between_condition(
            visit(node.this), visit(node.args["low"]), visit(node.args["high"])
        ),
        ("this", "low", "high"),
    ),
    exp.Like: (_like_rule, (*_PAIR, "negate")),
    exp.ILike: (_like_rule, (*_PAIR, "negate")),
    exp.Escape: (_like_rule, _PAIR),
    exp.StartsWith: (_contains_rule, _PAIR),
    exp.EndsWith: (_contains_rule, _PAIR),
    exp.Contains: (_contains_rule, _PAIR),
    exp.Case: (_case_rule, ("this", "ifs", "default")),
    exp.If: (_if_rule, ("this", "true", "false")),
    exp.Coalesce: (_variadic_rule(choices.coalesce_values), _LIST),
    exp.Nullif: (_binary_rule(choices.null_if_equal), _PAIR),
    exp.Least: (_variadic_rule(choices.least), _LIST),
    exp.Greatest: (_variadic_rule(choices.greatest), _LIST),
    exp.Add: (_sum_rule, _PAIR),
    exp.Sub: (_sum_rule, _PAIR),
    exp.Mul: (_binary_rule(arithmetic.times), _PAIR),
    exp.Div: (_binary_rule(arithmetic.divide_numbers), _PAIR),
    exp.IntDiv: (_binary_rule(arithmetic.divide_whole_numbers), _PAIR),
    exp.Mod: (_binary_rule(arithmetic.remainder_of), _PAIR),
    exp.Neg: (_unary_rule(arithmetic.negate_number), ("this",)),
    exp.Abs: (_unary_rule(functions.absolute), ("this",)),
    exp.Round: (_round_rule, ("this", "decimals")),
    exp.Floor: (_unary_rule(functions.floor), ("this",)),
    exp.Ceil: (_unary_rule(functions.ceil), ("this",)),
    exp.Sign: (_unary_rule(functions.sign), ("this",)),
    exp.Sqrt: (_unary_rule(functions.square_root), ("this",)),
    exp.Cast: (_cast_rule, ("this", "to")),
    exp.TryCast: (_cast_rule, ("this", "to", "safe")),
    exp.DPipe: (
        lambda node, visit: texts.concatenate_texts(
            [visit(item) for item in flatten_chain(node, exp.DPipe)]
        ),
        (*_PAIR, "safe"),
    ),
    exp.Concat: (_variadic_rule(texts.concatenate_known_texts), (*_LIST, "safe", "coalesce")),
    exp.Lower: (_unary_rule(texts.lower_case), ("this",)),
    exp.Upper: (_unary_rule(texts.upper_case), ("this",)),
    exp.Trim: (_trim_rule, ("this", "position")),
    exp.Length: (_unary_rule(texts.text_length), ("this",)),
    exp.Substring: (_substring_rule, ("this", "start", "length")),
    exp.Left: (_text_end_rule(texts.take_left), _PAIR),
    exp.Right: (_text_end_rule(texts.take_right), _PAIR),
    exp.Replace: (_replace_rule, (*_PAIR, "replacement")),
    exp.Extract: (_extract_rule, _PAIR),
    exp.Year: (_date_part_rule("YEAR"), ("this",)),
    exp.Quarter: (_date_part_rule("QUARTER"), ("this",)),
    exp.Month: (_date_part_rule("MONTH"), ("this",)),
    exp.Week: (_date_part_rule("WEEK"), ("this",)),
    exp.WeekOfYear: (_date_part_rule("WEEK"), ("this",)),
    exp.Day: (_date_part_rule("DAY"), ("this",)),
    exp.DayOfMonth: (_date_part_rule("DAY"), ("this",)),
    exp.DayOfYear: (_date_part_rule("DOY"), ("this",)),
    exp.DayOfWeek: (_date_part_rule("DOW"), ("this",)),
    exp.Hour: (_date_part_rule("HOUR"), ("this",)),
    exp.Minute: (_date_part_rule("MINUTE"), ("this",)),
    exp.TimestampTrunc: (_date_truncation_rule, ("this", "unit")),
    exp.DateTrunc: (_date_truncation_rule, ("this", "unit")),
    exp.DateAdd: (_date_addition_rule, _PAIR),
    exp.DateDiff: (_date_difference_rule, (*_PAIR, "unit", "date_part_boundary")),
    exp.Anonymous: (_function_call_rule, ("this", "expressions")),
}
