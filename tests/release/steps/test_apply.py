"""Steps on real engines: what changes, what stays, and that all engines agree."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import InvalidStep, UnknownColumn, WrongUsage
from discreet.policy.model import (
    AddNoise,
    BottomCode,
    Clip,
    Microaggregate,
    Pram,
    RankSwap,
    RoundNumbers,
    Step,
    Swap,
    TopCode,
)
from discreet.release.steps.apply import perform_steps
from discreet.release.steps.chance import secret_generator
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.engines.engine import Engine

KEY = b"a key of the tests"
NAN = float("nan")
PEOPLE = pa.table(
    {
        "name": ["é", "b", None, "a", "Z", "b", "c", "d", "e", "f"],
        "number": pa.array([17, 90, 35, None, -5, 35, 50, 149, 150, -150], pa.int32()),
        "real": [0.25, 1e300, NAN, None, -0.35, 0.349, math.inf, -math.inf, 2.5, -2.5],
        "money": pa.array(
            [
                Decimal(text) if text else None
                for text in ["1.05", "-1.05", "0.99", "9.95", "", "3.2", "4", "5", "6", "7"]
            ],
            pa.decimal128(10, 2),
        ),
        "day": pa.array([1, 2, 3, 4, 5, 6, 7, 8, None, 9], pa.int32()).cast(pa.date32()),
        "flag": [True, False, None, True, True, False, False, True, False, True],
    }
)


def loaded(engine: Engine, data: pa.Table) -> Table:
    relation = engine.load(data.to_reader())
    return Table(engine, relation, engine.columns(relation), "people")


def rows(table: Table) -> list[tuple[Any, ...]]:
    """The rows in an order of their own, NaN and NULL apart."""
    query = build.select(*(build.column(c.name) for c in table.columns), source=table.relation)
    found = table.engine.run(query)
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True), key=repr)


def column_of(data: pa.Table, name: str, step: Step) -> list[Any]:
    """One column after `step` on DuckDB, by the names of the people."""
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, data)
        after = perform_steps(table, [step], generator=secret_generator(KEY)).table
        query = build.order_nulls_last(
            build.select(build.column(name), source=after.relation), [build.column("id")]
        )
        return after.engine.run(query)[name].to_pylist()


def numbers(*values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"id": list(range(len(values))), "x": pa.array(values, kind)})


STEPS: dict[str, list[Step]] = {
    "clip": [
        Clip("number", (Decimal(10), Decimal(90))),
        Clip("real", (Decimal(-1), Decimal("1.5"))),
    ],
    "top-code": [TopCode("money", Decimal("4.5")), TopCode("real", Decimal("0.3"))],
    "bottom-code": [BottomCode("money", Decimal(-1)), BottomCode("number", Decimal(-7))],
    "round": [
        RoundNumbers("number", Decimal(100)),
        RoundNumbers("money", Decimal("0.1")),
        RoundNumbers("real", Decimal("0.1")),
    ],
    "mdav": [Clip("real", (Decimal(-9), Decimal(9))), Microaggregate(("number", "real"), 2)],
    "univariate": [Microaggregate(("money",), 3, "univariate")],
    "pram": [Pram("name", 0.3), Pram("flag", 0.5), Pram("day", 0.2), Pram("money", 0.2)],
    "swap": [Swap(("name", "day"), 0.9, ("flag",)), Swap(("real",), 0.5)],
    "rank-swap": [RankSwap("day", 0.4), RankSwap("money", 0.3), RankSwap("real", 0.3)],
    "noise": [AddNoise("number", 0.5), AddNoise("real", 0.1), AddNoise("money", 0.2)],
    "all of them": [
        RoundNumbers("money", Decimal(1)),
        AddNoise("number", 1),
        Swap(("name",), 1.0),
        TopCode("number", Decimal(60)),
        RankSwap("number", 0.5),
    ],
}


@pytest.fixture(scope="module")
def on_duckdb() -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, PEOPLE)
        yield {
            name: rows(perform_steps(table, steps, generator=secret_generator(KEY)).table)
            for name, steps in STEPS.items()
        }


@pytest.mark.parametrize("name", STEPS)
def test_every_engine_gives_the_same_rows_whatever_their_order(
    any_engine: Engine, name: str, on_duckdb: dict[str, list[tuple[Any, ...]]]
) -> None:
    shuffled = PEOPLE.take(np.random.default_rng(7).permutation(len(PEOPLE)))
    table = loaded(any_engine, shuffled)
    after = perform_steps(table, STEPS[name], generator=secret_generator(KEY)).table
    assert [c.name for c in after.columns] == PEOPLE.column_names
    assert repr(rows(after)) == repr(on_duckdb[name])


@pytest.mark.parametrize("name", STEPS)
def test_columns_that_no_step_names_stay(name: str) -> None:
    touched = {column for step in STEPS[name] for column in _named(step)}
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, PEOPLE)
        after = perform_steps(table, STEPS[name], generator=secret_generator(KEY)).table
        kept = [i for i, column in enumerate(table.columns) if column.name not in touched]
        shown = [Counter(repr([row[i] for i in kept]) for row in rows(t)) for t in (table, after)]
    assert shown[0] == shown[1]


def _named(step: Step) -> tuple[str, ...]:
    return getattr(step, "columns", None) or (step.column,)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (Clip("x", (Decimal(10), Decimal(60))), [9, 10, 60, 61, None], [10, 10, 60, 60, None]),
        (TopCode("x", Decimal(-3)), [-4, -3, 5], [-4, -3, -3]),
        (BottomCode("x", Decimal(18)), [17, 18, 19], [18, 18, 19]),
        (Clip("x", (Decimal("0.1"), Decimal("0.2"))), [0.05, 0.15, 0.5], [0.1, 0.15, 0.2]),
        (Clip("x", (Decimal(0), Decimal(1))), [-math.inf, math.inf], [0.0, 1.0]),
        (
            RoundNumbers("x", Decimal(100)),
            [149, 150, -149, -150, 0, None, 49, -50],
            [100, 200, -100, -200, 0, None, 0, -100],
        ),
        (RoundNumbers("x", Decimal(3)), [1, 2, 4, 5, -1, -2], [0, 3, 3, 6, 0, -3]),
        (RoundNumbers("x", Decimal("0.1")), [0.349, 0.25, -0.26, 0.3], [0.3, 0.3, -0.3, 0.3]),
        (
            RoundNumbers("x", Decimal("2.5")),
            [1.25, 1.2, 1e300, math.inf],
            [2.5, 0.0, 1e300, math.inf],
        ),
    ],
)
def test_numbers_are_coded(step: Step, before: list[Any], after: list[Any]) -> None:
    found = column_of(numbers(*before), "x", step)
    assert found == after
    assert [type(value) for value in found] == [type(value) for value in after]


def test_nan_is_no_number_to_clip() -> None:
    (found,) = column_of(numbers(NAN), "x", Clip("x", (Decimal(0), Decimal(1))))
    assert math.isnan(found)


def test_decimals_stay_exact() -> None:
    data = numbers(Decimal("10.05"), Decimal("-10.04"), kind=pa.decimal128(12, 2))
    assert column_of(data, "x", RoundNumbers("x", Decimal("0.1"))) == [
        Decimal("10.1"),
        Decimal("-10"),
    ]


def test_microaggregated_whole_numbers_become_real_means() -> None:
    step = Microaggregate(("x",), 2)
    assert column_of(numbers(1, 2, 10, 11, None), "x", step) == [1.5, 1.5, 10.5, 10.5, None]


def test_too_few_numbers_for_a_group_are_emptied() -> None:
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, numbers(1, 2, None))
        done = perform_steps(table, [Microaggregate(("x",), 3)], generator=None).done
        assert done[0].details == {"emptied_rows": 2}
    assert column_of(numbers(1, 2, None), "x", Microaggregate(("x",), 3)) == [None] * 3


def test_noise_keeps_whole_numbers_whole_and_missing_ones_missing() -> None:
    found = column_of(numbers(*range(100), None), "x", AddNoise("x", 0.5))
    assert {type(value) for value in found[:-1]} == {int}
    assert found[-1] is None
    assert found[:-1] != list(range(100))


@pytest.mark.statistics
def test_noise_has_the_scale_it_says() -> None:
    """20,000 draws, seeded: the standard error of the deviation is 0.5 %, the mean's 0.7 %."""
    values = np.random.default_rng(2).normal(50, 10, 20_000)
    noise = np.array(column_of(numbers(*values), "x", AddNoise("x", 0.1))) - values
    assert np.std(noise) == pytest.approx(0.1 * values.std(), rel=0.02)
    assert abs(np.mean(noise)) < 0.03 * np.std(noise)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab") | st.none()), max_size=30))
@settings(max_examples=25)
def test_swapping_keeps_the_counts_within_strata(people: list[tuple[int, str | None]]) -> None:
    region, sex = ([row[i] for row in people] for i in (0, 1))
    data = pa.table({"region": pa.array(region, pa.int64()), "sex": pa.array(sex, pa.string())})
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, data)
        step = Swap(("region",), 1.0, ("sex",))
        after = perform_steps(table, [step], generator=secret_generator(None)).table
        assert rows(after) == rows(table)


def test_rank_swapping_keeps_every_value() -> None:
    values = [3, 1, 1, None, 9, 7, 7, 2]
    found = column_of(numbers(*values), "x", RankSwap("x", 0.5))
    assert Counter(found) == Counter(values)
    assert found[3] is None
    assert found != values


def test_the_matrix_of_pram_is_reported_with_its_values() -> None:
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, PEOPLE)
        stepped = perform_steps(table, [Pram("flag", 0.6)], generator=secret_generator(KEY))
    (result,) = (done.to_dict() for done in stepped.done)
    assert result["values"] == ["false", "true"]
    assert np.array([4, 5]) @ np.array(result["matrix"]) == pytest.approx([4, 5])
    assert result["promise"] == Pram.promise
    assert result["pram"] == {"column": "flag", "keep": 0.6}


def test_pram_leaves_what_is_missing() -> None:
    found = column_of(numbers(*[1.5, NAN, None, 2.5] * 20), "x", Pram("x", 0.5))
    assert all(math.isnan(value) for value in found[1::4])
    assert set(found[2::4]) == {None}
    assert set(found[::4]) == set(found[3::4]) == {1.5, 2.5}


def test_pram_of_nearly_unique_values_is_refused() -> None:
    with pytest.raises(InvalidStep, match="1,001 different values"):
        column_of(numbers(*range(1_001)), "x", Pram("x", 0.5))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Clip("name", (Decimal(0), Decimal(1))), "clip needs numbers, but column 'name' of people"),
        (AddNoise("day", 0.1), "noise needs numbers, but column 'day' of people holds date values"),
        (RankSwap("name", 0.1), "needs numbers, dates or times, but column 'name'"),
        (RoundNumbers("number", Decimal("0.5")), "Column 'number' holds whole numbers"),
        (Microaggregate(("real",), 2), "Infinite numbers in 'real' have no mean"),
    ],
)
def test_a_step_that_does_not_fit_its_column_is_refused(step: Step, message: str) -> None:
    with ScratchEngine(DuckDB()) as engine, pytest.raises(InvalidStep, match=message):
        perform_steps(loaded(engine.engine, PEOPLE), [step], generator=secret_generator(KEY))


def test_a_step_on_a_column_that_is_not_there_names_the_near_one() -> None:
    with (
        ScratchEngine(DuckDB()) as engine,
        pytest.raises(UnknownColumn, match="Did you mean 'money'"),
    ):
        perform_steps(loaded(engine.engine, PEOPLE), [AddNoise("mony", 1)], generator=None)


def test_chance_is_never_taken_from_nowhere() -> None:
    with ScratchEngine(DuckDB()) as engine, pytest.raises(WrongUsage, match="Give it a generator"):
        perform_steps(loaded(engine.engine, PEOPLE), [AddNoise("money", 1)], generator=None)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_table_without_rows_stays_one(steps: Sequence[Step]) -> None:
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, PEOPLE.slice(0, 0))
        assert rows(perform_steps(table, steps, generator=secret_generator(KEY)).table) == []


def test_nothing_but_the_result_is_left_on_the_engine() -> None:
    engine = DuckDB()
    scratch = ScratchEngine(engine)
    data = loaded(engine, PEOPLE)
    table = type(data)(scratch, data.relation, data.columns, data.label)
    after = perform_steps(table, STEPS["all of them"], generator=secret_generator(KEY)).table
    assert list(scratch._stored) == [after.relation.sql()]
    engine.close()


def test_no_steps_leave_the_table_itself() -> None:
    with ScratchEngine(DuckDB()) as engine:
        table = loaded(engine.engine, PEOPLE)
        assert perform_steps(table, [], generator=None).table is table
