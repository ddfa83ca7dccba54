"""Counts, shares and names as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence


def format_count(number: int, one: str, many: str) -> str:
    """Return a number with what it counts: `1 person`, `2,000 people`."""
    return f"{number:,} {one if number == 1 else many}"


_YEAR = re.compile(
    r"(?:^|[^a-z])(?:years?|yr|jahr|annee|année|anno|año|rok|jaar|år)(?:$|[^a-z])|year$"
)


def is_year(name: str, value: float) -> bool:
    """Whether a number is a year by the name of its column: years have no thousands separator.

    >>> is_year("birth_year", 1965), is_year("year of diagnosis", 2021.5), is_year("salary", 2021)
    (True, True, False)
    """
    return 1000 <= abs(value) < 10_000 and bool(_YEAR.search(name.lower()))


def join_names(names: Sequence[str]) -> str:
    """Return names as prose: `a, b and c`."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def format_percent(share: float) -> str:
    """Return a share as a percentage that is never rounded to 0 % or 100 % unless it is.

    >>> format_percent(0.0413), format_percent(0.00001), format_percent(0.99999), format_percent(1.0)
    ('4.1 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %" if share not in (0, 1) else f"{100 * share:.0f} %"


def format_level(value: float | None) -> str:
    """Return a level as people read it; infinity is written out, because no level is worse.

    >>> format_level(12345), format_level(2.71828), format_level(float("inf")), format_level(None)
    ('12,345', '2.718', '∞ (unbounded)', 'not defined')
    """
    if value is None:
        return "not defined"
    if math.isinf(value):
        return "∞ (unbounded)"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def format_chance(chance: float | None) -> str:
    """Return a chance as a percentage, and say so where it is none."""
    if chance is None:
        return "no rows"
    return "more than 100 %" if chance > 1 else format_percent(chance)
