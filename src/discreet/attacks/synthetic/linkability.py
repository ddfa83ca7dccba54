"""Linkability: two things known about a person lead to the same synthetic record."""

from __future__ import annotations

from collections.abc import Sequence

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
from discreet.attacks.synthetic.trial import Records, SyntheticTrial
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent, join_names

REMEDY = (
    "make the synthetic table under differential privacy, or publish one of the two sets of columns "
    "only; records that repeat a real person across both must go."
)


def link_column_sets(
    trial: SyntheticTrial,
    *,
    first: Sequence[str] | None = None,
    second: Sequence[str] | None = None,
    rng: np.random.Generator,
    guesses: int = 2000,
    neighbors: int = 1,
) -> Finding:
    """Return for how many people their `first` and their `second` columns lead to one record.

    An adversary has two tables about the same people that share no column. A person is linked when one
    record is among the `neighbors` closest both by the first columns and by the second (Giomi et al.
    2023). Without column names every other column is in the first set.

    >>> import pyarrow
    >>> from discreet.attacks.synthetic.trial import open_trial
    >>> people = pyarrow.table({"age": [20, 40, 60], "income": [3, 9, 6]})
    >>> others = pyarrow.table({"age": [20, 40, 60], "income": [9, 6, 3]})
    >>> trial = open_trial(people, source=people, control=others)
    >>> found = link_column_sets(trial, rng=np.random.default_rng(1))
    >>> found.rate, found.control
    (1.0, 0.0)
    """
    require_guesses(guesses)
    if neighbors < 1:
        raise WrongUsage(f"{neighbors} neighbors cannot agree. Use 1 or more.")
    sets = _choose_column_sets(trial, first, second)
    people = draw(trial.source, guesses, rng)
    others = draw(trial.control, guesses, rng)
    shared = _find_shared_rows(trial, trial.source.take(people), sets, neighbors)
    linked = shared >= 0
    control = reference_of(
        int(np.sum(_find_shared_rows(trial, trial.control.take(others), sets, neighbors) >= 0)),
        len(others),
    )
    right = int(np.sum(linked))
    compared = compare_with_control(right, len(people), control)
    return make_finding(
        "linkability",
        target=trial.label,
        verdict=(
            f"For {right:,} of {format_count(len(people), 'person', 'people')}, what is known of them in one "
            f"table ({', '.join(sets[0])}) and in another ({', '.join(sets[1])}) leads to the same "
            f"synthetic record; so it does for {format_percent(control.share)} of people who are not in the "
            "source."
        ),
        targets=len(people),
        exposed=right,
        correct=right,
        knowledge=f"of a person {join_names(sets[0])}, and in another table {join_names(sets[1])}.",
        remedy=REMEDY,
        baseline=_by_chance(len(trial.synthetic), neighbors),
        control=control.share,
        interval=compared.interval,
        details={
            "first": list(sets[0]),
            "second": list(sets[1]),
            "neighbors": neighbors,
            "risk_interval": compared.risk,
            "control_targets": len(others),
        },
        example=_build_example(trial, people, shared, sets),
    )


def _choose_column_sets(
    trial: SyntheticTrial, first: Sequence[str] | None, second: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = trial.names
    if first is None and second is None:
        first, second = names[::2], names[1::2]
    elif first is None:
        first = [name for name in names if name not in (second or ())]
    elif second is None:
        second = [name for name in names if name not in first]
    if not first or not second:
        raise WrongUsage(
            "Linking needs two sets of columns, and one of them is empty. Name both, such as "
            "--first age,sex --second diagnosis,income."
        )
    both = [name for name in first if name in (second or ())]
    if both:
        raise WrongUsage(
            f"Column '{both[0]}' is in both sets: it would link them by itself. Name it in one."
        )
    return tuple(first), tuple(second or ())


def _find_shared_rows(
    trial: SyntheticTrial,
    targets: Records,
    sets: tuple[tuple[str, ...], tuple[str, ...]],
    neighbors: int,
) -> NDArray[np.int64]:
    """Return a synthetic row that both sets of columns lead to, -1 where there is none."""
    left, right = (_closest_rows(trial, targets, names, neighbors) for names in sets)
    agree = left[:, :, None] == right[:, None, :]
    is_shared = agree.any(axis=2)
    return np.where(is_shared.any(axis=1), left[np.arange(len(left)), is_shared.argmax(axis=1)], -1)


def _closest_rows(
    trial: SyntheticTrial, targets: Records, names: Sequence[str], neighbors: int
) -> NDArray[np.int64]:
    places = trial.positions(names)
    return find_nearest(
        Records(targets.values[places]),
        Records(trial.synthetic.values[places]),
        [trial.features[place] for place in places],
        k=neighbors,
    ).rows


def _by_chance(rows: int, neighbors: int) -> float:
    """Return how often two draws of `neighbors` from `rows` share one."""
    if 2 * neighbors > rows:
        return 1.0
    missed = np.arange(rows - 2 * neighbors + 1, rows - neighbors + 1) / np.arange(
        rows - neighbors + 1, rows + 1
    )
    return float(1 - np.prod(missed))


def _build_example(
    trial: SyntheticTrial,
    people: NDArray[np.int64],
    shared: NDArray[np.int64],
    sets: tuple[tuple[str, ...], tuple[str, ...]],
) -> list[str]:
    hits = np.flatnonzero(shared >= 0)
    if not len(hits):
        return []
    person = trial.source.values[:, people[hits[0]]]
    described_values = [
        ", ".join(
            f"{name} {trial.features[place].spell(float(person[place]))}"
            for name, place in zip(names, trial.positions(names), strict=True)
        )
        for names in sets
    ]
    return [
        f"One table has a person with {described_values[0]}; another has a person with {described_values[1]}.",
        f"Row {int(shared[hits[0]]) + 1} of the synthetic table is closest to both: it is one person.",
    ]
