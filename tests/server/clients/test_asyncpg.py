"""asyncpg talks to the server; it speaks the extended protocol in binary only."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import ssl
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import asyncpg
import pytest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.server.pg.served import Served

T = TypeVar("T")


def connected(server: Served, work: Callable[[Any], Awaitable[T]]) -> T:
    async def run() -> T:
        connection = await asyncpg.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=server.database,
            ssl=ssl.create_default_context(cafile=str(server.authority)),
        )
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(run())


def test_rows_have_their_types(server: Served, people: str):
    found = connected(server, lambda c: c.fetch(f"select * from {people} order by id limit 2"))
    assert tuple(found[0]) == (
        1,
        "person 1",
        dt.date(1980, 1, 31),
        Decimal("70.50"),
        True,
        0.5,
        dt.datetime(2024, 2, 29, 10, 20, 30, 500_000),  # noqa: DTZ001 - no zone
    )
    assert tuple(found[1])[1:] == (None,) * 6


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 42),
        ("bigint", -(2**40)),
        ("smallint", 7),
        ("double precision", float("inf")),
        ("real", 0.5),
        ("numeric", Decimal("12.345000000")),
        ("text", "Grüße"),
        ("boolean", True),
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
def test_a_parameter_comes_back_as_it_went(server: Served, kind: str, value: object):
    assert connected(server, lambda c: c.fetchval(f"select $1::{kind}", value)) == value


def test_a_cursor_hands_out_parts(server: Served, people: str):
    async def work(connection: Any) -> list[int]:
        async with connection.transaction():
            sql = f"select id from {people} order by id"
            return [row["id"] async for row in connection.cursor(sql, prefetch=70)]

    assert connected(server, work) == list(range(1, 501))


def test_a_transaction_is_undone(server: Served, people: str):
    async def work(connection: Any) -> int:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(f"delete from {people} where id > $1::int", 10)
        await transaction.rollback()
        return await connection.fetchval(f"select count(*) from {people}")

    assert connected(server, work) == 500


def test_a_failure_has_its_class(server: Served):
    with pytest.raises(asyncpg.UndefinedTableError):
        connected(server, lambda c: c.fetch("select * from no_such_table"))


def test_rows_are_copied_out(server: Served, people: str):
    out = io.BytesIO()
    sql = f"select id, name from {people} order by id limit 2"
    status = connected(server, lambda c: c.copy_from_query(sql, output=out, format="csv"))
    assert status == "COPY 2"
    assert out.getvalue() == b"1,person 1\n2,\n"


def test_what_takes_too_long_is_canceled(server: Served, people: str):
    async def work(connection: Any) -> int:
        sql = f"select count(*) from {people} a, {people} b, {people} c, {people} d where a.id + b.id = c.id * d.id"
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch(sql, timeout=2)  # by then it runs
        return await connection.fetchval("select 1::int")

    assert connected(server, work) == 1
