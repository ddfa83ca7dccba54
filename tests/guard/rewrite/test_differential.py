"""The same statement, as the same role, on PostgreSQL 16 and through discreet: the same answer."""

from __future__ import annotations

from typing import Any

import pytest
from tests.guard.rewrite.corpus import AGGREGATES, EXPRESSIONS, QUERIES, WRITES
from tests.guard.rewrite.world import Answer, OnDuckDB, OnPostgres, send

pytestmark = pytest.mark.postgres
ROLES = ("ann", "bob", "carl", "eve", "owner")
# PostgreSQL does not look at a common table expression that no one reads; discreet does.
STRICTER = {"WITH x AS (SELECT sal FROM emp) SELECT 1"}
# A literal that is none of its type fails in PostgreSQL before rights are looked at.
LITERALS = {"SELECT CASE WHEN name = 'Ann' THEN 1 ELSE 'x' END FROM emp"}


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


def differences(
    statements: list[str],
    oracle: Any,
    *places: OnDuckDB | OnPostgres,
    roles: tuple[str, ...] = ROLES,
) -> list[tuple[str, str, str, Answer, Answer]]:
    found = []
    for sql in statements:
        for role in roles:
            expected = send(oracle, role, sql)
            for place in places:
                got = place.ask(role, sql)
                if _classes(got) != _classes(expected):
                    found.append((role, sql, place.dialect, expected, got))
    return found


def _classes(found: Answer) -> Answer:
    """Return an answer in which data and constraints fail as such: the engine's words are another's task."""
    classes = found.sqlstate[:2]
    return Answer(classes) if classes in ("22", "23") else found


def test_queries_have_the_verdicts_and_rows_of_postgresql(
    oracle: Any, on_duckdb: OnDuckDB, on_postgres: OnPostgres
):
    statements = [sql for sql in lines(QUERIES) if sql not in STRICTER | LITERALS]
    assert differences(statements, oracle, on_duckdb, on_postgres) == []


def test_writes_have_the_verdicts_and_rows_of_postgresql(
    oracle: Any, on_duckdb: OnDuckDB, on_postgres: OnPostgres
):
    assert differences(lines(WRITES), oracle, on_duckdb, on_postgres) == []


def test_what_is_stricter_than_postgresql_is_denied(on_duckdb: OnDuckDB):
    assert {on_duckdb.ask("bob", sql).sqlstate for sql in STRICTER} == {"42501"}


def test_functions_mean_the_same_on_both_engines(
    oracle: Any, on_duckdb: OnDuckDB, on_postgres: OnPostgres
):
    statements = [f"SELECT id, {text} FROM emp" for text in lines(EXPRESSIONS)]
    statements += [f"SELECT {text} FROM emp" for text in lines(AGGREGATES)]
    assert differences(statements, oracle, on_duckdb, on_postgres, roles=("ann",)) == []
