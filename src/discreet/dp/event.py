"""What a mechanism did, in exact numbers; `accounting` turns an event into a price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise of `scale` was added to integers that one unit changes by `sensitivity`.

    `sensitivity` is the L1 norm of the change over the whole vector.
    """

    sensitivity: Fraction
    scale: Fraction


@dataclass(frozen=True)
class Gaussian:
    """Discrete Gaussian noise of `scale` was added to integers.

    `squared_sensitivity` is the square of the L2 norm of the change over the whole vector: the norm
    itself is often no fraction.
    """

    squared_sensitivity: Fraction
    scale: Fraction


@dataclass(frozen=True)
class Choice:
    """One candidate was chosen by its score: exponential mechanism, permute-and-flip, noisy max.

    `is_exponential` means that the exponential mechanism itself was used, whose privacy loss has a
    range of `epsilon` instead of twice that, so that it is cheaper under zCDP.
    """

    epsilon: Fraction
    is_exponential: bool = False


@dataclass(frozen=True)
class Pure:
    """Any mechanism that is `epsilon`-DP: randomized response, sparse vector, a table of chances."""

    epsilon: Fraction


@dataclass(frozen=True)
class Slip:
    """With a chance of at most `delta` noise does not cover a release, such as a rare group's key."""

    delta: Fraction


@dataclass(frozen=True)
class Approximate:
    """Any mechanism that is (`epsilon`, `delta`)-DP."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Sequence:
    """All of `events`, chosen adaptively."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Parallel:
    """All of `events`, on parts of the data such that one unit is in one part only."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Group:
    """The cost of `event` for `size` units together, such as a family."""

    event: Event
    size: int


Event = Laplace | Gaussian | Choice | Pure | Slip | Approximate | Sequence | Parallel | Group
