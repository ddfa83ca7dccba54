"""Rows with their units: no more of a unit than may count, numbered as the engine compares units."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.answer.sources import scan_table
from discreet.answer.unit_rows import UnitRows

if TYPE_CHECKING:
    from collections.abc import Iterator

VISITS = pa.table(
    {
        "person": ["a", "b", None, "b", "c", "b"],
        "day": [dt.date(2024, month, 1) for month in (1, 1, 1, 2, 2, 2)],
        "cost": [1, 2, 3, 4, 5, 6],
    }
)
POLICY = """
tables:
  visits:
    {unit}
    columns:
      person: {{role: identifier, kind: text}}
      day: {{role: quasi-identifier, kind: date}}
      cost: {{role: sensitive, kind: integer, bounds: [0, 9]}}
"""


@pytest.fixture(
    params=["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module"
)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "duckdb":
        from discreet.engines.duckdb import DuckDB

        opened: Any = DuckDB()
    else:
        from discreet.engines.postgres.engine import PostgreSQL

        opened = PostgreSQL(request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def open_rows(engine: Any, unit: str) -> UnitRows:
    curator = hold({"visits": VISITS}, POLICY.format(unit=unit), engine=engine)
    held = curator.catalog.find("visits")
    return UnitRows(scan_table(held, "visits"), ["cost", "day"], curator.engine)


def test_rows_of_a_unit_have_its_number(engine):
    rows = open_rows(engine, "unit: person")
    assert rows.table.column_names == ["cost", "day"]
    found = dict(zip(rows.table.column("cost").to_pylist(), rows.units.tolist(), strict=True))
    assert found == {1: 0, 2: 1, 4: 1, 6: 1, 5: 2}


def test_rows_are_units_where_each_is_a_person(engine):
    rows = open_rows(engine, "unit: row")
    assert sorted(rows.units.tolist()) == list(range(6))


def test_a_unit_of_a_period_is_another_one_in_each(engine):
    rows = open_rows(engine, "unit: {column: person, per: month, on: day}")
    pairs = zip(rows.units.tolist(), rows.table.column("cost").to_pylist(), strict=True)
    assert Counter(unit for unit, _ in pairs) == {0: 1, 1: 1, 2: 2, 3: 1}


def test_of_a_unit_no_more_rows_come_than_count_and_not_always_the_same(engine):
    limited = POLICY.format(unit="unit: person\n    limits: {rows-per-unit: 2}")
    curator = hold({"visits": VISITS}, limited, engine=engine)
    scanned = scan_table(curator.catalog.find("visits"), "visits")
    kept = set()
    for _ in range(40):
        rows = UnitRows(scanned, ["cost", "day"], curator.engine)
        costs = rows.table.column("cost").to_pylist()
        assert max(Counter(rows.units.tolist()).values()) == 2
        kept.add(frozenset(costs) & {2, 4, 6})
    # Each of the three pairs is left out in all 40 runs with a chance below 1e-6.
    assert len(kept) == 3


def test_closed_rows_are_read_again(engine):
    rows = open_rows(engine, "unit: person")
    rows.store_rows()
    rows.close()
    assert rows.table.num_rows == 5
