"""Risk by a survey's weights: as an independent computation has it, and on the safe side in doubt."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import hyp2f1

import discreet
from discreet.engines.engine import Engine, Table
from discreet.errors import ConflictingRoles, UnknownColumn, WrongUsage
from discreet.measure.risk.weighted import individual_risk
from discreet.policy.load import parse_policy
from discreet.report.assessment import write_assessment_report

QUASI = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def record_risk(people: float, population: float) -> float:
    """Return the formula of sdcMicro's `indivRisk`, method approx, for one record."""
    share = people / max(population, people)
    if share == 1:
        return 1 / people
    if people > 2:
        return share / (people - (1 - share))
    odds = share / (1 - share)
    if people == 2:
        return odds - odds**2 * math.log(1 / share)
    return odds * math.log(1 / share)


def risks_by_pandas(frame: pd.DataFrame, quasi: list[str], weight: str, home: str) -> pd.DataFrame:
    """Return the risk of each record and of its household, as sdcMicro's `measure_risk` has them."""
    groups = frame.groupby(quasi, dropna=False)[weight]
    counts, sums = groups.transform("size"), groups.transform("sum")
    risk = pd.Series([record_risk(f, F) for f, F in zip(counts, sums, strict=True)], frame.index)
    missed = (1 - risk).groupby(frame[home]).transform("prod")
    return pd.DataFrame({"risk": risk, "household": 1 - missed})


def test_a_survey_is_assessed_as_pandas_has_it(shared_data: Path) -> None:
    frame = pd.read_csv(shared_data / "sdcmicro" / "testdata.csv")
    expected = risks_by_pandas(frame, QUASI, "sampling_weight", "ori_hid")
    found = discreet.assess(
        frame, quasi=QUASI, weight="sampling_weight", household="ori_hid", depth=0
    ).weighted
    assert found is not None
    assert found.household is not None
    assert found.population == frame["sampling_weight"].sum()
    assert found.worst == pytest.approx(expected["risk"].max(), rel=1e-12)
    assert found.expected_people == pytest.approx(expected["risk"].sum(), rel=1e-12)
    assert found.household.worst == pytest.approx(expected["household"].max(), rel=1e-9)
    assert found.household.expected_people == pytest.approx(expected["household"].sum(), rel=1e-9)
    assert found.household.households == frame["ori_hid"].nunique()


def test_every_engine_finds_the_same_risk(any_engine: Engine) -> None:
    rows = {
        "age": [1, 1, 2, None, None, 3, 3, 3],
        "home": ["a", "a", "b", None, None, "c", "c", "c"],
        "w": [2.5, 3.0, 40.0, 1.0, 0.0, 7.0, None, 9.0],
    }
    table = any_engine.load(pa.table(rows).to_reader())
    opened = Table(any_engine, table, any_engine.columns(table), "rows")
    found = discreet.assess(opened, quasi=["age"], weight="w", household="home")
    here = discreet.assess(pa.table(rows), quasi=["age"], weight="w", household="home")
    assert found.weighted is not None
    assert here.weighted is not None
    assert found.weighted.household is not None
    assert here.weighted.household is not None
    for name in (
        "population",
        "worst",
        "expected_people",
        "unique_in_population",
        "without_weight",
    ):
        assert getattr(found.weighted, name) == pytest.approx(getattr(here.weighted, name))
    for name in ("households", "worst", "expected_people", "expected_share"):
        expected = getattr(here.weighted.household, name)
        assert getattr(found.weighted.household, name) == pytest.approx(expected)


@pytest.mark.parametrize("people", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("population", [41.0, 180.0, 1e6])
def test_the_closed_form_is_near_the_exact_mean(people: int, population: float) -> None:
    """Benedetti & Franconi: the mean of 1/F for a negative binomial F is a hypergeometric function."""
    share = people / population
    exact = share**people / people * hyp2f1(people, people, people + 1, 1 - share)
    (found,) = individual_risk(np.array([people]), np.array([population]))
    assert float(exact) * (1 - 1e-9) <= found <= float(exact) * 1.03


@given(st.integers(1, 10**6), st.floats(0.0, 1e12))
def test_risk_is_a_chance_and_never_above_that_of_the_table_alone(
    people: int, population: float
) -> None:
    (found,) = individual_risk(np.array([people]), np.array([population]))
    assert 0 < found <= 1 / people
    if population <= people:
        assert found == 1 / people


@given(st.integers(1, 50), st.floats(1.0, 1e6), st.floats(1.0, 2.0))
def test_more_people_in_the_population_hide_better(people: int, factor: float, more: float) -> None:
    low, high = individual_risk(
        np.array([people, people]), np.array([people * factor, people * factor * more])
    )
    assert high <= low * (1 + 1e-9)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s"]),
        st.sampled_from([0, 1, None]),
        st.sampled_from(["x", "y", None]),
        st.sampled_from([1.0, 2.5, 30.0, None, 0.0, -4.0]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(ROWS)
def test_a_person_with_several_rows_counts_once_in_a_class(rows: list[tuple[Any, ...]]) -> None:
    names, kinds = ("who", "age", "home", "w"), (pa.string(), pa.int64(), pa.string(), pa.float64())
    table = pa.table(
        {
            name: pa.array(values, kind)
            for name, kind, values in zip(names, kinds, zip(*rows, strict=True), strict=True)
        }
    )
    classes: dict[Any, dict[str, float]] = {}
    for who, age, _, w in rows:
        held = classes.setdefault(age, {})
        held[who] = max(held.get(who, 0.0), w if w is not None and w > 0 else 1.0)
    expected = sum(len(c) * record_risk(len(c), sum(c.values())) for c in classes.values())
    found = discreet.assess(table, quasi=["age"], unit="who", weight="w", household="home")
    assert found.weighted is not None
    assert found.weighted.expected_people == pytest.approx(expected, rel=1e-9)
    assert found.weighted.without_weight == sum(w is None or w <= 0 for *_, w in rows)


PEOPLE = pa.table({"age": [30, 30, 41], "w": [10.0, 20.0, 5.0], "home": [1, 2, 2]})


def test_people_without_a_household_are_each_one_of_their_own() -> None:
    alone = PEOPLE.set_column(2, "home", pa.array([None, None, None], pa.int64()))
    found = discreet.assess(alone, quasi=["age"], weight="w", household="home").weighted
    assert found is not None
    assert found.household is not None
    assert found.household.expected_people == pytest.approx(found.expected_people)
    assert found.household.households == 3


def test_a_certain_member_makes_its_household_certain() -> None:
    sure = pa.table({"age": [1, 2, 2], "w": [1.0, 50.0, 60.0], "home": ["a", "a", "b"]})
    found = discreet.assess(sure, quasi=["age"], weight="w", household="home").weighted
    assert found is not None
    assert found.household is not None
    assert found.household.worst == 1.0


def test_weights_that_were_scaled_to_the_table_are_cautioned_about() -> None:
    scaled = PEOPLE.set_column(1, "w", [[0.9, 1.1, 1.0]])
    found = discreet.assess(scaled, quasi=["age"], weight="w")
    assert any("were scaled to the table" in caution for caution in found.cautions)
    assert found.risk.journalist.worst == found.risk.prosecutor.worst


def test_rows_without_a_weight_are_cautioned_about() -> None:
    lacking = PEOPLE.set_column(1, "w", [[None, 20.0, 5.0]])
    found = discreet.assess(lacking, quasi=["age"], weight="w")
    assert any("1 row has no positive number" in caution for caution in found.cautions)


def test_a_weight_of_the_policy_is_used_and_an_unsure_one_is_not() -> None:
    text = "tables: {t: {columns: {age: quasi-identifier, w: {role: weight%s}, home: household}}}"
    sure = discreet.assess(PEOPLE, parse_policy(text % ""), table="t")
    unsure = discreet.assess(PEOPLE, parse_policy(text % ", unsure: true"), table="t")
    assert sure.weighted is not None
    assert sure.weighted.household is not None
    assert unsure.weighted is None


def test_the_verdict_says_what_the_weights_stand_for() -> None:
    found = discreet.assess(PEOPLE, quasi=["age"], weight="w", household="home")
    assert "By the weights in w, which stand for 35 people" in found.verdict
    assert "share home with one who is" in found.verdict


def test_a_population_is_worth_more_than_weights() -> None:
    population = pa.table({"age": [30] * 9 + [41] * 4})
    found = discreet.assess(PEOPLE, quasi=["age"], weight="w", against=population)
    assert found.risk.journalist.worst == 0.25
    assert not found.risk.with_weights
    assert found.weighted is not None


def test_a_weight_that_is_no_number_is_refused() -> None:
    words = PEOPLE.set_column(1, "w", [["many", "few", "few"]])
    with pytest.raises(WrongUsage, match="no column of numbers"):
        discreet.assess(words, quasi=["age"], weight="w")


def test_a_weight_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownColumn, match="'wt'"):
        discreet.assess(PEOPLE, quasi=["age"], weight="wt")


@pytest.mark.parametrize("role", ["weight", "household"])
def test_a_column_of_two_roles_is_refused(role: str) -> None:
    roles: dict[str, Any] = {role: "age"}
    with pytest.raises(ConflictingRoles, match="'age'"):
        discreet.assess(PEOPLE, quasi=["age"], **roles)


def test_report_and_notebook_show_what_the_weights_say(tmp_path: Path) -> None:
    found = discreet.assess(PEOPLE, quasi=["age"], weight="w", household="home")
    page = tmp_path / "page.html"
    write_assessment_report(found, page)
    shown = "People expected to be found"
    assert 'id="weights"' in page.read_text("utf-8")
    assert shown in page.read_text("utf-8")
    assert shown in found._repr_html_()
    assert shown not in discreet.assess(PEOPLE, quasi=["age"])._repr_html_()
