"""What an attack learned about the people in a table beyond what it learns about anyone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.intervals import wilson
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.attacks.synthetic.trial import Records

KNOWLEDGE_OF_ALL = "the synthetic table, and nothing else."


@dataclass(frozen=True)
class Reference:
    """The share that the attack reaches on the control group, with its 95 % interval."""

    share: float
    low: float
    high: float


def reference_of(successes: int, trials: int) -> Reference:
    """Return what was reached on the control group, with Wilson's interval."""
    return Reference(successes / trials if trials else 0.0, *wilson(successes, trials))


@dataclass(frozen=True)
class Compared:
    """A rate against its control: `interval` is of the rate and `risk` of the share beyond control.

    Both intervals hold the error of the control group too, so that the rate is above control by more
    than chance exactly when the lower end of `interval` is.
    """

    interval: tuple[float, float]
    risk: tuple[float, float]


def compare_with_control(successes: int, trials: int, control: Reference) -> Compared:
    """Return the intervals of a rate and of its risk, (rate - control) / (1 - control).

    The difference of two shares has Newcombe's interval, made of the two Wilson intervals (1998,
    method 10).

    >>> found = compare_with_control(600, 1000, reference_of(200, 1000))
    >>> [round(end, 3) for end in (*found.interval, *found.risk)]
    [0.56, 0.638, 0.45, 0.548]
    """
    rate = successes / trials if trials else 0.0
    low, high = wilson(successes, trials)
    below = float(np.hypot(rate - low, control.high - control.share))
    above = float(np.hypot(high - rate, control.share - control.low))
    interval = max(0.0, rate - below), min(1.0, rate + above)
    left = 1 - control.share
    if left <= 0:
        return Compared(interval, (0.0, 0.0))
    ends = ((end - control.share) / left for end in interval)
    first, last = (min(1.0, max(0.0, end)) for end in ends)
    return Compared(interval, (first, last))


def draw(records: Records, many: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of at most `many` people, drawn without replacement."""
    return rng.permutation(len(records))[: min(many, len(records))]


def require_guesses(guesses: int) -> None:
    """Refuse an empty table of people."""
    if guesses < 1:
        raise WrongUsage(f"An attack of {guesses} guesses shows nothing. Try 2000.")
