"""Criteria applied: the level a table reaches, its worst classes, and yes or no."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.measure.criteria import l_diversity, likeness, t_closeness
from discreet.measure.criteria.t_closeness import Overall
from discreet.policy import model

if TYPE_CHECKING:
    from discreet.measure.classes import ClassHistograms

    Score = Callable[[ClassHistograms, Overall], NDArray[np.float64]]
    Test = Callable[[ClassHistograms, NDArray[np.float64]], NDArray[np.bool_]]

# A level that equals its threshold must not fail by rounding: exp(ln 2) is not always 2.
TOLERANCE = 1e-9
WORST = 3
DEEPEST_RECURSION = 5


@dataclass(frozen=True)
class Measure:
    """One number per class, and which end of it is unsafe."""

    name: str
    score: Score
    is_worst_when_small: bool = False


@dataclass(frozen=True)
class CriterionTest:
    """A criterion as a test of one measure."""

    criterion: model.Criterion
    measure: Measure
    holds: Test


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

    trial: CriterionTest
    remembers: bool = False
    classes: int = 0
    people: int = 0
    keys: list[NDArray[np.int64]] = field(default_factory=list["NDArray[np.int64]"])

    def add(self, groups: ClassHistograms, scores: NDArray[np.float64]) -> None:
        """Take in one batch of classes."""
        failing = ~self.trial.holds(groups, scores)
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
        *(_diversity_measure(kind) for kind in ("distinct", "probabilistic", "entropy")),
        *(_diversity_measure("recursive", l) for l in range(2, DEEPEST_RECURSION + 1)),
        _confidence_measure(),
        _distance_measure("equal"),
        _distance_measure("basic_beta"),
        _distance_measure("enhanced_beta"),
        _distance_measure("delta_disclosure"),
    ]
    if overall.ranks is not None:
        found.append(_distance_measure("ordered"))
    if overall.levels is not None:
        found.append(_distance_measure("hierarchical"))
    return tuple(found)


def make_criterion_test(criterion: model.Criterion) -> CriterionTest | None:
    """Return the test of a criterion on one sensitive column, None when it is not about one."""
    missing: model.Missing = getattr(criterion, "missing", "unknown")
    match criterion:
        case model.LDiversity(l=l, kind="recursive", c=c):
            bound = (c or 0.0) * (1 - TOLERANCE)
            measure = _diversity_measure("recursive", int(l), missing=missing)
            return CriterionTest(criterion, measure, lambda _, scores: scores < bound)
        case model.LDiversity(l=l, kind=kind):
            least = l * (1 - TOLERANCE)
            measure = _diversity_measure(kind, missing=missing)
            return CriterionTest(criterion, measure, lambda _, scores: scores >= least)
        case model.TCloseness(t=t, distance=distance):
            measure = _distance_measure(distance, missing=missing)
            return CriterionTest(criterion, measure, lambda _, scores: scores <= t + TOLERANCE)
        case model.AlphaK(alpha=alpha, k=k):
            return CriterionTest(
                criterion,
                _confidence_measure(missing=missing),
                lambda groups, scores: (scores <= alpha + TOLERANCE) & (groups.sizes >= k),
            )
        case model.BetaLikeness(beta=beta, kind=kind):
            measure = _distance_measure(f"{kind}_beta", missing=missing)
            return CriterionTest(criterion, measure, lambda _, scores: scores <= beta + TOLERANCE)
        case model.DeltaDisclosure(delta=delta):
            bound = delta * (1 - TOLERANCE)
            measure = _distance_measure("delta_disclosure", missing=missing)
            return CriterionTest(criterion, measure, lambda _, scores: scores < bound)
        case _:
            return None


def evaluate_column(
    batches: Iterable[ClassHistograms],
    overall: Overall,
    criteria: Sequence[model.Criterion],
    *,
    remembers_failing: bool = False,
) -> ColumnMeasurements:
    """Return levels, worst classes and failures of one sensitive column, in one pass."""
    trials = [
        found for criterion in criteria if (found := make_criterion_test(criterion)) is not None
    ]
    wanted = {measure.name: measure for measure in defined_measures(overall)}
    wanted |= {found.measure.name: found.measure for found in trials}
    tallies = {name: Tally(measure) for name, measure in wanted.items()}
    failures = tuple(Failures(found, remembers_failing) for found in trials)
    homogeneous = Failures(_ONE_VALUE, remembers_failing)
    for groups in batches:
        scores = {name: measure.score(groups, overall) for name, measure in wanted.items()}
        for name, tally in tallies.items():
            tally.add(groups, scores[name])
        for failure in failures:
            failure.add(groups, scores[failure.trial.measure.name])
        homogeneous.add(groups, _ONE_VALUE.measure.score(groups, overall))
    return ColumnMeasurements(tallies, failures, homogeneous)


def is_homogeneous(groups: ClassHistograms, overall: Overall) -> NDArray[np.bool_]:
    """Return which classes have one value for all people whose value is known."""
    found = np.zeros(len(groups), dtype=np.bool_)
    known, has_some = _known_values(groups, overall)
    found[has_some] = known.largest >= known.sizes
    return found


_ONE_VALUE = CriterionTest(
    model.LDiversity("", 2),
    Measure(
        "homogeneous", lambda groups, overall: is_homogeneous(groups, overall).astype(np.float64)
    ),
    lambda _, scores: scores == 0,
)


def _diversity_measure(
    kind: str, l: int | None = None, *, missing: model.Missing = "unknown"
) -> Measure:
    """Return a measure of l-diversity, among the values that are known or with gaps as a value."""
    if l is None:
        score = _ignore_overall(getattr(l_diversity, kind))
        name, is_small = kind, True
    else:
        score = _ignore_overall(lambda groups: l_diversity.recursive(groups, l))
        name, is_small = f"{kind}_{l}", False
    if missing == "value":
        return Measure(f"{name}_with_missing", score, is_worst_when_small=is_small)
    # All values are missing: no value is well represented.
    return Measure(name, _among_known(score, 0.0 if is_small else np.inf), is_small)


def _confidence_measure(*, missing: model.Missing = "unknown") -> Measure:
    score = _ignore_overall(l_diversity.guessing_confidence)
    if missing == "value":
        return Measure("confidence_with_missing", score)
    return Measure("confidence", _among_known(score, 0.0))


def _distance_measure(name: str, *, missing: model.Missing = "unknown") -> Measure:
    """Return a measure of how far a class is from the table.

    Where gaps are unknown, the worse of two readings counts: that of what a reader sees, gaps
    included, and that of the values which are known.
    """
    score: Score = getattr(t_closeness, name, None) or getattr(likeness, name)
    if missing == "value":
        return Measure(f"{name}_with_missing", score)
    among_known = _among_known(score, 0.0)

    def worse(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
        seen = score(groups, overall)
        return seen if overall.missing is None else np.maximum(seen, among_known(groups, overall))

    return Measure(name, worse)


def _among_known(score: Score, all_missing: float) -> Score:
    """Return the score of each class without its missing values, `all_missing` where all are missing."""

    def scored(groups: ClassHistograms, overall: Overall) -> NDArray[np.float64]:
        if overall.missing is None:
            return score(groups, overall)
        known, has_some = _known_values(groups, overall)
        found = np.full(len(groups), all_missing)
        if has_some.any():
            found[has_some] = score(known, overall.known)
        return found

    return scored


def _known_values(
    groups: ClassHistograms, overall: Overall
) -> tuple[ClassHistograms, NDArray[np.bool_]]:
    if overall.missing is None:
        return groups, np.ones(len(groups), dtype=np.bool_)
    return groups.known(overall.missing)


def _ignore_overall(score: Callable[[ClassHistograms], NDArray[np.float64]]) -> Score:
    return lambda groups, _: score(groups)


def _smallest_positions(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` smallest values; ties go to the first class."""
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    edge = np.partition(values, count - 1)[count - 1]
    candidates = np.flatnonzero(values <= edge)
    return candidates[np.argsort(values[candidates], kind="stable")[:count]]
