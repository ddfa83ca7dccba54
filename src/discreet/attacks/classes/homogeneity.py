"""Homogeneity: a class in which all share one value reveals it for everyone in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.formatting import format_count, format_percent
from discreet.measure.classes import ClassHistograms
from discreet.measure.evaluate import is_homogeneous

if TYPE_CHECKING:
    from discreet.attacks.classes.histograms import SensitiveHistogram


def find_homogeneity(histogram: SensitiveHistogram) -> Finding:
    """Return who is in a class where everyone has the same value: r1 = n.

    A missing value is unknown: it may be the same. The baseline is 1 where the whole release has one value, which no class can improve on.

    >>> import pyarrow as pa
    >>> from discreet.attacks.classes.histograms import opened_release, read_classes
    >>> release = pa.table({"age": ["3*", "3*", "4*", "4*"], "ill": ["flu", "flu", "flu", "gout"]})
    >>> with opened_release(release, quasi=["age"], sensitive=["ill"]) as bound:
    ...     found = find_homogeneity(read_classes(bound).columns[0])
    >>> found.claimed, found.rate
    (2, 0.5)
    """
    groups = histogram.groups
    chosen = is_homogeneous(groups, histogram.overall)
    exposed = histogram.people_in(chosen)
    return make_finding(
        "homogeneity",
        target=histogram.target,
        verdict=_word_verdict(histogram, exposed),
        targets=histogram.people,
        exposed=exposed,
        correct=exposed,
        certainty=1.0 if exposed else None,
        baseline=float(
            bool(is_homogeneous(_drop_absent_values(histogram.whole), histogram.overall).all())
        ),
        knowledge=f"A person's {histogram.known}, and that the person is in the table.",
        remedy=f"l-diversity for {histogram.label}: a class with several values, none of them nearly alone.",
        details={
            "columns": histogram.names,
            "classes": len(groups),
            "exposed_classes": int(np.count_nonzero(chosen)),
            "worst": float(adversary_confidence(groups).max(initial=0.0)),
            "average": average_score(groups, adversary_confidence(groups)),
            "by_chance": _by_chance(histogram),
        },
        example=_build_example(histogram, chosen),
    )


def _drop_absent_values(whole: ClassHistograms) -> ClassHistograms:
    """Return the release as one class, without the values that no one has."""
    held = whole.counts > 0
    ends = np.array([0, int(held.sum())])
    return ClassHistograms(whole.keys, ends, whole.codes[held], whole.counts[held], whole.sizes)


def adversary_confidence(groups: ClassHistograms) -> NDArray[np.float64]:
    """Return the adversary's best chance of guessing right, in each class."""
    return groups.largest / groups.sizes


def average_score(groups: ClassHistograms, scores: NDArray[np.float64]) -> float:
    """Return the mean of a score of classes over the people in them."""
    return float(np.average(scores, weights=groups.sizes)) if len(groups) else 0.0


def word_people_share(histogram: SensitiveHistogram, number: int) -> str:
    """Return a number of people as `4 of 9 people (44.4 %)`."""
    share = format_percent(number / histogram.people)
    return f"{number:,} of {format_count(histogram.people, 'person', 'people')} ({share})"


def _word_verdict(histogram: SensitiveHistogram, exposed: int) -> str:
    if not exposed:
        groups, missing = histogram.groups, histogram.overall.missing
        known = groups if missing is None else groups.known(missing)[0]
        fewest = int(known.lengths.min()) if len(known) else 0
        return (
            f"No person's {histogram.label} follows from {histogram.known} alone: each class has "
            f"{format_count(fewest, 'value', 'values')} or more."
        )
    return (
        f"The {histogram.label} of {word_people_share(histogram, exposed)} follows from {histogram.known}: everyone in "
        "their class has the same."
    )


def _by_chance(histogram: SensitiveHistogram) -> float:
    """Return the share that would be exposed if values were dealt to the classes by chance.

    Where that is nearly the rate, classes are too small; where it is far below, values follow the
    quasi-identifiers, and larger classes help less than diverse ones.
    """
    from scipy.special import gammaln

    sizes, classes = np.unique(histogram.groups.sizes, return_counts=True)
    held, values = np.unique(histogram.whole.counts, return_counts=True)
    total = int(histogram.whole.counts.sum())
    chances = np.zeros(len(sizes))
    for place, size in enumerate(sizes):
        fits = held >= size
        ways = gammaln(held[fits] + 1) - gammaln(held[fits] - size + 1)
        ways -= gammaln(total + 1) - gammaln(total - size + 1) if size <= total else np.inf
        chances[place] = float(np.sum(values[fits] * np.exp(ways)))
    return min(1.0, float(np.sum(chances * sizes * classes)) / max(histogram.people, 1))


def _build_example(histogram: SensitiveHistogram, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
    if not chosen.any():
        return ()
    place = int(np.argmax(np.where(chosen, histogram.groups.sizes, 0)))
    value = histogram.values([int(histogram.groups.codes[histogram.groups.starts[place]])])[0]
    size = int(histogram.groups.sizes[place])
    if histogram.cells.subject.unit is not None:
        return (
            f"A person has {histogram.describe(place)}.",
            (
                f"The release has {format_count(size, 'person', 'people')} who fit, and all have "
                f"{histogram.label} {value} in one of their rows: the person has it, too."
            ),
        )
    return (
        f"A person has {histogram.describe(place)}.",
        (
            f"The release has {format_count(size, 'row', 'rows')} that fit, "
            f"{'with' if size == 1 else 'all with'} {histogram.label} {value}: that is the person's."
        ),
    )
