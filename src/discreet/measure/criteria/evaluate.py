"""Criteria applied: the level a table reaches, its worst classes, and yes or no."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.measure.criteria import l_diversity, likeness, t_closeness
from discreet.policy import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.measure.classes import Groups
    from discreet.measure.criteria.t_closeness import Overall

    Score = Callable[[Groups, Overall], NDArray[np.float64]]
    Test = Callable[[Groups, NDArray[np.float64]], NDArray[np.bool_]]

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
class Trial:
    """A criterion as a test of one measure."""

    criterion: model.Criterion
    measure: Measure
    holds: Test


@dataclass(frozen=True)
class Worst:
    """The least safe classes of one measure: their keys, sizes and scores, worst first."""

    keys: NDArray[np.int64]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass
class Tally:
    """What one measure found so far, batch by batch."""

    measure: Measure
    worst: Worst | None = None

    def add(self, groups: Groups, scores: NDArray[np.float64]) -> None:
        """Take in one batch of classes."""
        keys, sizes = groups.keys, groups.sizes
        if self.worst is not None:
            keys = np.concatenate([self.worst.keys, keys])
            sizes = np.concatenate([self.worst.sizes, sizes])
            scores = np.concatenate([self.worst.scores, scores])
        badness = scores if self.measure.is_worst_when_small else -scores
        first = _smallest(badness, WORST)
        self.worst = Worst(keys[first], sizes[first], scores[first])

    @property
    def level(self) -> float | None:
        """The level the table reaches: that of its worst class."""
        return None if self.worst is None else float(self.worst.scores[0])


@dataclass
class Failures:
    """How many classes and people fail one criterion so far.

    `keys` are those of the failing classes, remembered only where people may be in several.
    """

    trial: Trial
    remembers: bool = False
    classes: int = 0
    people: int = 0
    keys: list[NDArray[np.int64]] = field(default_factory=list["NDArray[np.int64]"])

    def add(self, groups: Groups, scores: NDArray[np.float64]) -> None:
        """Take in one batch of classes."""
        failing = ~self.trial.holds(groups, scores)
        self.classes += int(np.count_nonzero(failing))
        self.people += int(groups.sizes[failing].sum())
        if self.remembers:
            self.keys.append(groups.keys[failing])


@dataclass(frozen=True)
class Findings:
    """Everything measured on one sensitive column in one pass over the classes."""

    tallies: dict[str, Tally] = field(default_factory=dict[str, Tally])
    failures: tuple[Failures, ...] = ()


def measures(overall: Overall) -> tuple[Measure, ...]:
    """Return every measure that is defined for a column with this overall distribution."""
    found = [
        Measure("distinct", _plain(l_diversity.distinct), is_worst_when_small=True),
        Measure("probabilistic", _plain(l_diversity.probabilistic), is_worst_when_small=True),
        Measure("entropy", _plain(l_diversity.entropy), is_worst_when_small=True),
        *(_recursive(l) for l in range(2, DEEPEST_RECURSION + 1)),
        Measure("confidence", _plain(l_diversity.confidence)),
        Measure("equal", t_closeness.equal),
        Measure("basic_beta", likeness.basic_beta),
        Measure("enhanced_beta", likeness.enhanced_beta),
        Measure("delta_disclosure", likeness.delta_disclosure),
    ]
    if overall.ranks is not None:
        found.append(Measure("ordered", t_closeness.ordered))
    if overall.levels is not None:
        found.append(Measure("hierarchical", t_closeness.hierarchical))
    return tuple(found)


def trial(criterion: model.Criterion) -> Trial | None:
    """Return the test of a criterion on one sensitive column, None when it is not about one."""
    match criterion:
        case model.LDiversity(l=l, kind="recursive", c=c):
            bound = (c or 0.0) * (1 - TOLERANCE)
            return Trial(criterion, _recursive(int(l)), lambda _, scores: scores < bound)
        case model.LDiversity(l=l, kind=kind):
            least = l * (1 - TOLERANCE)
            score = _plain(getattr(l_diversity, kind))
            measure = Measure(kind, score, is_worst_when_small=True)
            return Trial(criterion, measure, lambda _, scores: scores >= least)
        case model.TCloseness(t=t, distance=distance):
            measure = Measure(distance, getattr(t_closeness, distance))
            return Trial(criterion, measure, lambda _, scores: scores <= t + TOLERANCE)
        case model.AlphaK(alpha=alpha, k=k):
            return Trial(
                criterion,
                Measure("confidence", _plain(l_diversity.confidence)),
                lambda groups, scores: (scores <= alpha + TOLERANCE) & (groups.sizes >= k),
            )
        case model.BetaLikeness(beta=beta, kind=kind):
            score = likeness.basic_beta if kind == "basic" else likeness.enhanced_beta
            measure = Measure(f"{kind}_beta", score)
            return Trial(criterion, measure, lambda _, scores: scores <= beta + TOLERANCE)
        case model.DeltaDisclosure(delta=delta):
            measure = Measure("delta_disclosure", likeness.delta_disclosure)
            bound = delta * (1 - TOLERANCE)
            return Trial(criterion, measure, lambda _, scores: scores < bound)
        case _:
            return None


def evaluate(
    batches: Iterable[Groups],
    overall: Overall,
    criteria: Sequence[model.Criterion],
    *,
    remembers_failing: bool = False,
) -> Findings:
    """Return levels, worst classes and failures of one sensitive column, in one pass."""
    trials = [found for criterion in criteria if (found := trial(criterion)) is not None]
    wanted = {measure.name: measure for measure in measures(overall)}
    wanted |= {found.measure.name: found.measure for found in trials}
    tallies = {name: Tally(measure) for name, measure in wanted.items()}
    failures = tuple(Failures(found, remembers_failing) for found in trials)
    for groups in batches:
        scores = {name: measure.score(groups, overall) for name, measure in wanted.items()}
        for name, tally in tallies.items():
            tally.add(groups, scores[name])
        for failure in failures:
            failure.add(groups, scores[failure.trial.measure.name])
    return Findings(tallies, failures)


def _recursive(l: int) -> Measure:
    return Measure(f"recursive_{l}", lambda groups, _: l_diversity.recursive(groups, l))


def _plain(score: Callable[[Groups], NDArray[np.float64]]) -> Score:
    return lambda groups, _: score(groups)


def _smallest(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """Return the positions of the `count` smallest values; ties go to the first class."""
    if len(values) <= count:
        return np.argsort(values, kind="stable")
    edge = np.partition(values, count - 1)[count - 1]
    candidates = np.flatnonzero(values <= edge)
    return candidates[np.argsort(values[candidates], kind="stable")[:count]]
