"""Statistics that share one noise: what a row can change, and what is read from the sums."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import fmean, pvariance, variance

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.answer import blocks
from discreet.answer.aggregates import Aggregate, AggregateKind
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.finish import interval_half_width
from discreet.answer.statistics import (
    AggregateReading,
    assemble_blocks,
    read_aggregate_value,
    value_changes,
)
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.sql import build


def argument(low, high, kind: Kind = Kind.REAL, step: int | None = None) -> TypedExpression:
    return TypedExpression(
        tree=exp.column("x"),
        kind=kind,
        low=Fraction(low),
        high=Fraction(high),
        step=None if step is None else Fraction(step),
    )


def asked(ask: AggregateKind, typed: TypedExpression | None) -> Aggregate:
    return Aggregate(ask, typed)


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return DuckDB()


def moments(
    engine: DuckDB, block: blocks.SumBlock, values: list[float | int | None]
) -> dict[str, int]:
    """Return the sums of a block over a column of `values`, as the engine computes them."""
    import pyarrow as pa

    kind = pa.int64() if all(isinstance(v, int) for v in values) and values else pa.float64()
    relation = engine.load(pa.table({"x": pa.array(values, kind)}).to_reader())
    wanted = [build.alias_as(build.count_star(), blocks.ROWS)]
    for moment in block.moments:
        result = exp.Count(this=moment.tree) if moment.is_count else exp.Sum(this=moment.tree)
        wanted.append(build.alias_as(result, moment.name))
    found = engine.run(build.select(*wanted, source=relation)).to_pylist()[0]
    engine.drop(relation)
    return {name: int(value or 0) for name, value in found.items()}


def vertices(block: blocks.SumBlock, found: dict[str, int]) -> list[int]:
    return [sum(factor * found[name] for name, factor in v.items()) for v in block.vertices]


BOUNDS = [
    (0, 100),
    (-1000, 3000),
    (18, 65),
    (-5, -1),
    (Fraction(1, 10), Fraction(7, 10)),
    (0, 10**9),
]
BLOCKS = [
    pytest.param(lambda a: blocks.plain_sum_block("s", a), id="sum"),
    pytest.param(lambda a: blocks.bernstein_block("s", a, degree=1, has_rest=False), id="mean"),
    pytest.param(
        lambda a: blocks.bernstein_block("s", a, degree=1, has_rest=True), id="mean and rest"
    ),
    pytest.param(lambda a: blocks.bernstein_block("s", a, degree=2, has_rest=True), id="variance"),
]
NASTY = [
    math.nan,
    0.0,
    -0.0,
    1e300,
    -1e300,
    math.inf,
    -math.inf,
    5e-324,
    0.1,
    17.999999999,
    65.5,
    None,
]


@pytest.mark.parametrize("make", BLOCKS)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_no_row_changes_the_sums_by_more_than_the_weight(engine, make, bounds):
    block = make(asked(AggregateKind.SUM, argument(*bounds)))
    low, high = map(float, bounds)
    for value in [*NASTY, low, high, (low + high) / 2, math.nextafter(high, math.inf)]:
        changed = vertices(block, moments(engine, block, [value]))
        assert sum(map(abs, changed)) <= block.weight, value
        if block.has_rest:
            assert min(changed) >= 0
            assert sum(changed) == block.weight, value


@pytest.mark.parametrize("make", BLOCKS)
def test_whole_numbers_at_the_ends_of_64_bits_stay_within_the_weight(engine, make):
    block = make(asked(AggregateKind.SUM, argument(-3, 200, Kind.INTEGER, 1)))
    for value in (-(2**63), 2**63 - 1, 0, -4, 201, 7):
        assert sum(map(abs, vertices(block, moments(engine, block, [value])))) <= block.weight


ASKS = (
    AggregateKind.COUNT,
    AggregateKind.COUNT_OF,
    AggregateKind.SUM,
    AggregateKind.AVG,
    AggregateKind.VARIANCE,
    AggregateKind.VARIANCE_POP,
    AggregateKind.STDDEV,
)


@settings(max_examples=40)
@given(st.lists(st.none() | st.integers(0, 100), min_size=2, max_size=30))
def test_without_noise_everything_is_read_as_it_is(values):
    numbers = [value for value in values if value is not None]
    typed = argument(0, 100, Kind.INTEGER, 1)
    wanted = [asked(ask, None if ask is AggregateKind.COUNT else typed) for ask in ASKS]
    made, readings = assemble_blocks(
        wanted, counts_rows=False, counts_units=False, finest=blocks.FINEST
    )
    (block,) = made
    with_engine = DuckDB()
    sums = vertices(block, moments(with_engine, block, values))
    with_engine.close()
    found = {
        item.ask: float(
            read_aggregate_value(readings[item], [np.array([float(s)]) for s in sums])[0]
        )
        for item in wanted
    }
    assert found[AggregateKind.COUNT] == pytest.approx(len(values))
    assert found[AggregateKind.COUNT_OF] == pytest.approx(len(numbers))
    assert found[AggregateKind.SUM] == pytest.approx(sum(numbers), abs=1e-6)
    if len(numbers) > 1:
        assert found[AggregateKind.AVG] == pytest.approx(fmean(numbers), abs=1e-6)
        assert found[AggregateKind.VARIANCE_POP] == pytest.approx(pvariance(numbers), abs=1e-6)
        assert found[AggregateKind.VARIANCE] == pytest.approx(variance(numbers), abs=1e-6)
        assert found[AggregateKind.STDDEV] == pytest.approx(math.sqrt(variance(numbers)), abs=1e-3)


@given(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3))
def test_whatever_the_noise_a_mean_stays_within_its_bounds(noisy):
    block = blocks.bernstein_block(
        "s", asked(AggregateKind.AVG, argument(10, 20)), degree=2, has_rest=False
    )
    arrays = [np.array([value]) for value in noisy]
    for ask, low, high in (
        (AggregateKind.AVG, 10, 20),
        (AggregateKind.VARIANCE_POP, 0, 25),
        (AggregateKind.STDDEV_POP, 0, 5),
    ):
        found = float(read_aggregate_value(AggregateReading(asked(ask, None), block), arrays)[0])
        assert math.isnan(found) or low <= found <= high


def test_a_count_comes_along_with_a_mean(engine):
    typed = argument(0, 100)
    wanted = [
        asked(AggregateKind.COUNT, None),
        asked(AggregateKind.AVG, typed),
        asked(AggregateKind.SUM, typed),
    ]
    made, _ = assemble_blocks(wanted, counts_rows=False, counts_units=False, finest=blocks.FINEST)
    assert len(made) == 1
    assert made[0].has_rest


def test_a_mistake_in_the_weight_would_be_noticed(engine):
    block = blocks.plain_sum_block("s", asked(AggregateKind.SUM, argument(-1000, 10)))
    careless = 10 / block.step  # the upper bound instead of the larger one
    changed = vertices(block, moments(engine, block, [-1000.0]))
    assert sum(map(abs, changed)) > careless


def test_nan_is_missing_in_a_sum_as_everywhere(engine):
    block = blocks.bernstein_block(
        "s", asked(AggregateKind.SUM, argument(0, 100)), degree=1, has_rest=True
    )
    nan = vertices(block, moments(engine, block, [math.nan]))
    assert nan == vertices(block, moments(engine, block, [None]))


@pytest.mark.parametrize(("degree", "high"), [(2, "1e151"), (1, "1e301"), (1, "1e-300")])
def test_bounds_that_would_overflow_are_refused_before_anyone_pays(degree: int, high: str):
    with pytest.raises(QuestionRefused, match="bounds"):
        blocks.bernstein_block(
            "x", asked(AggregateKind.VARIANCE, argument(0, high)), degree=degree, has_rest=False
        )


@pytest.mark.parametrize("degree", [1, 2])
def test_rounding_to_steps_moves_a_mean_by_less_than_its_bounds_say(engine, degree: int):
    aggregate = asked(AggregateKind.AVG, argument(-1000, 1000))
    block = blocks.bernstein_block("s", aggregate, degree=degree, has_rest=False)
    sums = vertices(block, moments(engine, block, [0.9] * 50))
    found = read_aggregate_value(
        AggregateReading(aggregate, block), [np.array([float(s)]) for s in sums]
    )[0]
    assert abs(found - 0.9) <= 2000 / 2**16


CROWDS = [
    pytest.param((1.0, 0.0, 0.0), id="all at the lower bound"),
    pytest.param((0.0, 0.0, 1.0), id="all at the upper bound"),
    pytest.param((0.25, 0.5, 0.25), id="all in the middle"),
    pytest.param((0.9409, 0.0582, 0.0009), id="all near the lower bound"),
    pytest.param((0.95, 0.02, 0.03), id="most at the lower bound"),
    pytest.param((0.375, 0.25, 0.375), id="far apart"),
]


@pytest.mark.statistics
@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize(
    "ask",
    [AggregateKind.AVG, AggregateKind.VARIANCE, AggregateKind.VARIANCE_POP, AggregateKind.STDDEV],
)
def test_intervals_hold_the_value_also_where_noise_pushes_it_out_of_its_bounds(
    ask: AggregateKind, crowd: tuple[float, ...]
):
    # 4000 answers about 500 people; 95 % hold the value, and fewer than 93 % with a chance below 1e-7.
    block = blocks.bernstein_block("s", asked(ask, argument(-10, 10)), degree=2, has_rest=False)
    reading = AggregateReading(asked(ask, None), block)
    draw = np.random.default_rng(7)
    exact = [np.full(4000, 500 * block.weight * share) for share in crowd]
    scale = 10.0 * block.weight
    noisy = [vertex + draw.laplace(0, scale, 4000) for vertex in exact]
    error = np.sqrt(sum(c**2 for c in value_changes(reading, noisy, math.sqrt(2) * scale)))
    off = np.abs(read_aggregate_value(reading, noisy) - read_aggregate_value(reading, exact))
    held = off <= interval_half_width(1.0, confidence=0.95, kind="laplace") * error
    assert held.mean() >= 0.93
    assert error.min() > 0
