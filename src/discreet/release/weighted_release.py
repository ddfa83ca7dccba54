"""What a release costs and risks in the population of a survey: each row counts as its sampling weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.measure.classes import Cells, suppressed_people
from discreet.measure.risk.weighted import (
    WeightedClasses,
    WeightedRisk,
    describe_classes_risk,
)
from discreet.release.anonymize.frequencies import sum_by_label
from discreet.release.anonymize.problem import CellWeights, EncodedProblem
from discreet.release.anonymize.recoding import SUPPRESSED, combine_losses, mean_losses
from discreet.release.publication import ChosenRecoding
from discreet.result import Result
from discreet.sql import build

Labels = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedRelease(Result):
    """A release as a survey: `loss` counts each row as its weight, `before` and `after` are risks."""

    weight: str
    loss: float
    before: WeightedRisk
    after: WeightedRisk


def weigh_release(chosen: ChosenRecoding) -> WeightedRelease | None:
    """Return loss and risk by the weights; None where no column has that role.

    Rows that the source suppresses lose everything, and are in the class of suppressed rows.
    """
    reading, recoding = chosen.reading, chosen.recoding
    weights, column = reading.weights, reading.cells.subject.weight
    if weights is None or column is None:
        return None
    combinations = len(reading.problem.table)
    counts = _sum_weights(weights.owners, weights.sums, combinations)
    hidden = _suppressed_weight(reading.cells, float(weights.sums.sum()))
    lost = combine_losses(reading.problem, mean_losses(reading.problem, recoding, counts))
    total = float(counts.sum())
    labels = np.where(recoding.classes == SUPPRESSED, len(recoding), recoding.classes)
    after = _make_classes(reading, weights, labels, len(recoding) + 1, hidden)
    if chosen.drops:
        after = WeightedClasses(after.people[:-1], after.population[:-1])
    before = _make_classes(reading, weights, np.arange(combinations), combinations + 1, hidden)
    return WeightedRelease(
        weight=column.name,
        loss=(lost * total + hidden) / max(total + hidden, 1e-300),
        before=describe_classes_risk(_without_empty(before), weight=column.name),
        after=describe_classes_risk(_without_empty(after), weight=column.name),
    )


def _make_classes(
    reading: EncodedProblem, weights: CellWeights, labels: Labels, count: int, hidden: float
) -> WeightedClasses:
    """Return the classes by the label of each combination; the last one is of suppressed rows."""
    own = labels[weights.owners]
    if weights.units is None:
        people = sum_by_label(own, weights.rows, count)
        population = _sum_weights(own, weights.sums, count)
    else:
        # Of a person with several rows in a class, the largest weight counts.
        pairs, places = np.unique(np.stack([own, weights.units]), axis=1, return_inverse=True)
        largest = np.zeros(pairs.shape[1])
        np.maximum.at(largest, places.ravel(), weights.heaviest)
        people = np.bincount(pairs[0], minlength=count).astype(np.int64)
        population = _sum_weights(pairs[0], largest, count)
    people[-1] += suppressed_people(reading.cells)
    population[-1] += hidden
    return WeightedClasses(people, population)


def _sum_weights(labels: Labels, weights: Reals, count: int) -> Reals:
    return np.bincount(labels, weights=weights, minlength=count).astype(np.float64)


def _without_empty(classes: WeightedClasses) -> WeightedClasses:
    kept = classes.people > 0
    return WeightedClasses(classes.people[kept], classes.population[kept])


def _suppressed_weight(cells: Cells, known: float) -> float:
    """Return the weights of rows that the source suppresses."""
    if not cells.suppressed or cells.groups is None:
        return 0.0
    total = exp.cast(exp.Sum(this=build.column("weight")), "double")
    query = build.select(build.alias_as(total, "weight"), source=cells.groups.relation.copy())
    found = cells.subject.table.engine.run(query).to_pylist()[0]["weight"]
    return max(float(found or 0.0) - known, 0.0)
