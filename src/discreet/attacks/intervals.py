"""Intervals for shares: what a count of successes says about the chance behind it."""

from __future__ import annotations

from statistics import NormalDist

from discreet.errors import WrongUsage


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a share; (0, 1) where nothing was tried.

    Good for reporting: its average coverage is near `confidence` even where the share is near 0 or 1
    (Wilson 1927; Brown, Cai & DasGupta 2001). Where a claim must hold at least so often, take
    `clopper_pearson`.

    >>> [round(end, 3) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    _require(successes, trials)
    if not trials:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    center = share + z * z / (2 * trials)
    reach = z * (share * (1 - share) / trials + (z / (2 * trials)) ** 2) ** 0.5
    scale = 1 + z * z / trials
    low, high = (center - reach) / scale, (center + reach) / scale
    # At the ends rounding must not leave a sliver beyond what was seen.
    return (0.0 if not successes else low), (1.0 if successes == trials else high)


def clopper_pearson(
    successes: int, trials: int, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the exact interval of a share: it covers the truth with at least `confidence`.

    >>> [round(end, 4) for end in clopper_pearson(9, 10)]
    [0.555, 0.9975]
    """
    from scipy.stats import beta

    _require(successes, trials)
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    missed = trials - successes
    high = float(beta.ppf(1 - tail, successes + 1, missed)) if missed else 1.0
    return low, high


def _require(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise WrongUsage(f"{successes} of {trials} is no share: expected 0 ≤ successes ≤ trials.")
