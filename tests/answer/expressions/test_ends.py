"""No value makes a question fail: every expression over every type at its ends."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from bench.verify import extremes
from bench.verify.databases import on_duckdb, on_postgres, on_spark
from bench.verify.loss import attempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.engines.engine import Engine

SOME = 5  # questions for each type in a short run


def _some(seed: int, count: int = SOME) -> Callable[[list[str]], list[str]]:
    chance = Random(seed)
    return lambda asked: chance.sample(asked, count)


@pytest.mark.parametrize(
    ("kind", "value", "question"),
    [
        (
            "TIMESTAMPTZ",
            "'294247-01-10 04:00:54.775806+00'",
            "SELECT count(*) FROM t WHERE x > '2020-01-01'",
        ),
        (
            "TIMESTAMPTZ",
            "'290309-12-22 (BC) 00:00:00+00'",
            "SELECT year(x), count(*) FROM t GROUP BY 1",
        ),
        ("UHUGEINT", f"'{2**127}'", "SELECT count(*) FROM t WHERE x > y"),
        ("UHUGEINT", f"'{2**128 - 1}'", "SELECT x, count(*) FROM t GROUP BY x"),
        ("TIMESTAMP_NS", "'2024-01-01 00:00:00.0000001'", "SELECT x, count(*) FROM t GROUP BY x"),
        (
            "DECIMAL(38,38)",
            "0.5",
            "SELECT a, count(*) FROM (SELECT pid, x AS a FROM t UNION ALL SELECT pid, y FROM t) u GROUP BY a",
        ),
        ("DATE", "'infinity'", "SELECT p.x, count(*) FROM t JOIN p ON t.x = p.x GROUP BY p.x"),
    ],
)
def test_a_value_at_the_end_of_its_range_makes_no_question_fail(
    kind: str, value: str, question: str
) -> None:
    tables = extremes.tables(kind, (value,))
    side = on_duckdb(tables, extremes.POLICIES[1])
    assert attempt(question, side) is None
    side.engine.close()


def test_no_value_of_duckdb_makes_a_question_fail() -> None:
    assert list(extremes.failures(on_duckdb, extremes.DUCKDB, _some(1))) == []


@pytest.mark.soak
def test_no_value_of_duckdb_makes_any_question_fail() -> None:
    assert list(extremes.failures(on_duckdb, extremes.DUCKDB)) == []


@pytest.fixture(scope="module")
def typed_url(postgres_url: str) -> str:
    """A PostgreSQL server with an enumeration and a domain."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for statement in (
            "DROP TYPE IF EXISTS mood",
            "DROP DOMAIN IF EXISTS large",
            *extremes.POSTGRES_TYPES,
        ):
            connection.execute(statement.encode())
    return postgres_url


@pytest.mark.postgres
@pytest.mark.parametrize("count", [3, pytest.param(0, marks=pytest.mark.soak)])
def test_no_value_of_postgresql_makes_a_question_fail(typed_url: str, count: int) -> None:
    choose = _some(2, count) if count else lambda asked: asked
    found = extremes.failures(lambda t, p: on_postgres(typed_url, t, p), extremes.POSTGRES, choose)
    assert list(found) == []


@pytest.mark.postgres
def test_a_number_too_large_for_a_double_is_no_failure_within_a_person(typed_url: str) -> None:
    side = on_postgres(typed_url, extremes.tables("NUMERIC", ("1e400",)), extremes.POLICIES[1])
    question = "SELECT count(*) FROM (SELECT pid, max(x) AS m FROM t GROUP BY pid) u WHERE m > 1"
    assert attempt(question, side) is None
    side.engine.close()


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.soak)])
def test_no_value_of_spark_makes_a_question_fail(spark_engine: Engine, count: int) -> None:
    make = lambda t, p: on_spark(spark_engine, t, p)  # noqa: E731
    assert list(extremes.failures(make, extremes.SPARK, _some(count, count))) == []
