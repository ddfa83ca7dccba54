"""Distance to the closest record: people of the source lie nearer to the synthetic table than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.synthetic.neighbors import find_nearest
from discreet.attacks.synthetic.risk import (
    compare_with_control,
    draw,
    reference_of,
    require_guesses,
)
from discreet.attacks.synthetic.trial import Records, SyntheticTrial, row_keys
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent

REMEDY = (
    "make the synthetic table under differential privacy; taking out records that lie too near to a real "
    "person reveals by the gap where that person is."
)
KNOWLEDGE = "every shared column of a person, and wants to know whether they are in the source."


@dataclass(frozen=True)
class _Distances:
    """How far people are from their closest synthetic record."""

    source: NDArray[np.float32]
    control: NDArray[np.float32]  # by which the threshold is judged
    training: NDArray[np.float32]  # of the control group too, by which it is chosen


def find_closest_people(
    trial: SyntheticTrial,
    *,
    rng: np.random.Generator,
    guesses: int = 2000,
    false_alarms: float = 0.05,
) -> Finding:
    """Return how many people of the source lie suspiciously near to a synthetic record.

    The adversary says that a person is in the source when they are nearer than all but the share
    `false_alarms` of one half of the control group; the other half shows how often that is wrong.

    >>> import pyarrow
    >>> from discreet.attacks.synthetic.trial import open_trial
    >>> people, others = pyarrow.table({"age": [20, 40, 60]}), pyarrow.table({"age": [30] * 40})
    >>> trial = open_trial(people, source=people, control=others)
    >>> find_closest_people(trial, rng=np.random.default_rng(1)).details["copies"]
    3
    """
    require_guesses(guesses)
    if not 0 < false_alarms < 1:
        raise WrongUsage(f"A share of {false_alarms} false alarms is not between 0 and 1.")
    if len(trial.control) < 2:
        raise WrongUsage(
            "The control group needs two people at least: half of it sets a threshold."
        )
    people = draw(trial.source, guesses, rng)
    found = _measure(trial, people, guesses, rng)
    threshold = choose_threshold(found.training, false_alarms)
    right = int(np.sum(found.source <= threshold))
    wrong = int(np.sum(found.control <= threshold))
    control = reference_of(wrong, len(found.control))
    compared = compare_with_control(right, len(people), control)
    return make_finding(
        "closest",
        target=trial.label,
        verdict=(
            f"{right:,} of {format_count(len(people), 'person', 'people')} of the source lie so near to a "
            f"synthetic record that an adversary says they are in it; so do {format_percent(control.share)} "
            f"{trial.control_words}."
        ),
        targets=len(people),
        exposed=right,
        claimed=right + wrong,
        correct=right,
        knowledge=KNOWLEDGE,
        remedy=REMEDY,
        baseline=false_alarms,  # who names so many strangers at random, names as many members
        control=control.share,
        interval=compared.interval,
        certainty=_membership_certainty(right / len(people), control.share),
        details={
            "threshold": float(threshold),
            "risk_interval": compared.risk,
            "control_targets": len(found.control),
            "auc": distance_area_under_curve(
                found.source, np.concatenate([found.control, found.training])
            ),
            "median_distance": float(np.median(found.source)),
            "median_distance_control": float(np.median(found.control)),
            **_count_copies(trial),
            "features": list(trial.names),
        },
        example=_build_example(trial, people, found),
    )


def choose_threshold(distances: NDArray[np.float32], share: float) -> float:
    """Return the largest distance that at most `share` reach, the smallest of all if none does.

    >>> choose_threshold(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32), 0.5) < 0.3
    True
    """
    values, counts = np.unique(distances, return_counts=True)
    allowed = np.flatnonzero(np.cumsum(counts) <= share * len(distances))
    return float(values[allowed[-1] if len(allowed) else 0])


def distance_area_under_curve(near: NDArray[np.float32], far: NDArray[np.float32]) -> float:
    """Return the chance that one of `near` is smaller than one of `far`, ties by half: the AUC.

    >>> distance_area_under_curve(np.array([0.0, 1.0], dtype=np.float32), np.array([1.0, 2.0], dtype=np.float32))
    0.875
    """
    ordered = np.sort(far)
    below = np.searchsorted(ordered, near, side="right")
    at_least = np.searchsorted(ordered, near, side="left")
    return float(1 - np.mean(below + at_least) / (2 * len(far)))


def _measure(
    trial: SyntheticTrial, people: NDArray[np.int64], guesses: int, rng: np.random.Generator
) -> _Distances:
    others = draw(trial.control, 2 * guesses, rng)
    half = len(others) // 2
    of_people = find_nearest(trial.source.take(people), trial.synthetic, trial.features)
    of_others = find_nearest(trial.control.take(others), trial.elsewhere.synthetic, trial.features)
    distances = of_others.distances[:, 0]
    return _Distances(of_people.distances[:, 0], distances[half:], distances[:half])


def _count_copies(trial: SyntheticTrial) -> dict[str, int]:
    """Return how many rows of the source, and of the control group, are in their synthetic table."""
    return {
        "copies": _count_equal_rows(trial.source, trial.synthetic),
        "copies_of_control": _count_equal_rows(trial.control, trial.elsewhere.synthetic),
    }


def _count_equal_rows(people: Records, published: Records) -> int:
    keys = row_keys(np.hstack([published.values, people.values]))
    return int(np.sum(np.isin(keys[len(published) :], keys[: len(published)])))


def _membership_certainty(rate: float, control: float) -> float | None:
    """Return how often the adversary is right who thinks a person as likely in the source as not."""
    return rate / (rate + control) if rate + control else None


def _build_example(
    trial: SyntheticTrial, people: NDArray[np.int64], found: _Distances
) -> list[str]:
    nearest = int(np.argmin(found.source))
    person = trial.source.values[:, people[nearest]]
    described_values = ", ".join(
        f"{feature.name} {feature.spell(float(value))}"
        for feature, value in zip(trial.features, person, strict=True)
    )
    distance = float(found.source[nearest])
    away = "is in the synthetic table as they are" if not distance else f"is {distance:.3g} away"
    return [
        f"A person of the source: {described_values}.",
        f"Their closest synthetic record {away}.",
    ]
