"""Descriptions of people such as `age >= 84 and sex = f`: made by the thousand, counted by an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.attacks.synthetic.trial import Feature, Records


class PredicateRelation(IntEnum):
    """What one part of a predicate asks of a column."""

    EQUAL = 0
    AT_LEAST = 1
    AT_MOST = 2
    MISSING = 3
    OTHER = 4
    PRESENT = 5


LOOK_FIRST = 256  # rows, before all of a long run
SIGNS = {
    PredicateRelation.EQUAL: "=",
    PredicateRelation.AT_LEAST: ">=",
    PredicateRelation.AT_MOST: "<=",
    PredicateRelation.OTHER: "<>",
}


@dataclass(frozen=True)
class Predicates:
    """Conjunctions of the same number of parts: part j of predicate i asks for one column's value.

    `columns`, `relations` and `values` have a row for each predicate and a column for each part.
    """

    columns: NDArray[np.int64]
    relations: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, which: NDArray[np.int64]) -> Predicates:
        """Return some of them."""
        return Predicates(self.columns[which], self.relations[which], self.values[which])

    def joined(self, other: Predicates) -> Predicates:
        """Return these and the others."""
        return Predicates(
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.relations, other.relations]),
            np.concatenate([self.values, other.values]),
        )

    def distinct(self) -> Predicates:
        """Return each predicate once, in the same order."""
        whole = np.hstack([self.columns, self.relations, np.nan_to_num(self.values, nan=np.inf)])
        return self.take(np.sort(np.unique(whole, axis=0, return_index=True)[1]))

    def spell(self, which: int, features: Sequence[Feature]) -> str:
        """Return one predicate as people write it: for the custodian only."""
        parts: list[str] = []
        for column, relation, value in zip(
            self.columns[which], self.relations[which], self.values[which], strict=True
        ):
            feature = features[int(column)]
            if relation in SIGNS:
                parts.append(
                    f"{feature.name} {SIGNS[PredicateRelation(relation)]} {feature.spell(float(value))}"
                )
            else:
                gap = "is missing" if relation == PredicateRelation.MISSING else "is not missing"
                parts.append(f"{feature.name} {gap}")
        return " and ".join(parts)


@dataclass(frozen=True)
class PredicateIndex:
    """Each column of a table in ascending order, so that one part is two look-ups."""

    records: Records

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The rows of each column in ascending order, gaps last."""
        return np.argsort(self.records.values, axis=1, kind="stable")

    @cached_property
    def ascending(self) -> NDArray[np.float64]:
        """The values of each column in that order."""
        return np.take_along_axis(self.records.values, self.order, axis=1)

    @cached_property
    def present(self) -> NDArray[np.int64]:
        """How many values of each column are not missing."""
        return np.sum(~np.isnan(self.records.values), axis=1)

    def count(self, predicates: Predicates, *, enough: int | None = None) -> NDArray[np.int64]:
        """Return how many rows each predicate fits; `enough` of them are not counted further.

        Each part selects a run of its column's order; the rows of the shortest run are tested
        against the other parts.
        """
        if not len(predicates):
            return np.zeros(0, dtype=np.int64)
        starts, ends = self._value_slices(predicates)
        lengths = ends - starts
        shortest = np.argmin(lengths, axis=1)
        # A run stands for its test, except that it holds all values where one is excluded.
        exact = (predicates.columns.shape[1] == 1) & (
            predicates.relations[:, 0] != PredicateRelation.OTHER
        )
        counts = np.where(exact, lengths[:, 0], 0)
        for which in np.flatnonzero(~exact & (lengths.min(axis=1) > 0)):
            part = shortest[which]
            column = predicates.columns[which, part]
            rows = self.order[column, starts[which, part] : ends[which, part]]
            if enough is not None and len(rows) > 2 * LOOK_FIRST:
                counts[which] = self._count_matching(predicates, int(which), rows[:LOOK_FIRST])
                if counts[which] >= enough:
                    continue
            counts[which] = self._count_matching(predicates, int(which), rows)
        return counts

    def _value_slices(self, predicates: Predicates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        starts = np.zeros(predicates.columns.shape, dtype=np.int64)
        ends = self.present[predicates.columns]
        for column in np.unique(predicates.columns):
            ascending = self.ascending[column, : self.present[column]]
            here = predicates.columns == column
            below = here & np.isin(
                predicates.relations, (PredicateRelation.EQUAL, PredicateRelation.AT_LEAST)
            )
            starts[below] = np.searchsorted(ascending, predicates.values[below], side="left")
            above = here & np.isin(
                predicates.relations, (PredicateRelation.EQUAL, PredicateRelation.AT_MOST)
            )
            ends[above] = np.searchsorted(ascending, predicates.values[above], side="right")
        missing = predicates.relations == PredicateRelation.MISSING
        starts[missing] = self.present[predicates.columns[missing]]
        ends[missing] = len(self.records)
        return starts, ends

    def _count_matching(self, predicates: Predicates, which: int, rows: NDArray[np.int64]) -> int:
        for column, relation, value in zip(
            predicates.columns[which],
            predicates.relations[which],
            predicates.values[which],
            strict=True,
        ):
            rows = rows[
                _compare_column(self.records.values[column, rows], int(relation), float(value))
            ]
        return len(rows)


def _compare_column(column: NDArray[np.float64], relation: int, value: float) -> NDArray[np.bool_]:
    match relation:
        case PredicateRelation.EQUAL:
            return column == value
        case PredicateRelation.AT_LEAST:
            return column >= value
        case PredicateRelation.AT_MOST:
            return column <= value
        case PredicateRelation.OTHER:
            return (column != value) & ~np.isnan(column)
        case PredicateRelation.MISSING:
            return np.isnan(column)
        case _:
            return ~np.isnan(column)


def empty_predicates(width: int) -> Predicates:
    """Return no predicates, of `width` parts each."""
    whole = np.zeros((0, width), dtype=np.int64)
    return Predicates(whole, whole, np.zeros((0, width)))


def rare_values(index: PredicateIndex, features: Sequence[Feature]) -> Predicates:
    """Return every test of one column that fits exactly one row: rare values, extremes, a lone gap."""
    found: list[tuple[int, int, float]] = []
    for column, feature in enumerate(features):
        ascending = index.ascending[column, : index.present[column]]
        values, counts = np.unique(ascending, return_counts=True)
        found += [
            (column, int(PredicateRelation.EQUAL), float(value)) for value in values[counts == 1]
        ]
        if len(index.records) - len(ascending) == 1:
            found.append((column, int(PredicateRelation.MISSING), float("nan")))
        if feature.is_ordered and len(values):
            found += [
                (column, int(relation), float(values[end]))
                for relation, end in (
                    (PredicateRelation.AT_MOST, 0),
                    (PredicateRelation.AT_LEAST, -1),
                )
                if counts[end] == 1
            ]
    table = np.array(found, dtype=np.float64).reshape(-1, 3)
    return Predicates(table[:, :1].astype(np.int64), table[:, 1:2].astype(np.int64), table[:, 2:])


def _some_columns(
    features: Sequence[Feature], *, many: int, width: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return `many` choices of `width` columns, each in the columns' order."""
    return np.sort(np.argsort(rng.random((many, len(features))), axis=1)[:, :width], axis=1)


def from_records(
    records: Records,
    features: Sequence[Feature],
    *,
    many: int,
    width: int,
    rng: np.random.Generator,
) -> Predicates:
    """Return predicates of `width` columns, each true of a row that was drawn.

    A number is asked for on its far side of the median, where fewer people are (Giomi et al. 2023).
    """
    rows = rng.integers(len(records), size=many)
    columns = _some_columns(features, many=many, width=width, rng=rng)
    values = records.values[columns, rows[:, None]]
    is_ordered = np.array([feature.is_ordered for feature in features])[columns]
    middles = np.array([_median_present(column) for column in records.values])[columns]
    side = np.where(values > middles, PredicateRelation.AT_LEAST, PredicateRelation.AT_MOST)
    relations = np.where(is_ordered, side, PredicateRelation.EQUAL)
    relations = np.where(np.isnan(values), PredicateRelation.MISSING, relations)
    return Predicates(columns, relations, values)


def at_random(
    records: Records,
    features: Sequence[Feature],
    *,
    many: int,
    width: int,
    rng: np.random.Generator,
) -> Predicates:
    """Return predicates of columns, tests and values that have nothing to do with each other."""
    columns = _some_columns(features, many=many, width=width, rng=rng)
    drawn = [np.unique(column) for column in records.values]
    sizes = np.array([len(values) for values in drawn])[columns]
    picked = (rng.random((many, width)) * sizes).astype(np.int64)
    values = np.zeros((many, width))
    for column, known in enumerate(drawn):
        here = columns == column
        values[here] = known[picked[here]]
    is_ordered = np.array([feature.is_ordered for feature in features])[columns]
    ordered = np.array(
        [
            PredicateRelation.EQUAL,
            PredicateRelation.OTHER,
            PredicateRelation.AT_LEAST,
            PredicateRelation.AT_MOST,
        ]
    )
    relations = np.where(
        is_ordered,
        ordered[rng.integers(4, size=(many, width))],
        ordered[rng.integers(2, size=(many, width))],
    )
    gaps = np.where(
        relations == PredicateRelation.OTHER, PredicateRelation.PRESENT, PredicateRelation.MISSING
    )
    return Predicates(columns, np.where(np.isnan(values), gaps, relations), values)


def _median_present(column: NDArray[np.float64]) -> float:
    present = column[~np.isnan(column)]
    return float(np.median(present)) if len(present) else 0.0
