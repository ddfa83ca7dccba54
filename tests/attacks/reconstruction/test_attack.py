"""Reconstruction by questions: it succeeds against what rounds and restricts, and fails against noise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sqlglot import parse_one

import discreet
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.people import read_person_condition
from discreet.attacks.reconstruction.attack import reconstruct_bits
from discreet.attacks.reconstruction.belief import NoiseBelief
from discreet.attacks.reconstruction.people import invent_people, public_columns, read_roster
from discreet.attacks.reconstruction.questions import Roster, choose_questions
from discreet.engines.connect import open_table
from discreet.errors import EmptySource, WrongUsage

PEOPLE = 40
VALUE = "ill = 'HIV'"


def patients(count: int = PEOPLE, share: float = 0.5) -> pa.Table:
    chance = np.random.default_rng(1)
    return pa.table(
        {
            "town": ["here"] * count,
            "number": np.arange(count) - count // 2,
            "name": [f"Ann O'Neil {place}" for place in range(count)],
            "ill": np.where(chance.random(count) < share, "HIV", "flu"),
        }
    )


def attack(
    rules: LaboratoryRules | None = None,
    *,
    by: str = "name",
    table: pa.Table | None = None,
    **options,
):
    opened = open_table(patients() if table is None else table)
    value = read_person_condition(VALUE, opened)
    roster, truth = read_roster(opened, by=[by], value=value)
    chance = np.random.default_rng(2)
    interface = laboratory(opened, rules, chance=chance)
    options = {"absent": invent_people(roster, count=4), "at_once": 32, **options}
    found = reconstruct_bits(interface, roster, value=value, truth=truth, chance=chance, **options)
    opened.engine.close()
    return found


@pytest.mark.parametrize(
    ("subsets", "by"),
    [
        ("hash", "name"),
        ("hash", "number"),
        ("list", "name"),
        ("list", "number"),
        ("arithmetic", "number"),
    ],
)
def test_exact_counts_of_named_groups_give_everybody_away(subsets, by):
    found = attack(by=by, subsets=subsets)
    assert (found.rate, found.correct, found.targets) == (1, PEOPLE, PEOPLE)
    assert found.queries == found.details["answered"] == 4 * (PEOPLE + 4)
    assert found.details["absent_claimed"] == 0


@pytest.mark.parametrize(
    "rules",
    [
        LaboratoryRules(step=5),
        LaboratoryRules(smallest=10),
        LaboratoryRules(noise=LaboratoryNoise("uniform", 2)),
    ],
)
def test_rounding_restrictions_and_small_noise_are_no_defense(rules):
    found = attack(rules, at_once=1)
    assert found.rate >= 0.95
    assert found.advantage > 0.85


@pytest.mark.parametrize(("subsets", "by"), [("hash", "name"), ("arithmetic", "number")])
def test_counts_that_are_all_rounded_to_one_number_are_met_with_other_groups(subsets, by):
    """Halves of about 50 who have it are 25, which is rounded to 40, and three eighths are near 20."""
    table, rules = patients(100), LaboratoryRules(step=40)
    halves = attack(rules, table=table, by=by, subsets=subsets, belief=NoiseBelief("gaussian"))
    others = attack(rules, table=table, by=by, subsets=subsets, belief=NoiseBelief("uniform", 20))
    assert others.rate > max(0.85, halves.rate)


@pytest.mark.statistics
def test_noise_for_all_answers_together_leaves_chance():
    """0.75 of 40 bits by chance has a chance below 2e-3, and this draw is seeded."""
    found = attack(
        LaboratoryRules(noise=LaboratoryNoise("laplace", 176)), belief=NoiseBelief("laplace")
    )
    assert found.rate < 0.75
    assert "no more than" in found.verdict
    assert found.details["noise"] == pytest.approx(176 * 2**0.5, rel=0.25)


def test_every_table_is_tried_for_few_people():
    found = attack(
        LaboratoryRules(noise=LaboratoryNoise("uniform", 0.4)),
        table=patients(8),
        subsets="all",
        belief=NoiseBelief("uniform", 0.4),
        absent=None,
        at_once=1,
    )
    assert found.correct == 8
    assert (found.details["survivors"], found.details["wrong_at_most"]) == (1, 1.6)
    assert found.queries == 256
    assert (found.interval, found.certainty) == ((1, 1), 1)
    assert "works out" in found.verdict


def test_an_error_that_is_assumed_too_small_leaves_no_table():
    with pytest.raises(WrongUsage, match="err by more"):
        attack(
            LaboratoryRules(noise=LaboratoryNoise("gaussian", 20)),
            table=patients(6),
            subsets="all",
            belief=NoiseBelief("uniform", 0.1),
            absent=None,
            at_once=1,
        )


def test_trying_every_table_needs_a_bound_of_the_error():
    with pytest.raises(WrongUsage, match="--assume"):
        attack(table=patients(4), subsets="all", absent=None, at_once=1)


def test_an_interface_that_refuses_everything_leaves_nothing_to_solve():
    roster = Roster(("name",), ("a", "b"))
    silent = Interface(lambda text: None)
    with pytest.raises(WrongUsage, match="answered none"):
        reconstruct_bits(
            silent, roster, value=parse_one("ill = 1"), questions=3, chance=np.random.default_rng(1)
        )


def test_without_the_truth_the_adversary_reports_its_own_certainty():
    opened = open_table(patients())
    value = read_person_condition(VALUE, opened)
    roster, _ = read_roster(opened, by=["name"], value=value)
    chance = np.random.default_rng(3)
    found = reconstruct_bits(
        laboratory(opened, chance=chance), roster, value=value, at_once=32, chance=chance
    )
    assert (found.correct, found.baseline) == (None, None)
    assert found.certainty > 0.999


def test_neither_json_nor_the_verdict_has_a_name_and_the_example_does():
    found = attack()
    assert "O'Neil" not in str(found.to_dict())
    assert any("O'Neil" in line for line in found.example)


@pytest.mark.parametrize("subsets", ["hash", "arithmetic"])
def test_groups_are_those_that_the_engine_finds(subsets):
    opened = open_table(patients(50))
    by = "name" if subsets == "hash" else "number"
    roster, _ = read_roster(opened, by=[by], value=read_person_condition("1 = 1", opened))
    chance = np.random.default_rng(4)
    asked = choose_questions(roster, count=140, subsets=subsets, chance=chance)
    interface = laboratory(opened)
    for place in (0, 1, 5, 127, 128, 139):
        assert interface.count(asked.condition(place)) == asked.groups[place].sum()
    assert asked.groups.mean() == pytest.approx(0.5, abs=0.05)


def test_the_first_column_that_distinguishes_all_is_taken():
    opened = open_table(patients())
    assert public_columns(opened, None) == ("number",)
    assert public_columns(opened, ["name", "town"]) == ("name", "town")


def test_people_that_nothing_distinguishes_need_columns():
    opened = open_table(pa.table({"ill": ["HIV", "HIV"]}))
    with pytest.raises(WrongUsage, match="--by"):
        public_columns(opened, None)


def test_a_table_of_no_one_is_refused():
    opened = open_table(patients().slice(0, 0))
    with pytest.raises(EmptySource):
        read_roster(opened, by=["name"], value=read_person_condition(VALUE, opened))


def test_people_with_the_same_public_values_share_a_guess():
    table = pa.concat_tables([patients(40), patients(40)])
    found = attack(table=table, absent=None)
    assert found.rate == 1


POLICY = """
tables:
  patients:
    unit: row
    budget: {epsilon: 1}
    columns:
      number: {role: identifier, kind: integer}
      ill: {role: sensitive, kind: text, values: [HIV, flu]}
"""


@pytest.mark.statistics
def test_discreets_own_answers_leave_chance(tmp_path):
    """100 people, 120 questions of epsilon 1/120: 0.85 of 100 bits, each right with 0.55 at most, has a
    chance below 1e-9."""
    table = patients(100).select(["number", "ill"])
    (tmp_path / "policy.yaml").write_text(POLICY, "utf-8")
    pa.csv.write_csv(table, tmp_path / "patients.csv")
    opened = open_table(table)
    value = read_person_condition(VALUE, opened)
    roster, truth = read_roster(opened, by=["number"], value=value)
    chance = np.random.default_rng(5)
    options = {"value": value, "truth": truth, "questions": 120, "subsets": "arithmetic"}
    exact = reconstruct_bits(
        laboratory(opened, chance=chance), roster, at_once=24, chance=chance, **options
    )
    with discreet.open(
        tmp_path / "patients.csv", tmp_path / "policy.yaml", ledger=tmp_path / "ledger.sqlite"
    ) as curator:
        interface = Interface(
            lambda text: curator.ask(text, epsilon="0.0083").rows, source="patients"
        )
        found = reconstruct_bits(
            interface, roster, belief=NoiseBelief("laplace"), chance=chance, **options
        )
        assert interface.refusals == 0
    assert exact.rate == 1
    assert found.rate < 0.85
