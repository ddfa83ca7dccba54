"""Sample and aggregate: an estimate of each random block of people, and a private average of all blocks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.dp.budget import Price
from discreet.dp.mechanisms.quantiles import Quantile
from discreet.dp.noise import Noise, system_noise
from discreet.dp.spending import RowChange, ZcdpSpending, divide_budget
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.price import open_spending, price_spending

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Aggregate = Literal["mean", "winsorized"]
Range = tuple[Fraction, Fraction]
# The places of the rows of a block's two halves in, the block's numbers out; None where it has none.
BlockEstimator = Callable[[Integers, Integers], Floats | None]

STEPS = 2**24  # of a range; estimates are whole numbers of steps
_CELLS = 2**12  # of a range, among which a quartile is chosen
_COUNTING = (
    0.05  # the share of the price for the number of units, where it decides the number of blocks
)
_QUARTILES = 0.25  # the share of a number's price for each quartile
_ENOUGH = 250  # blocks times epsilon, from which on quartiles of blocks are worth their price
MOST_BLOCKS = 100_000


@dataclass(frozen=True)
class AggregationRequest:
    """An estimate that is asked for.

    Attributes:
        table: The table's name.
        columns: What the estimator gets.
        estimator: Its name, as the ledger shows it.
        identity: What it is; two estimators that differ have different ones.
        ranges: The public range of each number that it returns.
        blocks: How many blocks there are; None for a number that follows from the noisy number of units.
        aggregate: How estimates of blocks are averaged; None for what the number of blocks is enough for.
        halves: Whether each block's estimate is corrected by those of its halves.
        epsilon: What it may cost.
        delta: The chance that Gaussian noise does not cover; 0 for noise without it.
        settings: All else that decides the result.
    """

    table: str
    columns: tuple[str, ...]
    estimator: str
    identity: str
    ranges: tuple[Range, ...]
    blocks: int | None
    aggregate: Aggregate | None
    halves: bool
    epsilon: Fraction
    delta: Fraction
    settings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise InvalidBudget("An estimate needs an epsilon above 0, such as 1.")
        if not 0 <= self.delta < 1:
            raise InvalidBudget("A delta is from 0 to below 1, such as 1e-9.")
        if self.aggregate not in (None, "mean", "winsorized"):
            raise WrongUsage("There are two averages of blocks. Choose 'mean' or 'winsorized'.")
        if self.blocks is not None and not 2 <= self.blocks <= MOST_BLOCKS:
            raise WrongUsage(f"The number of blocks is from 2 to {MOST_BLOCKS:,}, such as 100.")
        if not self.ranges or any(low >= high for low, high in self.ranges):
            raise WrongUsage(
                "A range is two numbers, the lower one first, such as (0, 1); several numbers need a list of them."
            )

    @property
    def price(self) -> Price:
        """What the ledger is charged."""
        return price_spending(self.epsilon, self.delta)

    def key(self) -> str:
        """Return one text for all that decides the estimate; equal requests are paid once."""
        content = {
            "aggregate": 1,
            **{name: str(value) for name, value in vars(self).items() if name != "ranges"},
            "ranges": [[str(low), str(high)] for low, high in self.ranges],
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


@dataclass(frozen=True)
class PrivateEstimate:
    """What was released.

    Attributes:
        values: The estimates.
        noise_errors: The standard error that noise gives each of them.
        block_errors: The standard error of the average of blocks, from the noisy quartiles of blocks; None
            where these were not measured.
        blocks: How many blocks there were.
        aggregate: How they were averaged.
    """

    values: tuple[float, ...]
    noise_errors: tuple[float, ...]
    block_errors: tuple[float, ...] | None
    blocks: int
    aggregate: Aggregate

    def to_bytes(self) -> bytes:
        """Return it as JSON."""
        return json.dumps(vars(self)).encode("ascii")

    @staticmethod
    def from_bytes(content: bytes) -> PrivateEstimate:
        """Return what `to_bytes` wrote."""
        found = json.loads(content)
        errors = found["block_errors"]
        return PrivateEstimate(
            tuple(found["values"]),
            tuple(found["noise_errors"]),
            None if errors is None else tuple(errors),
            int(found["blocks"]),
            found["aggregate"],
        )


def release_estimate(
    request: AggregationRequest,
    estimate: BlockEstimator,
    units: Integers,
    *,
    noise: Noise | None = None,
    before_noise: Callable[[], None] = lambda: None,
) -> PrivateEstimate:
    """Return the private estimate of rows whose units have the numbers `units`.

    Guarantee: (epsilon, delta)-DP between tables that differ in all rows of one unit, if `estimate` is a function
    of the rows of one block, and has no memory. Each unit is in one block, drawn for it alone, so that one
    estimate changes, within its public range (Nissim, Raskhodnikova & Smith 2007, section 4; Smith 2008, Lemma 2.2).

    Args:
        request: What is asked for.
        estimate: The estimate of a block; its rows come in random order.
        units: The number of each row's unit, from 0 on.
        noise: Where chance comes from; only tests say so.
        before_noise: Called when all blocks are estimated, before the average gets noise.
    """
    chance = noise or system_noise()
    spending = open_spending(request.epsilon, request.delta, sensitivity=1, noise=noise)
    people = int(units.max()) + 1 if units.size else 0
    blocks = request.blocks
    if blocks is None:
        before_noise()
        blocks = _count_blocks(request, spending, people)
    halves = divide_units(units, people, 2 * blocks, chance)
    steps = estimate_blocks(request, estimate, halves)
    before_noise()
    return average_blocks(request, steps, spending)


def choose_block_count(units: float, epsilon: float, *, halves: bool) -> int:
    """Return how many blocks so many units are divided into.

    With k blocks of n units in all, noise adds an error in proportion to 1/(epsilon k). What the estimate of a
    block is off by, on average over samples, adds one in proportion to k/n, or to (k/n)^(3/2) where its halves
    correct it. Both are made equal: k is the root of n/epsilon, or n^(3/5) epsilon^(-2/5) (Smith 2008, section 2).

    >>> choose_block_count(10_000, 1.0, halves=False), choose_block_count(10_000, 1.0, halves=True)
    (100, 251)
    """
    people = max(units, 1.0)
    wanted = people**0.6 * epsilon**-0.4 if halves else math.sqrt(people / epsilon)
    return int(max(2, min(wanted, people / 4, MOST_BLOCKS)))


def _count_blocks(request: AggregationRequest, spending: ZcdpSpending, people: int) -> int:
    price, _ = divide_budget(spending.left, [_COUNTING, 1 - _COUNTING])
    (units,) = spending.measure([people], price)
    each = float(request.epsilon) / len(request.ranges)
    return choose_block_count(float(units), each, halves=request.halves)


def divide_units(units: Integers, people: int, parts: int, chance: Noise) -> list[Integers]:
    """Return the places of the rows of each part, in random order; each unit is in one part, as likely as another.

    A unit's part does not depend on other units, and neither does the order of other parts' rows.
    """
    part = np.asarray(chance.uniform(parts, people), np.int64)[units]
    # A second number decides between rows that drew the same one, so that the order of the engine never does.
    order = np.lexsort([chance.uniform(1 << 62, units.size) for _ in range(2)])
    order = order[np.argsort(part[order], kind="stable")]
    ends = np.cumsum(np.bincount(part, minlength=parts))
    return np.split(order, ends[:-1])


def estimate_blocks(
    request: AggregationRequest, estimate: BlockEstimator, halves: list[Integers]
) -> Integers:
    """Return the estimates of all blocks in steps of their ranges, a row each; a block is two of `halves`.

    Where the estimator gives no number, the middle of the range stands for it.
    """
    low = np.array([float(one) for one, _ in request.ranges])
    width = np.array([float(high - one) for one, high in request.ranges])
    found = np.full((len(halves) // 2, low.size), STEPS // 2, np.int64)
    for place in range(len(found)):
        first, second = halves[2 * place], halves[2 * place + 1]
        values = estimate(first, second) if first.size + second.size else None
        if values is None:
            continue
        with np.errstate(all="ignore"):
            share = np.clip((values - low) / width, 0, 1)
        found[place] = np.rint(np.where(np.isnan(share), 0.5, share) * STEPS).astype(np.int64)
    return found


def correct_by_halves(estimator: Callable[[Any], Any]) -> Callable[[Sequence[Any]], Floats]:
    """Return a function of a block and its two halves, in which what is off in proportion to 1/size cancels out.

    Quenouille (1956) has twice the estimate of the whole, less the average of the halves'.

    >>> float(correct_by_halves(lambda block: 3 + 1 / len(block))(["abcd", "ab", "cd"]))
    3.0
    """

    def correct(parts: Sequence[Any]) -> Floats:
        whole, first, second = (np.asarray(estimator(part), np.float64) for part in parts)
        return 2 * whole - (first + second) / 2

    return correct


def average_blocks(
    request: AggregationRequest, steps: Integers, spending: ZcdpSpending
) -> PrivateEstimate:
    """Return the private averages of the estimates of blocks, for all that is left to spend.

    Guarantee: that of `spending`, between tables of which one row of `steps` differs. A sum of numbers within
    [low, high] changes by at most high - low. Quartiles are chosen by scores that one changed block moves by
    at most 4; the interval follows from them.
    """
    blocks, numbers = steps.shape
    aggregate = request.aggregate
    if aggregate is None:
        is_enough = blocks * float(request.epsilon) / numbers >= _ENOUGH
        aggregate = "winsorized" if is_enough else "mean"
    prices = divide_budget(spending.left, [1] * numbers)
    found = [
        _average_winsorized(column, price, spending)
        if aggregate == "winsorized"
        else (*_average_between(column, 0, STEPS, price, spending), None)
        for column, price in zip(steps.T, prices, strict=True)
    ]
    lows = np.array([float(low) for low, _ in request.ranges])
    widths = np.array([float(high - low) for low, high in request.ranges])
    # Outside of its range no estimate is right.
    values = lows + np.clip([one[0] for one in found], 0, STEPS) * widths / STEPS
    noise = np.array([one[1] for one in found]) * widths / STEPS
    spread = None
    if aggregate == "winsorized":
        spread = tuple((np.array([one[2] for one in found]) * widths / STEPS).tolist())
    return PrivateEstimate(tuple(values.tolist()), tuple(noise.tolist()), spread, blocks, aggregate)


def _average_between(
    column: Integers, low: int, high: int, price: Fraction, spending: ZcdpSpending
) -> tuple[float, float]:
    """Return the noisy average of numbers clamped to an interval, and the standard error of its noise."""
    change = RowChange(high - low, (high - low) ** 2)
    total = int((np.clip(column, low, high) - low).sum())
    (noisy,) = spending.measure([total], price, change=change)
    return low + float(noisy) / len(column), spending.scale(price, change=change) / len(column)


def _average_winsorized(
    column: Integers, price: Fraction, spending: ZcdpSpending
) -> tuple[float, float, float]:
    """Return average and error between widened noisy quartiles, and the error that these let expect of blocks."""
    shares = divide_budget(price, [_QUARTILES, _QUARTILES, 1 - 2 * _QUARTILES])
    first = _choose_quartile(column, Fraction(1, 4), shares[0], spending)
    third = _choose_quartile(column, Fraction(3, 4), shares[1], spending)
    low, high = widen_quartiles(first, third, blocks=len(column))
    value, error = _average_between(column, low, high, shares[2], spending)
    # Quartiles of normal numbers are 1.349 standard deviations apart.
    return value, error, abs(third - first) / 1.349 / math.sqrt(len(column))


def _choose_quartile(
    column: Integers, share: Fraction, price: Fraction, spending: ZcdpSpending
) -> int:
    """Return the middle of a cell of the range near the quartile of the blocks."""
    cells = np.minimum(column * _CELLS // STEPS, _CELLS - 1)
    scores = Quantile(share).scores(np.bincount(cells, minlength=_CELLS))
    # A block that moves counts 4 more or less on one side of a candidate; the number of blocks stays.
    place = spending.choose(scores.tolist(), price, change=share.denominator)
    width = STEPS // _CELLS
    return place * width + width // 2


def widen_quartiles(first: int, third: int, *, blocks: int) -> tuple[int, int]:
    """Return the interval in steps that estimates of blocks are clamped to: the quartiles, widened.

    It grows with the number of blocks as the largest of so many normal numbers does, so that clamping takes ever
    less from their average (the widened winsorized mean of Smith 2011, with a root of a logarithm for his power).

    >>> low, high = widen_quartiles(1 << 20, 1 << 21, blocks=100)
    >>> round((high - low) / (1 << 20), 2)
    4.15
    """
    low, high = min(first, third), max(first, third)
    spread = max(high - low, STEPS // _CELLS)
    margin = math.ceil(spread * math.sqrt(math.log(blocks)))
    return max(low - margin, 0), min(high + margin, STEPS)
