"""Prices, errors and shares as people read them."""

from __future__ import annotations

from math import isinf, isnan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.answer.explain import Explanation


def format_short(value: float | None) -> str:
    """Return a number as people read it, with significant digits only.

    >>> format_short(1234.5678), format_short(0.00001234), format_short(None), format_short(12.0), format_short(1e-6)
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


def format_amounts(epsilon: float, delta: float) -> str:
    """Return a price or what is left in words; a delta of 0 is left out.

    >>> format_amounts(0.5, 0), format_amounts(1, 1e-6)
    ('epsilon 0.5', 'epsilon 1 and delta 1e-6')
    """
    text = f"epsilon {format_short(epsilon)}"
    return f"{text} and delta {format_short(delta)}" if delta else text


def format_share(share: float) -> str:
    """Return a share of 1 as people read it.

    >>> format_share(0.95), format_share(0.0845)
    ('95 %', '8.45 %')
    """
    return f"{share * 100:.3g} %" if share < 10 else f"{share * 100:,.0f} %"


def describe_price(found: Explanation) -> str:
    """Return what the question costs, on what, and whether there is as much left."""
    count = "1 noisy statistic" if found.mechanisms == 1 else f"{found.mechanisms} noisy statistics"
    groups = ""
    if found.groups is not None and found.groups > 1:
        groups = f" in each of {found.groups:,} public groups"
    text = (
        f"The question costs {format_amounts(found.epsilon, found.delta)}, for {count}{groups} "
        f"with {found.noise} noise."
    )
    if found.cut_epsilon:
        text += f" Of it, epsilon {format_short(found.cut_epsilon)} measures how many rows the limits cut off."
    left, delta = found.remaining.get("epsilon"), found.remaining.get("delta")
    if isinstance(left, float) and isinstance(delta, float):
        enough = left >= found.epsilon and delta >= found.delta
        text += f" Left{'' if enough else ', which is not enough'}: {format_amounts(left, delta)}."
    return text
