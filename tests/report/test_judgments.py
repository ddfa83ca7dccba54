"""Judgments as CI systems read them: JUnit's XML and SARIF, whatever the names of columns are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.report.judgments import (
    Judgment,
    judge_assessment,
    judge_findings,
    render_junit,
    render_sarif,
)

if TYPE_CHECKING:
    from pathlib import Path

POLICY = """
tables:
  people:
    columns: {age: quasi-identifier, sex: quasi-identifier, ill: sensitive}
    criteria: [{k-anonymity: {k: 2}}, {l-diversity: {column: ill, l: 2}}]
"""
JUDGMENTS = st.lists(
    st.builds(
        Judgment,
        st.sampled_from(["k-anonymity", "linkage", "undecided"]),
        st.text(),
        st.booleans(),
        st.text(),
    )
)


@pytest.fixture
def assessment(tmp_path: Path) -> discreet.Assessment:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY, "utf-8")
    rows = {
        "age": [34, 34, 47, 47],
        "sex": ["F", "F", "M", "M"],
        "ill": ["gout"] * 2 + ["flu", "cold"],
    }
    return discreet.check(pd.DataFrame(rows), policy, table="people")


def sarif_results(text: str) -> list[dict[str, Any]]:
    return json.loads(text)["runs"][0]["results"]


def test_each_criterion_and_exposure_is_a_case(assessment: discreet.Assessment):
    suites = ET.fromstring(render_junit(judge_assessment(assessment), target="people.csv"))
    failed = {
        case.get("name") for case in suites.iter("testcase") if case.find("failure") is not None
    }
    names = {case.get("name") for case in suites.iter("testcase")}
    assert "k-anonymity" in names - failed
    assert "l-diversity (distinct) of ill" in failed
    assert suites.get("failures") == str(len(failed))
    assert suites.get("tests") == str(len(names))


def test_no_value_of_the_table_is_in_either_form(assessment: discreet.Assessment):
    judgments = judge_assessment(assessment)
    for text in (
        render_junit(judgments, target="people"),
        render_sarif(judgments, target="people"),
    ):
        assert not any(value in text for value in ("gout", "flu", "cold", "34", "47"))


def test_sarif_fails_what_fails_and_passes_what_holds(assessment: discreet.Assessment):
    results = sarif_results(render_sarif(judge_assessment(assessment), target="people.csv"))
    levels = {(result["ruleId"], result["kind"], result["level"]) for result in results}
    assert ("k-anonymity", "pass", "none") in levels
    assert ("l-diversity", "fail", "error") in levels


def test_an_attack_without_a_tolerance_is_neither_passed_nor_failed():
    frame = pd.DataFrame({"age": [34, 47] * 40, "ill": ["gout", "flu"] * 40})
    report = discreet.attack("homogeneity", frame, quasi=["age"], sensitive=["ill"])
    (result,) = sarif_results(render_sarif(judge_findings(report.findings), target="people.csv"))
    assert (result["kind"], result["level"]) == ("informational", "none")
    strict = discreet.attack("homogeneity", frame, quasi=["age"], sensitive=["ill"], tolerance="5%")
    (result,) = sarif_results(render_sarif(judge_findings(strict.findings), target="people.csv"))
    assert (result["kind"], result["level"]) == ("fail", "error")


@given(JUDGMENTS, st.text(min_size=1))
def test_any_names_make_a_file_that_can_be_read(judgments: list[Judgment], target: str):
    suites = ET.fromstring(render_junit(judgments, target=target))
    assert len(list(suites.iter("testcase"))) == len(judgments)
    results = sarif_results(render_sarif(judgments, target=target))
    assert [result["kind"] == "fail" for result in results] == [not one.holds for one in judgments]


def test_a_password_in_an_address_is_in_no_form():
    one = Judgment("k-anonymity", "k-anonymity", holds=True, sentence="")
    address = "postgresql://ada:secret@db.example/clinic"
    assert "secret" not in render_sarif([one], target=address)
