"""Probabilistic inference: how often the adversary's best guess is right, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.classes.homogeneity import (
    adversary_confidence,
    average_score,
    word_people_share,
)
from discreet.attacks.finding import Finding, make_finding
from discreet.criteria.criterion import TOLERANCE
from discreet.formatting import format_percent
from discreet.measure.classes import ClassHistograms

if TYPE_CHECKING:
    from discreet.attacks.classes.histograms import SensitiveHistogram

SURE = 0.9


def find_inference(histogram: SensitiveHistogram, *, sure: float = SURE) -> Finding:
    """Return who is guessed right by an adversary that claims only when `sure`.

    In each class it guesses the most frequent value. The baseline is the same adversary without the
    quasi-identifiers: it is sure only where nearly everyone has one value.

    >>> import pyarrow as pa
    >>> from discreet.attacks.classes.histograms import opened_release, read_classes
    >>> ill = ["flu"] * 9 + ["gout"] + ["flu", "gout"] * 5
    >>> release = pa.table({"age": ["3*"] * 10 + ["4*"] * 10, "ill": ill})
    >>> with opened_release(release, quasi=["age"], sensitive=["ill"]) as bound:
    ...     found = find_inference(read_classes(bound).columns[0], sure=0.9)
    >>> found.claimed, found.correct, found.rate, found.baseline
    (10, 9, 0.45, 0.0)
    """
    groups = histogram.groups
    chances = adversary_confidence(groups)
    chosen = chances >= sure - TOLERANCE
    claimed = histogram.people_in(chosen)
    correct = histogram.people_with(_guessed_entries(groups) & chosen[groups.owners])
    prior = float(adversary_confidence(histogram.whole)[0])
    guessed = min(1.0, average_score(groups, chances) * int(groups.sizes.sum()) / histogram.people)
    return make_finding(
        "inference",
        target=histogram.target,
        verdict=_word_verdict(histogram, sure=sure, claimed=claimed, correct=correct),
        targets=histogram.people,
        exposed=correct,
        claimed=claimed,
        correct=correct,
        certainty=average_of(groups, chances, chosen),
        baseline=prior if prior >= sure - TOLERANCE else 0.0,
        knowledge=f"A person's {histogram.known}, and that the person is in the table.",
        remedy=f"A limit on the share of one value in a class, such as α ≤ {format_percent(sure)}, or "
        f"probabilistic l-diversity for {histogram.label}.",
        details={
            "columns": histogram.names,
            "sure": sure,
            "classes": len(groups),
            "exposed_classes": int(np.count_nonzero(chosen)),
            "worst": float(chances.max(initial=0.0)),
            "average": average_score(groups, chances),
            "guessed_right": guessed,
            "most_frequent_value": prior,
        },
        example=_build_example(histogram, chances),
    )


def average_of(
    groups: ClassHistograms, scores: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> float | None:
    """Return the mean of a score over the people of some classes, None where there are none."""
    if not chosen.any():
        return None
    return float(np.average(scores[chosen], weights=groups.sizes[chosen]))


def _guessed_entries(groups: ClassHistograms) -> NDArray[np.bool_]:
    """Return which entry of each class is guessed: the first of its most frequent values."""
    is_most = groups.counts == np.repeat(groups.largest, groups.lengths)
    candidates = np.flatnonzero(is_most)
    first = np.unique(groups.owners[candidates], return_index=True)[1]
    guessed = np.zeros(len(groups.counts), dtype=np.bool_)
    guessed[candidates[first]] = True
    return guessed


def _word_verdict(histogram: SensitiveHistogram, *, sure: float, claimed: int, correct: int) -> str:
    if not claimed:
        return f"From {histogram.known} no person's {histogram.label} can be inferred with {format_percent(sure)} or more."
    return (
        f"From {histogram.known} the adversary infers the {histogram.label} of {word_people_share(histogram, claimed)}, at "
        f"least {format_percent(sure)} sure of each, and is right about {correct:,}."
    )


def _build_example(histogram: SensitiveHistogram, chances: NDArray[np.float64]) -> tuple[str, ...]:
    groups = histogram.groups
    if not len(groups):
        return ()
    # Of the surest classes the one with most people, so that the example is not about a single row.
    place = int(np.lexsort((groups.sizes, chances))[-1])
    entry = int(np.flatnonzero(_guessed_entries(groups) & (groups.owners == place))[0])
    code, count = int(groups.codes[entry]), int(groups.counts[entry])
    prior = float(histogram.whole.counts[code] / histogram.people)
    return (
        f"A person has {histogram.describe(place)}: {int(groups.sizes[place]):,} people fit.",
        (
            f"{count:,} of them have {histogram.label} {histogram.values([code])[0]}: the adversary's belief goes "
            f"from {format_percent(prior)} to {format_percent(float(chances[place]))}."
        ),
    )
