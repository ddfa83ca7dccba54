"""Frames of Python, from every library people use."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.engines.frames import is_pandas
from discreet.errors import DuplicateColumns, EmptySource, UnreadableSource, WrongUsage
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.engine import Table

PEOPLE = pa.table({"zip": ["01234", "2"], "age": [41, None]})


def rows(table: Table) -> list[dict[str, object]]:
    return table.engine.run(build.select(exp.Star(), source=table.relation)).to_pylist()


class Streaming:
    """All that a stranger's frame needs to have."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return PEOPLE.__arrow_c_stream__(requested_schema)


FRAMES = {
    "pandas": lambda: pd.DataFrame({"zip": ["01234", "2"], "age": [41, None]}),
    "polars": lambda: pl.DataFrame({"zip": ["01234", "2"], "age": [41, None]}),
    "polars lazy": lambda: pl.LazyFrame({"zip": ["01234", "2"], "age": [41, None]}),
    "arrow table": lambda: PEOPLE,
    "arrow batch": lambda: PEOPLE.to_batches()[0],
    "arrow reader": PEOPLE.to_reader,
    "arrow dataset": lambda: dataset.dataset(PEOPLE),
    "duckdb relation": lambda: duckdb.connect().from_arrow(PEOPLE),
    "anything": Streaming,
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_is_a_table(name: str) -> None:
    assert rows(open_table(FRAMES[name]())) == PEOPLE.to_pylist()


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_can_be_read_twice_and_streamed(name: str) -> None:
    table = open_table(FRAMES[name]())
    query = build.select(exp.Star(), source=table.relation)
    assert rows(table) == rows(table)
    assert pa.Table.from_batches(table.engine.stream(query)).to_pylist() == PEOPLE.to_pylist()


def test_categories_are_ordered_as_text() -> None:
    frame = pd.DataFrame({"v": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)})
    table = open_table(frame)
    query = build.order_nulls_last(
        build.select(build.column("v"), source=table.relation), [build.column("v")]
    )
    assert str(table.columns[0].kind) == "text"
    assert table.engine.run(query).column(0).to_pylist() == ["a", "b"]


def test_missing_numbers_of_pandas_are_null() -> None:
    assert rows(open_table(pd.DataFrame({"v": [1.5, float("nan")]}))) == [{"v": 1.5}, {"v": None}]


def test_instants_of_pandas_have_microseconds() -> None:
    table = open_table(pd.DataFrame({"t": [datetime(2020, 1, 31, 10, 20)]}))  # noqa: DTZ001
    result = table.engine.run(build.select(build.column("t"), source=table.relation))
    assert (str(table.columns[0].kind), result.schema.types) == ("timestamp", [pa.timestamp("us")])


def test_nested_columns_are_compared_by_their_text() -> None:
    table = open_table(pa.table({"v": [[1, 2], [1, 2]], "s": [{"a": 1}, {"a": 1}]}))
    query = build.select(build.count_star(), source=table.relation).group_by(
        build.column("v"), build.column("s")
    )
    assert [str(column.kind) for column in table.columns] == ["other", "other"]
    assert table.engine.run(query).column(0).to_pylist() == [2]


def test_a_frame_with_names_that_differ_by_case_is_refused() -> None:
    with pytest.raises(DuplicateColumns):
        open_table(pa.table({"a": [1], "A": [2]}))


def test_a_frame_that_mixes_types_is_refused_without_its_cells() -> None:
    with pytest.raises(UnreadableSource) as caught:
        open_table(pd.DataFrame({"v": [1, "Alice Meier"]}))
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("thing", [42, None, {"a": [1]}, object()])
def test_what_is_no_table_is_wrong_usage(thing: object) -> None:
    with pytest.raises(WrongUsage, match="is not a table"):
        open_table(thing)


def test_a_file_joins_a_frame_on_its_engine(tmp_path: object) -> None:
    parquet.write_table(PEOPLE, f"{tmp_path}/p.parquet")
    first = open_table(PEOPLE)
    second = open_table(f"{tmp_path}/p.parquet", engine=first.engine)
    assert second.engine is first.engine


@pytest.mark.parametrize(
    "mixed",
    [
        [date(2020, 1, 1), datetime(2020, 1, 1, 5, tzinfo=UTC)],
        [b"a", "a"],
        [2**64, 2**64 + 1],
    ],
)
def test_a_column_whose_values_arrow_would_change_is_refused(mixed: list[object]) -> None:
    with pytest.raises(UnreadableSource, match="one type") as caught:
        open_table(pd.DataFrame({"a": pd.Series(mixed, dtype=object)}))
    assert caught.value.__context__ is None


@pytest.mark.parametrize("series", [pd.Series([1], name="a"), pl.Series("a", [1])])
def test_a_single_series_is_no_table(series: object) -> None:
    with pytest.raises(WrongUsage, match="Series is not a table"):
        open_table(series)


def test_a_frame_without_columns_is_empty() -> None:
    with pytest.raises(EmptySource, match="no columns"):
        open_table(pd.DataFrame())


def test_columns_of_pandas_that_share_a_name_are_named() -> None:
    with pytest.raises(DuplicateColumns, match="'a'"):
        open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize(
    "column",
    [
        pa.array(np.array([1.5, 2.5], np.float16)),
        pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal256(60, 2)),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
)
@pytest.mark.parametrize("form", [pa.Table, pa.RecordBatchReader])
def test_types_that_duckdb_lacks_are_made_plain(column: object, form: type) -> None:
    table = pa.table({"a": column})
    opened = open_table(table if form is pa.Table else table.to_reader())
    assert len({row["a"] for row in rows(opened)}) == 2


def test_categories_of_intervals_are_texts() -> None:
    bins = pd.cut(pd.Series([1, 5, 9, None]), [0, 3, 10])
    found = rows(open_table(pd.DataFrame({"a": bins})))
    assert [row["a"] for row in found] == ["(0, 3]", "(3, 10]", "(3, 10]", None]


def test_a_subclass_of_a_pandas_frame_is_one() -> None:
    class Survey(pd.DataFrame):
        """As GeoPandas and others have them, in a module of their own."""

    assert is_pandas(Survey({"age": [41]}))
    assert rows(open_table(Survey({"age": [41]}))) == [{"age": 41}]
