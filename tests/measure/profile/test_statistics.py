"""Statistics count all rows, on every engine alike."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.measure.profile.statistics import SAMPLE, describe_columns

if TYPE_CHECKING:
    from discreet.engines.engine import Engine

FEW = pa.table(
    {
        "text": ["a", "a", "bb", " ", None, "anna@example.org"],
        "number": pa.array([1, 1, 2, None, 9_007_199_254_740_993, -5], pa.int64()),
        "real": [0.5, float("nan"), float("inf"), None, 2.5, 0.5],
        "decimal": pa.array([Decimal("1.10"), None, Decimal("-2.25"), None, None, None]),
        "day": [dt.date(2024, 1, 1), None, dt.date(1967, 9, 7), None, None, None],
        "flag": [True, True, False, None, None, True],
    }
)


def on_engine(engine: Engine, data: pa.Table, label: str = "people") -> Table:
    relation = engine.load(data.to_reader())
    return Table(engine, relation, engine.columns(relation), label)


def test_every_engine_counts_the_same(any_engine: Engine) -> None:
    found = {item.name: item for item in describe_columns(on_engine(any_engine, FEW))}
    text = found["text"]
    assert (text.rows, text.missing, text.distinct, text.unique) == (6, 2, 3, 2)
    assert (text.smallest, text.shortest, text.longest) == (1, 1, 16)
    assert text.patterns == {"e-mail address": 1}
    assert set(text.sample) == {"a", "bb", "anna@example.org"}
    number = found["number"]
    assert (number.minimum, number.maximum) == ("-5", "9007199254740993")
    real = found["real"]
    assert (Decimal(real.minimum or 0), Decimal(real.maximum or 0)) == (
        Decimal("0.5"),
        Decimal("2.5"),
    )
    assert Decimal(found["decimal"].minimum or 0) == Decimal("-2.25")
    assert (found["day"].minimum, found["day"].maximum) == ("1967-09-07", "2024-01-01")
    assert (found["flag"].distinct, found["flag"].missing) == (2, 2)


def test_every_engine_takes_the_same_sample(any_engine: Engine) -> None:
    data = pa.table({"code": [f"code {number * 7919 % 20_011}" for number in range(20_000)]})
    sample = describe_columns(on_engine(any_engine, data))[0].sample
    expected = describe_columns(open_table(data.slice(0).sort_by("code")))[0].sample
    assert len(sample) == SAMPLE
    assert sample == expected


def test_patterns_are_counted_in_every_row() -> None:
    values = ["fine"] * 9_999 + ["mail me: anna@example.org"]
    found = describe_columns(open_table(pa.table({"c1": values})))[0]
    assert found.patterns["e-mail address"] == 1


def test_an_empty_table_has_zero_counts() -> None:
    found = describe_columns(open_table(pa.table({"a": pa.array([], pa.string())})))[0]
    assert (found.rows, found.distinct, found.unique, found.smallest) == (0, 0, 0, 0)
    assert not found.is_key


def test_a_wide_table_is_described_in_its_order() -> None:
    data = pa.table({f"c{number}": [number, number + 1] for number in range(40)})
    found = describe_columns(open_table(data))
    assert [item.name for item in found] == data.column_names
    assert [item.minimum for item in found] == [str(number) for number in range(40)]


def test_a_list_is_counted_by_its_text() -> None:
    found = describe_columns(open_table(pa.table({"tags": [["a"], ["a"], ["b", "c"]]})))[0]
    assert (found.distinct, found.unique) == (2, 1)


@pytest.mark.parametrize("name", ['quo"te', "semi;colon", "ünïcödé", "select", "value", "size"])
def test_any_column_name_is_counted(name: str) -> None:
    assert describe_columns(open_table(pa.table({name: [1, 2, 2]})))[0].unique == 1


def test_statistics_do_not_show_cell_values() -> None:
    found = describe_columns(open_table(pa.table({"salary": [123_457, 987_651]})))[0]
    assert "123457" not in repr(found)
    assert "987651" not in repr(found)
