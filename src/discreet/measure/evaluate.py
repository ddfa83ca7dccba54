"""Criteria applied: the level a table reaches, its worst classes, and yes or no."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.criterion import SensitiveCriterion
from discreet.criteria.histograms import ClassHistograms, Measure, Overall
from discreet.criteria.measures import known_values
from discreet.criteria.specs.alpha_k import confidence_measure
from discreet.criteria.specs.beta_likeness import likeness_measure
from discreet.criteria.specs.delta_disclosure import disclosure_measure
from discreet.criteria.specs.l_diversity import diversity_measure
from discreet.criteria.specs.t_closeness import closeness_measure

WORST = 3
DEEPEST_RECURSION = 5


@dataclass(frozen=True)
class WorstClasses:
    """The least safe classes of one measure: their keys, sizes and scores, worst first."""

    keys: NDArray[np.int64]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass
class Tally:
    """What one measure found so far, batch by batch."""

    measure: Measure
    worst: WorstClasses | None = None

    def add(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> None:
        """Take in one batch of classes."""
        keys, sizes = groups.keys, groups.sizes
        if self.worst is not None:
            keys = np.concatenate([self.worst.keys, keys])
            sizes = np.concatenate([self.worst.sizes, sizes])
            scores = np.concatenate([self.worst.scores, scores])
        badness = scores if self.measure.is_worst_when_small else -scores
        first = _smallest_positions(badness, WORST)
        self.worst = WorstClasses(keys[first], sizes[first], scores[first])

    @property
    def level(self) -> float | None:
        """The level the table reaches: that of its worst class."""
        return None if self.worst is None else float(self.worst.scores[0])


@dataclass
class Failures:
    """How many classes and people fail one criterion so far.

    `keys` are those of the failing classes, remembered only where people may be in several.
    """

    criterion: SensitiveCriterion
    remembers: bool = False
    classes: int = 0
    people: int = 0
    keys: list[NDArray[np.int64]] = field(default_factory=list["NDArray[np.int64]"])

    def add(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> None:
        """Take in one batch of classes."""
        failing = ~self.criterion.holds(groups, scores)
        self.classes += int(np.count_nonzero(failing))
        self.people += int(groups.sizes[failing].sum())
        if self.remembers:
            self.keys.append(groups.keys[failing])


@dataclass(frozen=True)
class ColumnMeasurements:
    """Everything measured on one sensitive column in one pass over the classes."""

    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    failures: tuple[Failures, ...] = ()
    homogeneous: Failures | None = None  # the classes with one known value for all their people


def defined_measures(overall: Overall) -> tuple[Measure, ...]:
    """Return every measure that is defined for a column with this overall distribution."""
    found = [
        *(diversity_measure(kind) for kind in ("distinct", "probabilistic", "entropy")),
        *(diversity_measure("recursive", l) for l in range(2, DEEPEST_RECURSION + 1)),
        confidence_measure(),
        closeness_measure("equal"),
        likeness_measure("basic"),
        likeness_measure("enhanced"),
        disclosure_measure(),
    ]
    if overall.ranks is not None:
        found.append(closeness_measure("ordered"))
    if overall.levels is not None:
        found.append(closeness_measure("hierarchical"))
    return tuple(found)


def evaluate_column(
    batches: Iterable[ClassHistograms],
    overall: Overall,
    criteria: Sequence[SensitiveCriterion],
    *,
    remembers_failing: bool = False,
) -> ColumnMeasurements:
    """Return levels, worst classes and failures of one sensitive column, in one pass."""
    wanted = {measure.name: measure for measure in defined_measures(overall)}
    wanted |= {criterion.measure.name: criterion.measure for criterion in criteria}
    tallies = {name: Tally(measure) for name, measure in wanted.items()}
    failures = tuple(Failures(criterion, remembers_failing) for criterion in criteria)
    shared = SharedValue("")
    homogeneous = Failures(shared, remembers_failing)
    for groups in batches:
        scores = {name: measure.score(groups, overall) for name, measure in wanted.items()}
        for name, tally in tallies.items():
            tally.add(groups, scores[name])
        for failure in failures:
            failure.add(groups, scores[failure.criterion.measure.name])
        homogeneous.add(groups, shared.measure.score(groups, overall))
    return ColumnMeasurements(tallies, failures, homogeneous)


def is_homogeneous(groups: ClassHistograms, overall: Overall) -> NDArray[np.bool_]:
    """Return which classes have one value for all people whose value is known."""
    found = np.zeros(len(groups), dtype=np.bool_)
    known, has_some = known_values(groups, overall)
    found[has_some] = known.largest >= known.sizes
    return found


@dataclass(frozen=True)
class SharedValue(SensitiveCriterion):
    """No class has one value for all people whose value is known."""

    name: ClassVar[str] = "homogeneous"

    def make_measure(self) -> Measure:
        """Return 1 for a class that shares one value."""
        return Measure(
            "homogeneous", lambda groups, overall: is_homogeneous(groups, overall).astype(float)
        )

    def holds(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes have several values."""
        del groups
        return scores == 0


def _smallest_positions(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` smallest values; ties go to the first class."""
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    edge = np.partition(values, count - 1)[count - 1]
    candidates = np.flatnonzero(values <= edge)
    return candidates[np.argsort(values[candidates], kind="stable")[:count]]
