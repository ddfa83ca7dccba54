"""Patients, their visits and the prescriptions of these: keys, numbers and pairs are kept, and the price holds for each unit."""

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
from discreet.errors import QuestionRefused
from discreet.release.synthesize.family import FamilyModel, FamilyTree, TableShape, fit_family
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = """
tables:
  patients:
    unit: id
    limits: {rows-per-unit: 1}
    columns: {id: {role: identifier, kind: integer}, sex: {role: sensitive, kind: integer}}
  visits:
    unit: patient
    limits: {rows-per-unit: MOST_VISITS}
    columns:
      visit: {role: identifier, kind: integer}
      patient: {role: identifier, kind: integer, references: patients.id}
      ward: {role: sensitive, kind: integer}
  drugs:
    unit: visit
    limits: {rows-per-unit: 2}
    columns:
      visit: {role: identifier, kind: integer, references: visits.visit}
      drug: {role: sensitive, kind: integer}
"""
SHAPES = [TableShape((ColumnShape(size, False),)) for size in (2, 3, 3)]
TREE = FamilyTree((0, 1))
AMOUNT = Fraction(2)
Visit = tuple[int, int, list[int]]
Person = tuple[int, int, list[Visit]]


def make_people(count: int) -> list[Person]:
    """Return people whose sex decides their wards and numbers of visits, and wards the drugs and their numbers."""
    chance = np.random.default_rng(8)
    people: list[Person] = []
    for number in range(count):
        sex = int(chance.integers(0, 2))
        wards = [sex + int(chance.integers(0, 2)) for _ in range(1 + sex)]
        visits = [(10 * number + place, ward, [ward] * ward) for place, ward in enumerate(wards)]
        people.append((number, sex, visits))
    return people


def fit(
    people: Sequence[Person],
    make_budget: Any,
    *,
    most: int = 2,
    drugs: Sequence[tuple[int, int]] = (),
) -> FamilyModel:
    visits = [(key, one[0], ward) for one in people for key, ward, _ in one[2]]
    given = [(key, drug) for one in people for key, _, mine in one[2] for drug in mine]
    tables = {
        "patients": _to_table(("id", "sex"), [one[:2] for one in people]),
        "visits": _to_table(("visit", "patient", "ward"), visits),
        "drugs": _to_table(("visit", "drug"), [*given, *drugs]),
    }
    with hold(tables, POLICY.replace("MOST_VISITS", str(most))) as curator:
        # The order in which they are named does not matter.
        family = find_family(curator.catalog, "patients", ["drugs", "visits"])
        assert [one.name for one in family.children] == ["visits", "drugs"]
        assert family.owners == TREE.owners
        codes = [_code("patients", "sex", 2), _code("visits", "ward", 3), _code("drugs", "drug", 3)]
        numbers = [family.children_code(child) for child in family.children]
        rows = [family.parent_rows(), *(family.child_rows(child) for child in family.children)]
        counters = [
            CodedCounter(
                some, TREE.join_columns(place, [[one] for one in codes], numbers), curator.engine
            )
            for place, some in enumerate(rows)
        ]
        return fit_family(
            counters,
            SHAPES[0],
            [(SHAPES[1], most), (SHAPES[2], 2)],
            AMOUNT,
            make_budget,
            settings=FAST,
            chance=np.random.default_rng(9),
            owners=family.owners,
        )


def _to_table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    return pa.table(
        {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)}
    )


def _code(table: str, name: str, size: int) -> Any:
    def code(cell: exp.Expr) -> exp.Expr:
        return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])

    return build.column(name, of=table), code, size


def plain_budget(amount: Fraction, counter: CodedCounter) -> ZcdpSpending:
    return ZcdpSpending(amount, sensitivity=counter.sensitivity, one=counter.one)


@pytest.fixture(scope="module")
def model() -> FamilyModel:
    return fit(make_people(3000), plain_budget)


def test_every_row_belongs_to_one_above_it_and_numbers_are_kept(model):
    drawn = model.sample(2000, np.random.default_rng(1))
    visits, drugs = drawn.children
    assert (visits.owner, drugs.owner) == (0, 1)
    assert np.array_equal(drawn.count_children(1) >= 0, np.ones(2000, bool))
    assert drugs.parents.max() < len(visits.rows)
    assert drawn.count_children(1).max() <= 2
    assert drawn.count_children(2).max() <= 2
    sexes = drawn.parents[:, 0]
    means = [drawn.count_children(1)[sexes == sex].mean() for sex in (0, 1)]
    assert means == pytest.approx([1, 2], abs=0.1)
    wards = visits.rows[:, 0]
    means = [drawn.count_children(2)[wards == ward].mean() for ward in (0, 1, 2)]
    assert means == pytest.approx([0, 1, 2], abs=0.15)


def test_pairs_across_three_levels_are_kept(model):
    drawn = model.sample(3000, np.random.default_rng(2))
    sex, ward, drug = drawn.join_ancestors(2).T
    assert np.mean(ward == drug) > 0.9
    assert np.mean((ward - sex >= 0) & (ward - sex <= 1)) > 0.9


def test_a_model_of_three_levels_is_the_same_after_it_was_written(model):
    again = FamilyModel.from_content(json.loads(json.dumps(model.to_content())))
    assert again.owners == (0, 1)
    first, second = (one.sample(300, np.random.default_rng(3)) for one in (model, again))
    np.testing.assert_array_equal(first.join_ancestors(2), second.join_ancestors(2))


@pytest.mark.parametrize("owners", [[0, 2], [0, -1], [0], [0, True], [1, 0]])
def test_a_model_whose_tables_belong_to_no_table_above_them_is_refused(model, owners):
    with pytest.raises(ValueError, match="owners"):
        FamilyModel.from_content({**model.to_content(), "owners": owners})


class Replay:
    """Records what is released about some people, and returns what the same costs about others."""

    def __init__(self, people: Sequence[Person], most: int) -> None:
        self.people, self.most = people, most
        self.recorded: list[ReplayedCosts] = []
        fit(people, self._record, most=most)

    def _record(self, amount: Fraction, counter: CodedCounter) -> ReplayedCosts:
        self.recorded.append(ReplayedCosts(counter, amount=amount))
        return self.recorded[-1]

    def cost(self, *extra: Person, drugs: Sequence[tuple[int, int]] = ()) -> Fraction:
        replayed: list[ReplayedCosts] = []

        def repeat(amount: Fraction, counter: CodedCounter) -> ReplayedCosts:
            known = self.recorded[len(replayed)].kept
            replayed.append(ReplayedCosts(counter, known, amount=amount))
            return replayed[-1]

        fit([*self.people, *extra], repeat, most=self.most, drugs=drugs)
        return sum((one.cost for one in replayed), Fraction(0))


@pytest.fixture(scope="module", params=[1, 2])
def replay(request) -> Replay:
    return Replay(make_people(60), request.param)


def test_a_person_with_all_rows_of_three_levels_costs_at_most_what_was_reserved(replay):
    many = [(9000 + place, 2, [2] * 5) for place in range(7)]
    assert 0 < replay.cost((900, 1, [])) <= AMOUNT
    assert 0 < replay.cost((900, 1, many[: replay.most])) <= AMOUNT
    assert 0 < replay.cost((900, 1, many)) <= AMOUNT
    # A key that another person's visit has, too: its drugs are of both, and no more is paid for that.
    assert 0 < replay.cost((900, 1, [(0, 2, []), *many])) <= AMOUNT


def test_all_rows_of_one_key_cost_at_most_what_was_reserved(replay):
    """The unit of the third table is a visit: its own budget is charged with this price."""
    key = replay.people[0][2][0][0]
    assert 0 < replay.cost(drugs=[(key, 2)] * 2) <= AMOUNT
    assert 0 < replay.cost(drugs=[(key, 2)] * 50) <= AMOUNT


def test_the_check_of_three_levels_can_fail():
    visits = [(9000 + place, 2, [2] * 2) for place in range(2)]
    others = [(9100 + place, 2, [2] * 2) for place in range(2)]
    third = [(9200 + place, 2, [2] * 2) for place in range(2)]
    made = Replay(make_people(60), 2)
    assert made.cost((900, 1, visits), (901, 1, others), (902, 1, third)) > AMOUNT


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("limits: {rows-per-unit: 2}\n    columns:\n      visit: {role: identifier, kind: integer, ref", "columns:\n      visit: {role: identifier, kind: integer, ref"), "any number of rows in 'drugs'"),
        (("    limits: {rows-per-unit: MOST_VISITS}\n", ""), "any number of rows in 'visits'"),
        (("references: visits.visit}", "references: visits.patient}"), "by 'patient'"),
        (("kind: integer, references: visits.visit}", "kind: text, references: visits.visit}"), "cannot be compared exactly"),
    ],
)  # fmt: skip
def test_a_third_level_without_a_bound_or_a_key_is_refused(change, message):
    policy = POLICY.replace(*change).replace("MOST_VISITS", "2")
    assert policy != POLICY.replace("MOST_VISITS", "2")
    empty = {
        "patients": _to_table(("id", "sex"), []),
        "visits": _to_table(("visit", "patient", "ward"), []),
        "drugs": _to_table(("visit", "drug"), []),
    }
    if "kind: text, ref" in policy:
        empty["drugs"] = empty["drugs"].set_column(0, "visit", pa.array([], pa.string()))
    with hold(empty, policy) as curator, pytest.raises(QuestionRefused, match=message):
        find_family(curator.catalog, "patients", ["visits", "drugs"])


def test_a_third_level_without_the_second_is_refused():
    people = make_people(3)
    tables = {
        "patients": _to_table(("id", "sex"), [one[:2] for one in people]),
        "visits": _to_table(("visit", "patient", "ward"), []),
        "drugs": _to_table(("visit", "drug"), []),
    }
    with (
        hold(tables, POLICY.replace("MOST_VISITS", "2")) as curator,
        pytest.raises(QuestionRefused, match="--with visits"),
    ):
        find_family(curator.catalog, "patients", ["drugs"])
