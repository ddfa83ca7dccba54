"""Messages of engines: those that cannot quote data are passed on, and no cell ever is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from discreet.engines.duckdb import DuckDB, call_duckdb
from discreet.engines.engine import Engine
from discreet.errors import EngineFailed
from discreet.registry import ENGINES
from discreet.server.pg.failures import as_statement_failed
from discreet.sql import build

SECRET = "zelda_marlow"
# Cells that read like messages that are passed on.
BAITS = [
    SECRET,
    f"Scalar Function with name {SECRET} does not exist",
    f'syntax error at or near "{SECRET}"',
    f"failed to allocate data of size {SECRET}",
    f"{SECRET}: {os.strerror(28)}",
    f'permission denied for table "{SECRET}"',
]
# Statements that fail on a cell, each with another kind of exception where DuckDB has one.
FAILING = [
    "SELECT CAST(v AS BIGINT) FROM people",
    "SELECT CAST(v AS DATE) FROM people",
    "SELECT CAST(v AS UUID) FROM people",
    "SELECT error(v) FROM people",
    "SELECT strptime(v, '%Y') FROM people",
    "SELECT json_extract(CAST(v AS JSON), '$.a') FROM people",
    "SELECT regexp_matches('a', '(' || v) FROM people",
    "SELECT CAST(v AS INTEGER[]) FROM people",
    "SELECT read_text(v) FROM people",
    "SELECT decode(encode(v) || 'a'::BLOB) || CAST(v AS BLOB) || CAST(v AS INTERVAL) FROM people",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    engine = DuckDB(memory_limit="60MB")
    yield engine
    engine.close()


@pytest.fixture
def postgres_engine(postgres_url: str) -> Iterator[Engine]:
    engine = ENGINES.get("postgresql").start(postgres_url)
    yield engine
    engine.close()


def failure(engine: DuckDB, text: str) -> EngineFailed:
    with pytest.raises(EngineFailed) as caught:
        engine.run(parse_one(text, dialect="duckdb"))
    return caught.value


@pytest.mark.parametrize("text", FAILING)
@pytest.mark.parametrize("cell", BAITS)
def test_no_message_quotes_a_cell(engine: DuckDB, text: str, cell: str):
    held = engine.load(pa.table({"v": [cell]}).to_reader())
    query = parse_one(text.replace("people", held.name), dialect="duckdb")
    with pytest.raises(EngineFailed) as caught:
        engine.run(query)
    assert SECRET not in str(caught.value)
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


def test_a_cell_in_the_path_of_a_partition_is_not_quoted(engine: DuckDB, tmp_path: Path):
    held = engine.load(pa.table({"v": [SECRET], "n": [1]}).to_reader())
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / f"v={SECRET}").write_text("a file where DuckDB wants a folder")
    with pytest.raises(EngineFailed) as caught:
        call_duckdb(
            lambda: engine._connection.execute(  # pyright: ignore[reportPrivateUsage]
                f"COPY {held.name} TO '{folder}' (FORMAT parquet, PARTITION_BY (v), OVERWRITE_OR_IGNORE)"
            )
        )
    assert SECRET not in str(caught.value)


def test_a_literal_in_a_statement_of_ours_is_not_quoted():
    with pytest.raises(EngineFailed) as caught:
        call_duckdb(lambda: duckdb.sql(f"SELECT 1 '{SECRET}' FROM WHERE"))
    assert SECRET not in str(caught.value)


def test_an_unknown_function_is_named(engine: DuckDB):
    found = failure(engine, "SELECT no_such_function(1)")
    assert "Scalar Function with name no_such_function does not exist" in str(found)


def test_a_file_that_is_not_there_is_the_reason(engine: DuckDB):
    found = failure(engine, "SELECT * FROM read_parquet('/nowhere/people.parquet')")
    assert "No files found that match the pattern" in str(found)


def test_lack_of_memory_has_its_size(engine: DuckDB):
    found = failure(engine, "SELECT list(range || 'x') FROM range(9000000)")
    assert "ran out of memory" in str(found)
    assert "failed to " in str(found)


def test_the_syntax_of_a_statement_of_ours_is_the_reason():
    with pytest.raises(EngineFailed, match='syntax error at or near "WHERE"'):
        call_duckdb(lambda: duckdb.sql("SELECT 1 FROM WHERE"))


def test_a_refused_setting_has_its_reason():
    with pytest.raises(EngineFailed, match=r"refused a setting.*thread"):
        DuckDB(threads=-1)


def test_clients_of_a_server_do_not_see_words_of_the_engine(engine: DuckDB):
    found = failure(engine, "SELECT list(range || 'x') FROM range(9000000)")
    assert "failed to " not in str(as_statement_failed(found))
    assert "ran out of memory" in str(as_statement_failed(found))


@pytest.mark.postgres
def test_a_table_of_postgres_that_is_not_there_is_named(postgres_engine: Engine):
    with pytest.raises(EngineFailed, match='relation "nothing_here" does not exist'):
        postgres_engine.run(build.select(exp.Star(), source=build.table("nothing_here")))


@pytest.mark.postgres
@pytest.mark.parametrize("state", ["42501", "53200", "22023"])
def test_words_that_a_function_of_the_database_raises_are_withheld(
    postgres_engine: Engine, postgres_url: str, state: str
):
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            f"CREATE OR REPLACE FUNCTION complain_{state}(v text) RETURNS text LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'no right to see %', v USING ERRCODE = '{state}'; END $$"
        )
    held = postgres_engine.load(pa.table({"v": [SECRET]}).to_reader())
    call = exp.Anonymous(this=f"complain_{state}", expressions=[build.column("v")])
    with pytest.raises(EngineFailed) as caught:
        postgres_engine.run(build.select(call, source=held))
    assert SECRET not in str(caught.value)
    assert state in str(caught.value)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "call",
    [
        "CAST(v AS regclass)",
        "CAST(v AS regtype)",
        "CAST(v AS regproc)",
        "CAST(v AS regrole)",
        "CAST(v AS regnamespace)",
        "current_setting(v)",
        "has_table_privilege(v, 'select')",
        "has_database_privilege(v, 'connect')",
        "pg_read_file(v)",
    ],
)
def test_a_cell_that_is_no_name_of_the_database_is_not_quoted(postgres_engine: Engine, call: str):
    held = postgres_engine.load(pa.table({"v": [SECRET]}).to_reader())
    query = build.select(parse_one(call, dialect="postgres"), source=held)
    with pytest.raises(EngineFailed, match="withheld") as caught:
        postgres_engine.run(query)
    assert SECRET not in str(caught.value)
