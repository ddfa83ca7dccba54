"""The second parser finds what should not be there."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from discreet.errors import StatementFailed
from discreet.guard.rewrite import confirm_query

T = frozenset({("g", "s", "t")})


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT 1 FROM "g"."s"."t"',
        'WITH "t" AS (SELECT 1 FROM "g"."s"."t") SELECT * FROM "t" AS "x" JOIN "g"."s"."t" ON TRUE',
        'SELECT lower("a") FROM (SELECT "a" FROM "g"."s"."t" OFFSET 0) AS "x" WHERE TRY("a" + 1) > 1',
    ],
)
def test_exactly_the_expected_tables_are_confirmed(sql: str):
    confirm_query(sql, T)
    confirm_query(parse_one(sql, dialect="duckdb"), T, dialect="duckdb")


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT 1 FROM "s"."t"',
        'SELECT 1 FROM "t"',
        "SELECT 1",
        'SELECT 1 FROM "g"."s"."t" JOIN "g"."s"."u" ON TRUE',
        'SELECT (SELECT 1 FROM "other") FROM "g"."s"."t"',
        'SELECT 1 FROM "g"."s"."t", read_csv(\'x\')',
        'SELECT 1 FROM "g"."s"."t", range(5)',
        'SELECT read_blob(\'x\') FROM "g"."s"."t"',
        'SELECT pg_sleep(1) FROM "g"."s"."t"',
        'SELECT getenv(\'HOME\') FROM "g"."s"."t"',
        'SELECT s.f(1) FROM "g"."s"."t"',
        'SELECT $1 FROM "g"."s"."t"',
        'SELECT 1 FROM "g"."s"."t"; SELECT 1 FROM "g"."s"."t"',
        'DELETE FROM "g"."s"."t"',
        'COPY "g"."s"."t" TO \'x\'',
        "SELECT FROM WHERE",
        "",
    ],
)
def test_anything_else_is_not(sql: str):
    with pytest.raises(StatementFailed, match="was not confirmed") as caught:
        confirm_query(sql, T)
    assert caught.value.sqlstate == "XX000"


def test_no_file_is_looked_at(tmp_path):
    place = tmp_path / "x.csv"
    place.write_text("a\n1\n")
    with pytest.raises(StatementFailed, match="was not confirmed"):
        confirm_query(f"SELECT * FROM '{place}'", T)
