"""The page of a synthetic table: noisy counts beside synthetic ones, what was measured, what is promised."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

import discreet
from discreet.report.synthetic import render_synthetic_page, summarize_synthetic

ON = dt.date(2026, 5, 17)
WARDS = [f"<b>ward {number}" for number in range(14)]


@pytest.fixture(scope="module")
def made() -> Any:
    people = pa.table(
        {
            "name": [f"Zebulon Quackenbush {number}" for number in range(300)],
            "age": [20 + number % 60 for number in range(300)],
            "ward": [WARDS[number * 5 % 14] for number in range(300)],
        }
    )
    return discreet.synthesize(
        people,
        identifiers=["name"],
        bounds={"age": (0, 99)},
        values={"ward": WARDS},
        method="fast",
        epsilon=4,
        accept_risk="a test",
    )


def test_the_page_shows_price_promise_and_relations_and_no_row(made: Any):
    page = render_synthetic_page(made, on=ON)
    assert "2026-05-17" in page
    assert "What is promised" in page
    assert "epsilon 4" in page
    assert "Zebulon" not in page
    assert made.to_arrow()["name"][0].as_py() not in page
    assert "<script" not in page


def test_names_of_values_are_no_markup(made: Any):
    page = render_synthetic_page(made, on=ON)
    assert "<b>ward" not in page


def test_each_column_has_a_chart_of_at_most_ten_groups_and_missing(made: Any):
    page = summarize_synthetic(made, on=ON)
    assert [chart.name for chart in page.charts] == ["age", "ward"]
    for chart in page.charts:
        assert chart.figure.svg.count(": ") <= 1 + 11 + 1


def test_what_attacks_found_is_not_on_the_page(made: Any):
    page = render_synthetic_page(made, on=ON)
    assert made.findings
    assert not any(found.verdict in page for found in made.findings)


def test_pairs_that_were_not_measured_are_counted(made: Any):
    measured = {frozenset(one.columns) for one in made.marginals if len(one.columns) == 2}
    page = summarize_synthetic(made, on=ON)
    assert page.unrelated.startswith(f"Of 1 pair of columns, {1 - len(measured)} are in no")
