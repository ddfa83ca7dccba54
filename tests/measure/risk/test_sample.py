from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import WrongUsage
from discreet.measure.risk.sample import (
    journalist_risk,
    marketer_risk,
    prosecutor_risk,
    sample_risk,
)

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = np.array([], dtype=np.int64)

# One entry per class: how many people are in the table, how many more are in the population.
tables = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=40)


def test_risk_of_adult_equals_what_arx_prints(shared_data: Path) -> None:
    adult = duckdb.read_csv(str(shared_data / "adult" / "adult.csv"), delimiter=";")
    columns = '"age", "education", "marital-status", "native-country", "race", "salary-class", '
    columns += '"sex", "workclass"'
    sizes = np.sort(adult.aggregate("count(*) AS size", columns).fetchnumpy()["size"])

    risk = sample_risk(*np.unique(sizes, return_counts=True))

    assert (risk.people, risk.classes) == (30162, 12458)
    assert risk.prosecutor.worst == 1.0
    assert f"{risk.prosecutor.average:.8f}" == "0.41303627"
    assert f"{risk.prosecutor.share_at_risk:.6f}" == "0.509018"
    assert f"{risk.marketer.expected_share:.8f}" == "0.41303627"
    assert risk.journalist == risk.prosecutor


def test_a_class_of_five_is_not_above_a_fifth() -> None:
    risk = prosecutor_risk(np.array([4, 5]), np.array([1, 1]))

    assert risk.people_at_risk == 4
    assert risk.share_at_risk == 4 / 9


def test_a_population_lowers_the_risk_of_the_journalist_only() -> None:
    risk = sample_risk(np.array([1, 1, 4]), np.array([1, 1, 1]), population=np.array([2, 10, 40]))

    assert risk.with_population
    assert risk.prosecutor.worst == 1.0
    assert risk.journalist.worst == 0.5
    assert risk.journalist.people_at_risk == 1
    assert risk.marketer.expected_people == pytest.approx(0.5 + 0.1 + 0.1)
    assert risk.marketer.expected_share == pytest.approx(0.7 / 6)


def test_an_empty_table_has_no_risk_rather_than_risk_zero() -> None:
    risk = sample_risk(EMPTY, EMPTY).to_dict()

    assert risk["people"] == 0
    assert risk["prosecutor"]["worst"] is None
    assert risk["prosecutor"]["average"] is None
    assert risk["journalist"]["share_at_risk"] is None
    assert risk["marketer"] == {"expected_people": None, "expected_share": None}


def test_sizes_without_classes_do_not_count() -> None:
    assert prosecutor_risk(np.array([1, 3]), np.array([0, 2])).worst == 1 / 3


@pytest.mark.parametrize(
    ("sizes", "classes"), [([0, 1], [1, 1]), ([1, 2], [1]), ([1], [-1]), ([[1]], [[1]])]
)
def test_what_is_no_histogram_is_refused(sizes: list[int], classes: list[int]) -> None:
    with pytest.raises(WrongUsage):
        prosecutor_risk(np.array(sizes), np.array(classes))


def test_a_population_smaller_than_the_sample_is_refused() -> None:
    with pytest.raises(WrongUsage, match="fewer people in the population"):
        journalist_risk(np.array([3]), np.array([1]), population=np.array([2]))


def test_a_population_of_other_classes_is_refused() -> None:
    with pytest.raises(WrongUsage, match="entries"):
        marketer_risk(np.array([3]), np.array([1]), population=np.array([3, 4]))


def test_a_threshold_that_is_no_probability_is_refused() -> None:
    with pytest.raises(WrongUsage, match="threshold"):
        prosecutor_risk(np.array([3]), np.array([1]), threshold=20)


@given(tables)
def test_risks_agree_with_their_definitions_by_record(table: list[tuple[int, int]]) -> None:
    records = [held + more for held, more in table for _ in range(held)]
    held = np.array([held for held, _ in table])
    more = np.array([more for _, more in table])

    risk = sample_risk(held, np.ones_like(held), population=held + more, threshold=0.1)

    assert risk.journalist.worst == max(1 / among for among in records)
    assert risk.journalist.average == pytest.approx(sum(1 / n for n in records) / len(records))
    assert risk.journalist.people_at_risk == sum(1 / among > 0.1 for among in records)
    assert risk.marketer.expected_share == pytest.approx(risk.journalist.average)
    assert risk.prosecutor.average == len(table) / len(records)


@given(tables)
def test_no_journalist_does_better_than_the_prosecutor(table: list[tuple[int, int]]) -> None:
    held = np.array([held for held, _ in table])
    more = np.array([more for _, more in table])

    risk = sample_risk(held, np.ones_like(held), population=held + more)

    assert risk.journalist.worst <= risk.prosecutor.worst
    assert risk.journalist.people_at_risk <= risk.prosecutor.people_at_risk
    assert risk.marketer.expected_share <= risk.prosecutor.average
