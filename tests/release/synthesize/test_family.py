"""Patients and visits together: every visit has a patient, numbers and pairs are kept, and the price holds."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold
from tests.release.synthesize.test_replay_engines import ReplayedCosts

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.table_family import find_family
from discreet.dp.spending import ZcdpSpending
from discreet.engines.engine import Column, Kind
from discreet.policy.load import parse_policy
from discreet.release.synthesize.domain import table_domain
from discreet.release.synthesize.family import FamilyModel, TableShape, fit_family
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST
from discreet.release.synthesize.rules import ImpossibleRule
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 3
POLICY = """
tables:
  patients:
    unit: id
    limits: {rows-per-unit: 1}
    columns: {id: {role: identifier, kind: integer}, sex: {role: sensitive, kind: integer},
      age: {role: sensitive, kind: integer}}
  visits:
    unit: patient
    limits: {rows-per-unit: 3}
    columns:
      patient: {role: identifier, kind: integer, references: patients.id}
      ward: {role: sensitive, kind: integer}
      days: {role: sensitive, kind: integer}
"""
DECLARED = (
    POLICY.replace("sex: {role: sensitive,", "sex: {role: sensitive, bounds: [0, 1],")
    .replace("age: {role: sensitive,", "age: {role: sensitive, bounds: [0, 5],")
    .replace("ward: {role: sensitive,", "ward: {role: sensitive, bounds: [0, 3],")
    .replace("days: {role: sensitive,", "days: {role: sensitive, bounds: [0, 3],")
)
PARENT = TableShape((ColumnShape(2, False), ColumnShape(6, True)))
# Nobody stays for no days in ward 3.
NEVER = ImpossibleRule((0, 1), np.array([[False] * 4] * 3 + [[True, False, False, False]]))
CHILD = TableShape((ColumnShape(4, False), ColumnShape(4, True)), (NEVER,))
Person = tuple[int, int, int, list[tuple[int, int]]]


def make_people(count: int) -> list[Person]:
    """Return people of which the older have more visits, to wards that depend on their sex."""
    chance = np.random.default_rng(8)
    people: list[Person] = []
    for number in range(count):
        sex, age = int(chance.integers(0, 2)), int(chance.integers(0, 6))
        wards = 2 * sex + chance.integers(0, 2, age // 2)
        people.append((number, sex, age, [(int(w), 1 + int(w) % 3) for w in wards]))
    return people


def fit(people: Sequence[Person], make_budget: Any) -> FamilyModel:
    visits = [(one[0], *visit) for one in people for visit in one[3]]
    tables = {
        "patients": pa.table(
            {name: [one[i] for one in people] for i, name in enumerate(("id", "sex", "age"))}
        ),
        "visits": pa.table(
            {name: [v[i] for v in visits] for i, name in enumerate(("patient", "ward", "days"))}
        ),
    }
    with hold(tables, POLICY) as curator:
        family = find_family(curator.catalog, "patients", ["visits"])
        (child,) = family.children
        parents = [_coded("patients", "sex", 2), _coded("patients", "age", 6)]
        own = [_coded("visits", "ward", 4), _coded("visits", "days", 4)]
        counters = [
            CodedCounter(
                family.parent_rows(), [*parents, family.children_code(child)], curator.engine
            ),
            CodedCounter(family.child_rows(child), [*parents, *own], curator.engine),
        ]
        return fit_family(
            counters,
            PARENT,
            [(CHILD, MOST)],
            Fraction(2),
            make_budget,
            settings=FAST,
            chance=np.random.default_rng(9),
        )


def _coded(table: str, name: str, size: int) -> Any:
    def code(cell: exp.Expr) -> exp.Expr:
        return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])

    return build.column(name, of=table), code, size


def plain_budget(amount: Fraction, counter: CodedCounter) -> ZcdpSpending:
    return ZcdpSpending(amount, sensitivity=counter.sensitivity, one=counter.one)


@pytest.fixture(scope="module")
def model() -> FamilyModel:
    return fit(make_people(3000), plain_budget)


def test_every_child_has_a_parent_who_has_as_many(model):
    drawn = model.sample(2000, np.random.default_rng(1))
    (visits,) = drawn.children
    assert drawn.parents.shape == (2000, 2)
    assert visits.parents.min() >= 0
    assert visits.parents.max() < 2000
    assert len(visits.rows) == len(visits.parents)
    assert np.bincount(visits.parents).max() <= MOST


def test_every_key_of_a_child_is_one_of_its_parents_table(model):
    drawn = model.sample(800, np.random.default_rng(4))
    declared = parse_policy(DECLARED).tables
    patients = table_domain(
        declared["patients"], [Column(name, Kind.INTEGER) for name in ("id", "sex", "age")]
    )
    visits = table_domain(
        declared["visits"], [Column(name, Kind.INTEGER) for name in ("patient", "ward", "days")]
    )
    parents, children = drawn.decode(patients, [visits], np.random.default_rng(5))
    ids = parents["id"].to_pylist()
    assert len(set(ids)) == 800
    assert [ids[place] for place in drawn.children[0].parents] == children["patient"].to_pylist()
    assert children.column_names == ["patient", "ward", "days"]


def test_numbers_of_children_and_pairs_across_tables_are_kept(model):
    drawn = model.sample(3000, np.random.default_rng(1))
    (visits,) = drawn.children
    numbers = np.bincount(visits.parents, minlength=3000)
    by_age = [numbers[drawn.parents[:, 1] == age].mean() for age in range(6)]
    assert by_age == pytest.approx([0, 0, 1, 1, 2, 2], abs=0.15)
    # Wards 0 and 1 are for one sex, 2 and 3 for the other.
    sex = drawn.parents[visits.parents, 0]
    assert np.mean(visits.rows[:, 0] // 2 == sex) > 0.97


def test_rules_of_a_child_table_hold_in_every_row(model):
    (visits,) = model.sample(3000, np.random.default_rng(2)).children
    assert not ((visits.rows[:, 0] == 3) & (visits.rows[:, 1] == 0)).any()


def test_a_model_is_the_same_after_it_was_written(model):
    again = FamilyModel.from_content(json.loads(json.dumps(model.to_content())))
    first, second = (one.sample(500, np.random.default_rng(3)) for one in (model, again))
    np.testing.assert_array_equal(first.parents, second.parents)
    np.testing.assert_array_equal(first.children[0].rows, second.children[0].rows)


def test_a_person_with_all_rows_of_all_tables_costs_at_most_what_was_reserved():
    """Exact replay over both tables, for one without and one with more children than may count."""
    people, recorded = make_people(150), []

    def record(amount: Fraction, counter: CodedCounter) -> ReplayedCosts:
        recorded.append(ReplayedCosts(counter, amount=amount))
        return recorded[-1]

    fit(people, record)

    def replay(*extra: Person) -> Fraction:
        replayed: list[ReplayedCosts] = []

        def repeat(amount: Fraction, counter: CodedCounter) -> ReplayedCosts:
            known = recorded[len(replayed)].kept
            replayed.append(ReplayedCosts(counter, known, amount=amount))
            return replayed[-1]

        fit([*people, *extra], repeat)
        return sum((one.cost for one in replayed), Fraction(0))

    visits = [(3, 1)] * 11
    assert 0 < replay((900, 1, 5, [])) <= 2
    assert 1 < replay((900, 1, 5, visits)) <= 2
    assert replay((900, 1, 5, visits), (901, 1, 5, visits)) > 2  # the check can fail
