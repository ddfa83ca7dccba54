"""Rows of codes as points: whole-number coordinates that follow from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.learning.features import FeatureSpace, code_numbers, is_on_scale

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
REACH = 1 << 10  # a coordinate on a scale lies between -REACH and REACH, which stand for -1 and 1
PRESENCE = (
    724  # the coordinate of a category that a row has, so that two categories are REACH apart
)


@dataclass(frozen=True)
class FeatureCoordinates:
    """The coordinates of one feature.

    A scale is one coordinate: its bounds are -1 and 1, and a missing value lies in the middle. Any other column
    has a coordinate for each code, also for missing values: about 0.7 for the code that a row has, and 0 for
    the others, so that rows of different codes are at distance 1.

    Attributes:
        column: The feature.
        first: The place of its first coordinate.
    """

    column: CodedColumn
    first: int

    @property
    def is_scale(self) -> bool:
        """Whether it is one coordinate."""
        return is_on_scale(self.column)

    @property
    def size(self) -> int:
        """How many coordinates it has."""
        return 1 if self.is_scale else self.column.size

    @property
    def places(self) -> slice:
        """Where its coordinates stand."""
        return slice(self.first, self.first + self.size)

    @cached_property
    def values(self) -> Counts:
        """The coordinates of each code: an axis for codes, one for coordinates."""
        if not self.is_scale:
            return np.eye(self.column.size, dtype=np.int64) * PRESENCE
        return np.append(place_on_scale(self.column), 0)[:, None]

    @property
    def labels(self) -> list[str]:
        """What each coordinate stands for."""
        if self.is_scale:
            return [self.column.name]
        names = self.column.coding.representatives()[0].to_pylist()
        words = ["other" if one is None else str(one) for one in names]
        return [f"{self.column.name} = {one}" for one in [*words, "missing"]]


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of all features, in their order."""

    features: tuple[FeatureCoordinates, ...]

    @staticmethod
    def of_space(space: FeatureSpace) -> Coordinates:
        """Return the coordinates of the features of a space."""
        made: list[FeatureCoordinates] = []
        first = 0
        for column in space.features:
            made.append(FeatureCoordinates(column, first))
            first += made[-1].size
        return Coordinates(tuple(made))

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return sum(one.size for one in self.features)

    @property
    def labels(self) -> list[str]:
        """What each coordinate stands for."""
        return [label for one in self.features for label in one.labels]

    def place_rows(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """Return rows of codes as points between -1 and 1."""
        parts = [one.values[codes[:, place]] for place, one in enumerate(self.features)]
        return np.concatenate(parts, axis=1) / REACH if parts else np.zeros((len(codes), 0))


def place_on_scale(column: CodedColumn) -> Counts:
    """Return where each code of a scale lies between -REACH and REACH; evenly where the numbers are even."""
    numbers = code_numbers(column)
    count = len(numbers)
    widths = np.diff(numbers)
    if count == 1 or np.ptp(numbers) == 0:
        return np.zeros(count, np.int64)
    if np.allclose(widths, widths[0], rtol=1e-9) and count <= REACH:
        step = REACH // (count - 1)
        return step * (2 * np.arange(count) - (count - 1))
    shares = (numbers - numbers.min()) / np.ptp(numbers)
    return np.rint((2 * shares - 1) * REACH).astype(np.int64)
