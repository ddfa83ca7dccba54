"""The only source of private noise: exact, from the operating system, without a seed.

Noise is drawn apart from data and added in exact integers, so that neither the data nor a float can
shape it. Up to `OPENDP_UP_TO` values come from OpenDP's samplers where they are installed and know
the scale exactly; more values, and any without OpenDP, come from `dp.exact`, whose distribution is
the same.

One candidate of several is chosen by rejection with coins of chance e^-gamma. Candidates come as gaps,
integers by which their score is below the best one, and `rate` is what one point of score is worth:
a candidate's weight is e^(-gap · rate). Many runs can be made at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.dp.exact import (
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    multiply_exponents,
)
from discreet.dp.exact import uniform as exact_uniform
from discreet.errors import InvalidBudget, InvalidMechanism

_AT_ONCE = 1 << 20
Sampler = Callable[[list[int]], list[int]]

# Above this scale, noise would leave 64 bits with a chance that is not negligible: e^-256 here.
LARGEST_SCALE = Fraction(2**55)
# Measured (bench/noise.py): about a millisecond either way; for 1 000 values OpenDP takes 10.
OPENDP_UP_TO = 100


class Noise(Protocol):
    """A source of noise; the only one outside tests is the system's."""

    def laplace(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        """Return `count` discrete Laplace values."""
        ...

    def gaussian(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        """Return `count` discrete Gaussian values of standard parameter `scale`."""
        ...

    def uniform(self, below: int, count: int) -> NDArray[Any]:
        """Return `count` integers from 0 to `below` - 1, each as likely as another."""
        ...

    def choose(self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction) -> int:
        """Return the place of a good score, by permute-and-flip."""
        ...

    def choose_each(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> NDArray[np.int64]:
        """Return the place of a good score in each row, by permute-and-flip."""
        ...

    def choose_exponentially(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> int:
        """Return the place of a good score, by the exponential mechanism."""
        ...


class SystemNoise:
    """Noise from the operating system's randomness. It has no seed and no state."""

    def laplace(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        """Return `count` discrete Laplace values."""
        return sample_laplace(scale, count)

    def gaussian(self, scale: Fraction, count: int) -> NDArray[np.int64]:
        """Return `count` discrete Gaussian values of standard parameter `scale`."""
        return sample_gaussian(scale, count)

    def uniform(self, below: int, count: int) -> NDArray[Any]:
        """Return `count` integers from 0 to `below` - 1, each as likely as another."""
        return exact_uniform(below, count)

    def choose(self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction) -> int:
        """Return the place of a good score, by permute-and-flip."""
        rate = _choice_rate(scores, epsilon, sensitivity)
        return int(sample_permute_and_flip(score_gaps(scores), rate, 1)[0])

    def choose_each(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> NDArray[np.int64]:
        """Return the place of a good score in each row, by permute-and-flip."""
        rate = _choice_rate(scores, epsilon, sensitivity)
        return sample_permute_and_flip_each(score_gaps(scores), rate)

    def choose_exponentially(
        self, scores: NDArray[Any], *, epsilon: Fraction, sensitivity: Fraction
    ) -> int:
        """Return the place of a good score, by the exponential mechanism."""
        rate = _choice_rate(scores, epsilon, sensitivity)
        return int(sample_exponential(score_gaps(scores), rate, 1)[0])


def system_noise() -> Noise:
    """Return the noise of this machine."""
    return SystemNoise()


def sample_laplace(scale: Fraction, count: int) -> NDArray[np.int64]:
    """Return `count` integers x, each with a chance in proportion to e^(-|x| / `scale`).

    Guarantee: exact, for every fraction from above 0 to 2^55 (Canonne, Kamath & Steinke 2020,
    algorithm 2); values are independent of each other and of everything else.

    Example:
        >>> from fractions import Fraction
        >>> values = sample_laplace(Fraction(10, 3), 5)
        >>> values.dtype, values.size
        (dtype('int64'), 5)
    """
    _check(scale, count)
    sampler = _opendp_laplace(float(scale)) if _suits_opendp(scale, count) else None
    if sampler is None:
        return discrete_laplace(scale, count)
    return np.array(sampler([0] * count), np.int64)


def sample_gaussian(scale: Fraction, count: int) -> NDArray[np.int64]:
    """Return `count` integers x, each with a chance in proportion to e^(-x² / (2 `scale`²)).

    Guarantee: exact, for every fraction from above 0 to 2^55 (Canonne, Kamath & Steinke 2020,
    algorithm 3); values are independent of each other and of everything else.

    Example:
        >>> from fractions import Fraction
        >>> sample_gaussian(Fraction(40), 3).size
        3
    """
    _check(scale, count)
    sampler = _opendp_gaussian(float(scale)) if _suits_opendp(scale, count) else None
    if sampler is None:
        return discrete_gaussian(scale * scale, count)
    return np.array(sampler([0] * count), np.int64)


def representable(scale: Fraction) -> Fraction:
    """Return the least scale that a float holds and that is no less than `scale`.

    OpenDP takes its scale as a float: a mechanism draws with this one, and says so in its event.

    >>> representable(Fraction(1, 4)), representable(Fraction(1, 3)) > Fraction(1, 3)
    (Fraction(1, 4), True)
    """
    if scale <= 0:
        raise InvalidMechanism("Noise needs a scale above 0. Give a larger sensitivity.")
    if scale > LARGEST_SCALE:
        raise InvalidMechanism(
            "The noise would need a scale above 2^55, which no 64-bit answer can hold. "
            "Use narrower bounds, a coarser granularity or a larger epsilon."
        )
    near = float(scale)
    return Fraction(near if Fraction(near) >= scale else math.nextafter(near, math.inf))


def representable_root(square: Fraction) -> Fraction:
    """Return the least scale that a float holds and whose square is no less than `square`.

    >>> representable_root(Fraction(9)), representable_root(Fraction(2)) ** 2 >= 2
    (Fraction(3, 1), True)
    """
    if square <= 0:
        return representable(square)
    # isqrt of 2^128 · square is within 2^-64 of the root, relative to it where it is 1 or more.
    shift = 64 + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    floor = math.isqrt((square.numerator << 2 * shift) // square.denominator)
    near = representable(Fraction(floor, 1 << shift))
    return near if near * near >= square else _next_double(near)


def _next_double(scale: Fraction) -> Fraction:
    return Fraction(math.nextafter(float(scale), math.inf))


def _check(scale: Fraction, count: int) -> None:
    representable(scale)
    if count < 0:
        raise InvalidMechanism("Fewer than no values of noise were asked for.")


def _choice_rate(scores: NDArray[Any], epsilon: Fraction, sensitivity: Fraction) -> Fraction:
    if epsilon <= 0:
        raise InvalidBudget("A choice needs an epsilon above 0.")
    if sensitivity <= 0 or scores.size == 0:
        raise InvalidMechanism("A choice needs candidates, and scores that one unit can change.")
    return Fraction(epsilon) / (2 * Fraction(sensitivity))


def _suits_opendp(scale: Fraction, count: int) -> bool:
    return 0 < count <= OPENDP_UP_TO and Fraction(float(scale)) == scale


@cache
def _has_opendp() -> bool:
    try:
        from opendp.mod import enable_features
    except ImportError:
        return False
    enable_features("contrib")
    return True


@lru_cache(64)
def _opendp_laplace(scale: float) -> Sampler | None:
    if not _has_opendp():
        return None
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale)


@lru_cache(64)
def _opendp_gaussian(scale: float) -> Sampler | None:
    if not _has_opendp():
        return None
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale)


def score_gaps(scores: NDArray[Any]) -> NDArray[Any]:
    """Return how far each integer score is below the largest one of its row."""
    if int(scores.max()) - int(scores.min()) >= 1 << 63:
        scores = scores.astype(object)
    return scores.max(axis=-1, keepdims=True) - scores


def sample_permute_and_flip(gaps: NDArray[Any], rate: Fraction, runs: int) -> NDArray[np.int64]:
    """Return the first candidate in a random order whose coin of chance e^(-gap · rate) is true.

    McKenna & Sheldon 2020, algorithm 1. The best candidate's coin is always true. Coins and order are
    independent, so that the first of those whose coin is true is any of them, one as likely as another.
    """
    return sample_permute_and_flip_each(np.broadcast_to(gaps, (runs, gaps.size)), rate)


def sample_permute_and_flip_each(gaps: NDArray[Any], rate: Fraction) -> NDArray[np.int64]:
    """Return what `sample_permute_and_flip` chooses in each row of `gaps`, independently of the others."""
    rows = max(1, _AT_ONCE // gaps.shape[1])
    parts = [
        _choose_candidates(gaps[start : start + rows], rate) for start in range(0, len(gaps), rows)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _choose_candidates(gaps: NDArray[Any], rate: Fraction) -> NDArray[np.int64]:
    flips = bernoulli_exp(multiply_exponents(gaps.ravel(), rate)).reshape(gaps.shape)
    numbers = flips.sum(axis=1)
    picked = np.empty(len(gaps), np.int64)
    for number in np.unique(numbers):
        alike = numbers == number
        picked[alike] = exact_uniform(int(number), int(alike.sum()))
    first = np.cumsum(numbers) - numbers
    return np.nonzero(flips)[1][first + picked]


def sample_exponential(gaps: NDArray[Any], rate: Fraction, runs: int) -> NDArray[np.int64]:
    """Return candidates, each with a chance in proportion to e^(-gap · rate).

    Rejection: candidates are proposed uniformly until one's coin is true (McSherry & Talwar 2007 for
    the distribution).
    """
    chosen = np.zeros(runs, np.int64)
    waiting = np.arange(runs)
    while waiting.size:
        trials = max(1, min(gaps.size, _AT_ONCE // waiting.size))
        proposed = exact_uniform(gaps.size, waiting.size * trials)
        flips = bernoulli_exp(multiply_exponents(gaps[proposed], rate)).reshape(
            waiting.size, trials
        )
        first = np.argmax(flips, axis=1)
        is_done = flips.any(axis=1)
        picked = proposed.reshape(flips.shape)[np.arange(waiting.size), first]
        chosen[waiting[is_done]] = picked[is_done]
        waiting = waiting[~is_done]
    return chosen
