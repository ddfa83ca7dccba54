"""COPY … TO STDOUT, as PostgreSQL's own client programs read it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.server.pg.raw import SYNC, Raw, bind, describe, execute, failure, kinds, parse, query

from discreet.engines.databases.database import ResultField
from discreet.guard.statements.statement import CopyOut
from discreet.server.pg.copy_format import copy_out

if TYPE_CHECKING:
    from tests.server.pg.served import Served

NASTY = [
    "plain",
    None,
    "",
    "tab\there",
    "line\nbreak",
    "\r",
    'quote"d',
    "a,b",
    "\\",
    "\\N",
    "\b\f\v",
    "\\.",
]
FIELDS = (ResultField("t", "text"), ResultField("n", "int4"))
TABLE = pa.table({"t": NASTY, "n": pa.array(range(len(NASTY)), pa.int32())})


def lines(**options: object) -> bytes:
    """Return what a COPY says, without the frames."""
    made = b"".join(copy_out(TABLE, FIELDS, CopyOut(exp.select("1"), **options)))  # type: ignore[arg-type]
    at, found = 0, b""
    while at < len(made):
        length = int.from_bytes(made[at + 1 : at + 5], "big")
        if made[at : at + 1] == b"d":
            found += made[at + 5 : at + 1 + length]
        at += 1 + length
    return found


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> psycopg.Connection:
    connection = psycopg.connect(postgres_url, autocommit=True)
    connection.execute("create temp table nasty (t text, n int4)")
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into nasty values (%s, %s)", [(t, n) for n, t in enumerate(NASTY)]
        )
    return connection


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("clause", "options"),
    [
        ("", {}),
        ("(format csv)", {"format": "csv"}),
        ("(format csv, header)", {"format": "csv", "header": True}),
        ("(format csv, delimiter ';', null 'x')", {"format": "csv", "delimiter": ";", "null": "x"}),
        ("(format text, delimiter '|', null '?')", {"delimiter": "|", "null": "?"}),
        ("(format text, header)", {"header": True}),
        ("(format binary)", {"format": "binary"}),
    ],
)
def test_a_copy_is_what_postgresql_writes(
    postgres: psycopg.Connection, clause: str, options: dict[str, object]
):
    sql = f"copy (select * from nasty order by n) to stdout {clause}"
    with postgres.cursor() as cursor, cursor.copy(sql.encode()) as copy:
        expected = b"".join(bytes(part) for part in copy)
    assert lines(**options) == expected


@pytest.mark.postgres
def test_a_copy_of_one_column_is_what_postgresql_writes(postgres: psycopg.Connection):
    sql = "copy (select t from nasty order by n) to stdout (format csv)"
    with postgres.cursor() as cursor, cursor.copy(sql.encode()) as copy:
        expected = b"".join(bytes(part) for part in copy)
    made = copy_out(TABLE.select(["t"]), FIELDS[:1], CopyOut(exp.select("1"), format="csv"))
    assert b'"\\."\n' in expected
    assert expected.splitlines()[-1] in b"".join(made)


def test_each_row_is_a_message_and_the_end_is_reported(raw: Raw):
    found = raw.ask(query("copy (select * from range(3)) to stdout"))
    assert kinds(found) == "HdddcCZ"
    assert [each.body for each in found[1:4]] == [b"0\n", b"1\n", b"2\n"]
    assert found[-2].tag == "COPY 3"


def test_a_copy_can_be_prepared(raw: Raw):
    sql = "copy (select * from range(2)) to stdout"
    found = raw.ask(parse(sql), describe("S"), bind(), describe("P"), execute(), execute(), SYNC)
    assert kinds(found) == "1tn2nHddcCEZ"
    assert failure(found) == "55000"


def test_nothing_is_copied_as_nothing(raw: Raw):
    assert kinds(raw.ask(query("copy (select 1 where false) to stdout"))) == "HcCZ"
    assert kinds(raw.ask(query("copy (select 1 where false) to stdout (format binary)"))) == "HdcCZ"


def test_psycopg_reads_rows_of_a_copy_in_text_and_binary(served: Served):
    rows = [(1, "a\tb", dt.date(2024, 1, 1)), (2, None, None)]
    with psycopg.connect(served.conninfo) as connection:
        connection.execute("create or replace table copied (n int, t text, d date)")
        connection.execute(
            "insert into copied values (1, 'a\tb', date '2024-01-01'), (2, null, null)"
        )
        for options in ("", "(format binary)"):
            with connection.cursor().copy(f"copy copied to stdout {options}".encode()) as copy:
                copy.set_types(["int4", "text", "date"])
                assert list(copy.rows()) == rows
