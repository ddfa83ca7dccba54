"""Outliers: the few people at the ends of a column who force all rows into coarse classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.policy.model import Clip
from discreet.policy.write import flow_text, step_value
from discreet.release.anonymize.frequencies import sum_by_label
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.recoding import Recoding, attribute_losses


@dataclass(frozen=True)
class Outliers:
    """The ends of a column beyond which fewer than `k` people are, and the clipping that helps."""

    column: str
    k: int
    bounds: tuple[Decimal, Decimal]
    below: int
    above: int
    people: int
    saved: float  # the share of the column's range that lies beyond the bounds

    @property
    def clip(self) -> Clip:
        """The step that would have helped."""
        return Clip(self.column, self.bounds)

    @property
    def words(self) -> str:
        """One sentence for people, with the step to write into the policy."""
        low, high = self.bounds
        ends = [
            f"{_people_text(count)} {side} {bound:f}"
            for count, side, bound in ((self.below, "below", low), (self.above, "above", high))
            if count
        ]
        verb = "is" if self.below + self.above == 1 else "are"
        them = "there" if len(ends) == 1 else "at either end"
        return (
            f"In column '{self.column}' {' and '.join(ends)} {verb} on {100 * self.saved:.0f} % of the "
            f"range: too few {them} for a class of {self.k}. "
            f"Consider the step `{flow_text(step_value(self.clip))[1:-1]}`."
        )


def find_outliers(
    values: Sequence[Any] | NDArray[Any],
    counts: Sequence[int] | NDArray[np.int64],
    *,
    k: int,
    column: str,
) -> Outliers | None:
    """Return the bounds that leave at least `k` people at either end, or None if there are such now.

    `values` are different numbers in ascending order, none missing, and `counts` the people who have
    them; infinite ones and NaN are left aside. Clipped to the bounds, the smallest and the largest number are shared by `k` people or more.
    None as well where too few people are there for two ends.

    >>> find_outliers([17, 30, 40, 90], [1, 5, 6, 2], k=5, column="age").words
    "In column 'age' 1 person below 30 and 2 people above 40 are on 86 % of the range: too few at either end for a class of 5. Consider the step `clip: {column: age, bounds: [30, 40]}`."
    """
    is_finite = np.isfinite(np.asarray(values, dtype=np.float64))
    values = [value for value, finite in zip(values, is_finite, strict=True) if finite]
    people = np.asarray(counts, dtype=np.int64)[is_finite]
    total = int(people.sum())
    if total < 2 * k:
        return None
    first = int(np.searchsorted(np.cumsum(people), k))
    last = len(people) - 1 - int(np.searchsorted(np.cumsum(people[::-1]), k))
    if first >= last or (first, last) == (0, len(people) - 1):
        return None
    lowest, low, high, highest = (Decimal(str(values[i])) for i in (0, first, last, -1))
    return Outliers(
        column,
        k,
        (low, high),
        below=int(people[:first].sum()),
        above=int(people[last + 1 :].sum()),
        people=total,
        saved=float(1 - (high - low) / (highest - lowest)),
    )


def _people_text(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


# A column that lost less than this was not made coarse by outliers.
_LOST = 0.05
_FEW = 0.05  # outliers are a small part of the people
_FAR = 0.1  # and alone on a good part of the range; otherwise clipping would help little


def advise_clipping(reading: EncodedProblem, recoding: Recoding) -> tuple[Outliers, ...]:
    """Return the outliers of columns of numbers that were generalized, with the clipping that helps."""
    problem = reading.problem
    lost = attribute_losses(problem, recoding)
    found: list[Outliers] = []
    for j, (attribute, values) in enumerate(zip(problem.attributes, reading.values, strict=True)):
        is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        is_number |= pa.types.is_decimal(values.type)
        if lost[j] < _LOST or not is_number:
            continue
        counts = sum_by_label(
            problem.table.codes[:, j].astype(np.int64), problem.table.rows, len(values)
        )
        known = values.is_valid().to_numpy(zero_copy_only=False) & (counts > 0)
        one = find_outliers(
            values.filter(pa.array(known)).to_pylist(),
            counts[known],
            k=problem.judge.k,
            column=attribute.name,
        )
        if one is None or one.saved < _FAR:
            continue
        if one.below + one.above <= _FEW * one.people:
            found.append(one)
    return tuple(found)
