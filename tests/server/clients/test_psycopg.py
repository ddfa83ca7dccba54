"""psycopg 3 talks to the server: text, binary, prepared, pipeline, server cursor, COPY, cancel."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row
from tests.keep_cancelling import keep_cancelling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.pg.served import Served

FIRST = (
    1,
    "person 1",
    dt.date(1980, 1, 31),
    Decimal("70.50"),
    True,
    0.5,
    dt.datetime(2024, 2, 29, 10, 20, 30, 500_000),  # noqa: DTZ001 - no zone
)


@pytest.fixture
def connection(server: Served) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.conninfo) as found:
        yield found


@pytest.mark.parametrize("binary", [False, True])
def test_rows_have_their_types(connection: psycopg.Connection, people: str, binary: bool):
    cursor = connection.execute(
        f"select * from {people} order by id limit 2".encode(), binary=binary
    )
    assert cursor.fetchall() == [FIRST, (2, *[None] * 6)]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 42),
        ("bigint", 2**40),
        ("double precision", 0.1),
        ("numeric", Decimal("12.345000000")),
        ("text", "Grüße 'quoted' \\ \n"),
        ("boolean", False),
        ("date", dt.date(2024, 2, 29)),
        ("timestamp", dt.datetime(2024, 2, 29, 1, 2, 3, 4)),  # noqa: DTZ001 - no zone
        ("timestamptz", dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC)),
        ("time", dt.time(1, 2, 3)),
        ("interval", dt.timedelta(days=2, seconds=3600)),
        ("uuid", UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("bytea", b"\x00\xff"),
        ("text", None),
    ],
)
def test_a_parameter_comes_back_as_it_went(
    connection: psycopg.Connection, kind: str, value: Any, binary: bool
):
    place = "%b" if binary and not isinstance(value, dt.timedelta) else "%s"
    cursor = connection.execute(f"select {place}::{kind} as value".encode(), [value], binary=binary)
    assert cursor.fetchone() == (value,)


def test_a_prepared_statement_is_used_again(connection: psycopg.Connection, people: str):
    sql = f"select name from {people} where id = %s::int".encode()
    found = [connection.execute(sql, [number], prepare=True).fetchone() for number in (1, 2, 3) * 5]
    assert found[:3] == [("person 1",), (None,), ("person 3",)]
    assert len(connection._prepared._names) == 1


def test_statements_that_are_forgotten_can_be_prepared_again(connection: psycopg.Connection):
    connection.prepared_max = 2
    for _ in range(2):
        for number in range(5):
            cursor = connection.execute(f"select {number}, %s::int".encode(), [1], prepare=True)
            assert cursor.fetchone() == (number, 1)


def test_a_pipeline_is_answered_in_order(connection: psycopg.Connection):
    with connection.pipeline():
        cursors = [connection.execute("select %s::int", [number]) for number in range(50)]
        assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(50)]


def test_a_failure_in_a_pipeline_leaves_out_the_rest(server: Served):
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        with pytest.raises(errors.UndefinedTable), connection.pipeline():  # noqa: PT012 - it fails at its end
            connection.execute("select 1")
            connection.execute("select * from no_such_table")
            connection.execute("select 2")
        assert connection.execute("select 3").fetchone() == (3,)


def test_many_rows_go_in_with_one_statement(connection: psycopg.Connection, people: str):
    with connection.cursor() as cursor:
        cursor.executemany(
            f"insert into {people} (id, name) values (%s::int, %s::text)".encode(),
            [(number, "new") for number in range(1000, 1020)],
        )
        assert cursor.rowcount == 20
    connection.rollback()
    assert connection.execute(f"select count(*) from {people}".encode()).fetchone() == (500,)


def test_a_cursor_of_the_server_hands_out_parts(connection: psycopg.Connection, people: str):
    with connection.cursor("parts", row_factory=dict_row) as cursor:
        cursor.itersize = 90
        cursor.execute(f"select id, name from {people} order by id".encode())
        found = list(cursor)
    assert [row["id"] for row in found] == list(range(1, 501))


def test_a_transaction_that_failed_refuses_until_its_end(connection: psycopg.Connection):
    with pytest.raises(errors.UndefinedTable):
        connection.execute("select * from no_such_table")
    with pytest.raises(errors.InFailedSqlTransaction):
        connection.execute("select 1")
    connection.rollback()
    assert connection.execute("select 1").fetchone() == (1,)


def test_transactions_nest(connection: psycopg.Connection, people: str):
    count = f"select count(*) from {people}".encode()
    with connection.transaction(force_rollback=True):
        connection.execute(f"delete from {people} where id = 3".encode())
        with connection.transaction():
            assert connection.execute(count).fetchone() == (499,)
    assert connection.execute(count).fetchone() == (500,)


@pytest.mark.parametrize("options", ["", "(format binary)"])
def test_rows_are_copied_out(connection: psycopg.Connection, people: str, options: str):
    sql = f"copy (select id, name, born from {people} order by id) to stdout {options}".encode()
    with connection.cursor().copy(sql) as copy:
        copy.set_types(["int4", "text", "date"])
        found = list(copy.rows())
    assert found[:2] == [FIRST[:3], (2, None, None)]
    assert len(found) == 500


def test_what_runs_is_canceled(connection: psycopg.Connection, people: str):
    sql = f"select count(*) from {people} a, {people} b, {people} c, {people} d where a.id + b.id = c.id * d.id"
    with pytest.raises(errors.QueryCanceled), keep_cancelling(connection.cancel_safe, every=0.5):
        connection.execute(sql.encode())
    connection.rollback()
    assert connection.execute("select 1").fetchone() == (1,)


def test_the_server_says_which_postgresql_it_is_like(connection: psycopg.Connection):
    assert connection.info.server_version >= 160000
    assert connection.info.parameter_status("standard_conforming_strings") == "on"
    assert connection.info.encoding == "utf-8"
    assert connection.info.timezone is not None
