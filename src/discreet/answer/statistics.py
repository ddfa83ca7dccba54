"""The fewest noisy sums that the aggregates need, and how each is read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.answer import blocks
from discreet.answer.aggregates import MOMENTS, Aggregate, AggregateKind
from discreet.answer.blocks import SumBlock
from discreet.errors import Bug

SPREADS = (
    AggregateKind.VARIANCE,
    AggregateKind.VARIANCE_POP,
    AggregateKind.STDDEV,
    AggregateKind.STDDEV_POP,
)
ROOTS = (AggregateKind.STDDEV, AggregateKind.STDDEV_POP)
Array = Any  # of float64; numpy's own types are no more precise
Noisy = "Mapping[str, Sequence[Array]]"  # the noisy vertices of each block, by its name


@dataclass(frozen=True)
class AggregateReading:
    """An aggregate and the block it is read from."""

    aggregate: Aggregate
    block: SumBlock


def assemble_blocks(
    aggregates: Sequence[Aggregate], *, counts_rows: bool, counts_units: bool, finest: int
) -> tuple[tuple[SumBlock, ...], dict[Aggregate, AggregateReading]]:
    """Return the blocks, and how the aggregates that need no engine query of their own are read.

    With `counts_rows` or `counts_units` there is a block for these in any case: it decides which
    groups are released. `finest` is how many steps a real number is counted in.
    """
    asked = {item.ask for item in aggregates}
    made: dict[str, SumBlock] = {}
    readings: dict[Aggregate, AggregateReading] = {}
    if counts_units or AggregateKind.COUNT_UNITS in asked:
        made[blocks.UNITS] = blocks.unit_count_block()
    if counts_rows:
        made[blocks.ROWS] = blocks.row_count_block()
    wants_count = AggregateKind.COUNT in asked and not counts_rows
    arguments = _group_by_argument(aggregates)
    for index, group in enumerate(arguments):
        block = _make_block(f"x{index}", group, wants_count=wants_count, finest=finest)
        # Only one block needs to know how many rows there are in all.
        wants_count = wants_count and not _tells_count(block)
        made[block.name] = block
        readings |= {item: AggregateReading(item, block) for item in group}
    if wants_count:
        made[blocks.ROWS] = blocks.row_count_block()
    for item in aggregates:
        if item.ask is AggregateKind.COUNT:
            readings[item] = AggregateReading(item, _counting_block(made))
        elif item.ask is AggregateKind.COUNT_UNITS:
            readings[item] = AggregateReading(item, made[blocks.UNITS])
    return tuple(made.values()), readings


def _group_by_argument(aggregates: Sequence[Aggregate]) -> list[list[Aggregate]]:
    """Return the aggregates of each argument together."""
    found: list[list[Aggregate]] = []
    for item in aggregates:
        if item.ask not in MOMENTS and item.ask is not AggregateKind.COUNT_OF:
            continue
        alike = (group for group in found if _argument_tree(group[0]) == _argument_tree(item))
        group = next(alike, None)
        if group is None:
            found.append([item])
        else:
            group.append(item)
    # Means first: the count of all rows comes along with them at no cost.
    return sorted(
        found, key=lambda group: all(item.ask is AggregateKind.COUNT_OF for item in group)
    )


def _argument_tree(item: Aggregate) -> object:
    return item.argument.tree if item.argument else None


def _make_block(
    name: str, group: Sequence[Aggregate], *, wants_count: bool, finest: int
) -> SumBlock:
    numbers = [item for item in group if item.ask in MOMENTS]
    counted = next((item for item in group if item.ask is AggregateKind.COUNT_OF), None)
    if not numbers and counted is not None and counted.argument is not None:
        return blocks.value_count_block(name, counted.argument)
    degree = max(MOMENTS[item.ask] for item in numbers)
    is_sum = all(item.ask is AggregateKind.SUM for item in numbers)
    if is_sum and counted is None and not wants_count:
        return blocks.plain_sum_block(name, numbers[0], finest=finest)
    typed = numbers[0].argument
    has_rest = wants_count and typed is not None and typed.nullable
    return blocks.bernstein_block(name, numbers[0], degree=degree, has_rest=has_rest, finest=finest)


def _tells_count(block: SumBlock) -> bool:
    """Whether all rows are counted by the block: those with a number and the rest."""
    return block.name == blocks.ROWS or (block.degree > 0 and len(block.vertices) > 1)


def _counting_block(made: Mapping[str, SumBlock]) -> SumBlock:
    if blocks.ROWS in made:
        return made[blocks.ROWS]
    found = next((block for block in made.values() if _tells_count(block)), None)
    if found is None:
        raise Bug("No block counts the rows.")
    return found


def read_aggregate_value(reading: AggregateReading, vertices: Sequence[Array]) -> Array:
    """Return the aggregate from the noisy `vertices` of its block; NaN where there is none."""
    ask, block = reading.aggregate.ask, reading.block
    if block.degree == 0:
        return vertices[0]
    if len(block.vertices) == 1:
        return vertices[0] * float(block.step)
    if ask is AggregateKind.COUNT:
        return sum(vertices) / float(block.weight)
    low = float(block.low)
    count, first, _ = _relative_sums(block, vertices)
    if ask is AggregateKind.COUNT_OF:
        return count
    if ask is AggregateKind.SUM:
        return low * count + float(block.step) * block.steps * first
    found, most = _unclipped_value(reading, vertices)
    found = np.clip(found, 0, most)
    if ask is AggregateKind.AVG:
        return low + found
    return np.sqrt(found) if ask in ROOTS else found


def _relative_sums(block: SumBlock, vertices: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return how many rows have a number, and the sums of these and of their squares, from 0 to 1."""
    shares = [vertex / float(block.weight) for vertex in vertices[: block.degree + 1]]
    first = shares[1] if block.degree == 1 else shares[2] + shares[1] / 2
    return sum(shares), first, shares[-1]


def _sample_correction(ask: AggregateKind, size: Array) -> Array:
    """Return what a sample's variance is multiplied by: it is no population."""
    is_sample = ask in (AggregateKind.VARIANCE, AggregateKind.STDDEV)
    return np.where(size > 1, size / (size - 1), np.nan) if is_sample else np.ones_like(size)


def value_changes(
    reading: AggregateReading, vertices: Sequence[Array], deviation: float
) -> list[Array]:
    """Return how far the aggregate moves when the vertices, one by one, are off by `deviation`.

    A value that noise has pushed out of its bounds becomes the bound, and its error stays the same:
    a variance of 0 is no surer than one a little above.
    """
    still, most = _unclipped_value(reading, vertices)
    found: list[Array] = []
    for place in range(len(vertices)):
        moved = [vertex + deviation * (i == place) for i, vertex in enumerate(vertices)]
        found.append(np.clip(_unclipped_value(reading, moved)[0] - still, -most, most))
    return _of_root(reading, vertices, found) if reading.aggregate.ask in ROOTS else found


def _unclipped_value(
    reading: AggregateReading, vertices: Sequence[Array]
) -> tuple[Array, Array | float]:
    """Return a mean, from the lower bound, or a variance before it is clipped, and its largest value.

    Everything else is never clipped. For the root of a variance it is the variance.
    """
    ask, block = reading.aggregate.ask, reading.block
    if ask is not AggregateKind.AVG and ask not in SPREADS:
        return read_aggregate_value(reading, vertices), np.inf
    count, first, second = _relative_sums(block, vertices)
    width = float(block.step) * block.steps
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(count > 0, count, np.nan)
        mean = first / size
        if ask is AggregateKind.AVG:
            return width * mean, width
        # Mean and squares share their noise: clipping one alone would leave the other's.
        factor = width**2 * _sample_correction(ask, size)
        return (second / size - mean**2) * factor, factor / 4


def _of_root(
    reading: AggregateReading, vertices: Sequence[Array], found: list[Array]
) -> list[Array]:
    """Return the changes of a root, from those of what is under it.

    Near 0 a root has no slope. For a variance v with standard error s, which is off by h = z s,
    the root is off by at most h / (√v + √(v - h)), or h / √v where h > v: what is returned gives
    no less for every z from 1 to 4, and h / (2 √v) where v is large.
    """
    error = np.sqrt(sum(change**2 for change in found))
    variance = read_aggregate_value(reading, vertices) ** 2
    slope = np.sqrt(np.maximum(variance, error)) + np.sqrt(np.maximum(variance - 4 * error, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [np.where(slope > 0, change / slope, 0 * slope) for change in found]
