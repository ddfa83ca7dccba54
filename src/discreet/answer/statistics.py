"""Which noisy sums a list of aggregates needs, as few as can be, and how each aggregate is read from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answer import blocks
from discreet.answer.aggregates import MOMENTS, Aggregate, Ask
from discreet.errors import Bug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.answer.blocks import Block

SPREADS = (Ask.VARIANCE, Ask.VARIANCE_POP, Ask.STDDEV, Ask.STDDEV_POP)
ROOTS = (Ask.STDDEV, Ask.STDDEV_POP)
Array = Any  # of float64; numpy's own types say no more
Noisy = "Mapping[str, Sequence[Array]]"  # the noisy vertices of each block, by its name


@dataclass(frozen=True)
class Reading:
    """An aggregate and the block it is read from."""

    aggregate: Aggregate
    block: Block


def assemble(
    aggregates: Sequence[Aggregate], *, counts_rows: bool, counts_units: bool, finest: int
) -> tuple[tuple[Block, ...], dict[Aggregate, Reading]]:
    """Return the blocks, and how the aggregates that need no engine query of their own are read.

    With `counts_rows` or `counts_units` there is a block for these in any case: it decides which
    groups are told. `finest` is how many steps a real number is counted in.
    """
    asked = {item.ask for item in aggregates}
    made: dict[str, Block] = {}
    readings: dict[Aggregate, Reading] = {}
    if counts_units or Ask.COUNT_UNITS in asked:
        made[blocks.UNITS] = blocks.count_units()
    if counts_rows:
        made[blocks.ROWS] = blocks.count_rows()
    wants_count = Ask.COUNT in asked and not counts_rows
    arguments = _arguments(aggregates)
    for index, group in enumerate(arguments):
        block = _block(f"x{index}", group, wants_count=wants_count, finest=finest)
        # Only one block needs to know how many rows there are in all.
        wants_count = wants_count and not _tells_count(block)
        made[block.name] = block
        readings |= {item: Reading(item, block) for item in group}
    if wants_count:
        made[blocks.ROWS] = blocks.count_rows()
    for item in aggregates:
        if item.ask is Ask.COUNT:
            readings[item] = Reading(item, _counter(made))
        elif item.ask is Ask.COUNT_UNITS:
            readings[item] = Reading(item, made[blocks.UNITS])
    return tuple(made.values()), readings


def _arguments(aggregates: Sequence[Aggregate]) -> list[list[Aggregate]]:
    """Return the aggregates of each argument together."""
    found: list[list[Aggregate]] = []
    for item in aggregates:
        if item.ask not in MOMENTS and item.ask is not Ask.COUNT_OF:
            continue
        alike = (group for group in found if _tree(group[0]) == _tree(item))
        group = next(alike, None)
        if group is None:
            found.append([item])
        else:
            group.append(item)
    # Means first: the count of all rows comes along with them at no cost.
    return sorted(found, key=lambda group: all(item.ask is Ask.COUNT_OF for item in group))


def _tree(item: Aggregate) -> object:
    return item.argument.tree if item.argument else None


def _block(name: str, group: Sequence[Aggregate], *, wants_count: bool, finest: int) -> Block:
    numbers = [item for item in group if item.ask in MOMENTS]
    counted = next((item for item in group if item.ask is Ask.COUNT_OF), None)
    if not numbers and counted is not None and counted.argument is not None:
        return blocks.count_values(name, counted.argument)
    degree = max(MOMENTS[item.ask] for item in numbers)
    is_sum = all(item.ask is Ask.SUM for item in numbers)
    if is_sum and counted is None and not wants_count:
        return blocks.plain_sum(name, numbers[0], finest=finest)
    typed = numbers[0].argument
    has_rest = wants_count and typed is not None and typed.nullable
    return blocks.spread(name, numbers[0], degree=degree, has_rest=has_rest, finest=finest)


def _tells_count(block: Block) -> bool:
    """Whether all rows are counted by the block: those with a number and the rest."""
    return block.name == blocks.ROWS or (block.degree > 0 and len(block.vertices) > 1)


def _counter(made: Mapping[str, Block]) -> Block:
    if blocks.ROWS in made:
        return made[blocks.ROWS]
    found = next((block for block in made.values() if _tells_count(block)), None)
    if found is None:
        raise Bug("No block counts the rows.")
    return found


def read(reading: Reading, vertices: Sequence[Array]) -> Array:
    """Return the aggregate that the noisy `vertices` of its block tell; NaN where there is none."""
    ask, block = reading.aggregate.ask, reading.block
    if block.degree == 0:
        return vertices[0]
    if len(block.vertices) == 1:
        return vertices[0] * float(block.step)
    if ask is Ask.COUNT:
        return sum(vertices) / float(block.weight)
    low = float(block.low)
    count, first, _ = _shares(block, vertices)
    if ask is Ask.COUNT_OF:
        return count
    if ask is Ask.SUM:
        return low * count + float(block.step) * block.steps * first
    found, most = _unclipped(reading, vertices)
    found = np.clip(found, 0, most)
    if ask is Ask.AVG:
        return low + found
    return np.sqrt(found) if ask in ROOTS else found


def _shares(block: Block, vertices: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Return how many rows have a number, and the sums of these and of their squares, from 0 to 1."""
    shares = [vertex / float(block.weight) for vertex in vertices[: block.degree + 1]]
    first = shares[1] if block.degree == 1 else shares[2] + shares[1] / 2
    return sum(shares), first, shares[-1]


def _correction(ask: Ask, size: Array) -> Array:
    """Return what a sample's variance is multiplied by: it is no population."""
    is_sample = ask in (Ask.VARIANCE, Ask.STDDEV)
    return np.where(size > 1, size / (size - 1), np.nan) if is_sample else np.ones_like(size)


def changes(reading: Reading, vertices: Sequence[Array], deviation: float) -> list[Array]:
    """Return how far the aggregate moves when the vertices, one by one, are off by `deviation`.

    What noise has pushed out of its bounds is told as the bound, and is off by as much as before:
    a variance of 0 is no surer than one a little above.
    """
    still, most = _unclipped(reading, vertices)
    found: list[Array] = []
    for place in range(len(vertices)):
        moved = [vertex + deviation * (i == place) for i, vertex in enumerate(vertices)]
        found.append(np.clip(_unclipped(reading, moved)[0] - still, -most, most))
    return _of_root(reading, vertices, found) if reading.aggregate.ask in ROOTS else found


def _unclipped(reading: Reading, vertices: Sequence[Array]) -> tuple[Array, Array | float]:
    """Return a mean, from the lower bound, or a variance before it is clipped, and its largest value.

    Everything else is never clipped. For the root of a variance it is the variance.
    """
    ask, block = reading.aggregate.ask, reading.block
    if ask is not Ask.AVG and ask not in SPREADS:
        return read(reading, vertices), np.inf
    count, first, second = _shares(block, vertices)
    width = float(block.step) * block.steps
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(count > 0, count, np.nan)
        mean = first / size
        if ask is Ask.AVG:
            return width * mean, width
        # Mean and squares share their noise: clipping one alone would leave the other's.
        factor = width**2 * _correction(ask, size)
        return (second / size - mean**2) * factor, factor / 4


def _of_root(reading: Reading, vertices: Sequence[Array], found: list[Array]) -> list[Array]:
    """Return the changes of a root, from those of what is under it.

    Near 0 a root has no slope. For a variance v with standard error s, which is off by h = z s,
    the root is off by at most h / (√v + √(v - h)), or h / √v where h > v: what is returned gives
    no less for every z from 1 to 4, and h / (2 √v) where v is large.
    """
    error = np.sqrt(sum(change**2 for change in found))
    variance = read(reading, vertices) ** 2
    slope = np.sqrt(np.maximum(variance, error)) + np.sqrt(np.maximum(variance - 4 * error, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return [np.where(slope > 0, change / slope, 0 * slope) for change in found]
