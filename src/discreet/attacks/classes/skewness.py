"""Skewness: a class whose values differ from the whole release's moves the adversary's belief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.classes.homogeneity import average_score, word_people_share
from discreet.attacks.finding import Finding, make_finding
from discreet.criteria.criterion import TOLERANCE
from discreet.criteria.specs import t_closeness
from discreet.formatting import format_percent

if TYPE_CHECKING:
    from discreet.attacks.classes.histograms import SensitiveHistogram

SHIFT = 0.3


def find_skewness(histogram: SensitiveHistogram, *, shift: float = SHIFT) -> Finding:
    """Return the people in whose true value the adversary believes more, by `shift` or more.

    Its prior belief is a value's share in the whole release, its new belief the share in the
    person's class. `details` has the distance of classes to the release (t-closeness), and the lift,
    which is the new belief over the old.

    >>> import pyarrow as pa
    >>> from discreet.attacks.classes.histograms import opened_release, read_classes
    >>> ill = ["flu", "gout"] + ["flu"] * 98
    >>> release = pa.table({"age": ["3*"] * 2 + ["4*"] * 98, "ill": ill})
    >>> with opened_release(release, quasi=["age"], sensitive=["ill"]) as bound:
    ...     found = find_skewness(read_classes(bound).columns[0])
    >>> found.claimed, found.details["lift"]["worst"], round(found.details["t"]["equal"]["worst"], 2)
    (1, 50.0, 0.49)
    """
    groups = histogram.groups
    after = groups.counts / groups.sizes[groups.owners]
    before = histogram.whole.counts[groups.codes] / histogram.people
    chosen = after - before >= shift - TOLERANCE
    exposed = histogram.people_with(chosen)
    distances = _class_distances(histogram)
    lifts = after / before
    return make_finding(
        "skewness",
        target=histogram.target,
        verdict=_word_verdict(histogram, exposed, shift=shift, farthest=distances["equal"]),
        targets=histogram.people,
        exposed=exposed,
        certainty=_weighted_mean(histogram, after, chosen),
        baseline=0.0,
        knowledge=f"A person's {histogram.known}, that the person is in the table, and how often each "
        f"{histogram.label} is in the whole table.",
        remedy=f"t-closeness for {histogram.label}{_word_jointly(histogram)}, or β-likeness where rare values count.",
        details={
            "columns": histogram.names,
            "shift": shift,
            "classes": len(groups),
            "exposed_classes": len(np.unique(groups.owners[chosen])),
            "t": {name: _summarize_scores(histogram, scores) for name, scores in distances.items()},
            "lift": {
                "worst": float(lifts.max(initial=0.0)),
                "average": _weighted_mean(histogram, lifts, np.ones(len(lifts), np.bool_)),
            },
            "largest_shift": float((after - before).max(initial=0.0)),
        },
        example=_build_example(histogram, after, before),
    )


def _class_distances(histogram: SensitiveHistogram) -> dict[str, NDArray[np.float64]]:
    """Return each class's distance to the whole release, by every ground distance there is."""
    if not len(histogram.groups):
        return {"equal": np.empty(0)}
    found = {"equal": t_closeness.equal(histogram.groups, histogram.overall)}
    if histogram.overall.ranks is not None:
        found["ordered"] = t_closeness.ordered(histogram.groups, histogram.overall)
    if histogram.overall.levels:
        found["hierarchical"] = t_closeness.hierarchical(histogram.groups, histogram.overall)
    return found


def _summarize_scores(histogram: SensitiveHistogram, scores: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "worst": float(scores.max(initial=0.0)),
        "average": average_score(histogram.groups, scores),
    }


def _weighted_mean(
    histogram: SensitiveHistogram, scores: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> float | None:
    """Return the mean of a score over the people with the chosen entries."""
    if not chosen.any():
        return None
    return float(np.average(scores[chosen], weights=histogram.groups.counts[chosen]))


def _word_jointly(histogram: SensitiveHistogram) -> str:
    return " as one column, not for each alone" if len(histogram.names) > 1 else ""


def _word_verdict(
    histogram: SensitiveHistogram, exposed: int, *, shift: float, farthest: NDArray[np.float64]
) -> str:
    t = f"the class farthest from the whole table is {farthest.max(initial=0.0):.3g} away (t)"
    points = f"{100 * shift:.3g} points or more"
    if not exposed:
        return f"Knowing {histogram.known} raises the belief in no person's true {histogram.label} by {points}; {t}."
    return (
        f"Knowing {histogram.known} raises the belief in the true {histogram.label} of "
        f"{word_people_share(histogram, exposed)} by {points}; {t}."
    )


def _build_example(
    histogram: SensitiveHistogram, after: NDArray[np.float64], before: NDArray[np.float64]
) -> tuple[str, ...]:
    if not len(after):
        return ()
    groups = histogram.groups
    entry = int(np.lexsort((groups.counts, np.round(after - before, 12)))[-1])
    place = int(groups.owners[entry])
    return (
        (
            f"In the whole table {format_percent(float(before[entry]))} have {histogram.label} "
            f"{histogram.values([int(groups.codes[entry])])[0]}."
        ),
        (
            f"Of those with {histogram.describe(place)} it is {format_percent(float(after[entry]))}: "
            f"{float(after[entry] / before[entry]):.3g} times as many."
        ),
    )
