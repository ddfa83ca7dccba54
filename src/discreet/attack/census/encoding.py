"""What a solver is told: unknown people, and published numbers as conditions on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from discreet.attack.census.block import Statistic

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from discreet.attack.census.block import Block, Cell, Fact, Group, Where


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


def publish(encoding: Encoding, block: Block) -> None:
    """Add every published number of `block` to the model; marginals' empty cells are the encoding's."""
    for group in block.groups:
        count = encoding.weigh(group.where, None, ())
        _between(encoding.model, count, group.count.low, group.count.high)
        for fact in group.facts:
            _add_fact(encoding, block, group, fact)
    for marginal in block.marginals:
        for cell, held in marginal.cells.items():
            where = {
                variable: (place,) for variable, place in zip(marginal.variables, cell, strict=True)
            }
            _between(encoding.model, encoding.weigh(where, None, ()), held.low, held.high)


def _add_fact(encoding: Encoding, block: Block, group: Group, fact: Fact) -> None:
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
            _between(model, weigh(numbers), -(-fact.low // 1), fact.high // 1)
        case Statistic.MIN:
            model.add(weigh([int(n < fact.low) for n in numbers]) == 0)
            model.add(weigh([int(n <= fact.high) for n in numbers]) >= 1)
        case Statistic.MAX:
            model.add(weigh([int(n > fact.high) for n in numbers]) == 0)
            model.add(weigh([int(n >= fact.low) for n in numbers]) >= 1)
        case Statistic.MEDIAN:
            _add_median(encoding, group, fact, numbers)


def _add_median(encoding: Encoding, group: Group, fact: Fact, numbers: Sequence[int]) -> None:
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
    middles = [_ranked(model, running, numbers, rank) for rank in ((size - 1) // 2, size // 2)]
    doubled = sum(middles)
    _between(model, doubled, -(-2 * fact.low // 1), 2 * fact.high // 1)


def _ranked(model: Any, running: Sequence[Any], numbers: Sequence[int], rank: int) -> Any:
    """Return the value of the person `rank` from below: it rises while the running count is no larger."""
    steps: list[Any] = [numbers[0]]
    for place, upto in enumerate(running[:-1]):
        is_beyond = model.new_bool_var("")
        model.add(upto <= rank).only_enforce_if(is_beyond)
        model.add(upto > rank).only_enforce_if(~is_beyond)
        steps.append((numbers[place + 1] - numbers[place]) * is_beyond)
    return sum(steps)


def _between(model: Any, expression: Any, low: int, high: int) -> None:
    if low == high:
        model.add(expression == low)
    else:
        model.add(expression >= low)
        model.add(expression <= high)
