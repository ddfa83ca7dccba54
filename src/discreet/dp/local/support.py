"""What all protocols share: a report supports some values, and the true one more often than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyarrow as pa

from discreet.arrow import pc
from discreet.errors import UnreadableSource


@dataclass(frozen=True)
class Support:
    """The chance that a report supports its sender's value, and that it supports any other one.

    These are the "pure protocols" of Wang et al. 2017: the two numbers give the estimator, its
    error and its interval, for every form of reports.
    """

    true: Fraction
    other: Fraction


def require_form(column: Any, name: str) -> Any:
    """Return a column of reports as one array; one without a report in each row is refused."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if whole.null_count:
        raise UnreadableSource(
            f"{whole.null_count} rows have no {name} of this protocol. The reports were made with "
            "another method, or with other values."
        )
    return whole


def require_range(column: Any, name: str, *, below: int) -> Any:
    """Return whole numbers from 0 to `below` - 1 as an array of numpy."""
    try:
        numbers = require_form(column, name).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException:
        numbers = None
    if numbers is None or (numbers.size and not 0 <= numbers.min() <= numbers.max() < below):
        raise UnreadableSource(
            f"Column '{name}' holds what is no {name} of this protocol. The reports were made with "
            "another method, or with other values."
        )
    return numbers


def code_values(column: Any, values: Sequence[str]) -> Any:
    """Return the place of each value in `values`, missing where it is not among them."""
    found = pc.index_in(column.cast(pa.string()), value_set=pa.array(values, pa.string()))
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
