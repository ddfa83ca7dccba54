"""Trackers are found by asking, reveal what restricted interfaces hide, and fail where they should."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlglot import condition
from tests.attacks.crowded import PEOPLE, opened, public

from discreet.attacks.questions.domains import make_range
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.people import draw_people, most_common_share
from discreet.attacks.questions.tracker import TrackerKnowledge, reveal, track
from discreet.engines.engine import Kind
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.attacks.questions.interface import Interface

ALICE = condition("name = 'Alice'")
TENTH, QUARTER = PEOPLE // 10, PEOPLE // 4


@pytest.fixture(scope="module")
def table():
    return opened()


def behind(table, rules: LaboratoryRules | None = None, **options) -> Interface:
    return laboratory(table, rules, chance=np.random.default_rng(3), **options)


@pytest.mark.parametrize(
    ("rules", "way"),
    [
        (LaboratoryRules(), "direct"),
        (LaboratoryRules(smallest=2, allows_most=True), "complement"),
        (LaboratoryRules(smallest=TENTH), "general tracker"),
        (LaboratoryRules(smallest=QUARTER), "general tracker"),
        (LaboratoryRules(smallest=TENTH, allows_all=False), "general tracker"),
        (LaboratoryRules(smallest=QUARTER, allows_all=False), "general tracker"),
    ],
)
def test_whatever_the_restriction_alices_pay_is_revealed_in_ten_questions(table, rules, way):
    interface = behind(table, rules)
    found = reveal(interface, ALICE, value="pay", domains=public())
    assert found.plan is not None
    assert (found.plan.name, found.people, found.value) == (way, 1.0, 55_000.0)
    assert interface.questions <= 10


def test_who_knows_the_rule_is_refused_nothing(table):
    interface = behind(table, LaboratoryRules(smallest=QUARTER))
    found = reveal(
        interface, ALICE, value="pay", domains=public(), known=TrackerKnowledge(smallest=QUARTER)
    )
    assert found.value == 55_000.0
    assert interface.refusals == 0


def test_a_person_known_by_two_conditions_is_revealed_without_any_crowd(table):
    interface = behind(table, LaboratoryRules(smallest=TENTH))
    person = condition("age >= 40 AND name = 'Alice'")
    found = reveal(interface, person, value="pay", domains=[])
    assert found.plan is not None
    assert (found.plan.name, found.value) == ("individual tracker", 55_000.0)


def test_a_group_needs_a_double_tracker_beyond_a_quarter(table):
    """N = 200, k = 60 and up to 60 people: no crowd has 120 to 80 of them, but nested ones do."""
    rules = LaboratoryRules(smallest=60)
    team = condition("pay < 35000")
    truth = behind(table).total("pay", team)
    known = TrackerKnowledge(smallest=60, group=60)
    found = reveal(behind(table, rules), team, value="pay", domains=public(), known=known)
    assert found.plan is not None
    assert (found.plan.name, found.value) == ("double tracker", truth)


def test_nothing_is_revealed_when_only_everybody_is_answered(table):
    interface = behind(table, LaboratoryRules(smallest=PEOPLE // 2 + 1))
    found = reveal(interface, ALICE, value="pay", domains=public())
    assert not found.is_claim


def test_a_limit_on_overlaps_stops_trackers(table):
    interface = behind(table, LaboratoryRules(smallest=TENTH, overlap=5))
    assert not reveal(interface, ALICE, value="pay", domains=public()).is_claim


def test_the_search_ends_with_the_questions(table):
    interface = behind(table, LaboratoryRules(smallest=TENTH), budget=5)
    found = reveal(interface, ALICE, value="pay", domains=public())
    assert not found.is_claim
    assert (interface.questions, interface.ended) == (5, "questions")


def test_nothing_is_claimed_about_a_person_who_is_not_there(table):
    interface = behind(table, LaboratoryRules(smallest=TENTH))
    found = reveal(interface, condition("name = 'Absent'"), value="pay", domains=public())
    assert (found.people, found.is_claim) == (0.0, False)


def test_a_crowd_on_a_skewed_column_is_found_all_the_same(table):
    """All ages are in a thousandth of the range: halving needs ten refused probes, then one answered."""
    interface = behind(table, LaboratoryRules(smallest=QUARTER))
    found = reveal(interface, ALICE, value="pay", domains=[make_range("age", 0, 60_000)])
    assert found.value == 55_000.0


def drawn(table, people: int = 20):
    return draw_people(
        table,
        by=[table.column("name")],
        value=build.column("pay"),
        people=people,
        absent=5,
        chance=np.random.default_rng(4),
    )


def test_of_people_drawn_all_are_revealed_and_no_absent_one_is_claimed(table):
    people = drawn(table)
    assert [person.is_present for person in people].count(False) == 5
    finding = track(
        behind(table, LaboratoryRules(smallest=TENTH)),
        people,
        value="pay",
        domains=public(),
        baseline=0.01,
    )
    assert (finding.targets, finding.claimed, finding.correct) == (20, 20, 20)
    assert finding.details["claimed_of_absent"] == 0
    assert (finding.control, finding.details["mean_absolute_error"]) == (0.0, 0.0)
    assert finding.details["questions_per_person"] < 7
    assert not any(word in str(finding.to_dict()) for word in ("Alice", "person 1", "55000"))


def test_rounding_to_five_hides_little_from_many_trackers(table):
    born = [make_range("born", "1955-01-01", "1999-12-31", kind=Kind.DATE)]
    rules = LaboratoryRules(smallest=TENTH, step=5)
    people = drawn(table, 4)[:4]
    one, many = (
        track(
            behind(table, rules),
            people,
            value="pay",
            domains=born,
            known=TrackerKnowledge(trackers=count),
        )
        for count in (1, 24)
    )
    assert one.details["mean_absolute_error"] > 1
    assert many.details["mean_absolute_error"] < 0.6
    assert many.certainty is not None
    assert (one.details["methods"], many.details["methods"]) == (
        {"general tracker": 4},
        {"mean of 24 trackers": 4},
    )


@pytest.mark.statistics
def test_noise_of_a_thousand_hides_pay_from_one_tracker(table):
    """12 people: one claim is within 0.5 with a chance below 0.0003."""
    rules = LaboratoryRules(smallest=TENTH, noise=LaboratoryNoise("laplace", 1000))
    finding = track(
        behind(table, rules),
        drawn(table, 12),
        value="pay",
        domains=public(),
        known=TrackerKnowledge(trackers=1),
    )
    assert finding.correct == 0
    assert finding.details["mean_absolute_error"] > 300
    assert "no more than by guessing" in finding.verdict


def test_guessing_the_most_common_value_is_the_baseline(table):
    ages = table.engine.run(build.select(build.column("age"), source=table.relation)).column(0)
    counts = np.bincount(ages.to_numpy())
    assert most_common_share(table, build.column("age")) == counts.max() / PEOPLE
