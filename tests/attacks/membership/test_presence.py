"""Presence in a release: certain where all who look alike are in it, a guess where few are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.membership.presence import MEMBER, find_presence, mark_members
from discreet.engines.connect import open_table
from discreet.errors import WrongUsage

# Two women of 30 of whom both are released, four men of 40 of whom one is.
POPULATION = {
    "id": [1, 2, 3, 4, 5, 6, 7],
    "age": [30, 30, 40, 40, 40, 40, 50],
    "sex": ["F", "F", "M", "M", "M", "M", "F"],
    "is_in": [1, 1, 1, 0, 0, 0, 0],
}
RELEASE = {"age": [30, 30, 40], "sex": ["F", "F", "M"], "ill": ["flu", "hiv", "flu"]}


def presence(release: dict, population: dict = POPULATION, **more):
    table = open_table(pa.table(release))
    return find_presence(
        table, open_table(pa.table(population), engine=table.engine), on=["age", "sex"], **more
    )


def test_whole_classes_in_the_release_are_certain():
    found = presence(RELEASE)
    assert (found.targets, found.claimed, found.correct) == (7, 2, None)
    assert found.certainty == 1
    assert found.details["share_of_population"] == pytest.approx(3 / 7)
    assert presence(RELEASE, sure=0.4).baseline == 1.0
    details = found.details
    assert (details["certainly_in"], details["certainly_absent"], details["k_map"]) == (2, 1, 2)
    assert (details["lowest"], details["highest"]) == (0, 1)


def test_members_found_and_others_claimed_are_distinguished_where_the_truth_is_known():
    found = presence(RELEASE, truth="is_in")
    assert (found.targets, found.claimed, found.correct, found.control) == (3, 2, 2, 0)
    assert found.details["presence"]["auc"] == pytest.approx((8 + 1.5 + 1) / 12)
    less_sure = presence(RELEASE, truth="is_in", sure=0.25)
    assert (less_sure.claimed, less_sure.correct) == (6, 3)
    assert less_sure.control == pytest.approx(3 / 4)


def test_labels_stand_for_all_they_cover():
    found = presence({"age": ["[30, 50)", "[30, 50)", "[30, 50)"], "sex": ["*", "*", "*"]})
    assert (found.claimed, found.details["k_map"]) == (0, 6)
    assert found.details["highest"] == pytest.approx(0.5)
    assert found.details["certainly_absent"] == 1


def test_the_source_reveals_who_is_in():
    table = open_table(pa.table(RELEASE))
    population = open_table(pa.table(POPULATION), engine=table.engine)
    source = open_table(pa.table({"id": [1, 2, 3, None]}), engine=table.engine)
    marked = mark_members(population, source, person="id")
    found = find_presence(table, marked, on=["age", "sex"], truth=MEMBER)
    assert (found.targets, found.correct) == (3, 2)


@pytest.mark.statistics
def test_a_sample_of_a_large_population_reveals_no_one():
    """1 % of 20,000 people in 20 classes: chances are all near 1 %, and so is the area near 1/2."""
    chance = np.random.default_rng(0)
    age, sex = chance.integers(0, 10, 20_000), chance.choice(["F", "M"], 20_000)
    is_in = chance.random(20_000) < 0.01
    population = {"age": age, "sex": sex, "is_in": is_in}
    found = presence({"age": age[is_in], "sex": sex[is_in]}, population, truth="is_in")
    assert found.claimed == 0
    assert found.details["presence"]["auc"] == pytest.approx(0.55, abs=0.1)


def test_columns_must_be_named():
    table = open_table(pa.table(RELEASE))
    with pytest.raises(WrongUsage, match="--on"):
        find_presence(table, table, on=[])
