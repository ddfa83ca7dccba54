"""What is written is the same from every engine, byte for byte."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import psycopg
import psycopg.sql
import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import EngineFailed, OutputRefused
from discreet.release.write import parse_target, write_rows
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.engines.engine import Engine

TABLE = pa.table(
    {
        "whole": pa.array([2, -7, None, 2**63 - 1, 0, 1, 3]),
        "small": pa.array([1, None, -32768, 32767, 0, 5, 6], pa.int16()),
        "decimal": pa.array(
            [Decimal("0.10"), Decimal("-99.99"), None, Decimal(0), Decimal(5), Decimal(1), None],
            pa.decimal128(10, 2),
        ),
        "real": pa.array([0.1, 1e20, -0.0, math.nan, math.inf, None, 5e-324]),
        "single": pa.array([0.1, 1.5, -0.0, math.nan, -math.inf, None, 1e10], pa.float32()),
        "flag": pa.array([True, False, None, True, False, True, False]),
        "day": pa.array(
            [dt.date(2020, 1, 31), dt.date(1, 1, 1), None] + [dt.date(9999, 12, 31)] * 4
        ),
        "moment": pa.array(
            [
                dt.datetime(2020, 1, 31, 10, 20, 30, 500000),  # noqa: DTZ001
                dt.datetime(1582, 10, 3),  # noqa: DTZ001
                None,
                None,
                None,
                None,
                dt.datetime(2020, 1, 31, 10, 20, 30, 1),  # noqa: DTZ001
            ],
            pa.timestamp("us"),
        ),
        "instant": pa.array(
            [dt.datetime(2024, 2, 29, 23, 0, 1, tzinfo=dt.UTC), *([None] * 6)],
            pa.timestamp("us", "UTC"),
        ),
        "clock": pa.array([dt.time(10, 20), dt.time(23, 59, 59, 999999), *([None] * 5)]),
        "text": pa.array(["", None, 'a "b", c\nd\re', " ä ", "NULL", "[20-30)", "*"]),
        "name, odd": pa.array(["e\u0301", "é", "😀", "a", "a", "#", "'"]),
    }
)
CSV = (
    'whole,small,decimal,real,single,flag,day,moment,instant,clock,text,"name, odd"\n'
    "-7,,-99.99,1e+20,1.5,false,0001-01-01,1582-10-03 00:00:00,,23:59:59.999999,,é\n"
    "0,0,5.00,inf,-inf,false,9999-12-31,,,,NULL,a\n"
    '1,5,1.00,,,true,9999-12-31,,,,[20-30),"#"\n'
    "2,1,0.10,0.1,0.1,true,2020-01-31,2020-01-31 10:20:30.5,2024-02-29 23:00:01+00,10:20:00,"
    '"",e\u0301\n'
    "3,6,,5e-324,10000000000.0,false,9999-12-31,2020-01-31 10:20:30.000001,,,*,'\n"
    "9223372036854775807,32767,0.00,nan,nan,true,9999-12-31,,,, ä ,a\n"
    ',-32768,,0.0,0.0,,,,,,"a ""b"", c\nd\re",😀\n'
)


def everything(relation: exp.Table) -> exp.Select:
    return build.select(exp.Star(), source=relation.copy())


def written(engine: Engine, table: pa.Table, place: object, **options: object) -> bytes:
    with ScratchEngine(engine) as scratch:
        relation = scratch.load(table.to_reader())
        target = parse_target(str(place), force=True)
        write_rows(scratch, everything(relation), target, **options)
        return target.path.read_bytes()


def test_csv_is_the_same_from_every_engine(any_engine: Engine, tmp_path: Path) -> None:
    assert written(any_engine, TABLE, tmp_path / "a.csv").decode() == CSV


def test_the_order_of_the_source_leaves_no_trace(any_engine: Engine, tmp_path: Path) -> None:
    backwards = TABLE.take(list(reversed(range(TABLE.num_rows))))
    first = written(any_engine, TABLE, tmp_path / "a.parquet")
    assert written(any_engine, backwards, tmp_path / "b.parquet") == first


def test_parquet_is_the_same_from_every_engine(any_engine: Engine, tmp_path: Path) -> None:
    from discreet.engines.duckdb import DuckDB

    other = DuckDB()
    expected = written(other, TABLE, tmp_path / "a.parquet")
    other.close()
    assert written(any_engine, TABLE, tmp_path / "b.parquet") == expected


def test_a_hidden_column_orders_and_is_not_written(any_engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"class": [3, 1, 2, 1], "age": [10, 30, 20, 5], "sex": ["m", "f", "m", "f"]})
    text = written(
        any_engine, table, tmp_path / "a.csv", order=["class"], hide=["class"], settled=["sex"]
    )
    assert text == b"age,sex\n5,f\n30,f\n20,m\n10,m\n"


def test_a_query_that_fails_midway_leaves_the_old_file(any_engine: Engine, tmp_path: Path) -> None:
    place, folder = tmp_path / "a.csv", f"{tmp_path}/b.parquet/"
    place.write_text("old")
    words = pa.table({"word": ["1"] * 5000 + ["Alice"]})
    with ScratchEngine(any_engine) as scratch:
        relation = scratch.load(words.to_reader())
        number = exp.cast(build.column("word"), "BIGINT")
        query = build.select(build.alias_as(number, "n"), source=relation)
        with pytest.raises(EngineFailed) as failure:
            write_rows(scratch, query, parse_target(place, force=True))
        with pytest.raises(EngineFailed):
            write_rows(scratch, query, parse_target(folder, force=False))
    assert "Alice" not in str(failure.value)
    assert any_engine.name in str(failure.value).lower()
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert place.read_text() == "old"


def test_an_empty_result_is_a_header(any_engine: Engine, tmp_path: Path) -> None:
    assert written(any_engine, TABLE.slice(0, 0), tmp_path / "a.csv").decode() == (
        CSV.partition("\n")[0] + "\n"
    )


def test_what_is_written_is_read_back(any_engine: Engine, tmp_path: Path) -> None:
    written(any_engine, TABLE, tmp_path / "a.csv")
    table = open_table(tmp_path / "a.csv")
    rows = table.engine.run(everything(table.relation)).to_pylist()
    table.engine.close()
    texts = [row["text"] for row in rows]
    assert texts == [None, "NULL", "[20-30)", "", "*", " ä ", 'a "b", c\nd\re']


def test_a_folder_holds_the_same_rows(any_engine: Engine, tmp_path: Path) -> None:
    target = parse_target(f"{tmp_path}/a.parquet/", force=False)
    with ScratchEngine(any_engine) as scratch:
        relation = scratch.load(TABLE.to_reader())
        result = write_rows(scratch, everything(relation), target, order=["small"], hide=["small"])
    assert result.rows == TABLE.num_rows
    assert result.bytes == sum(path.stat().st_size for path in target.path.iterdir())
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names == [name for name in TABLE.column_names if name != "small"]
    assert sorted(table["name, odd"].to_pylist()) == sorted(TABLE["name, odd"].to_pylist())
    assert open_table(target.source).columns
    with pytest.raises(OutputRefused, match="exists"):
        parse_target(f"{tmp_path}/a.parquet/", force=False)


def test_a_folder_is_the_same_when_written_again(any_engine: Engine, tmp_path: Path) -> None:
    backwards = TABLE.take(list(reversed(range(TABLE.num_rows))))
    digests = set()
    for table in (TABLE, backwards):
        with ScratchEngine(any_engine) as scratch:
            relation = scratch.load(table.to_reader())
            target = parse_target(f"{tmp_path}/a.parquet/", force=True)
            digests.add(write_rows(scratch, everything(relation), target).sha256)
    assert len(digests) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.fixture(autouse=True)
def _tables_go_away(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop what a test left on the server, which others list the tables of."""
    yield
    if "postgres_url" not in request.fixturenames:
        return
    with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as server:
        for engine in ("duckdb", "postgresql", "spark"):
            for name in ("released", "kept"):
                table = psycopg.sql.Identifier(f"{name}_{engine}")
                # A session that was closed a moment ago may have its temporary views still.
                server.execute(psycopg.sql.SQL("DROP TABLE IF EXISTS {} CASCADE").format(table))


@pytest.mark.postgres
def test_a_postgres_table_is_written_from_every_engine(
    any_engine: Engine, postgres_url: str
) -> None:
    target = parse_target(f"{postgres_url}&table=released_{any_engine.name}", force=False)
    with ScratchEngine(any_engine) as scratch:
        relation = scratch.load(TABLE.to_reader())
        assert write_rows(scratch, everything(relation), target).rows == TABLE.num_rows
    table = open_table(target.source)
    back = table.engine.run(everything(table.relation))
    table.engine.close()
    expected = TABLE.take([1, 4, 5, 0, 6, 3, 2])
    assert str(back.to_pylist()) == str(expected.to_pylist()).replace("-0.0", "0.0")
    with pytest.raises(OutputRefused, match="exists"):
        parse_target(target.source, force=False)


@pytest.mark.postgres
def test_a_postgres_table_that_fails_midway_leaves_the_old_one(
    any_engine: Engine, postgres_url: str
) -> None:
    target = parse_target(f"{postgres_url}&table=kept_{any_engine.name}", force=True)
    with ScratchEngine(any_engine) as scratch:
        words = scratch.load(pa.table({"word": ["1"] * 5000 + ["Alice"]}).to_reader())
        write_rows(scratch, everything(words), target)
        before = tables_of(target.source)  # other tests leave theirs
        number = build.alias_as(exp.cast(build.column("word"), "BIGINT"), "n")
        with pytest.raises(EngineFailed) as failure:
            write_rows(scratch, build.select(number, source=words), target)
    assert "Alice" not in str(failure.value)
    table = open_table(target.source)
    table.engine.close()
    assert [column.name for column in table.columns] == ["word"]
    assert tables_of(target.source) == before


def tables_of(source: str) -> list[str]:
    table = open_table(source)
    names = sorted(name for _, name in table.engine.tables())
    table.engine.close()
    return names
