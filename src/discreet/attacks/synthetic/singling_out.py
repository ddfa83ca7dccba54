"""Singling out: descriptions read off the synthetic table that fit exactly one real person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.intervals import wilson
from discreet.attacks.synthetic.predicates import (
    PredicateIndex,
    Predicates,
    at_random,
    empty_predicates,
    from_records,
    rare_values,
)
from discreet.attacks.synthetic.risk import (
    KNOWLEDGE_OF_ALL,
    Reference,
    compare_with_control,
    require_guesses,
)
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent

if TYPE_CHECKING:
    from discreet.attacks.synthetic.trial import SyntheticTrial

REMEDY = (
    "make the synthetic table under differential privacy, or with fewer and coarser columns; rows that "
    "repeat a real person's rare values must go."
)
MOST_ROUNDS = 25


def single_out(
    trial: SyntheticTrial, *, rng: np.random.Generator, guesses: int = 2000, width: int = 3
) -> tuple[Finding, ...]:
    """Return what descriptions of one column, and of `width` columns, single out.

    A description is read off the synthetic table, where it fits one row, and is right when it fits
    one person of the source. Fitting one of the control group as often shows that it was rare by
    nature (Cohen & Nissim 2020; Giomi et al. 2023).

    >>> import pyarrow
    >>> from discreet.attacks.synthetic.trial import open_trial
    >>> people, others = pyarrow.table({"age": range(20, 60)}), pyarrow.table({"age": [30] * 40})
    >>> trial = open_trial(people, source=people, control=others)
    >>> found = single_out(trial, rng=np.random.default_rng(1))[0]
    >>> found.rate, found.control
    (1.0, 0.0)
    """
    require_guesses(guesses)
    if width < 1:
        raise WrongUsage(f"A description of {width} columns says nothing. Use 1 or more.")
    indexes = tuple(
        PredicateIndex(records)
        for records in (trial.synthetic.distinct(), trial.source, trial.control)
    )
    widths = [1, min(width, len(trial.features))]
    return tuple(
        _attack_with_width(trial, indexes, rng=rng, guesses=guesses, width=size)
        for size in dict.fromkeys(widths)
    )


def _attack_with_width(
    trial: SyntheticTrial,
    indexes: tuple[PredicateIndex, ...],
    *,
    rng: np.random.Generator,
    guesses: int,
    width: int,
) -> Finding:
    synthetic, source, control = indexes
    tried = _describe_unique_rows(trial, synthetic, rng=rng, guesses=guesses, width=width)
    random = at_random(synthetic.records, trial.features, many=guesses, width=width, rng=rng)
    found, elsewhere = source.count(tried), control.count(tried)
    targets, right = len(tried), int(np.sum(found == 1))
    reference = singling_out_reference(
        found, elsewhere, people=len(trial.source), others=len(trial.control)
    )
    compared = compare_with_control(right, targets, reference)
    return make_finding(
        "singling-out",
        target=trial.label,
        verdict=_word_verdict(targets, right, width, reference.share),
        targets=targets,
        exposed=right,
        claimed=targets,
        correct=right,
        knowledge=KNOWLEDGE_OF_ALL,
        remedy=REMEDY,
        baseline=float(np.mean(source.count(random) == 1)),
        control=reference.share,
        interval=compared.interval,
        details={
            "columns": width,
            "asked_for": guesses,
            "risk_interval": compared.risk,
            "singled_out_in_control": int(np.sum(elsewhere == 1)),
            "features": list(trial.names),
        },
        example=_build_example(trial, tried, found, elsewhere),
    )


def _describe_unique_rows(
    trial: SyntheticTrial,
    synthetic: PredicateIndex,
    *,
    rng: np.random.Generator,
    guesses: int,
    width: int,
) -> Predicates:
    """Return different descriptions that fit exactly one synthetic row."""
    if width == 1:
        rare = rare_values(synthetic, trial.features)
        return rare.take(rng.permutation(len(rare))[:guesses])
    kept = empty_predicates(width)
    for _ in range(MOST_ROUNDS):
        made = from_records(
            synthetic.records, trial.features, many=4 * guesses, width=width, rng=rng
        ).distinct()
        single = made.take(np.flatnonzero(synthetic.count(made, enough=2) == 1))
        before, kept = len(kept), kept.joined(single).distinct()
        # Small tables have few such descriptions: go on only while new ones turn up.
        if len(kept) >= guesses or len(kept) - before < guesses / 50:
            break
    return kept.take(rng.permutation(len(kept))[:guesses])


def singling_out_reference(
    found: NDArray[np.int64], elsewhere: NDArray[np.int64], *, people: int, others: int
) -> Reference:
    """Return how many descriptions would single out one of as many people as the source has.

    `found` and `elsewhere` count those who fit among `people` of the source and `others` of the control
    group. Of a larger control group a sample as large as the source is thought of. With a smaller one,
    both are compared at its size: of descriptions that stem from a person of the source, the share
    others / people still does there, the rest do what they do in the control group, and the share of
    the former follows.

    >>> singling_out_reference(np.array([1, 1, 0, 2]), np.array([1, 0, 0, 2]), people=10, others=10).share
    0.25
    """
    guesses = len(found)
    if not guesses:
        return Reference(0.0, 0.0, 1.0)
    size = min(people, others)
    control = singles_in_sample(elsewhere, have=others, want=size)
    low, high = wilson(round(control * guesses), guesses)
    if others >= people:
        return Reference(control, low, high)
    rate = float(np.mean(found == 1))
    left = others / people - control  # what is left to those that stem from a person
    if left <= 0:
        return Reference(rate, 0.0, 1.0)
    smaller = singles_in_sample(found, have=people, want=size)
    stemming = float(np.clip((smaller - control) / left, 0.0, 1.0))
    share = max(0.0, (rate - stemming) / (1 - stemming)) if stemming < 1 else 0.0
    ends = wilson(round(smaller * guesses), guesses)
    reach = float(np.hypot(high - low, ends[1] - ends[0])) / 2 * (1 - share) / left
    return Reference(share, max(0.0, share - reach), min(1.0, share + reach))


def singles_in_sample(counts: NDArray[np.int64], *, have: int, want: int) -> float:
    """Return the mean chance that `want` rows, drawn from `have`, hold one of the `counts` that fit.

    >>> round(singles_in_sample(np.array([1, 1, 0, 10]), have=10, want=5), 9)
    0.25
    """
    from scipy.special import gammaln

    matched = counts[(counts > 0) & (have - counts >= want - 1)].astype(np.float64)

    def log_choose(total: NDArray[np.float64], part: float) -> NDArray[np.float64]:
        return gammaln(total + 1) - gammaln(part + 1) - gammaln(total - part + 1)

    samples = log_choose(np.array([float(have)]), want)
    chances = np.log(matched) + log_choose(have - matched, want - 1) - samples
    return float(np.sum(np.exp(chances)) / len(counts))


def _word_verdict(targets: int, right: int, width: int, reference: float) -> str:
    columns = format_count(width, "column", "columns")
    if not targets:
        return f"No description of {columns} fits exactly one row of the synthetic table."
    return (
        f"{right:,} of {targets:,} descriptions of {columns} that fit one synthetic row fit exactly one "
        f"person of the source; of people who are not in it they would single out {format_percent(reference)}."
    )


def _build_example(
    trial: SyntheticTrial, tried: Predicates, found: NDArray[np.int64], elsewhere: NDArray[np.int64]
) -> list[str]:
    hits = np.flatnonzero(found == 1)
    if not len(hits):
        return []
    # Values that no one else has are shown first.
    shown = hits[np.argmin(elsewhere[hits])]
    words = tried.spell(int(shown), trial.features)
    return [
        f"One synthetic row has {words}.",
        "So has exactly one person of the source: anyone who knows this about a person can identify them.",
    ]
