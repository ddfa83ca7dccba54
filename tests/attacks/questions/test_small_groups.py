"""Groups of one and two are found in answers, and sums that one person dominates."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.small_groups import Dominance, find_small_groups
from discreet.engines.connect import open_table

TOWNS = {"Ay": [900], "Bee": [500, 40], "Cea": [10, 10, 10, 970], "Dee": [50, 50, 50, 50, None]}


@pytest.fixture(scope="module")
def table():
    rows = [(town, pay) for town, pays in TOWNS.items() for pay in pays]
    towns, pays = zip(*rows, strict=True)
    return open_table(pa.table({"town": towns, "pay": pays}))


def test_people_in_groups_of_one_and_two_are_exposed(table):
    (finding,) = find_small_groups(laboratory(table), table, by=["town"])
    assert (finding.targets, finding.claimed, finding.correct) == (12, 3, 3)
    assert (finding.details["groups_of_one"], finding.details["groups_of_two"]) == (1, 1)
    assert finding.queries == 1


def test_a_sum_that_one_person_dominates_is_unsafe(table):
    _, finding = find_small_groups(laboratory(table), table, by=["town"], value="pay")
    assert (finding.targets, finding.details["dominated"]) == (3, 2)
    strict = Dominance(n=2, k=0.5)
    _, finding = find_small_groups(
        laboratory(table), table, by=["town"], value="pay", dominance=strict
    )
    assert finding.details["dominated"] == 1


def test_groups_that_are_not_released_expose_no_one(table):
    interface = laboratory(table, LaboratoryRules(smallest=3))
    small, dominated = find_small_groups(interface, table, by=["town"], value="pay")
    assert (small.rate, small.details["groups"]) == (0.0, 2)
    assert dominated.targets == 2


def test_noise_hides_the_sums_of_small_groups(table):
    rules = LaboratoryRules(noise=LaboratoryNoise("laplace", 100))
    interface = laboratory(table, rules, chance=np.random.default_rng(1))
    small, _ = find_small_groups(interface, table, by=["town"], value="pay")
    assert small.correct == 0


def test_the_finding_names_no_group(table):
    (finding,) = find_small_groups(laboratory(table), table, by=["town"])
    assert "Ay" in finding.example[0]
    assert not any(town in str(finding.to_dict()) for town in TOWNS)
