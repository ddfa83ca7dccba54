"""Tables on PostgreSQL and Spark, opened by their URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet
from sqlglot import exp

from discreet.engines.connect import list_tables, open_table
from discreet.engines.postgres import PostgreSQL
from discreet.errors import EngineFailed, SourceNotFound, WrongUsage
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.engine import Engine

SECRET = "Alice-Meier-1967"


@pytest.fixture(scope="session")
def clinic_url(postgres_url: str) -> str:
    """A database of its own: other tests leave tables on the server that all of them share."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE clinic")
    return urlunsplit(urlsplit(postgres_url)._replace(path="/clinic"))


@pytest.fixture
def clinic(clinic_url: str) -> str:
    """The URL of a database with two tables."""
    with psycopg.connect(clinic_url, autocommit=True) as connection:
        connection.execute(
            "DROP SCHEMA IF EXISTS ward CASCADE; DROP TABLE IF EXISTS people CASCADE"
        )
        connection.execute(
            "CREATE TABLE people (id int PRIMARY KEY, name text, code char(4), born date,"
            " price numeric, tags json, at timestamptz, n numeric(10, 2))"
        )
        connection.execute(
            "INSERT INTO people VALUES (1, 'b', 'x', 'infinity', 'NaN', '[1]', '2020-01-01Z', 1.5),"
            " (2, 'A', 'y', '2020-01-31', 2.25, '[1]', '-infinity', NULL)"
        )
        connection.execute("CREATE SCHEMA ward")
        connection.execute("CREATE SEQUENCE ward.tickets")
        connection.execute("CREATE TYPE ward.mood AS ENUM ('sad', 'glad')")
        connection.execute("CREATE TABLE ward.visits (person int, mood ward.mood)")
        connection.execute("INSERT INTO ward.visits VALUES (1, 'sad'), (2, 'glad')")
    return clinic_url


def with_table(url: str, name: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}table={name}"


@pytest.mark.postgres
def test_the_tables_of_a_server_are_listed_and_opened_by_name(clinic: str) -> None:
    assert list_tables(clinic) == ["people", "ward.visits"]
    by_option = open_table(clinic, table="people")
    by_url = open_table(with_table(clinic, "ward.visits"))
    assert (by_option.label, by_url.label) == ("people", "ward.visits")
    assert [label for _, label in by_option.engine.tables()] == ["people", "visits"]
    with pytest.raises(WrongUsage, match=r"'people', 'ward\.visits'"):
        open_table(clinic)
    with pytest.raises(SourceNotFound, match="Did you mean 'people'"):
        open_table(clinic, table="peopel")


@pytest.mark.postgres
def test_kinds_of_a_server_s_columns(clinic: str) -> None:
    table = open_table(clinic, table="people")
    assert {column.name: str(column.kind) for column in table.columns} == {
        "id": "integer",
        "name": "text",
        "code": "text",
        "born": "date",
        "price": "decimal",
        "tags": "other",
        "at": "timestamp",
        "n": "decimal",
    }


@pytest.mark.postgres
def test_values_that_arrow_lacks_do_not_stop_a_query(clinic: str) -> None:
    table = open_table(clinic, table="people")
    query = build.order_nulls_last(
        build.select(exp.Star(), source=table.relation), [build.column("id")]
    )
    first, second = table.engine.run(query).to_pylist()
    assert (str(first["born"]), first["price"], str(second["price"])) == (
        "9999-12-31",
        None,
        "2.25" + "0" * 36,
    )
    assert (first["code"], second["at"].year) == ("x", 1)


@pytest.mark.postgres
def test_nested_and_enumerated_columns_can_be_grouped_and_ordered_as_text(clinic: str) -> None:
    people = open_table(clinic, table="people")
    grouped = build.select(build.count_star(), source=people.relation).group_by(
        build.column("tags")
    )
    assert people.engine.run(grouped).column(0).to_pylist() == [2]
    visits = open_table(clinic, table="ward.visits")
    query = build.select(build.column("mood"), source=visits.relation)
    moods = visits.engine.run(build.order_nulls_last(query, [build.column("mood")])).column(0)
    assert moods.to_pylist() == ["glad", "sad"]


@pytest.mark.postgres
def test_every_text_has_the_order_of_its_bytes(clinic: str) -> None:
    table = open_table(clinic, table="people")
    kept = table.engine.keep(
        build.select(
            build.column("name"),
            build.alias_as(exp.cast(build.column("id"), "TEXT"), "cast"),
            build.alias_as(exp.Max(this=build.column("name")), "max"),
            build.alias_as(build.text("x"), "literal"),
            source=table.relation,
        ).group_by(build.column("name"), build.column("id"))
    )
    collations = [
        exp.Anonymous(this="pg_collation_for", expressions=[build.column(name)])
        for name in ("name", "cast", "max", "literal")
    ]
    query = build.select(*collations, source=kept).limit(1)
    found = table.engine.run(query)
    assert [column[0].as_py() for column in found.columns] == ['"C"'] * 4


@pytest.mark.postgres
def test_a_server_s_own_tables_cannot_be_written(clinic: str) -> None:
    engine = PostgreSQL(clinic)
    write = exp.Anonymous(this="nextval", expressions=[build.text("ward.tickets")])
    with pytest.raises(EngineFailed, match="25006"):
        engine.run(exp.select(write))
    engine.close()


@pytest.mark.postgres
def test_a_unique_violation_quotes_no_cell(clinic: str) -> None:
    engine = PostgreSQL(clinic)
    index = exp.maybe_parse("CREATE UNIQUE INDEX ON discreet_loaded_1 (v)", dialect="postgres")
    engine.load(pa.table({"v": [SECRET, SECRET]}).to_reader())
    with pytest.raises(EngineFailed, match="23505") as caught:
        engine._write(index)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    engine.close()


@pytest.mark.postgres
def test_a_text_that_a_server_cannot_hold_is_not_quoted(clinic: str) -> None:
    engine = PostgreSQL(clinic)
    with pytest.raises(EngineFailed) as caught:
        engine.load(pa.table({"v": [f"{SECRET}\0"]}).to_reader())
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    engine.close()


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(SourceNotFound) as caught:
        open_table("postgresql://ann:s3cret@127.0.0.1:1/clinic?table=people")
    assert "127.0.0.1:1, database 'clinic' as ann" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_address_that_is_none_is_refused_without_the_password() -> None:
    with pytest.raises(WrongUsage, match="address") as caught:
        open_table("postgresql://ann:s3cret@[::1/clinic")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.postgres
def test_a_file_can_join_a_table_on_a_server(clinic: str, tmp_path: Path) -> None:
    people = open_table(clinic, table="people")
    (tmp_path / "extra.csv").write_text("id,zip\n1,01234\n")
    extra = open_table(tmp_path / "extra.csv", engine=people.engine)
    query = build.select(
        build.column("zip", of="e"), source=build.aliased_table(people.relation, "p")
    ).join(
        build.aliased_table(extra.relation, "e"),
        on=exp.EQ(this=build.column("id", of="p"), expression=build.column("id", of="e")),
    )
    assert people.engine.run(query).column(0).to_pylist() == ["01234"]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_spark_opens_files_tables_and_frames(spark_engine: Engine, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1, 2], "m": [[1], [2]]}), tmp_path / "p.parquet")
    by_path = open_table(f"spark:{tmp_path}/p.parquet", engine=spark_engine)
    frame = spark_engine.session.read.parquet(str(tmp_path / "p.parquet"))
    frame.createOrReplaceTempView("people")
    by_name = open_table("spark:people", engine=spark_engine)
    by_frame = open_table(frame)
    for table in (by_path, by_name, by_frame):
        kinds = {column.name: str(column.kind) for column in table.columns}
        count = table.engine.run(build.select(build.count_star(), source=table.relation))
        assert (kinds, count.column(0).to_pylist()) == ({"a": "integer", "m": "other"}, [2])
    by_frame.engine.close()  # a session that was given stays open
    assert spark_engine.session.range(1).count() == 1


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_missing_table_of_spark_is_a_clear_error(spark_engine: Engine) -> None:
    with pytest.raises(EngineFailed, match="TABLE_OR_VIEW_NOT_FOUND"):
        open_table("spark:nowhere", engine=spark_engine)


def test_spark_needs_a_table() -> None:
    with pytest.raises(WrongUsage, match=r"spark:catalog\.table"):
        open_table("spark://host:7077")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_sparks_own_python_loggers_are_silent(spark_engine):
    import logging

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        assert logging.getLogger(name).disabled
