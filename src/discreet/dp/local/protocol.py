"""How a value becomes a report: the method, the public values, and chances that are exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

from discreet.dp import event
from discreet.dp.logarithms import exp_below
from discreet.errors import InvalidBudget, InvalidMechanism, did_you_mean

Method = Literal["randomized-response", "grr", "oue", "olh", "hadamard"]
METHODS: tuple[str, ...] = get_args(Method)

# With so many bits, chances over a million values still have denominators of 62 bits, for which
# exact coins are quick.
_BITS = 40
_MOST_VALUES = 1 << 20


@dataclass(frozen=True)
class Protocol:
    """How every person randomizes their value before it is collected.

    `odds` is how much likelier any report may be for one value than for another: a fraction that is
    at most e^epsilon, so that a rounded chance never costs privacy.
    """

    method: Method
    values: tuple[str, ...]
    epsilon: Fraction
    odds: Fraction

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)

    @property
    def event(self) -> event.Pure:
        """The privacy loss of one report."""
        return event.Pure(self.epsilon)


def design_protocol(
    values: Sequence[str], *, epsilon: Fraction, method: str | None = None
) -> Protocol:
    """Return the protocol by which people report one of `values`.

    Guarantee: each report is epsilon-DP between any two values of the person who sends it (local
    differential privacy; Kasiviswanathan et al. 2008), for any collector and any behavior of others.

    Args:
        values: All possible values. They are public: never take them from the data.
        epsilon: The privacy loss of one report.
        method: How values are reported; when not given, the one whose counts vary least.

    >>> design_protocol(["flu", "cold", "none"], epsilon=Fraction(1)).method
    'grr'
    """
    if epsilon <= 0:
        raise InvalidBudget("An epsilon is above 0: with 0, reports would carry no information.")
    named = tuple(values)
    if not 2 <= len(named) <= _MOST_VALUES or len(set(named)) < len(named):
        raise InvalidMechanism(
            f"Name from 2 to {_MOST_VALUES:,} possible values, each of them once."
        )
    odds = odds_for(epsilon)
    chosen = method or recommend_method(len(named), odds)
    if chosen not in METHODS:
        raise InvalidMechanism(f"There is no method '{chosen}'.{did_you_mean(chosen, METHODS)}")
    if chosen == "randomized-response" and len(named) != 2:
        raise InvalidMechanism(
            f"Randomized response is for two values, and there are {len(named)}. Use grr."
        )
    return Protocol(cast("Method", chosen), named, epsilon, odds)


def odds_for(epsilon: Fraction) -> Fraction:
    """Return a fraction of 40 bits that is at most e^`epsilon`, and as near as that allows."""
    exact = exp_below(min(epsilon, Fraction(30)))  # more would not fit, and less is more private
    places = _BITS - (exact.numerator // exact.denominator).bit_length()
    odds = Fraction(int(exact * 2**places), 2**places) if places > 0 else Fraction(int(exact))
    if odds <= 1:
        raise InvalidBudget("The epsilon is so small that reports would carry no information.")
    return odds


def recommend_method(size: int, odds: Fraction) -> Method:
    """Return the method whose counts of rare values vary least (Wang et al. 2017, section 5)."""
    if size == 2:
        return "randomized-response"
    return "grr" if size < 3 * odds + 2 else "olh"
