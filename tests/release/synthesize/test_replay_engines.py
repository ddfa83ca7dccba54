"""Exact replay through engines: a unit with all its rows costs at most the price, whatever the unit is."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.sources import scan_table
from discreet.dp.spending import ZcdpSpending
from discreet.engines.duckdb import DuckDB
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, FULL, fit_model

if TYPE_CHECKING:
    from collections.abc import Iterator

RHO = Fraction(1, 2)
SIZES = [4, 9, 3]
SHAPES = [ColumnShape(4, False), ColumnShape(9, True), ColumnShape(3, False)]
POLICY = """
tables:
  visits:
    unit: {unit}
    limits: {{rows-per-unit: 4}}
    columns: {{person: {{role: identifier, kind: integer}}, day: {{role: sensitive, kind: date}}, a: sensitive,
      b: sensitive, c: sensitive}}
"""
UNITS = {"row": "row", "person": "person", "month": "{column: person, per: month, on: day}"}
# Values of each, and how many rows a person has: one, or more than may count.
NEIGHBORS = {"typical": ((0, 0, 0), 1), "rarest": ((3, 8, 0), 1), "extreme": ((3, 8, 0), 11)}
DAY = dt.date(2024, 1, 10)


class ReplayedCosts(ZcdpSpending):
    """Returns what was released before, and adds up what the difference costs; records where nothing was."""

    def __init__(
        self, counter: CodedCounter, released: list[Any] | None = None, *, amount: Fraction = RHO
    ) -> None:
        super().__init__(amount, sensitivity=counter.sensitivity, one=counter.one)
        self.kept: list[Any] = []
        self.to_release = None if released is None else iter(released)
        self.cost = Fraction(0)

    def measure(self, counts: Any, price: Fraction) -> Any:
        exact = np.asarray(counts).ravel()
        if self.to_release is None:
            return self._record(exact, super().measure(counts, price), price)
        before, released = self._replay(price)
        change = sum(int(one) ** 2 for one in exact - before)
        # Noise of variance sensitivity² / (2 price) costs change² / (2 variance).
        self.cost += Fraction(change) * price / self._sensitivity**2
        return released

    def choose(self, gains: Any, price: Fraction) -> int:
        exact = np.asarray(gains)
        if self.to_release is None:
            return self._record(exact, super().choose(gains, price), price)
        before, released = self._replay(price)
        # Weights e^(epsilon gain / 2 sensitivity), with epsilon² = 8 price: a loss within a range r costs r² / 8.
        width = int(np.ptp(exact - before))
        self.cost += Fraction(width) ** 2 * price / (4 * self._sensitivity**2)
        return released

    def _record(self, exact: Any, released: Any, price: Fraction) -> Any:
        self.kept.append((exact.copy(), released, price))
        return released

    def _replay(self, price: Fraction) -> tuple[Any, Any]:
        before, released, paid = next(self.to_release or iter(()))
        assert paid == price
        self._spent += price
        return before, released


def make_visits(extra: list[tuple[int, tuple[int, int, int]]]) -> pa.Table:
    """Return visits of people with one to six rows, and those that are added, of a person each."""
    chance = np.random.default_rng(4)
    rows = []
    for person in range(120):
        for _ in range(1 + person % 6):
            first = int(chance.integers(0, 4)) if person % 4 else 0
            rows.append((person, (first, 2 * first + int(chance.integers(0, 2)), first % 3)))
    rows += extra
    return pa.table(
        {
            "person": [person for person, _ in rows],
            "day": [DAY] * len(rows),
            **{name: [values[i] for _, values in rows] for i, name in enumerate("abc")},
        }
    )


def fit(engine: Any, unit: str, extra: list[Any], settings: Any, released: Any = None) -> Any:
    """Fit a table with what is added, and return what it spent."""
    curator = hold({"visits": make_visits(extra)}, POLICY.format(unit=unit), engine=engine)
    rows = scan_table(curator.catalog.find("visits"), "visits")
    columns = [(name, _code, size) for name, size in zip("abc", SIZES, strict=True)]
    counter = CodedCounter(rows, columns, curator.engine)
    allowance = ReplayedCosts(counter, released)
    chance = np.random.default_rng(9)
    fit_model(counter, SHAPES, allowance, target=2, settings=settings, chance=chance)
    counter.close()
    return allowance


def _code(cell: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])


@pytest.fixture(
    params=["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)], scope="module"
)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "duckdb":
        opened: Any = DuckDB()
    else:
        from discreet.engines.postgres.engine import PostgreSQL

        opened = PostgreSQL(request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def require_price(engine: Any, unit: str, settings: Any) -> None:
    recorded = fit(engine, UNITS[unit], [], settings)
    assert recorded.left < RHO / 10
    for values, count in NEIGHBORS.values():
        rows = [(900, values)] * (1 if unit == "row" else count)
        replayed = fit(engine, UNITS[unit], rows, settings, recorded.kept)
        assert 0 < replayed.cost <= RHO
    # The check can fail: the same person is there twice, as two units.
    values, count = NEIGHBORS["extreme"]
    twice = [
        (person, values) for person in (900, 901) for _ in range(1 if unit == "row" else count)
    ]
    assert fit(engine, UNITS[unit], twice, settings, recorded.kept).cost > RHO


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_costs_at_most_what_was_reserved(engine, unit):
    require_price(engine, unit, FAST)


def test_a_person_costs_at_most_what_was_reserved_in_all_rounds():
    require_price(DuckDB(), "person", FULL)


@pytest.mark.spark
def test_a_person_costs_at_most_what_was_reserved_on_spark(spark_engine):
    require_price(spark_engine, "person", FAST)
