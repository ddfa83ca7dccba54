"""Sensitivity: how far one person can move an answer, derived in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.dp.calculate.loss import format_fraction, nearest_float
from discreet.errors import InvalidMechanism
from discreet.result import Result

Neighbors = Literal["bounded", "unbounded"]
Statistic = Literal["count", "sum", "mean", "histogram", "variance"]
Bounds = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Sensitivity(Result):
    """The most that an answer (or all cells of a histogram, added up) changes with one person.

    `scale` is that of the Laplace noise for `epsilon`, where an epsilon was given.
    """

    statistic: str
    neighbors: str
    sensitivity: float
    exact: str
    n: int | None
    epsilon: float | None
    scale: float | None
    why: str


@dataclass(frozen=True)
class _SensitivityQuery:
    neighbors: Neighbors
    bounds: Bounds | None
    n: int | None

    @property
    def width(self) -> Fraction:
        """The distance between the bounds."""
        lower, upper = self.limits
        return upper - lower

    @property
    def limits(self) -> Bounds:
        """The bounds, which must be there."""
        if self.bounds is None:
            raise InvalidMechanism(
                "Without bounds one person can move it as far as they like. Say what values are "
                "possible: --bounds LOWER,UPPER."
            )
        return self.bounds


def derive_sensitivity(
    statistic: str,
    *,
    neighbors: Neighbors,
    bounds: Bounds | None = None,
    n: int | None = None,
    epsilon: Fraction | None = None,
) -> Sensitivity:
    """Return the sensitivity of a statistic, with its derivation.

    Args:
        statistic: `count`, `sum`, `mean`, `histogram` or `variance` (the mean squared deviation).
        neighbors: `bounded` where one person's value is changed, `unbounded` where one person is
            added or removed.
        bounds: The smallest and largest possible value, known without the data.
        n: The number of people, where it is public.
        epsilon: Also return the scale of the Laplace noise that guarantees it.

    >>> derive_sensitivity("sum", neighbors="bounded", bounds=(Fraction(10000), Fraction(100000))).exact
    '90000'
    """
    if statistic not in STATISTICS:
        raise InvalidMechanism(f"The sensitivity of '{statistic}' is not known here.")
    if bounds is not None and bounds[0] > bounds[1]:
        raise InvalidMechanism("The lower bound is above the upper bound.")
    if n is not None and n < 1:
        raise InvalidMechanism("A table has at least one person.")
    if epsilon is not None and epsilon <= 0:
        raise InvalidMechanism("An epsilon to buy noise with is above 0.")
    found, why = STATISTICS[statistic](_SensitivityQuery(neighbors, bounds, n))
    return Sensitivity(
        statistic=statistic,
        neighbors=neighbors,
        sensitivity=nearest_float(found),
        exact=format_fraction(found),
        n=n,
        epsilon=None if epsilon is None else nearest_float(epsilon),
        scale=None if epsilon is None else nearest_float(found / epsilon),
        why=why,
    )


def _count_sensitivity(question: _SensitivityQuery) -> tuple[Fraction, str]:
    if question.neighbors == "bounded":
        return Fraction(
            1
        ), "A person who changes their value leaves or joins those who are counted: ±1."
    return Fraction(1), "A person who joins or leaves is one more or one less to count: ±1."


def _histogram_sensitivity(question: _SensitivityQuery) -> tuple[Fraction, str]:
    if question.neighbors == "bounded":
        return Fraction(2), (
            "Who changes their value leaves one cell and joins another: two cells change by 1 each."
        )
    return Fraction(1), "Who joins or leaves is in one cell: that cell changes by 1."


def _sum_sensitivity(question: _SensitivityQuery) -> tuple[Fraction, str]:
    lower, upper = question.limits
    if question.neighbors == "bounded":
        return upper - lower, (
            f"Who changes their value changes it by {format_fraction(upper)} - {format_fraction(lower)} at most, and the "
            "sum with it."
        )
    return max(abs(lower), abs(upper)), (
        "Who joins or leaves brings or takes a value that is at most "
        f"max(|{format_fraction(lower)}|, |{format_fraction(upper)}|) away from 0."
    )


def _mean_sensitivity(question: _SensitivityQuery) -> tuple[Fraction, str]:
    width, n = question.width, question.n
    if question.neighbors == "bounded":
        n = _require_size(n)
        return width / n, (
            f"The sum changes by {format_fraction(width)} at most and is divided by n = {n}, which is public."
        )
    if n is None:
        return width, (
            f"The first person moves the mean of no people, which is set within the bounds, by "
            f"{format_fraction(width)} at most. A noisy sum over a noisy count does better."
        )
    return width / n, (
        f"Who leaves {n} people moves the mean by the distance of their value from the mean of the "
        f"others, divided by {n}: {format_fraction(width)} / {n} at most. This holds only where it is public "
        f"that there are at least {n} people; else use a noisy sum over a noisy count."
    )


def _variance_sensitivity(question: _SensitivityQuery) -> tuple[Fraction, str]:
    width, n = question.width, question.n
    if question.neighbors == "unbounded" and n is None:
        return width**2 / 4, (
            "Who joins n - 1 people who agree adds (n - 1)/n² times the squared distance from them; "
            f"that is most for n = 2: {format_fraction(width)}² / 4."
        )
    n = _require_size(n)
    if question.neighbors == "bounded":
        return Fraction(n - 1, n * n) * width**2, (
            f"With m the mean of the {n - 1} others, the variance holds (n - 1)/n² (x - m)² of a value "
            f"x. That changes by ({n} - 1)/{n}² × {format_fraction(width)}² at most, when the others agree on "
            "a bound."
        )
    larger = max(Fraction(size - 1, size * size) for size in (n, n + 1))
    return larger * width**2, (
        f"Who joins or leaves makes tables of {n - 1} and {n}, or of {n} and {n + 1} people. The "
        "larger one, with n people, has (n - 1)/n² times the squared distance of that person from "
        f"the others more: {format_fraction(larger)} × {format_fraction(width)}² at most. This holds only where it is "
        f"public that there are at least {n} people."
    )


def _require_size(n: int | None) -> int:
    if n is None:
        raise InvalidMechanism(
            "Between bounded neighbors the number of people is public, and it matters here. Give it: "
            "--n N."
        )
    return n


STATISTICS: dict[str, Callable[[_SensitivityQuery], tuple[Fraction, str]]] = {
    "count": _count_sensitivity,
    "sum": _sum_sensitivity,
    "mean": _mean_sensitivity,
    "histogram": _histogram_sensitivity,
    "variance": _variance_sensitivity,
}
