"""One candidate of several by integer scores: exponential mechanism, permute-and-flip, noisy max."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Choice
from discreet.dp.mechanisms.add import as_integers
from discreet.dp.mechanisms.parameters import noise_or_system, require_epsilon, require_sensitivity
from discreet.dp.noise import Noise, representable
from discreet.errors import InvalidMechanism


def permute_and_flip(
    scores: Sequence[int] | NDArray[Any],
    *,
    epsilon: Fraction,
    sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[int, Choice]:
    """Return the place of a candidate with a high score; never worse than the exponential mechanism.

    Guarantee: epsilon-DP between tables of which each score differs by at most `sensitivity`
    (McKenna & Sheldon 2020).

    Example:
        >>> from fractions import Fraction
        >>> permute_and_flip([0, 900, 3], epsilon=Fraction(1), sensitivity=1)
        (1, Choice(epsilon=Fraction(1, 1), is_exponential=False))
    """
    whole, share, change = _check(scores, epsilon, sensitivity)
    return noise_or_system(noise).choose(whole, epsilon=share, sensitivity=change), Choice(share)


def exponential_mechanism(
    scores: Sequence[int] | NDArray[Any],
    *,
    epsilon: Fraction,
    sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[int, Choice]:
    """Return a place with a chance in proportion to e^(`epsilon` · score / (2 `sensitivity`)).

    Guarantee: epsilon-DP between tables of which each score differs by at most `sensitivity`
    (McSherry & Talwar 2007, theorem 6), with a privacy loss whose range is epsilon (Dong, Durfee &
    Rogers 2020), which zCDP counts as less.
    """
    whole, share, change = _check(scores, epsilon, sensitivity)
    chosen = noise_or_system(noise).choose_exponentially(whole, epsilon=share, sensitivity=change)
    return chosen, Choice(share, is_exponential=True)


def report_noisy_max(
    scores: Sequence[int] | NDArray[Any],
    *,
    epsilon: Fraction,
    sensitivity: Fraction | int,
    noise: Noise | None = None,
) -> tuple[int, Choice]:
    """Return the place of the largest score after discrete Laplace noise of 2 `sensitivity` / `epsilon`.

    Guarantee: epsilon-DP between tables of which each score differs by at most `sensitivity` (Dwork &
    Roth 2014, claim 3.9, with twice the scale since scores may move in opposite ways). Ties go to the
    first: with all other noise fixed, a place wins from some integer of its own noise on, and that
    integer moves by at most 2 `sensitivity`, ties or not. The noisy scores are not released.
    """
    whole, share, change = _check(scores, epsilon, sensitivity)
    drawn = noise_or_system(noise).laplace(representable(2 * change / share), whole.size)
    # Python's integers, since a sum that stops at the end of 64 bits would make ties of its own.
    return int(np.argmax(whole.astype(object) + drawn.astype(object))), Choice(share)


def _check(
    scores: Sequence[int] | NDArray[Any], epsilon: Fraction, sensitivity: Fraction | int
) -> tuple[NDArray[Any], Fraction, Fraction]:
    whole = as_integers(scores)
    if whole.size == 0:
        raise InvalidMechanism("There is no candidate to choose. Give at least one.")
    return whole, require_epsilon(epsilon), require_sensitivity(sensitivity)
