"""What a release lost, measured in memory from the class table: no row is read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.measure.utility.distances import (
    Labeled,
    label_unchanged,
    marginal_distance,
    pairwise_cells,
    pairwise_distance,
)
from discreet.measure.utility.entropy import entropy_bits, lost_by_levels, lost_by_ranges
from discreet.measure.utility.grouping import average_size, discernibility, share_of_worst
from discreet.measure.utility.tasks import ClassifierAccuracy
from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import label_rows, sum_by_label
from discreet.release.anonymize.problem import EncodedProblem, Problem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding, attribute_losses
from discreet.release.prediction import Goal, measure_classification
from discreet.result import Result

Spread = Callable[[NDArray[np.float64]], NDArray[np.float64]]

PAIR_CELLS = 1_000_000  # a pair of columns with a larger table of counts is left out
ALL_CELLS = 20_000_000  # so are pairs, largest first, when all of them take more
WORST_PAIRS = 5


@dataclass(frozen=True)
class MetricChange(Result):
    """A number of the source and of the release."""

    before: float
    after: float


@dataclass(frozen=True)
class Discernibility(MetricChange):
    """How many rows are indistinguishable from each row; `normalized` is 0 for the source, 1 at worst."""

    normalized: float


@dataclass(frozen=True)
class ColumnUtility(Result):
    """What one quasi-identifier lost, each from 0, nothing, to 1, all of it.

    `loss` is the share of the domain that a label covers (NCP), `intensity` how high in the
    hierarchy it is, `entropy` the share of the column's bits that are gone, `distance` the share of
    rows that a count by value puts in the wrong place.
    """

    loss: float
    intensity: float
    entropy: float
    distance: float


@dataclass(frozen=True)
class PairDistance(Result):
    """How far the table of counts of two columns is from the truth."""

    columns: tuple[str, str]
    distance: float


@dataclass(frozen=True)
class Pairwise(Result):
    """Distances of pairs of columns: how many there are, how many were measured, the worst."""

    pairs: int
    measured: int
    mean: float | None
    worst: tuple[PairDistance, ...]


@dataclass(frozen=True)
class Utility(Result):
    """What a release lost, in the measures of the literature; smaller is better in all of them.

    `gcp` is the mean of the columns' losses, `granularity`, `entropy` and `intensity` are ARX's
    quality measures, turned round so that 0 is the source. `discernibility` makes a suppressed row
    cost as much as all rows; `discernibility_without_penalty` takes suppressed rows for a class.
    """

    gcp: float
    granularity: float
    entropy: float
    intensity: float
    discernibility: Discernibility
    discernibility_without_penalty: Discernibility
    class_size: MetricChange
    c_avg: MetricChange
    columns: Mapping[str, ColumnUtility]
    marginal_distance: float
    pairwise: Pairwise
    classification: ClassifierAccuracy | None = None


def measure_utility(
    reading: EncodedProblem, recoding: Recoding, *, goal: Goal | None = None
) -> Utility:
    """Return what `recoding` loses of the table that was read.

    A suppressed row has lost everything, in the way of a row whose labels are all `*`.

    Args:
        reading: The source.
        recoding: What a method decided.
        goal: The column that a classifier is to predict, before and after.
    """
    problem = reading.problem
    columns = [_label_column(problem, recoding, j) for j in range(len(problem.attributes))]
    rows = problem.table.rows
    lost = attribute_losses(problem, recoding)
    held = [entropy_bits(column.values, rows) for column in columns]
    gone = [_bits_lost(problem, recoding, j) for j in range(len(columns))]
    found = {
        attribute.name: ColumnUtility(
            loss=float(lost[j]),
            intensity=_generalization_intensity(problem, recoding, j, loss=float(lost[j])),
            entropy=gone[j] / held[j] if held[j] else 0.0,
            distance=marginal_distance(columns[j], rows),
        )
        for j, attribute in enumerate(problem.attributes)
    }
    spans = np.array([1 - attribute.leaf for attribute in problem.attributes])
    return Utility(
        gcp=float(lost.mean()),
        granularity=float(lost @ spans / spans.sum()) if spans.any() else 0.0,
        entropy=sum(gone) / sum(held) if sum(held) else 0.0,
        intensity=float(np.mean([column.intensity for column in found.values()])),
        **_grouping_measures(problem, recoding),
        columns=found,
        marginal_distance=float(np.mean([column.distance for column in found.values()])),
        pairwise=_pairwise_distances(problem, columns),
        classification=measure_classification(goal, columns) if goal is not None else None,
    )


def _grouping_measures(problem: Problem, recoding: Recoding) -> dict[str, Any]:
    rows, kept = problem.rows, recoding.classes != SUPPRESSED
    own = problem.table.rows
    sizes = sum_by_label(recoding.classes[kept], own[kept], len(recoding))
    hidden = int(own[~kept].sum())

    def discern(penalty: int) -> Discernibility:
        before = discernibility(own)
        after = discernibility(sizes, hidden=hidden, penalty=penalty)
        worst = float(rows) * rows
        return Discernibility(before, after, share_of_worst(after, best=before, worst=worst))

    k = problem.judge.k
    before = average_size(rows, len(own))
    after = average_size(rows - hidden, len(recoding))
    return {
        "discernibility": discern(rows),
        "discernibility_without_penalty": discern(hidden),
        "class_size": MetricChange(before, after),
        "c_avg": MetricChange(before / k, after / k),
    }


def _label_levels(
    attribute: CodedAttribute, recoding: Recoding, j: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return level, low and high of each combination's label; a suppressed one is on top."""
    top = attribute.height, 0, attribute.size - 1 if attribute.is_range else 0
    parts = (recoding.levels[:, j], recoding.lows[:, j], recoding.highs[:, j])
    levels, lows, highs = (
        np.append(part, last)[recoding.classes] for part, last in zip(parts, top, strict=True)
    )
    if attribute.is_range:  # hidden is the range of everything
        hidden = levels == attribute.height
        highs = np.where(hidden, attribute.size - 1, highs)
        levels = np.zeros_like(levels)
    return levels, lows, highs


def _generalization_intensity(
    problem: Problem, recoding: Recoding, j: int, *, loss: float
) -> float:
    """Return the mean height of a column's labels; a range, which has no levels, is as high as wide."""
    attribute = problem.attributes[j]
    if attribute.is_range or not attribute.height:
        return loss
    levels, _, _ = _label_levels(attribute, recoding, j)
    rows = problem.table.rows
    return float(levels @ rows) / (attribute.height * max(int(rows.sum()), 1))


def _bits_lost(problem: Problem, recoding: Recoding, j: int) -> float:
    attribute = problem.attributes[j]
    values, rows = problem.table.codes[:, j].astype(np.int64), problem.table.rows
    levels, lows, highs = _label_levels(attribute, recoding, j)
    if attribute.is_range:
        return lost_by_ranges(values, lows, highs, rows, attribute.size)
    shape = (attribute.height + 1, attribute.size)
    counts = np.bincount(levels * shape[1] + values, weights=rows, minlength=shape[0] * shape[1])
    return lost_by_levels(counts.reshape(shape), attribute.groups)


def _label_column(problem: Problem, recoding: Recoding, j: int) -> Labeled:
    """Return column j with its labels, as read by a user who knows the hierarchies only."""
    attribute = problem.attributes[j]
    levels, lows, highs = _label_levels(attribute, recoding, j)
    bound = max(attribute.size, *attribute.cardinalities)
    labels, count = label_rows([(levels, attribute.height + 1), (lows, bound), (highs, bound)])
    one = np.empty(count, dtype=np.int64)
    one[labels[::-1]] = np.arange(len(labels))[::-1]
    levels, lows, highs = levels[one], lows[one], highs[one]

    values = problem.table.codes[:, j].astype(np.int64)
    spread = (
        _spread_ranges(attribute.size, lows, highs)
        if attribute.is_range
        else _spread_groups(attribute, levels, lows)
    )
    return Labeled(values, labels, attribute.size, count, spread)


def _spread_ranges(size: int, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> Spread:
    widths = (highs - lows + 1)[:, None]

    def spread(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        changes = np.zeros((size + 1, weights.shape[1]))
        np.add.at(changes, lows, weights / widths)
        np.subtract.at(changes, highs + 1, weights / widths)
        return np.cumsum(changes[:-1], axis=0)

    return spread


def _spread_groups(
    attribute: CodedAttribute, levels: NDArray[np.int64], groups: NDArray[np.int64]
) -> Spread:
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    for level in np.flatnonzero(np.bincount(levels)):
        on = np.flatnonzero(levels == level)
        # Where a value's label on this level is, behind the last one if it is not used.
        places = np.full(attribute.cardinalities[level], len(on), dtype=np.int64)
        places[groups[on]] = np.arange(len(on))
        each = 1 / np.append(_covered_values(attribute, int(level))[groups[on]], np.inf)
        places = places[attribute.groups[level]]
        parts.append((np.append(on, 0), places, each[:, None]))

    def spread(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros((attribute.size, weights.shape[1]))
        for on, places, each in parts:
            found += (weights[on] * each)[places]
        return found

    return spread


def _covered_values(attribute: CodedAttribute, level: int) -> NDArray[np.float64]:
    """Return how many values each group of a level stands for, those the table lacks among them."""
    groups = attribute.groups[level]
    known = np.rint(attribute.shares[level] / attribute.leaf)
    present = np.bincount(groups, minlength=len(known))
    return np.maximum(known, present)


def _pairwise_distances(problem: Problem, columns: Sequence[Labeled]) -> Pairwise:
    """Return distances of pairs of quasi-identifiers, and of each with every sensitive column."""
    table, names = problem.table, [attribute.name for attribute in problem.attributes]
    pairs = [
        ((names[i], names[j]), columns[i], columns[j], table.rows)
        for i, j in combinations(range(len(columns)), 2)
    ]
    for name, histogram in zip(problem.judge.columns, table.histograms, strict=True):
        kept = label_unchanged(histogram.codes, int(histogram.codes.max(initial=-1)) + 1)
        pairs += [
            ((names[j], name), column.take(histogram.owners), kept, histogram.counts)
            for j, column in enumerate(columns)
        ]
    costs = np.array(
        [pairwise_cells(first, second) for _, first, second, _ in pairs], dtype=np.int64
    )
    order = np.argsort(costs, kind="stable")
    affordable = (costs[order] <= PAIR_CELLS) & (
        np.cumsum(costs[order] + 2 * len(table)) <= ALL_CELLS
    )
    measured = [
        PairDistance(named, pairwise_distance(first, second, rows))
        for named, first, second, rows in (pairs[at] for at in sorted(order[affordable]))
    ]
    worst = sorted(measured, key=lambda pair: -pair.distance)[:WORST_PAIRS]
    mean = float(np.mean([pair.distance for pair in measured])) if measured else None
    return Pairwise(len(pairs), len(measured), mean, tuple(worst))
