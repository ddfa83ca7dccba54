"""Membership: people of the source fit the frequencies of a synthetic table better than others do.

A table under differential privacy is made of noisy counts of one and of two columns. So these are what an
adversary looks at: each person adds a little to the counts of their own values, and noise must hide it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.synthetic.risk import (
    compare_with_control,
    draw,
    reference_of,
    require_guesses,
)
from discreet.attacks.synthetic.trial import Records, SyntheticTrial
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent

REMEDY = "make the synthetic table with a smaller epsilon, or of fewer columns."
KNOWLEDGE = (
    "every shared column of a person, the frequencies of the population, and wants to know whether the "
    "person is in the source."
)
MOST_CELLS = 4096  # of two columns whose frequencies are compared
BINS = 32  # values of an ordered column that are kept apart
LEAST_COUNT = 0.5  # stands for a count of 0


def find_members(
    trial: SyntheticTrial,
    *,
    rng: np.random.Generator,
    guesses: int = 2000,
    false_alarms: float = 0.05,
) -> Finding:
    """Return how many people of the source are recognized by frequencies of one and two columns.

    The adversary adds up, over single columns and pairs, the log of how much more frequent a person's
    values are in the synthetic table than in the population, which it knows exactly (Homer et al.
    2008). It claims those above all but the share `false_alarms` of one half of the control group; the
    other half shows how often that is wrong.

    >>> import pyarrow
    >>> from discreet.attacks.synthetic.trial import open_trial
    >>> people = pyarrow.table({"age": range(20, 40)})
    >>> others = pyarrow.table({"age": range(40, 60)})
    >>> trial = open_trial(people, source=people, control=others)
    >>> find_members(trial, rng=np.random.default_rng(1)).rate
    1.0
    """
    require_guesses(guesses)
    if len(trial.control) < 2:
        raise WrongUsage(
            "The control group needs two people at least: half of it sets a threshold."
        )
    people = trial.source.take(draw(trial.source, guesses, rng))
    others = trial.control.take(draw(trial.control, 2 * guesses, rng))
    population = Records(np.hstack([trial.source.values, trial.control.values]))
    scores = _score_people(trial, people, trial.synthetic, population)
    elsewhere = _score_people(trial, others, trial.elsewhere.synthetic, population)
    half = len(others) // 2
    threshold = float(np.quantile(elsewhere[:half], 1 - false_alarms, method="higher"))
    right, wrong = int(np.sum(scores > threshold)), int(np.sum(elsewhere[half:] > threshold))
    control = reference_of(wrong, len(others) - half)
    compared = compare_with_control(right, len(people), control)
    return make_finding(
        "membership",
        target=trial.label,
        verdict=(
            f"{right:,} of {format_count(len(people), 'person', 'people')} of the source fit the frequencies of "
            f"the synthetic table so well that an adversary says they are in it; so do "
            f"{format_percent(control.share)} {trial.control_words}."
        ),
        targets=len(people),
        exposed=right,
        claimed=right + wrong,
        correct=right,
        knowledge=KNOWLEDGE,
        remedy=REMEDY,
        baseline=false_alarms,
        control=control.share,
        interval=compared.interval,
        details={"risk_interval": compared.risk, "control_targets": len(others) - half},
    )


def _score_people(
    trial: SyntheticTrial, people: Records, published: Records, population: Records
) -> NDArray[np.float64]:
    """Return the log likelihood ratio of each person, over single columns and pairs."""
    scores = np.zeros(len(people))
    tables = (people, published, population)
    for codes, size in _list_marginals(trial, tables):
        shares = [
            np.maximum(np.bincount(one, minlength=size), LEAST_COUNT) / len(one)
            for one in codes[1:]
        ]
        scores += np.log(shares[0] / shares[1])[codes[0]]
    return scores


def _list_marginals(
    trial: SyntheticTrial, tables: tuple[Records, ...]
) -> Iterator[tuple[list[NDArray[np.int64]], int]]:
    """Yield codes of single columns and of pairs, the same code for the same values in all tables."""
    ends = np.cumsum([len(one) for one in tables])[:-1]
    together = np.hstack([one.values for one in tables])
    columns: list[tuple[NDArray[np.int64], int]] = []
    for feature, values in zip(trial.features, together, strict=True):
        shares = np.floor(BINS * (values - feature.low) / feature.span)
        shown = np.minimum(shares, BINS - 1) if feature.is_ordered else values
        codes = np.unique(shown, return_inverse=True)[1].astype(np.int64)
        columns.append((codes, int(codes.max(initial=0)) + 1))
    for codes, size in columns:
        yield np.split(codes, ends), size
    for (first, many), (second, more) in itertools.combinations(columns, 2):
        if many * more <= MOST_CELLS:
            yield np.split(first * more + second, ends), many * more
