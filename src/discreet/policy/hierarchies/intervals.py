"""Numbers made coarser: fixed steps, cut points, and coding of the extremes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray
from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.numbers import (
    FixedPointNumbers,
    digits_of,
    read_numbers,
    units_of,
    units_text,
)
from discreet.policy.hierarchies.values import number_text, text_of, yaml_number
from discreet.policy.hierarchy import edge_labels, missing_values

_LARGEST = Decimal(10) ** 18


@dataclass(frozen=True)
class Intervals:
    """Intervals `[30, 35)` of a fixed width per level, laid out from `origin`.

    Below `bottom` a value is `< 18`, from `top` up it is `>= 90`, on every level from the first.

    >>> Intervals((Decimal(5), Decimal(10))).generalize(pa.array([34]), 1).to_pylist()
    ['[30, 35)']
    """

    steps: tuple[Decimal, ...]
    origin: Decimal = Decimal(0)
    bottom: Decimal | None = None
    top: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse steps that are not positive or do not nest."""
        _check_limits((*self.steps, self.origin, *_present_limits(self.bottom, self.top)))
        if not self.steps or min(self.steps) <= 0:
            raise InvalidHierarchy("Steps must be positive. Write for example [5, 10, 20].")
        for fine, coarse in pairwise(self.steps):
            if coarse <= fine or coarse % fine:
                raise InvalidHierarchy(
                    f"Steps {number_text(fine)} and {number_text(coarse)} do not nest. "
                    "Make each step a multiple of the one before."
                )
        _check_coding(self.bottom, self.top)

    @property
    def height(self) -> int:
        """One level per step, and `*`."""
        return len(self.steps) + 1

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the interval of each value."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        digits = digits_of((*self.steps, self.origin, *_present_limits(self.bottom, self.top)))
        step = units_of(self.steps[level - 1], digits=digits)
        origin = units_of(self.origin, digits=digits)
        numbers = read_numbers(values, digits=digits)
        _require_none_missing(numbers.is_other, values)
        group = (numbers.units - origin) // step
        starts, inverse = np.unique(group, return_inverse=True)
        lows = [origin + int(start) * step for start in starts]
        edges = [(low, low + step) for low in lows]
        coding = _Coding.of(self.bottom, self.top, digits=digits)
        return _label_numbers(numbers, inverse, coding.intervals(edges), coding=coding)

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are no numbers."""
        return values.filter(pa.array(read_numbers(values, digits=0).is_other))

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{intervals: [5, 10], origin: 0}`."""
        origin = {"origin": yaml_number(self.origin)} if self.origin else {}
        steps = [yaml_number(step) for step in self.steps]
        return {"intervals": steps, **origin, **_coding_value(self.bottom, self.top)}


@dataclass(frozen=True)
class Cuts:
    """Intervals between cut points; every level keeps some of the cuts of the level below.

    A value before the first or from the last cut on is missed, unless `bottom` or `top` codes it.

    >>> ages = Cuts(((Decimal(0), Decimal(18), Decimal(65), Decimal(120)),))
    >>> ages.generalize(pa.array([17, 18]), 1).to_pylist()
    ['[0, 18)', '[18, 65)']
    """

    levels: tuple[tuple[Decimal, ...], ...]
    bottom: Decimal | None = None
    top: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse cuts that do not increase, do not nest, or end at different places."""
        if not self.levels:
            raise InvalidHierarchy("Cuts need at least one level. Write for example [0, 18, 65].")
        for cuts in self.levels:
            _check_limits((*cuts, *_present_limits(self.bottom, self.top)))
            if len(cuts) < 2 or any(b <= a for a, b in pairwise(cuts)):
                raise InvalidHierarchy("Cuts must increase and be at least two.")
        for number, (fine, coarse) in enumerate(pairwise(self.levels), start=2):
            extra = sorted(set(coarse) - set(fine))
            if extra:
                raise InvalidHierarchy(
                    f"Level {number} cuts at {number_text(extra[0])}, where the level below does "
                    "not, so they do not nest. Leave out cuts from level to level, add none."
                )
            if (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
                raise InvalidHierarchy("All levels of cuts must begin and end at the same numbers.")
        _check_coding(self.bottom, self.top)

    @property
    def height(self) -> int:
        """One level per list of cuts, and `*`."""
        return len(self.levels) + 1

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the interval of each value."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        digits = self._grid_digits()
        numbers = read_numbers(values, digits=digits)
        _require_none_missing(self._find_uncovered(numbers, digits), values)
        cuts = [units_of(cut, digits=digits) for cut in self.levels[level - 1]]
        group = np.searchsorted(_cast_cuts(cuts, numbers.units), numbers.units, side="right") - 1
        coding = _Coding.of(self.bottom, self.top, digits=digits)
        inverse = np.clip(group, 0, len(cuts) - 2)
        return _label_numbers(numbers, inverse, coding.intervals(pairwise(cuts)), coding=coding)

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are no numbers or lie outside the cuts."""
        digits = self._grid_digits()
        return values.filter(
            pa.array(self._find_uncovered(read_numbers(values, digits=digits), digits))
        )

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{cuts: [0, 18, 65]}`, or a list of such lists."""
        levels = [[yaml_number(cut) for cut in cuts] for cuts in self.levels]
        cuts: list[Any] = levels[0] if len(levels) == 1 else levels
        return {"cuts": cuts, **_coding_value(self.bottom, self.top)}

    def _grid_digits(self) -> int:
        return digits_of((*self.levels[0], *_present_limits(self.bottom, self.top)))

    def _find_uncovered(self, numbers: FixedPointNumbers, digits: int) -> NDArray[np.bool_]:
        first = units_of(self.levels[0][0], digits=digits)
        last = units_of(self.levels[0][-1], digits=digits)
        coding = _Coding.of(self.bottom, self.top, digits=digits)
        below, above = coding.codes(numbers)
        inside = numbers.is_finite & (numbers.units >= first) & (numbers.units < last)
        return ~(inside | below | above | numbers.is_null | numbers.is_nan)


@dataclass(frozen=True)
class Extremes:
    """Only the extremes made coarser: below `bottom` is `< 18`, from `top` up is `>= 90`.

    >>> Extremes(top=Decimal(90)).generalize(pa.array([34, 97]), 1).to_pylist()
    ['34', '>= 90']
    """

    bottom: Decimal | None = None
    top: Decimal | None = None

    def __post_init__(self) -> None:
        """Refuse a coding without limits, or with limits that cross."""
        if self.bottom is None and self.top is None:
            raise InvalidHierarchy("Coding of extremes needs `bottom`, `top` or both.")
        _check_limits(_present_limits(self.bottom, self.top))
        _check_coding(self.bottom, self.top)

    @property
    def height(self) -> int:
        """The coded values, and `*`."""
        return 2

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the values with their extremes coded."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        digits = digits_of(_present_limits(self.bottom, self.top))
        numbers = read_numbers(values, digits=digits)
        _require_none_missing(numbers.is_other, values)
        coding = _Coding.of(self.bottom, self.top, digits=digits)
        labels = text_of(values).to_numpy(zero_copy_only=False)
        below, above = coding.codes(numbers)
        labels[below], labels[above] = coding.below_label, coding.above_label
        return pa.array(labels, pa.string())

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are no numbers."""
        return values.filter(pa.array(read_numbers(values, digits=0).is_other))

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{bottom: 18, top: 90}`."""
        return _coding_value(self.bottom, self.top)


@dataclass(frozen=True)
class _Coding:
    """Bottom and top coding in steps of 10^-digits."""

    bottom: int | None
    top: int | None
    digits: int

    @staticmethod
    def of(bottom: Decimal | None, top: Decimal | None, *, digits: int) -> _Coding:
        low = None if bottom is None else units_of(bottom, digits=digits)
        high = None if top is None else units_of(top, digits=digits)
        return _Coding(low, high, digits)

    @property
    def below_label(self) -> str:
        return "" if self.bottom is None else f"< {units_text(self.bottom, digits=self.digits)}"

    @property
    def above_label(self) -> str:
        return "" if self.top is None else f">= {units_text(self.top, digits=self.digits)}"

    def codes(self, numbers: FixedPointNumbers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which numbers are coded as below and which as above."""
        below = above = np.zeros(len(numbers.units), np.bool_)
        if self.bottom is not None:
            below = (numbers.is_finite & (numbers.units < self.bottom)) | (numbers.infinite < 0)
        if self.top is not None:
            above = (numbers.is_finite & (numbers.units >= self.top)) | (numbers.infinite > 0)
        return below.astype(np.bool_), above.astype(np.bool_)

    def intervals(self, edges: Iterable[tuple[int, int]]) -> list[str]:
        """Return the labels `[30, 35)`, cut where the coding begins, so that they stay true."""
        return [f"[{self._clamped_text(low)}, {self._clamped_text(high)})" for low, high in edges]

    def _clamped_text(self, units: int) -> str:
        if self.bottom is not None:
            units = max(units, self.bottom)
        if self.top is not None:
            units = min(units, self.top)
        return units_text(units, digits=self.digits)


def _label_numbers(
    numbers: FixedPointNumbers, inverse: NDArray[Any], labels: list[str], *, coding: _Coding
) -> ArrowArray:
    """Return each number's label: its interval, or the word for what lies outside of all."""
    indices = inverse.astype(np.int64)
    below, above = coding.codes(numbers)
    words = [*labels, "NaN", "inf", "-inf", coding.below_label, coding.above_label]
    outside = (numbers.is_nan, numbers.infinite > 0, numbers.infinite < 0, below, above)
    for index, where in enumerate(outside, start=len(labels)):
        indices[where] = index
    return pa.array(words, pa.string()).take(pa.array(indices, mask=numbers.is_null))


def _cast_cuts(cuts: list[int], units: NDArray[Any]) -> NDArray[Any]:
    return np.array(cuts, dtype=units.dtype)


def _present_limits(*limits: Decimal | None) -> tuple[Decimal, ...]:
    return tuple(limit for limit in limits if limit is not None)


def _coding_value(bottom: Decimal | None, top: Decimal | None) -> dict[str, Any]:
    limits = (("bottom", bottom), ("top", top))
    return {name: yaml_number(limit) for name, limit in limits if limit is not None}


def _check_limits(limits: tuple[Decimal, ...]) -> None:
    if not all(limit.is_finite() for limit in limits):
        raise InvalidHierarchy("A limit is not a finite number. Write it in digits.")
    digits = digits_of(limits)
    if any(abs(limit).scaleb(digits) >= _LARGEST for limit in limits):
        raise InvalidHierarchy("A limit has more than 18 digits. Use shorter numbers.")


def _check_coding(bottom: Decimal | None, top: Decimal | None) -> None:
    if bottom is not None and top is not None and bottom >= top:
        raise InvalidHierarchy(
            f"`bottom` {number_text(bottom)} is not below `top` {number_text(top)}. Swap them."
        )


def _require_none_missing(missed: NDArray[np.bool_], values: ArrowArray) -> None:
    if missed.any():
        raise missing_values(values.filter(pa.array(missed)), of=values, where="The hierarchy")
