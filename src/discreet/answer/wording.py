"""Prices, errors and shares as people read them."""

from __future__ import annotations

from math import floor, isfinite, isinf, isnan, log10
from typing import TYPE_CHECKING, Any

from discreet.formatting import is_year

if TYPE_CHECKING:
    from discreet.answer.explain import Explanation
    from discreet.answer.workload_answer import WorkloadExplanation


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


def format_answer_cell(name: str, value: Any, half: float | None) -> str:
    """Return a noisy cell of column `name`; of a real number no digits that its error makes meaningless.

    >>> format_answer_cell("people", 12345, 3.0), format_answer_cell("pay", 2021.26, 12.5), format_answer_cell("year", 2021, 2)
    ('12,345', '2,021.3', '2021')
    """
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return "–" if value is None else str(value)
    text = format_short(value)
    if (
        half is not None
        and isfinite(half)
        and half > 0
        and isfinite(value)
        and not isinstance(value, int)
    ):
        digits = 2 - floor(log10(half))
        text = f"{round(value, digits):,.{max(digits, 0)}f}"
    return text.replace(",", "") if is_year(name, value) else text


def format_ranks(ranks: float) -> str:
    """Return how far a quantile may be off in the order of rows.

    >>> format_ranks(12.3)
    '12 ranks'
    """
    return f"{format_short(max(round(ranks), 1))} ranks"


def format_key(name: str, value: Any) -> str:
    """Return an exact cell, such as a key: it is a label, and an integer has no separators.

    >>> format_key("year", 2021), format_key("zip", 10115), format_key("x", 0.5), format_key("x", None)
    ('2021', '10115', '0.5', '–')
    """
    return str(value) if isinstance(value, int) else format_answer_cell(name, value, None)


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


def describe_workload_price(found: WorkloadExplanation) -> str:
    """Return what several questions cost together, and on what."""
    count = len(found.questions)
    asked = "1 question costs" if count == 1 else f"{count} questions cost"
    return (
        f"{asked} {format_amounts(found.epsilon, found.delta)} together, for {found.measurements} "
        f"measurements with {found.noise} noise."
    )


def describe_workload(found: WorkloadExplanation, number: int) -> list[str]:
    """Return lines that explain the price of a workload and the expected error of one of its questions."""
    lines = [describe_workload_price(found)]
    for item in found.expected:
        if item.statement != number:
            continue
        half = f"± {format_short(item.within)}" if item.ranks is None else format_ranks(item.ranks)
        lines.append(
            f"{item.aggregate}: {half} in each group, at {format_share(found.confidence)} confidence"
        )
    return [*lines, *found.cautions]
