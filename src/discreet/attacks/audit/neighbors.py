"""Neighboring inputs that expose a wrong mechanism: extremes, edges, gaps and overflows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Values that code forgets: both zeros, gaps, infinities, the ends of floats and of integers.
EDGES: tuple[float | int | None, ...] = (
    *(0, 1, -1, 0.5, None, float("nan"), float("inf"), float("-inf")),
    *(1e308, -1e308, 5e-324, 2**53 + 1, 2**63 - 1, -(2**63)),
)
# True counts that differ by one person: at zero, where floats are finest, and where they are coarse.
_COUNTS = ((0, 1), (1, 0), (1, 2), (7, 8), (1000, 1001), (2**53, 2**53 + 1), (2**62, 2**62 + 1))
_MOST_ROWS = 40


@dataclass(frozen=True)
class NeighborPair:
    """Two inputs that differ in one person, and in words how; the words quote no value."""

    words: str
    first: Any
    second: Any


def neighboring_counts() -> Iterator[NeighborPair]:
    """Yield pairs of numbers that one person moves by one."""
    for first, second in _COUNTS:
        yield NeighborPair(f"the inputs {first} and {second}", first, second)


def neighboring_lists(
    values: Sequence[Any], *, edges: Sequence[Any] = EDGES
) -> Iterator[NeighborPair]:
    """Yield lists of numbers with and without one person: an extreme one, or one with an edge value.

    >>> [pair.words for pair in neighboring_lists([3, 9, 5], edges=[None])]
    ['the list without its smallest value', 'the list without its largest value', 'the list and one more row: None', 'the empty list and a row: None']
    """
    whole = list(values)
    for words, place in _find_extremes(whole).items():
        yield NeighborPair(
            f"the list without its {words}", whole, whole[:place] + whole[place + 1 :]
        )
    for edge in edges:
        yield NeighborPair(f"the list and one more row: {edge}", whole, [*whole, edge])
        yield NeighborPair(f"the empty list and a row: {edge}", [], [edge])


def neighboring_tables(table: Any) -> Iterator[NeighborPair]:
    """Yield an Arrow table with and without a row: extreme in a column, first, last or with a gap."""
    import pyarrow as pa

    places: dict[str, int] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        places |= {
            f"{words} of '{name}'": at for words, at in _find_extremes(column.to_pylist()).items()
        }
    rows = table.num_rows
    if rows:
        places |= {"first row": 0, "last row": rows - 1}
    for words, place in list(places.items())[:_MOST_ROWS]:
        kept = np.delete(np.arange(rows), place)
        yield NeighborPair(f"the table without its {words}", table, table.take(pa.array(kept)))
    # A row of gaps is a person of whom nothing is known, which is a person still.
    nothing = pa.table({field.name: pa.nulls(1, field.type) for field in table.schema})
    yield NeighborPair("the table and a row of gaps", table, pa.concat_tables([table, nothing]))
    if rows:
        yield NeighborPair(
            "the table's first row and an empty table", table.slice(0, 1), table.slice(0, 0)
        )


def _find_extremes(values: Sequence[Any]) -> dict[str, int]:
    """Return where the smallest and the largest of the numbers are, and a gap."""
    numbers = {
        place: value
        for place, value in enumerate(values)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value  # noqa: PLR0124
    }
    found: dict[str, int] = {}
    if numbers:
        found["smallest value"] = min(numbers, key=lambda place: numbers[place])
        found["largest value"] = max(numbers, key=lambda place: numbers[place])
    if None in values:
        found["gap"] = list(values).index(None)
    return found
