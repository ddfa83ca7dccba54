"""What holds for an expression on all data: its kind, bounds, step and public values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused

EXACT = 2**53  # whole numbers up to here are exact as reals, too
LARGEST = Fraction(10**30)  # reals of a column are clamped here, so that few products can overflow
SMALLEST = Fraction(1, 10**30)  # reals nearer to zero count as zero: PostgreSQL fails on underflow
FARTHEST = Fraction(10**290)  # what a computed real may reach; doubles end at 1.8e308
NEAREST = Fraction(1, 10**290)
MANY = 10_000  # more public values than this are no domain
CALENDAR = (dt.date(1, 1, 1), dt.date(9999, 12, 31))

_NULLARY = (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Case, exp.Cast)


@dataclass(frozen=True)
class TypedExpression:
    """A total expression and what holds for each of its values.

    Bounds of dates are their ordinals. `most` and `least` are known of every number that was
    computed here: no value is farther from zero than `most`, and none but zero nearer than `least`.
    They keep doubles from overflowing; they are not declared bounds.
    """

    tree: exp.Expr
    kind: Kind
    low: Fraction | None = None
    high: Fraction | None = None
    step: Fraction | None = None  # each value is a multiple, or the double nearest to one
    values: tuple[object, ...] | None = None  # without NULL
    nullable: bool = True
    most: Fraction | None = None
    least: Fraction | None = None
    longest: int | None = None  # characters of a text

    @property
    def is_number(self) -> bool:
        """Whether arithmetic makes sense."""
        return self.kind.is_number

    @property
    def is_null(self) -> bool:
        """Whether this is the literal NULL, which has every kind."""
        return isinstance(self.tree, exp.Null)

    @property
    def constant(self) -> object | None:
        """The value that the question alone decides, or None.

        One public value is not enough: a column may hold what its policy does not list.
        """
        if self.values is None or len(self.values) != 1 or self.nullable:
            return None
        return None if self.tree.find(exp.Column) else self.values[0]


Translator = "Callable[[exp.Expr], Typed]"

NULL = TypedExpression(exp.Null(), Kind.OTHER, values=())


def make_refusal(reason: str, instead: str) -> QuestionRefused:
    """Return a refusal with its reason and what can be asked instead."""
    return QuestionRefused(f"{reason} {instead}")


def parenthesize(tree: exp.Expr) -> exp.Expr:
    """Return a copy of `tree` that can stand inside any operator."""
    is_call = isinstance(tree, exp.Func) and not isinstance(tree, (exp.Binary, exp.Connector))
    copied = tree.copy()
    return copied if is_call or isinstance(tree, _NULLARY) else exp.Paren(this=copied)


def whole_literal(value: int) -> exp.Expr:
    """Return a whole number of 64 bits: a bare one has 32 bits on some engines."""
    return exp.cast(exp.Literal.number(value), "BIGINT")


def real_literal(value: float) -> exp.Expr:
    """Return a double: a number with a point is a decimal on some engines."""
    return exp.cast(bare_literal(value), "DOUBLE")


def bare_literal(value: float) -> exp.Expr:
    """Return a number with an exponent, which no engine reads as a decimal of few digits."""
    written = f"{abs(value)!r}"
    number = exp.Literal.number(written if "e" in written else f"{written}e0")
    return exp.Neg(this=number) if value < 0 else number


def boolean_expression(tree: exp.Expr, *parts: TypedExpression) -> TypedExpression:
    """Return a truth value that is NULL only where one of `parts` is."""
    nullable = any(part.nullable for part in parts)
    return TypedExpression(tree, Kind.BOOLEAN, values=(False, True), nullable=nullable)


def text_literal(value: str) -> TypedExpression:
    """Return a text that the question itself contains."""
    tree = exp.Literal.string(value)
    return TypedExpression(tree, Kind.TEXT, values=(value,), nullable=False, longest=len(value))


def integer_literal(value: int) -> TypedExpression:
    """Return a whole number that the question itself contains."""
    size = Fraction(abs(value))
    return TypedExpression(
        tree=whole_literal(value),
        kind=Kind.INTEGER,
        low=Fraction(value),
        high=Fraction(value),
        step=size or Fraction(1),
        values=(value,),
        nullable=False,
        most=size,
        least=size or Fraction(1),
    )


def value_domain(typed: TypedExpression) -> tuple[object, ...] | None:
    """Return the public values of `typed`, declared or from its bounds and step, or None."""
    if typed.values is not None or typed.kind is not Kind.INTEGER:
        return typed.values
    if typed.low is None or typed.high is None:
        return None
    step = int(typed.step) if typed.step is not None and typed.step.denominator == 1 else 1
    first = -int(-typed.low // step) * step
    last = int(typed.high // step) * step
    return tuple(range(first, last + 1, step)) if last - first < MANY * step else None


def map_domain(
    typed: TypedExpression, change: Callable[[object], object]
) -> tuple[object, ...] | None:
    """Return the public values after `change`, each once."""
    values = value_domain(typed)
    return None if values is None else tuple(dict.fromkeys(change(value) for value in values))
