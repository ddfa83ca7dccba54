"""Domains that no policy declares: found with noise, inside one price, and never by one person."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold

from discreet.answer.domain_search import DomainSearch, DomainSearches
from discreet.answer.mechanism import mechanism_terms, release_mechanism
from discreet.answer.perturb import run_queries
from discreet.dp.accounting.pricing import price
from discreet.dp.budget import Price
from discreet.dp.event import Laplace
from discreet.errors import EngineFailed, InvalidBudget, UnknownColumn

if TYPE_CHECKING:
    from discreet.answer.coded_counts import CodedCounter

POLICY = """
tables:
  visits:
    unit: {unit}
    limits: {{rows-per-unit: 3}}
    columns:
      person: {{role: identifier, kind: integer}}
      ward: {{role: sensitive, kind: text}}
      cost: {{role: sensitive, kind: integer}}
      day: {{role: sensitive, kind: date}}
"""
ALL = (
    DomainSearch("ward", "values"),
    DomainSearch("cost", "bounds"),
    DomainSearch("day", "bounds"),
)
PRICE = Price(Fraction(1), Fraction(1, 10**9), Fraction(1), Fraction(1, 10**10))
SEARCHES = DomainSearches(ALL, Fraction(1, 2), Fraction(1, 10**10))


def make_visits(*extra: tuple[int, Any, Any, Any]) -> pa.Table:
    rows = [(n // 2, "abc"[n % 3], 40 + n % 50, dt.date(2019 + n % 4, 5, 1)) for n in range(1800)]
    columns = zip(*(*rows, *extra), strict=True)
    return pa.table(dict(zip(("person", "ward", "cost", "day"), columns, strict=True)))


def search(curator: Any, searches: DomainSearches = SEARCHES) -> dict[str, Any]:
    """Return what is found, as the mechanism sees it."""
    kept: dict[str, Any] = {}

    def choose(found: Any) -> list[Any]:
        kept.update(found)
        values = found["ward"].values if "ward" in found else ("a",)

        def code(cell: exp.Expr) -> exp.Expr:
            ifs = [
                exp.If(
                    this=exp.EQ(this=cell.copy(), expression=exp.Literal.string(value)),
                    true=exp.Literal.number(place),
                )
                for place, value in enumerate(values)
            ]
            return exp.Case(ifs=ifs, default=exp.Literal.number(len(values)))

        return [("ward", code, len(values) + 1)]

    def mechanism(counter: CodedCounter) -> bytes:
        return json.dumps(counter.count([(0,)], None)[0].tolist()).encode()

    release_mechanism(
        curator,
        "visits",
        choose,
        price=PRICE,
        request="{}",
        question="synthesize visits",
        mechanism=mechanism,
        searches=searches,
    )
    return kept


@pytest.mark.parametrize("unit", ["row", "person"])
def test_common_values_and_bounds_are_found_and_a_rare_one_is_not(unit):
    visits = make_visits((9999, "rare", 10**9, dt.date(1950, 1, 1)), (9998, None, None, None))
    with hold({"visits": visits}, POLICY.format(unit=unit)) as curator:
        found = search(curator)
        assert found["ward"].values == ("a", "b", "c")
        assert found["cost"].bounds == (Decimal(32), Decimal(128))
        assert found["day"].bounds == (dt.date(2019, 1, 1), dt.date(2022, 12, 31))
        (entry,) = [one for one in curator.ledger.entries() if one.state != "limit"]
        assert entry.price == PRICE


@pytest.mark.postgres
def test_domains_are_found_on_postgresql(postgres_url):
    from discreet.engines.postgres.engine import PostgreSQL

    with hold(
        {"visits": make_visits()}, POLICY.format(unit="person"), engine=PostgreSQL(postgres_url)
    ) as curator:
        found = search(curator)
    assert found["ward"].values == ("a", "b", "c")
    assert found["day"].bounds == (dt.date(2019, 1, 1), dt.date(2022, 12, 31))


def replay_cost(plans: Any, known: Any, extra: Any, unit: str) -> Fraction:
    """Return what it costs that a table has more rows, by what was counted without them."""
    with hold({"visits": make_visits(*extra)}, POLICY.format(unit=unit)) as curator:
        counted = [run_queries(plan, curator.engine) for plan in plans]
    cost = Fraction(0)
    for plan, before, after in zip(plans, known, counted, strict=True):
        (block,) = plan.blocks
        (first,), (second,) = before.sums[block.block.name], after.sums[block.block.name]
        change = [int(one) for one in np.abs(second - first)]
        is_laplace = isinstance(plan.event.events[0], Laplace)
        cost += (
            Fraction(sum(change)) / block.scale
            if is_laplace
            else Fraction(sum(one**2 for one in change)) / (2 * block.scale**2)
        )
    return cost


@pytest.mark.parametrize("unit", ["row", "person"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_one_person_changes_what_is_counted_by_no_more_than_the_noise_is_made_for(unit, noise):
    """Exact replay: the change of each vector against its noise, added up, is within the share."""
    searches = DomainSearches(ALL, Fraction(1, 2), Fraction(1, 10**10), noise)
    count = 1 if unit == "row" else 7
    cells = ("a", 40, dt.date(2019, 5, 1))
    person = [(9999, *cells)] * count
    twice = [*person, *((9998, *cells) for _ in range(count))]
    with hold({"visits": make_visits()}, POLICY.format(unit=unit)) as curator:
        # The same plan for both tables: which value of a person counts is drawn with it.
        plans = searches.plan(curator.catalog.find("visits"))
        known = [run_queries(plan, curator.engine) for plan in plans]
    costs = [replay_cost(plans, known, extra, unit) for extra in (person, twice)]
    assert 0 < costs[0] <= searches.amount
    assert costs[1] > searches.amount  # the check can fail: the same person is there twice


def test_searches_are_within_their_share():
    with hold({"visits": make_visits()}, POLICY.format(unit="person")) as curator:
        plans = SEARCHES.plan(curator.catalog.find("visits"))
        prices = [price(plan.event) for plan in plans]
        assert sum(one.rho or 0 for one in prices) <= SEARCHES.amount
        assert sum(one.slip for one in prices) <= SEARCHES.slip
        assert curator.engine.queries == []


def test_values_without_a_delta_and_unknown_columns_are_refused_before_a_row_is_read():
    with hold({"visits": make_visits()}, POLICY.format(unit="person")) as curator:
        with pytest.raises(InvalidBudget, match="ward"):
            search(curator, DomainSearches(ALL, Fraction(1, 2), noise="laplace"))
        with pytest.raises(UnknownColumn, match="wards"):
            search(curator, DomainSearches((DomainSearch("wards", "bounds"),), Fraction(1)))
        terms = mechanism_terms(curator, "visits", lambda _: [], searches=SEARCHES)
        assert terms.rows_per_unit == 3
        assert curator.ledger.accounts() == []
        assert curator.engine.queries == []


def test_a_failure_after_domains_were_found_is_stored():
    def fail(_: Any) -> list[Any]:
        raise ValueError

    with hold({"visits": make_visits()}, POLICY.format(unit="person")) as curator:
        for columns in (fail, lambda _: [("cost", lambda cell: cell, 100)]):
            with pytest.raises(EngineFailed, match="another epsilon"):
                release_mechanism(
                    curator,
                    "visits",
                    columns,
                    price=PRICE,
                    request="{}",
                    question="synthesize visits",
                    mechanism=lambda _: b"",
                    searches=SEARCHES,
                )
