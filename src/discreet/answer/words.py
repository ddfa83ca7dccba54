"""Prices, errors and shares as people read them."""

from __future__ import annotations

from math import isinf, isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.answer.explain import Explanation


def short(value: float | None) -> str:
    """Return a number as people read it, with no more digits than tell something.

    >>> short(1234.5678), short(0.00001234), short(None), short(12.0), short(1e-6)
    ('1,234.6', '1.234e-5', '–', '12', '1e-6')
    """
    if value is None or isnan(value):
        return "–"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.4g}".replace("e-0", "e-").replace("e+0", "e+")


def amounts(epsilon: float, delta: float) -> str:
    """Return a price or what is left in words; a delta of 0 goes without saying.

    >>> amounts(0.5, 0), amounts(1, 1e-6)
    ('epsilon 0.5', 'epsilon 1 and delta 1e-6')
    """
    told = f"epsilon {short(epsilon)}"
    return f"{told} and delta {short(delta)}" if delta else told


def percent(share: float) -> str:
    """Return a share of 1 as people read it.

    >>> percent(0.95), percent(0.0845)
    ('95 %', '8.45 %')
    """
    return f"{share * 100:.3g} %" if share < 10 else f"{share * 100:,.0f} %"


def price(found: Explanation) -> str:
    """Return what the question costs, on what, and whether there is as much left."""
    count = "1 noisy statistic" if found.mechanisms == 1 else f"{found.mechanisms} noisy statistics"
    groups = ""
    if found.groups is not None and found.groups > 1:
        groups = f" in each of {found.groups:,} public groups"
    told = (
        f"The question costs {amounts(found.epsilon, found.delta)}, for {count}{groups} "
        f"with {found.noise} noise."
    )
    if found.cut_epsilon:
        told += (
            f" Of it, epsilon {short(found.cut_epsilon)} tells how many rows the limits cut off."
        )
    left, delta = found.remaining.get("epsilon"), found.remaining.get("delta")
    if isinstance(left, float) and isinstance(delta, float):
        enough = left >= found.epsilon and delta >= found.delta
        told += f" Left{'' if enough else ', which is not enough'}: {amounts(left, delta)}."
    return told
