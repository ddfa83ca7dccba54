"""The distinguishing game: which of two neighbors did this output come from?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.dp.calculate.distinguish import describe_lowest_error, lowest_error
from discreet.errors import WrongUsage

# Guesses about `runs` outputs for an input of 0 or `size`: True for those that say `size`.
Player = Callable[[int, int, Fraction, np.random.Generator, int], NDArray[np.bool_]]

TRIALS = 100_000
KNOWLEDGE = "both tables, which differ in one person, and how the noise is drawn."
REMEDY = "A smaller epsilon: the error of any adversary is at least 1/(1 + e^epsilon)."


@dataclass(frozen=True)
class GameRound:
    """How often the best guess about one mechanism's output was wrong, and must be."""

    mechanism: str
    played: int
    wrong: int
    expected: float

    @property
    def error(self) -> float:
        """How often it was wrong."""
        return self.wrong / self.played

    @property
    def right(self) -> int:
        """How many guesses were right."""
        return self.played - self.wrong


def laplace_error(epsilon: float) -> float:
    """Return how often the best guess errs about Laplace noise: e^(-epsilon/2) / 2.

    >>> round(laplace_error(1), 4)
    0.3033
    """
    return math.exp(-epsilon / 2) / 2


def play(
    mechanism: str,
    *,
    epsilon: Fraction,
    trials: int = TRIALS,
    size: int = 1,
    chance: np.random.Generator,
) -> GameRound:
    """Return how often the best guess errs, over `trials` outputs of either neighbor.

    `size` people who share a bit move a count by `size`; noise is made for one of them.

    Raises:
        WrongUsage: There is no such mechanism, or no trials.
    """
    players: dict[str, Player] = {
        "randomized response": _guess_from_response,
        "geometric": _guess_from_geometric,
        "laplace": _guess_from_laplace,
    }
    if mechanism not in players or trials < 1 or size < 1 or epsilon <= 0:
        raise WrongUsage(
            "Play with randomized response, geometric or laplace, an epsilon above 0, and at least "
            "one trial and one person."
        )
    player = players[mechanism]
    half = (trials + 1) // 2
    wrong = int(player(0, half, epsilon, chance, size).sum())
    wrong += int((~player(size, half, epsilon, chance, size)).sum())
    total_epsilon = float(epsilon) * size
    expected = (
        laplace_error(total_epsilon) if mechanism == "laplace" else lowest_error(total_epsilon)
    )
    if mechanism == "geometric":
        expected = geometric_error(float(epsilon), size)
    return GameRound(mechanism, 2 * half, wrong, expected)


def geometric_error(epsilon: float, size: int = 1) -> float:
    """Return how often the best guess errs about discrete Laplace noise when a count moves by `size`.

    For one person that is the bound 1/(1 + e^epsilon) itself.

    >>> round(geometric_error(1), 5)
    0.26894
    """
    # The chance of ⌈size / 2⌉ or more, and half of that of exactly size / 2, where guesses are even.
    decay = math.exp(-epsilon)
    tail = decay ** ((size + 1) // 2) / (1 + decay)
    if size % 2:
        return tail
    middle = (1 - decay) / (1 + decay) * decay ** (size // 2)
    return tail - middle / 2


def distinguish_neighbors(
    *, epsilon: Fraction, trials: int = TRIALS, chance: np.random.Generator
) -> tuple[Finding, ...]:
    """Return what the best adversary reaches against three mechanisms of the same epsilon."""
    found: list[Finding] = []
    bound = lowest_error(float(epsilon))
    for mechanism in ("randomized response", "geometric", "laplace"):
        one = play(mechanism, epsilon=epsilon, trials=trials, chance=chance)
        found.append(
            make_finding(
                "distinguishing",
                target=f"{mechanism}, epsilon {float(epsilon):g}",
                verdict=(
                    f"Of {one.played:,} outputs of {mechanism} the best guess at which of two neighbors "
                    f"they came from is wrong {one.error:.4f} of the time; at epsilon "
                    f"{float(epsilon):g} no guess is wrong less often than {describe_lowest_error(float(epsilon))}."
                ),
                targets=one.played,
                exposed=one.right,
                claimed=one.played,
                correct=one.right,
                knowledge=KNOWLEDGE,
                remedy=REMEDY,
                baseline=0.5,
                certainty=1 - one.expected,
                details={"error": one.error, "expected": one.expected, "bound": bound},
            )
        )
    return tuple(found)


def _guess_from_response(
    value: int, runs: int, epsilon: Fraction, chance: np.random.Generator, size: int
) -> NDArray[np.bool_]:
    from discreet.dp.mechanisms.response import randomize_among, truth_for

    del chance
    if size != 1:
        raise WrongUsage(
            "In randomized response each person answers alone: the size of a group is 1."
        )
    answers = np.full(runs, value)
    return randomize_among(answers, k=2, truth=truth_for(epsilon))[0] == 1


def _guess_from_geometric(
    value: int, runs: int, epsilon: Fraction, chance: np.random.Generator, size: int
) -> NDArray[np.bool_]:
    from discreet.dp.mechanisms.laplace import laplace_noisy_vector

    noisy, _ = laplace_noisy_vector(np.full(runs, value), epsilon=epsilon, sensitivity=1)
    return _guess_nearer_input(noisy.astype(np.float64), size, chance)


def _guess_from_laplace(
    value: int, runs: int, epsilon: Fraction, chance: np.random.Generator, size: int
) -> NDArray[np.bool_]:
    # No data are behind this noise, so that continuous noise is harmless here.
    return _guess_nearer_input(value + chance.laplace(0, 1 / float(epsilon), runs), size, chance)


def _guess_nearer_input(
    noisy: NDArray[np.float64], size: int, chance: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which outputs are nearer to `size` than to 0; in the middle a coin decides."""
    middle = size / 2
    return (noisy > middle) | ((noisy == middle) & (chance.random(noisy.size) < 0.5))
