"""Counts alone reveal one person's value, in about the logarithm of the number of values."""

from __future__ import annotations

import datetime as dt
from math import ceil, log2

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import condition
from tests.attacks.crowded import ILLNESSES, illnesses, opened, public, staff

from discreet.attacks.questions.counting import DistinguishingCrowd, infer_by_counting, infer_value
from discreet.attacks.questions.domains import NumberDomain, column_domain, make_range
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.people import draw_people
from discreet.engines.connect import open_table
from discreet.engines.engine import Column, Kind
from discreet.sql import build

ALICE = condition("name = 'Alice'")


@pytest.fixture(scope="module")
def table():
    return opened()


def bound(size: int) -> int:
    return 2 * ceil(log2(size)) + 3


@pytest.mark.parametrize(
    "rules",
    [
        LaboratoryRules(),
        LaboratoryRules(smallest=20),
        LaboratoryRules(smallest=50, allows_all=False),
    ],
)
def test_a_number_among_a_million_takes_two_logarithms_of_counts_at_most(table, rules):
    domain = make_range("pay", 0, 999_999)
    interface = laboratory(table, rules)
    found = infer_value(interface, ALICE, domain, domains=public())
    assert found.place is not None
    assert domain.value(found.place) == 55_000
    assert interface.questions <= bound(domain.size)
    assert all("COUNT" in asked.question for asked in interface.transcript)


def test_a_word_is_found_by_halving_the_list(table):
    interface = laboratory(table)
    found = infer_value(interface, ALICE, illnesses())
    assert found.place == ILLNESSES.index("gout")
    assert interface.questions <= ceil(log2(len(ILLNESSES))) + 2


def test_a_date_is_found_day_by_day(table):
    domain = make_range("born", "1950-01-01", "2005-12-31", kind=Kind.DATE)
    found = infer_value(
        laboratory(table, LaboratoryRules(smallest=20)), ALICE, domain, domains=public()
    )
    assert found.place is not None
    assert domain.value(found.place) == staff()["born"][0].as_py()


@pytest.mark.parametrize("step", [5, 50])
def test_rounding_does_not_help_because_a_crowd_at_the_edge_of_a_step_is_found(table, step):
    """One person more changes a count that is about to change."""
    born = [make_range("born", "1955-01-01", "1999-12-31", kind=Kind.DATE)]
    interface = laboratory(table, LaboratoryRules(smallest=20, step=step))
    found = infer_value(interface, ALICE, illnesses(), domains=born)
    assert found.place == ILLNESSES.index("gout")


def test_a_person_who_is_not_there_is_not_found(table):
    for rules in (LaboratoryRules(), LaboratoryRules(smallest=20)):
        interface = laboratory(table, rules)
        found = infer_value(interface, condition("name = 'Absent'"), illnesses(), domains=public())
        assert (found.place, found.is_present) == (None, False)


def test_a_missing_value_is_not_claimed():
    rows = pa.table({"name": ["Alice", "Bob"], "age": [None, 7]})
    found = infer_value(laboratory(open_table(rows)), ALICE, make_range("age", 0, 15))
    assert (found.is_present, found.place) == (True, None)


def people(table, count: int):
    return draw_people(
        table,
        by=[table.column("name")],
        value=build.column("ill"),
        people=count,
        absent=4,
        chance=np.random.default_rng(8),
    )


def test_all_of_some_people_are_found_out_and_no_absent_one(table):
    interface = laboratory(table, LaboratoryRules(smallest=20))
    finding = infer_by_counting(
        interface, people(table, 12), domain=illnesses(), domains=public(), baseline=0.2
    )
    assert (finding.targets, finding.correct, finding.control) == (12, 12, 0.0)
    assert finding.details["claimed_of_absent"] == 0
    assert "Alice" not in str(finding.to_dict())


@pytest.mark.statistics
def test_noise_leaves_a_guess_for_single_counts(table):
    """Laplace noise of 5, seeded: a halving is right with chance 0.55, all of three with 0.2."""
    finding = infer_by_counting(
        laboratory(
            table,
            LaboratoryRules(noise=LaboratoryNoise("laplace", 5.0)),
            chance=np.random.default_rng(1),
        ),
        people(table, 12),
        domain=illnesses(),
        domains=public(),
        baseline=0.2,
    )
    assert finding.rate < 0.6
    assert "no more than by guessing" in finding.verdict


def test_means_of_many_counts_see_through_the_noise(table):
    """Laplace noise of 1: each mean of 60 is on the right side with chance 0.997."""
    rules = LaboratoryRules(noise=LaboratoryNoise("laplace", 1.0))
    interface = laboratory(table, rules, chance=np.random.default_rng(2))
    sight = DistinguishingCrowd(None, 0.0, 1.0)
    assert sight.holds(interface, ALICE, repeats=60)
    assert not sight.holds(interface, condition("name = 'Absent'"), repeats=60)


def test_what_is_known_of_a_column_comes_from_the_table_without_a_policy(table):
    assert column_domain(table, Column("ill", Kind.TEXT)) == illnesses()
    assert column_domain(table, Column("name", Kind.TEXT)) is not None
    assert column_domain(table, Column("age", Kind.INTEGER)).size <= 46


def test_ranges_have_both_ends_and_reals_are_cut_into_parts():
    days = make_range("d", dt.date(2020, 1, 1), dt.date(2020, 1, 31), kind=Kind.DATE)
    assert (days.size, days.value(30)) == (31, dt.date(2020, 1, 31))
    reals = make_range("x", "-1.5", "2.5", kind=Kind.REAL)
    assert isinstance(reals, NumberDomain)
    assert (reals.value(0), reals.value(1024)) == (-1.5, 2.5)
    assert reals.between(0, 512).sql() == '"x" < 0.5'
    assert make_range("n", -3, 3).between(1, 2).sql() == '"n" >= -2 AND "n" < -1'
