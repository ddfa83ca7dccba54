"""A cell that is cast from text is refused wherever PostgreSQL 16 refuses it, and else the same value."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import StatementFailed

pytestmark = pytest.mark.postgres

DATES = (
    *("2024-01-05", "2024-1-5", " 2024-01-05 ", "2024/01/05", "2024-01-05 10:00", "infinity"),
    *("2024-01-05T10:00:00", "2024-01-05 10:00:00+02", "2024-01-05 24:00:00", "2024-02-30"),
    *("2024-01-05 garbage", "2024-01-05x", "-2024-01-05", "0000-01-01", "24-01-05", "inf"),
    *("2024-01-05 25:00", "2024-01-05 10:61", "2024-01-05 10", "2024-01-05 10:00:00,5", ""),
    *("2024-01-05 BC", "2024-01-05 (BC)", "1/5/24", "12024-01-05", "2024-13-01", "1\n"),
)
TIMES = (
    *("10:00", "1:2:3", "10:00:00.5", "24:00:00", "25:00", "10:60", "10:00:00+02", "10:00x", "10"),
    *("10:00:00 garbage", "epoch", "2024-01-05", "2024-01-05 10:00:00", "2024-01-05T10:00:00"),
)
NUMBERS = (
    *("1", " -1 ", "+1", "1_000", "0x10", "1.0", "1.5", "1e3", "1.", ".5", "1__0", "_1", "1a"),
    *("99999999999", "nan", "inf", "", "abc", "1,000", "\t1"),
)
INTERVALS = ("1 day 02:00", "1:00", "1 day ago", "10:00:00 garbage", "10:00:00+02", "1 day garbage")
CASES = {
    **dict.fromkeys(("date", "timestamp", "timestamptz"), DATES),
    "time": (*TIMES, *DATES),
    **dict.fromkeys(("smallint", "integer", "bigint", "real", "double precision"), NUMBERS),
    "interval": INTERVALS,
}


@pytest.mark.parametrize("kind", CASES)
def test_a_text_is_cast_as_postgresql_casts_it(
    kind: str, server: Any, connect: Any, postgres_16_url: str
):
    import psycopg

    admin = connect(server)
    admin.run("CREATE TABLE t (id int PRIMARY KEY, a text)")
    texts = CASES[kind]
    for number, text in enumerate(texts):
        admin.run("INSERT INTO t VALUES ($1, $2)", number, text)
    with psycopg.connect(postgres_16_url, autocommit=True) as oracle:
        oracle.execute("SET timezone TO 'UTC'")
        for number, text in enumerate(texts):
            expected = _cast_on_postgresql(oracle, text, kind)
            # A text that only PostgreSQL accepts is refused, too.
            assert _compare_cast(admin, number, kind, expected) in ("22", True), text


def _compare_cast(admin: Any, number: int, kind: str, expected: str | None) -> object:
    """Return the class of a refusal, or whether the value is the one that PostgreSQL reads."""
    same = f"SELECT a::{kind} IS NOT DISTINCT FROM $2::{kind} FROM t WHERE id = $1"
    try:
        ((is_same,),) = admin.rows(same, number, expected)
    except StatementFailed as failed:
        return failed.sqlstate[:2]
    return is_same


def _cast_on_postgresql(oracle: Any, text: str, kind: str) -> str | None:
    """Return the value that PostgreSQL reads, as text; None where it refuses."""
    import psycopg

    try:
        return oracle.execute(f"SELECT (%s::text::{kind})::text", (text,)).fetchone()[0]
    except psycopg.Error:
        return None


def test_a_cell_that_is_hidden_or_refused_reveals_nothing(server: Any, connect: Any):
    admin = connect(server)
    admin.run("CREATE TABLE t (id int, a text); INSERT INTO t VALUES (1, '2024-01-05'), (2, 'x')")
    admin.run("CREATE USER ann; GRANT SELECT ON t TO ann; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY own ON t TO ann USING (id = 1)")
    ann = connect(server, "ann")
    assert ann.rows("SELECT id FROM t WHERE a::date > '2000-01-01'") == [(1,)]
