"""Known people as an adversary sees them through several releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.locating.locate import KnownCombinations, Located, gather_combinations, locate
from discreet.attacks.releases.intersection import (
    CandidateValues,
    ValueDictionary,
    build_value_dictionary,
    find_candidates,
    weights_of,
)
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.roles import require_column
from discreet.policy.hierarchy import Hierarchy


@dataclass(frozen=True)
class AdversaryView:
    """What releases leave for known people, by one sensitive column.

    Attributes:
        weights: How many people each known combination of values stands for.
        alone: What each release leaves.
        words: The values of the column; `prior` has their shares over all releases.
        prior: The shares.
        truth: Each person's true value, -1 where no release has it; None where unknown.
    """

    weights: NDArray[np.int64]
    alone: tuple[CandidateValues, ...]
    words: ValueDictionary
    prior: NDArray[np.float64]
    truth: NDArray[np.int64] | None

    @property
    def people(self) -> int:
        """How many people are known."""
        return int(self.weights.sum())

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Return how many people are chosen."""
        return int(self.weights[chosen].sum())

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Return the share of people who are chosen."""
        return self.count(chosen) / max(self.people, 1)

    def is_right(self, guess: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Return which guesses are right, None where the truth is not known."""
        return None if self.truth is None else (guess == self.truth) & (guess >= 0)

    def average(self, sizes: NDArray[np.int64], chosen: NDArray[np.bool_]) -> float | None:
        """Return the mean number of values that people may have."""
        if not self.count(chosen):
            return None
        return float(np.average(sizes[chosen], weights=self.weights[chosen]))


def view_releases(
    known: Table,
    releases: Sequence[Table],
    *,
    on: Mapping[str, str],
    sensitive: Sequence[str],
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> tuple[list[Located], list[AdversaryView]]:
    """Return where people may be who have the same values in all releases, and what those leave.

    The second list has an entry for each sensitive column.
    """
    people, truths = gather_people(known, on=on, sensitive=sensitive)
    located = [
        locate(people, release, on=on, members=sensitive, hierarchies=hierarchies)
        for release in releases
    ]
    weights, columns = weights_of(people, *truths)
    known_truth = dict(zip(truths, columns, strict=True))
    found: list[AdversaryView] = []
    for index, name in enumerate(sensitive):
        words, prior = build_value_dictionary(located, index)
        alone = [find_candidates(one, words, index=index, people=len(weights)) for one in located]
        truth = words.codes(known_truth[name]) if name in known_truth else None
        found.append(AdversaryView(weights, tuple(alone), words, prior, truth))
    return located, found


def gather_people(
    known: Table, *, on: Mapping[str, str], sensitive: Sequence[str], more: Sequence[str] = ()
) -> tuple[KnownCombinations, list[str]]:
    """Return known people by what is used of them, and which sensitive columns they come with."""
    overlap = [name for name in sensitive if name in on.values() or name in on]
    if overlap:
        raise WrongUsage(
            f"'{overlap[0]}' is what is to be learned, and cannot be what people are found by."
        )
    truths = [name for name in sensitive if known.column(name) is not None]
    for name in on:
        require_column(known, name)
    people = gather_combinations(known, [*on, *truths, *more])
    weights, _ = weights_of(people)
    if not len(weights):
        raise EmptySource(f"{known.label} has a header but no rows.")
    return people, truths
