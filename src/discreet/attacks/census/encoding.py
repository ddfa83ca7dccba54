"""The solver's input: unknown people, and published numbers as conditions on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from discreet.attacks.census.block import (
    Cell,
    CensusBlock,
    CensusGroup,
    Statistic,
    StatisticBounds,
    Where,
)


class Encoding(Protocol):
    """Unknown people in a solver's model: OR-Tools ships types that do not say much."""

    name: str
    model: Any

    def weigh(self, where: Where, variable: int | None, weights: Sequence[int]) -> Any:
        """Return the sum over people of `where` of the weight of their value, 1 without a variable."""
        ...

    def record(self, cell: Cell) -> Any:
        """Return how many people have this record."""
        ...

    def read(self, value: Callable[[Any], int]) -> Counter[Cell]:
        """Return the people that the solver found."""
        ...


def add_published_statistics(encoding: Encoding, block: CensusBlock) -> None:
    """Add every published number of `block` to the model; marginals' empty cells are the encoding's."""
    for group in block.groups:
        count = encoding.weigh(group.where, None, ())
        _add_bounds(encoding.model, count, group.count.low, group.count.high)
        for fact in group.facts:
            _add_fact(encoding, block, group, fact)
    for marginal in block.marginals:
        for cell, held in marginal.cells.items():
            where = {
                variable: (place,) for variable, place in zip(marginal.variables, cell, strict=True)
            }
            _add_bounds(encoding.model, encoding.weigh(where, None, ()), held.low, held.high)


def _add_fact(
    encoding: Encoding, block: CensusBlock, group: CensusGroup, fact: StatisticBounds
) -> None:
    numbers = block.variables[fact.variable].numbers
    model, where = encoding.model, group.where

    def weigh(weights: Sequence[int]) -> Any:
        return encoding.weigh(where, fact.variable, weights)

    match fact.statistic:
        case Statistic.MEAN:
            # The mean is at least low exactly when value - low adds up to at least 0.
            low, high = fact.low, fact.high
            model.add(weigh([low.denominator * n - low.numerator for n in numbers]) >= 0)
            model.add(weigh([high.denominator * n - high.numerator for n in numbers]) <= 0)
        case Statistic.SUM:
            _add_bounds(model, weigh(numbers), -(-fact.low // 1), fact.high // 1)
        case Statistic.MIN:
            model.add(weigh([int(n < fact.low) for n in numbers]) == 0)
            model.add(weigh([int(n <= fact.high) for n in numbers]) >= 1)
        case Statistic.MAX:
            model.add(weigh([int(n > fact.high) for n in numbers]) == 0)
            model.add(weigh([int(n >= fact.low) for n in numbers]) >= 1)
        case Statistic.MEDIAN:
            _add_median(encoding, group, fact, numbers)


def _add_median(
    encoding: Encoding, group: CensusGroup, fact: StatisticBounds, numbers: Sequence[int]
) -> None:
    """Say where the middle lies: the value at which the running count passes half of the group."""
    model, size = encoding.model, group.count.low
    running: list[Any] = []
    for place in range(len(numbers)):
        at = encoding.weigh(
            group.where, fact.variable, [int(i == place) for i in range(len(numbers))]
        )
        upto = model.new_int_var(0, size, "")
        model.add(upto == at + (running[-1] if running else 0))
        running.append(upto)
    # Of an even number the two in the middle count, of an odd number the one does twice.
    middles = [
        _value_at_rank(model, running, numbers, rank) for rank in ((size - 1) // 2, size // 2)
    ]
    doubled = sum(middles)
    _add_bounds(model, doubled, -(-2 * fact.low // 1), 2 * fact.high // 1)


def _value_at_rank(model: Any, running: Sequence[Any], numbers: Sequence[int], rank: int) -> Any:
    """Return the value of the person `rank` from below: it rises while the running count is no larger."""
    steps: list[Any] = [numbers[0]]
    for place, upto in enumerate(running[:-1]):
        is_beyond = model.new_bool_var("")
        model.add(upto <= rank).only_enforce_if(is_beyond)
        model.add(upto > rank).only_enforce_if(~is_beyond)
        steps.append((numbers[place + 1] - numbers[place]) * is_beyond)
    return sum(steps)


def _add_bounds(model: Any, expression: Any, low: int, high: int) -> None:
    if low == high:
        model.add(expression == low)
    else:
        model.add(expression >= low)
        model.add(expression <= high)
