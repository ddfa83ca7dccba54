"""Selection of groups to release: those whose noisy number of units reaches a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.dp.event import Sequence, Slip
from discreet.dp.logarithms import exp_above, exp_below, log_above
from discreet.dp.mechanisms.add import add_noise, as_integers
from discreet.dp.mechanisms.gaussian import gaussian_event
from discreet.dp.mechanisms.laplace import laplace_event
from discreet.dp.mechanisms.parameters import noise_or_system, require_count, require_delta
from discreet.dp.noise import Noise

# Up to this scale, the tail of the discrete Gaussian is added up term by term.
_ADDED_UP_TO = 4
# `erfc` of the C library is within some units in the last place, of which its argument, off by 2 of
# them, makes at most 3000; less than _LEAST is taken for 0.
_MARGIN = 1 + Fraction(1, 1 << 36)
_LEAST = Fraction(1, 1 << 1000)


@dataclass(frozen=True)
class SelectedPartitions:
    """Which groups passed, in the order they came, and their noisy numbers of units."""

    places: NDArray[np.int64]
    counts: NDArray[Any]
    threshold: int


def select_laplace(
    counts: Several[int] | NDArray[Any],
    *,
    epsilon: Fraction,
    delta: Fraction,
    groups: int,
    noise: Noise | None = None,
) -> tuple[SelectedPartitions, Sequence]:
    """Return the groups whose number of units plus discrete Laplace noise reaches the threshold.

    Guarantee: (epsilon, delta)-DP between tables that differ in one unit, if that unit is in at most
    `groups` groups and counts for 1 in each (Korolova et al. 2009; Desfontaines, Voss, Gipson &
    Mandayam 2022, section 1). Groups of that unit alone pass with a chance of at most delta in all;
    the numbers of the others differ by at most `groups` in all. The caller lists only groups that
    have units, in an order that does not depend on the data, such as their names'.

    Example:
        >>> kept, event = select_laplace(
        ...     [1, 4000], epsilon=Fraction(1), delta=Fraction(1, 10**9), groups=1
        ... )
        >>> kept.places.tolist(), kept.threshold
        ([1], 22)
    """
    added = laplace_event(epsilon=epsilon, sensitivity=require_count(groups, of="groups per unit"))
    threshold = laplace_threshold(added.scale, delta, groups)
    whole = as_integers(counts)
    drawn = noise_or_system(noise).laplace(added.scale, whole.size)
    return _keep_partitions(add_noise(whole, drawn), threshold), Sequence(
        (added, Slip(Fraction(delta)))
    )


def select_gaussian(
    counts: Several[int] | NDArray[Any],
    *,
    rho: Fraction,
    delta: Fraction,
    groups: int,
    noise: Noise | None = None,
) -> tuple[SelectedPartitions, Sequence]:
    """Return the groups whose number of units plus discrete Gaussian noise reaches the threshold.

    Guarantee: rho-zCDP but for a chance of delta, between tables that differ in one unit, if that
    unit is in at most `groups` groups and counts for 1 in each (as `select_laplace`; noise of Canonne,
    Kamath & Steinke 2020).
    """
    added = gaussian_event(rho=rho, squared_sensitivity=require_count(groups, of="groups per unit"))
    threshold = gaussian_threshold(added.scale, delta, groups)
    whole = as_integers(counts)
    drawn = noise_or_system(noise).gaussian(added.scale, whole.size)
    return _keep_partitions(add_noise(whole, drawn), threshold), Sequence(
        (added, Slip(Fraction(delta)))
    )


def laplace_threshold(scale: Fraction, delta: Fraction, groups: int, *, per_group: int = 1) -> int:
    """Return the least threshold that groups of one unit reach with a chance of at most `delta`.

    The unit is in at most `groups` groups and adds at most `per_group` to each. The chance is exact
    but for rounding up at 50 digits.

    >>> laplace_threshold(Fraction(1), Fraction(1, 10**5), 1)
    13
    """
    return _find_threshold(lambda least: laplace_tail(scale, least), delta, groups, per_group)


def gaussian_threshold(scale: Fraction, delta: Fraction, groups: int, *, per_group: int = 1) -> int:
    """Return the least threshold that groups of one unit reach with a chance of at most `delta`.

    As `laplace_threshold`; for scales above 4 the chance is an upper bound, with which the threshold
    is hardly ever larger, and then by 1.
    """
    return _find_threshold(lambda least: gaussian_tail(scale, least), delta, groups, per_group)


def laplace_tail(scale: Fraction, least: int) -> Fraction:
    """Return the chance that discrete Laplace noise is `least` or more, rounded up; `least` > 0."""
    return exp_above(-least / scale) / (1 + exp_below(-1 / scale))


def gaussian_tail(scale: Fraction, least: int) -> Fraction:
    """Return the chance that discrete Gaussian noise is `least` or more, rounded up; `least` > 0."""
    if scale <= _ADDED_UP_TO:
        return _added_tail(scale, least)
    if least - Fraction(1, 2) < scale:
        return Fraction(1, 2)
    # Beyond the scale the density is convex, so that a term is no more than the integral around it;
    # and the terms add up to no less than the integral (Poisson's summation formula).
    ratio = float((least - Fraction(1, 2)) / scale)
    return max(Fraction(math.erfc(ratio / math.sqrt(2))) / 2 * _MARGIN, _LEAST)


def _added_tail(scale: Fraction, least: int) -> Fraction:
    double = 2 * scale * scale
    # Terms from `last` on are a 1e40th part of the first one, and are less than a geometric series.
    last = least + math.ceil(14 * scale) + 2
    tail = sum((exp_above(-(x * x) / double) for x in range(least, last)), Fraction(0))
    beyond = exp_above(-(last * last) / double) / (1 - exp_above(-Fraction(2 * last) / double))
    return (tail + beyond) / _gaussian_mass(scale)


@lru_cache(64)
def _gaussian_mass(scale: Fraction) -> Fraction:
    """Return a lower bound of what the weights of a discrete Gaussian add up to."""
    terms = range(1, math.ceil(14 * scale) + 2)
    return 1 + 2 * sum((exp_below(-(x * x) / (2 * scale * scale)) for x in terms), Fraction(0))


def _find_threshold(
    tail: Callable[[int], Fraction], delta: Fraction, groups: int, per_group: int
) -> int:
    share = _delta_per_group(require_delta(delta), require_count(groups, of="groups per unit"))
    low, high = 0, 1
    while tail(high) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if tail(middle) > share else (low, middle)
    return high + require_count(per_group, of="a unit's rows per group")


def _delta_per_group(delta: Fraction, groups: int) -> Fraction:
    """Return the chance each of independent groups may have: 1 - (1 - delta)^(1 / groups), below."""
    if groups == 1:
        return delta
    apart = 1 - exp_above(log_above(1 - delta, places=40) / groups)
    return max(apart, delta / groups)  # which is always enough, and is all there is for tiny ones


def _keep_partitions(noisy: NDArray[Any], threshold: int) -> SelectedPartitions:
    places = np.flatnonzero(noisy >= threshold).astype(np.int64)
    return SelectedPartitions(places, noisy[places], threshold)
