"""What groups are called reveals nothing about a person: equal values of different people look alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from bench.verify.databases import SqlTable, on_duckdb, on_postgres
from bench.verify.loss import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.verify.loss import Side

    Make = Callable[[Mapping[str, SqlTable], str], Side]

POLICY = """
tables:
  visits:
    unit: pid
    limits: {rows-per-unit: 3, groups-per-unit: 2}
    columns: {pid: identifier, x: quasi-identifier}
"""
QUESTIONS = (
    "SELECT x, count(*) FROM visits GROUP BY x",
    "SELECT x, count(DISTINCT pid) FROM visits GROUP BY x",
    "SELECT y, count(*) FROM (SELECT pid, x AS y FROM visits UNION ALL SELECT pid, x FROM visits) u GROUP BY y",
)
FOLDED = "VARCHAR COLLATE NOCASE"


def _faults(make: Make, kind: str, first: str, second: str) -> set[str | None]:
    """Return what tells whether person 1, who has both values, is there; others have either."""
    rows = [("1", first), ("1", second), ("2", second), ("3", first), ("4", second), ("4", first)]
    table = SqlTable({"pid": "INT", "x": kind}, rows)
    there = make({"visits": table}, POLICY)
    gone = make({"visits": table.without(lambda row: row["pid"] == "1")}, POLICY)
    found = {
        compare(question, there, gone, noise=noise).fault
        for question in QUESTIONS
        for noise in ("laplace", "gaussian")
    }
    there.engine.close()
    gone.engine.close()
    return found - {None}


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        pytest.param("DOUBLE", "'-0.0'", "'0.0'", id="zeros"),
        pytest.param("DOUBLE", "'nan'", "NULL", id="no numbers"),
        pytest.param(FOLDED, "'a'", "'A'", id="cases"),
        pytest.param(
            "TIMESTAMP_NS", "'2024-01-01 00:00:00.0000001'", "'2024-01-01'", id="nanoseconds"
        ),
        pytest.param("DATE", "'infinity'", "'9999-12-31'", id="ends"),
        pytest.param("DECIMAL(38,37)", "1", "1.0", id="decimals"),
    ],
)
def test_a_group_is_not_called_by_the_value_that_comes_first(
    kind: str, first: str, second: str
) -> None:
    assert _faults(on_duckdb, kind, first, second) == set()


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        pytest.param("NUMERIC", "'NaN'", "NULL", id="no numbers"),
        pytest.param("NUMERIC", "1e60", "1e61", id="large numbers"),
        pytest.param("NUMERIC", "1.0", "1.000", id="scales"),
        pytest.param("DATE", "'infinity'", "'9999-12-31'", id="ends"),
        pytest.param("TIMESTAMPTZ", "'-infinity'", "'0001-01-01 00:00:00+00'", id="starts"),
        pytest.param("TIME", "'24:00'", "'00:00'", id="midnights"),
        pytest.param("FLOAT8", "'-0'", "'0'", id="zeros"),
    ],
)
def test_values_that_only_postgresql_distinguishes_are_one_before_they_are_grouped(
    postgres_url: str, kind: str, first: str, second: str
) -> None:
    """Otherwise a person in both groups would count twice in the one that they become."""
    assert _faults(lambda t, p: on_postgres(postgres_url, t, p), kind, first, second) == set()
