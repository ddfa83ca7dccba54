"""A synthetic table of a table in a database, written into the database: codes, people and earlier releases are read there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import discreet
from discreet.policy import load_policy

pytestmark = pytest.mark.postgres

POLICY = """\
tables:
  stays:
    unit: who
    limits: {rows-per-unit: 3}
    budget: {epsilon: 5, delta: 1e-6}
    tolerance: 100%
    columns:
      who:  {role: identifier, kind: text}
      age:  {role: quasi-identifier, kind: integer, bounds: [0, 99]}
      ward: {role: quasi-identifier, kind: text, values: [a, b, c]}
      ill:  {role: sensitive, kind: text, values: [flu, gout]}
"""


@pytest.fixture
def stays(postgres_url: str, tmp_path: Path) -> Iterator[str]:
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE stays AS SELECT 'P' || n % 150 AS who, 20 + n % 50 AS age,"
            " (ARRAY['a', 'b', 'c'])[1 + n % 3] AS ward, (ARRAY['flu', 'gout'])[1 + n % 2] AS ill"
            " FROM generate_series(1, 400) AS n"
        )
    (tmp_path / "policy.yaml").write_text(POLICY)
    yield postgres_url
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE IF EXISTS stays, synthetic_stays")


def test_a_table_of_a_database_is_synthesized_into_it_and_charged_each_time(
    stays: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # where the manifest of a table goes
    address = f"{stays}&table=" if "?" in stays else f"{stays}?table="
    options = {
        "policy": load_policy(tmp_path / "policy.yaml"),
        "ledger": tmp_path / "ledger.sqlite",
        "method": "fast",
        "table": "stays",
    }
    first = discreet.synthesize(f"{address}stays", output=f"{address}synthetic_stays", **options)
    again = discreet.synthesize(f"{address}stays", output=tmp_path / "again.csv", **options)
    with psycopg.connect(stays) as connection:
        found = connection.execute(
            "SELECT count(*), count(DISTINCT ward) FROM synthetic_stays"
        ).fetchone()
    assert found is not None
    assert found[0] == first.rows
    assert found[1] <= 3
    # A server's table may change at any time.
    assert (first.cached, again.cached) == (False, False)
    assert again.remaining["epsilon"] == 3.0
    assert {finding.attack for finding in first.findings} >= {"closest", "membership"}


FAMILY = """\
tables:
  guests:
    unit: id
    limits: {rows-per-unit: 1}
    tolerance: 100%
    columns:
      id:  {role: identifier, kind: text}
      age: {role: quasi-identifier, kind: integer, bounds: [0, 9]}
  nights:
    unit: guest
    limits: {rows-per-unit: 3}
    tolerance: 100%
    columns:
      guest: {role: identifier, kind: text, references: guests.id}
      room:  {role: sensitive, kind: text, values: [a, b]}
"""


def test_tables_of_a_database_are_synthesized_together(postgres_url: str, tmp_path: Path):
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "CREATE TABLE guests AS SELECT 'P' || n AS id, n % 10 AS age FROM generate_series(1, 150) AS n"
        )
        connection.execute(
            "CREATE TABLE nights AS SELECT 'P' || n % 170 AS guest, (ARRAY['a', 'b'])[1 + n % 2] AS room"
            " FROM generate_series(1, 400) AS n"
        )
    (tmp_path / "policy.yaml").write_text(FAMILY)
    try:
        made = discreet.synthesize_tables(
            postgres_url,
            tmp_path / "policy.yaml",
            table="guests",
            children=["nights"],
            method="fast",
            ledger=tmp_path / "ledger.sqlite",
            output=tmp_path / "made",
        )
    finally:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("DROP TABLE guests, nights")
    guests, nights = (made.frames[name] for name in ("guests", "nights"))
    assert {*nights["guest"].to_pylist()} <= {*guests["id"].to_pylist()}
    assert all("closest" in {found.attack for found in one.findings} for one in made.tables)
