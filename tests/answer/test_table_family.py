"""Patients and visits counted together: children in a column, joined rows bounded, the same people in both."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.mechanism import release_family_mechanism
from discreet.answer.table_family import TableFamily, find_family
from discreet.dp.budget import Price
from discreet.engines.duckdb import DuckDB
from discreet.errors import QuestionRefused
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ONE = 2**15
POLICY = """
tables:
  patients:
    unit: id
    limits: {rows-per-unit: 1}
    columns: {id: {role: identifier, kind: integer}, sex: {role: quasi-identifier, kind: integer}}
  visits:
    unit: patient
    limits: {rows-per-unit: 3}
    columns:
      patient: {role: identifier, kind: integer, references: patients.id}
      ward: {role: sensitive, kind: integer}
"""
PRICE = Price(Fraction(1), Fraction(0), Fraction(1, 2), Fraction(0))


def make_tables(people: Sequence[tuple[int, int]], visits: Sequence[tuple[int, int]]) -> Any:
    def column(rows: Sequence[tuple[int, int]], place: int) -> Any:
        return pa.array([row[place] for row in rows], pa.int64())

    return {
        "patients": pa.table({"id": column(people, 0), "sex": column(people, 1)}),
        "visits": pa.table({"patient": column(visits, 0), "ward": column(visits, 1)}),
    }


# One without visits, one with two, one with six; and a visit of nobody who is known.
PEOPLE = [(1, 0), (2, 1), (3, 1)]
VISITS = [(2, 0), (2, 1), *((3, ward % 2) for ward in range(6)), (9, 0)]


def plain(cell: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])


def family_columns(family: TableFamily) -> list[list[Any]]:
    (visits,) = family.children
    sex, ward = build.column("sex", of="patients"), build.column("ward", of="visits")
    return [
        [(sex, plain, 2), family.children_code(visits)],
        [(sex, plain, 2), (ward, plain, 2)],
    ]


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


def count_all(engine: Any, people: Any, visits: Any) -> list[Any]:
    """Return the counts of all columns of both tables."""
    curator = hold(make_tables(people, visits), POLICY, engine=engine)
    family = find_family(curator.catalog, "patients", ["visits"])
    rows = [family.parent_rows(), family.child_rows(family.children[0])]
    found = []
    for some, columns in zip(rows, family_columns(family), strict=True):
        counter = CodedCounter(some, columns, curator.engine)
        found.append(counter.count([(0, 1)], None)[0])
        counter.close()
    return found


def test_children_are_counted_up_to_the_limit_and_joined_with_their_parent(engine):
    parents, children = count_all(engine, PEOPLE, VISITS)
    assert parents.tolist() == [[ONE, 0, 0, 0], [0, 0, ONE, ONE]]
    part = 3 * ONE // 6
    assert children.tolist() == [[0, 0], [ONE + 3 * part, ONE + 3 * part]]


@pytest.mark.parametrize("count", [0, 1, 3, 11])
def test_a_person_with_all_rows_changes_each_table_by_no_more_than_its_limit(engine, count):
    before = count_all(engine, PEOPLE, VISITS)
    after = count_all(engine, [*PEOPLE, (7, 0)], [*VISITS, *[(7, 1)] * count])
    changes = [int(np.abs(b - a).sum()) for b, a in zip(before, after, strict=True)]
    assert changes[0] == ONE
    assert changes[1] <= 3 * ONE
    assert (changes[1] > 0) == (count > 0)


def test_a_person_who_is_several_parents_counts_as_one(engine):
    before = count_all(engine, PEOPLE, VISITS)
    after = count_all(engine, [*PEOPLE, *[(7, 0)] * 4], [*VISITS, *[(7, 1)] * 5])
    changes = [int(np.abs(b - a).sum()) for b, a in zip(before, after, strict=True)]
    assert changes[0] <= ONE
    assert changes[1] <= 3 * ONE


def test_both_tables_pay_once_and_get_one_result():
    def mechanism(counters: Sequence[CodedCounter]) -> bytes:
        return json.dumps([one.count([(0,)], None)[0].tolist() for one in counters]).encode()

    with hold(make_tables(PEOPLE, VISITS), POLICY) as curator:
        family = find_family(curator.catalog, "patients", ["visits"])
        found = [
            release_family_mechanism(
                curator,
                family,
                family_columns(family),
                price=PRICE,
                request="{}",
                question="synthesize patients, visits",
                mechanism=mechanism,
            )
            for _ in range(2)
        ]
        assert found[0].content == found[1].content
        assert found[1].cached
        spent = {
            one.name: one.epsilon.spent
            for one in curator.ledger.remaining(curator.ledger.accounts())
        }
    assert spent == {"table:patients": 1, "table:visits": 1}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    unit: patient\n", "    unit: row\n"),
        (", references: patients.id", ""),
        ("limits: {rows-per-unit: 3}", "limits: {}"),
        ("unit: id", "unit: row"),
    ],
)
def test_tables_that_are_no_family_are_refused_before_a_row_is_read(old, new):
    with hold(make_tables(PEOPLE, VISITS), POLICY.replace(old, new)) as curator:
        with pytest.raises(QuestionRefused):
            find_family(curator.catalog, "patients", ["visits"])
        assert curator.engine.queries == []


LEVELS = POLICY.replace(
    "      patient:", "      visit: {role: identifier, kind: integer}\n      patient:"
)
LEVELS += """  drugs:
    unit: visit
    limits: {rows-per-unit: 2}
    columns:
      visit: {role: identifier, kind: integer, references: visits.visit}
      drug: {role: sensitive, kind: integer}
"""


def hold_levels(engine: Any, visits: Any, drugs: Any, policy: str = LEVELS) -> list[CodedCounter]:
    """Return counters of visits, by sex, ward and number of drugs, and of drugs, by sex, ward and drug."""

    def to_table(rows: Sequence[Sequence[int]], names: Sequence[str]) -> Any:
        return pa.table(
            {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)}
        )

    tables = {
        "patients": to_table(PEOPLE, ["id", "sex"]),
        "visits": to_table(visits, ["visit", "patient", "ward"]),
        "drugs": to_table(drugs, ["visit", "drug"]),
    }
    curator = hold(tables, policy, engine=engine)
    family = find_family(curator.catalog, "patients", ["visits", "drugs"])
    second, third = family.children
    sex, ward, drug = (
        (build.column(name, of=table), plain, 2)
        for name, table in (("sex", "patients"), ("ward", "visits"), ("drug", "drugs"))
    )
    number = family.children_code(third)
    return [
        CodedCounter(family.child_rows(second), [sex, ward, number], curator.engine),
        CodedCounter(family.child_rows(third), [sex, ward, drug], curator.engine),
    ]


def test_a_third_level_is_counted_up_to_the_product_of_the_limits(engine):
    visits = [(10 + place, *visit) for place, visit in enumerate(VISITS)]
    # One drug of the second person's first visit, 12 of the third person's visits, and one of no visit.
    drugs = [(10, 1), *((12 + place % 6, 0) for place in range(12)), (99, 1)]
    counters = hold_levels(engine, visits, drugs)
    numbers, pairs = (counter.count([(1, 2)], None)[0] for counter in counters)
    part = 3 * ONE // 6
    # Wards by numbers of drugs: the third person's visits have two each.
    assert numbers.tolist() == [[0, ONE, 3 * part], [ONE, 0, 3 * part]]
    part = 6 * ONE // 12
    assert pairs.tolist() == [[6 * part, ONE], [6 * part, 0]]
    for counter in counters:
        counter.close()


@pytest.mark.parametrize("most", [1, 3])
def test_all_drugs_of_one_visit_change_each_table_by_no_more_than_the_noise_covers(engine, most):
    """They push out others of the same person: the limit of the person alone would not cover that."""
    policy = LEVELS.replace("{rows-per-unit: 3}", f"{{rows-per-unit: {most}}}")
    visits = [(place, 1, 0) for place in range(most)]
    drugs = [(0, 0)] * (2 * most)
    before, after = (
        hold_levels(engine, visits, some, policy)
        for some in (drugs, [*drugs, *[(most - 1, 1)] * 400])
    )
    changes = [
        int(np.abs(new.count([(1, 2)], None)[0] - old.count([(1, 2)], None)[0]).sum())
        for old, new in zip(before, after, strict=True)
    ]
    limits = [old.sensitivity for old in before]
    assert limits == [max(most, 2) * ONE, 4 * most * ONE]
    assert all(change <= limit for change, limit in zip(changes, limits, strict=True))
    assert changes[1] > 2 * most * ONE
    for counter in (*before, *after):
        counter.close()
