"""Exact samplers over the integers, many values at once: no float takes part in a decision.

The algorithms are those of Canonne, Kamath & Steinke 2020 ("The discrete Gaussian for differential
privacy", algorithms 1 to 3), done on arrays. All chance is `os.urandom`. Numbers are 64-bit where
that provably suffices, and Python's integers (arrays of dtype object) elsewhere.

One idea makes large numerators quick. A chance such as e^(-gamma), with a gamma of hundreds of bits,
is decided by comparing gamma with the first 24 bits of a uniform number; only where those leave the
decision open, about once in a hundred thousand, is gamma itself computed as a fraction, and the
decision made with the chance that is left. What comes out has exactly the distribution that comparing
all bits would give.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Truths = NDArray[np.bool_]

BITS = 24  # of gamma and of the uniform number it is compared with
_UNIT = 1 << BITS
_BEYOND = 1 << 62  # stands for "no upper bound is known"
_LARGEST = 2**63 - 1
_AT_ONCE = 1 << 17  # so that a few arrays of them stay in the processor's cache


def uniform(below: int, count: int) -> NDArray[Any]:
    """Return `count` integers from 0 to `below` - 1, each as likely as another.

    They are int64 for `below` up to 2^62, else Python's integers.
    """
    if below > 1 << 62:
        return _uniform_large(below, count)
    word = np.dtype(np.uint16 if below <= 256 else np.uint64)
    size = 1 << (8 * word.itemsize)
    # Words at and above the largest multiple of `below` would favor small remainders.
    largest = word.type(size - size % below - 1)
    words = np.frombuffer(os.urandom(word.itemsize * count), word)
    while (again := np.flatnonzero(words > largest)).size:
        words = words.copy()
        words[again] = np.frombuffer(os.urandom(word.itemsize * again.size), word)
    return (words % word.type(below)).astype(np.int64)


def _uniform_large(below: int, count: int) -> NDArray[Any]:
    size, bits = (below.bit_length() + 7) // 8, below.bit_length()
    drawn = np.empty(count, object)
    filled = 0
    while filled < count:
        word = int.from_bytes(os.urandom(size)) >> (8 * size - bits)
        if word < below:
            drawn[filled] = word
            filled += 1
    return drawn


def bernoulli(chance: Fraction, count: int) -> Truths:
    """Return `count` coins, each true with a chance of exactly `chance`."""
    return uniform(chance.denominator, count) < chance.numerator


@dataclass(frozen=True)
class Exponents:
    """Numbers gamma >= 0, one per lane, known between two multiples of 2^-24 and exactly on demand."""

    lower: NDArray[Any]
    upper: NDArray[Any]
    exact: Callable[[int], Fraction]

    def take(self, lanes: Integers) -> Exponents:
        """Return the numbers of some lanes."""
        exact = self.exact
        return Exponents(self.lower[lanes], self.upper[lanes], lambda lane: exact(int(lanes[lane])))


def multiply_exponents(factors: NDArray[Any], rate: Fraction) -> Exponents:
    """Return gamma = `factors` · `rate`, for integers >= 0."""
    # From `far` on, gamma is at least 2^10, of which the lower bound is all that ever matters.
    far = math.ceil((1 << 10) / rate)
    if factors.dtype != object:
        far = min(far, 1 << 62)
    shift = max(0, far.bit_length() - 30)
    head = (np.minimum(factors, far) >> shift).astype(np.int64)
    step = min(math.floor(rate * (1 << (50 + shift))), 1 << 60)
    # head · step is below 2^62: it is near far · rate · 2^50, and below 2^60 where far is 1.
    lower = (head * step) >> (50 - BITS)
    upper = (((head + min(shift, 1)) * (step + 1)) >> (50 - BITS)) + 1
    upper[factors >= far] = _BEYOND
    return Exponents(lower, upper, lambda lane: int(factors[lane]) * rate)


def bernoulli_exp(gammas: Exponents) -> Truths:
    """Return one coin per lane, true with a chance of exactly e^-gamma.

    Canonne, Kamath & Steinke 2020, algorithm 1: e^-gamma is e^-1 as often as gamma has it whole, and
    the series of e^-(the rest).
    """
    result = np.zeros(gammas.lower.size, np.bool_)
    alive, whole = _survive_whole(gammas)
    rest = gammas.take(alive)
    fractional = Exponents(
        rest.lower - whole * _UNIT,
        rest.upper - whole * _UNIT,
        lambda lane: rest.exact(lane) - int(whole[lane]),
    )
    result[alive] = _flip_exp_series(fractional)
    return result


def _survive_whole(gammas: Exponents) -> tuple[Integers, NDArray[Any]]:
    """Return the lanes that live through e^-floor(gamma), and their floors."""
    least, most = gammas.lower >> BITS, gammas.upper >> BITS
    lives = np.zeros(least.size, np.int64)
    hard = np.flatnonzero(most > 0)
    lives[hard] = geometric(hard.size)
    alive = np.flatnonzero(lives >= least)
    whole = least[alive]
    for place in np.flatnonzero(whole != most[alive]):
        whole[place] = math.floor(gammas.exact(int(alive[place])))
    kept = lives[alive] >= whole
    return alive[kept], whole[kept]


def _flip_exp_series(gammas: Exponents) -> Truths:
    """Return coins of chance e^-gamma for gamma < 1: the first failing flip of gamma/k has an odd k."""
    result = np.zeros(gammas.lower.size, np.bool_)
    lanes = np.arange(gammas.lower.size)
    k = 1
    while lanes.size:
        words = np.frombuffer(os.urandom(4 * lanes.size), np.uint32) >> np.uint32(32 - BITS)
        scaled = words.astype(np.int64) * k
        succeeds = scaled + k <= gammas.lower[lanes]
        for place in np.flatnonzero(~succeeds & (scaled < gammas.upper[lanes])):
            # The uniform number is in [word, word + 1) / 2^24; gamma/k may be inside.
            gamma = gammas.exact(int(lanes[place])) / k * _UNIT - int(words[place])
            succeeds[place] = bernoulli(min(max(gamma, Fraction(0)), Fraction(1)), 1)[0]
        result[lanes[~succeeds]] = k % 2 == 1
        lanes = lanes[succeeds]
        k += 1
    return result


def geometric(count: int) -> Integers:
    """Return how many coins of chance e^-1 fall true before the first that does not."""
    ends, drawn = np.zeros(0, np.int64), 0
    while ends.size < count:
        # All coins are in one row, and each that does not fall true ends a count: about 0.63 of them.
        more = math.ceil((count - ends.size) / 0.6) + 8
        ends = np.concatenate([ends, drawn + np.flatnonzero(~_inverse_e(more))])
        drawn += more
    return np.diff(ends[:count], prepend=-1) - 1


def _inverse_e(count: int) -> Truths:
    """Return coins of chance e^-1: the series for gamma = 1, whose first flip always succeeds."""
    result = np.zeros(count, np.bool_)
    lanes = np.arange(count)
    k = 2
    while lanes.size:
        succeeds = uniform(k, lanes.size) == 0
        result[lanes[~succeeds]] = k % 2 == 1
        lanes = lanes[succeeds]
        k += 1
    return result


def discrete_laplace(scale: Fraction, count: int) -> Integers:
    """Return `count` integers x, each with a chance in proportion to e^(-|x| / `scale`), exactly.

    Canonne, Kamath & Steinke 2020, algorithm 2. A value beyond 64 bits becomes the last one within,
    which for scales up to 2^55 happens with a chance below e^-255.
    """
    return _repeat_until_full(lambda wanted: _propose_laplace(scale, wanted), count, share=0.55)


def _propose_laplace(scale: Fraction, count: int) -> Integers:
    first = uniform(scale.numerator, count)
    first = first[bernoulli_exp(multiply_exponents(first, Fraction(1, scale.numerator)))]
    lives = geometric(first.size)
    if scale.numerator * (int(lives.max(initial=0)) + 1) > _LARGEST:
        lives, first = lives.astype(object), first.astype(object)
    elif scale.denominator > _LARGEST:
        first = first.astype(object)
    sizes = (first + lives * scale.numerator) // scale.denominator
    if sizes.dtype == object:
        sizes = np.minimum(sizes, _LARGEST).astype(np.int64)
    is_negative = uniform(2, sizes.size) == 1
    # Both signs of 0 are one value: it would come twice as often.
    kept = ~(is_negative & (sizes == 0))
    return np.where(is_negative, -sizes, sizes)[kept]


def discrete_gaussian(variance: Fraction, count: int) -> Integers:
    """Return `count` integers x, each with a chance in proportion to e^(-x² / (2 `variance`)), exactly.

    Canonne, Kamath & Steinke 2020, algorithm 3: discrete Laplace values of a near scale, kept with
    the chance that makes up the difference.
    """
    width = math.isqrt(variance.numerator // variance.denominator) + 1

    def propose(wanted: int) -> Integers:
        drawn = discrete_laplace(Fraction(width), wanted)
        return drawn[bernoulli_exp(parabola(np.abs(drawn), variance, width=width))]

    return _repeat_until_full(propose, count, share=0.6)


def parabola(sizes: NDArray[Any], variance: Fraction, *, width: int) -> Exponents:
    """Return gamma = (`sizes` - `variance` / `width`)² / (2 `variance`)."""
    center = variance / width
    # In units in which `width` has 22 bits, distances up to 2^9 widths have 31 and squares 62.
    bits = 22 - width.bit_length()
    if int(sizes.max(initial=0)) >= width << 8:
        sizes = sizes.astype(object)
    heads = sizes << bits if bits >= 0 else sizes >> -bits
    middle = math.floor(center * Fraction(2) ** bits)
    below, above = heads - middle - 1, heads - middle + (0 if bits >= 0 else 1)
    least = np.maximum(np.maximum(below, -above), 0)
    most = np.maximum(above, -below)
    divisor = math.floor(2 * variance * Fraction(2) ** (2 * bits - BITS))
    lower = (least * least) // (divisor + 1)
    if divisor:
        upper = (most * most) // divisor + 1
    else:  # noise so small that it is 0: gamma is small there, and beyond all bounds elsewhere
        at_zero = math.ceil(center**2 / (2 * variance) * _UNIT)
        upper = np.where(sizes == 0, at_zero, _BEYOND)

    def exact(lane: int) -> Fraction:
        return (int(sizes[lane]) - center) ** 2 / (2 * variance)

    return Exponents(lower, upper, exact)


def _repeat_until_full(propose: Callable[[int], Integers], count: int, *, share: float) -> Integers:
    """Return `count` values of `propose`, which keeps about `share` of what it is asked for.

    The share decides how much is drawn at once, and nothing about what is drawn.
    """
    found: list[Integers] = []
    missing = count
    while missing > 0:
        kept = propose(min(math.ceil(missing / share) + 8, _AT_ONCE))[:missing]
        found.append(kept)
        missing -= kept.size
    return np.concatenate(found) if found else np.zeros(0, np.int64)
