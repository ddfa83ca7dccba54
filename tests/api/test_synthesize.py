"""`discreet.synthesize`: rows obey their domain, numbers that are published follow from the noisy model."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.api import synthesize as module
from discreet.dp.accounting.conversion import epsilon_of_rho
from discreet.dp.accounting.pricing import price
from discreet.dp.event import Sequence
from discreet.errors import (
    BudgetExceeded,
    InvalidBudget,
    UndeclaredDomain,
    UndeclaredUnit,
    UnknownColumn,
    WrongUsage,
)
from discreet.policy import parse_policy
from discreet.report.synthetic import render_synthetic_page

DECLARED: dict[str, Any] = {
    "bounds": {"age": (0, 99), "income": (0, 9000)},
    "values": {"sex": ["f", "m"], "ill": ["no", "yes"]},
    "identifiers": ["name"],
    "method": "fast",
    "accept_risk": "a test",
}


def draw_people(rows: int) -> Any:
    chance = np.random.default_rng(3)
    age = chance.integers(18, 90, rows)
    return pa.table(
        {
            "name": [f"Zebulon Quackenbush {number}" for number in range(rows)],
            "age": pa.array(age, mask=chance.random(rows) < 0.05),
            "sex": chance.choice(["f", "m"], rows),
            "income": np.round(chance.lognormal(7, 0.5, rows), 2),
            "ill": np.where(chance.random(rows) < age / 100, "yes", "no"),
        }
    )


PEOPLE = draw_people(500)


@pytest.fixture(scope="module")
def made() -> Any:
    return discreet.synthesize(PEOPLE, **DECLARED)


def test_rows_obey_the_declared_domain(made: Any):
    rows = made.to_arrow()
    assert rows.column_names == PEOPLE.column_names
    assert {*rows["sex"].to_pylist()} <= {"f", "m", None}
    assert all(0 <= age <= 99 for age in rows["age"].to_pylist() if age is not None)
    assert all(0 <= pay <= 9000 for pay in rows["income"].to_pylist() if pay is not None)


def test_no_identifier_of_the_source_is_in_the_table(made: Any):
    assert not {*made.to_arrow()["name"].to_pylist()} & {*PEOPLE["name"].to_pylist()}


def test_the_number_of_rows_is_the_noisy_one(made: Any):
    assert made.rows == max(1, round(made.total))
    assert made.total != len(PEOPLE)


def test_the_frame_is_of_the_callers_kind():
    found = discreet.synthesize(
        pl.from_arrow(PEOPLE).select("sex"), values={"sex": ["f", "m"]}, method="fast", rows=5
    )
    assert isinstance(found.frame, pl.DataFrame)
    assert found.to_pandas().shape == (5, 1)


def test_a_result_shows_no_row(made: Any):
    row = made.to_arrow()["name"][0].as_py()
    assert row not in repr(made)
    assert row not in made._repr_html_()


@pytest.mark.statistics
def test_attacks_on_a_released_table_learn_no_more_than_epsilon_allows(made: Any):
    """Advantage of membership ≤ (e^ε - 1) / (e^ε + 1) + δ; alpha 1e-9 by six deviations of people and others."""
    bound = (math.exp(made.epsilon) - 1) / (math.exp(made.epsilon) + 1) + made.delta
    tried = [one for one in made.findings if one.attack in ("closest", "membership")]
    assert len(tried) >= 2
    for found in tried:
        others = found.details["control_targets"]
        deviation = math.sqrt(0.25 / found.targets + 0.25 / others)
        assert found.rate - (found.control or 0.0) <= bound + 6 * deviation


def test_more_rows_follow_from_the_model_alone(made: Any):
    drawn = discreet.sample(made.model, rows=40, seed=2)
    assert drawn.to_arrow().num_rows == 40
    assert drawn.to_arrow() == discreet.sample(made.model, rows=40, seed=2).to_arrow()


def test_one_error_names_all_that_is_not_declared():
    with pytest.raises(UndeclaredDomain) as refused:
        discreet.synthesize(PEOPLE, values={"sex": ["f", "m"]})
    assert refused.value.columns == ("name", "age", "income", "ill")


def test_a_column_that_is_declared_must_exist():
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        discreet.synthesize(PEOPLE, bounds={"agee": (0, 99)})
    with pytest.raises(UnknownColumn):
        discreet.synthesize(PEOPLE, **{**DECLARED, "target": "nowhere"})


def test_a_table_without_any_declaration_needs_a_policy():
    with pytest.raises(WrongUsage, match="which values are possible"):
        discreet.synthesize(PEOPLE)


def test_pure_epsilon_has_no_delta():
    made = discreet.synthesize(PEOPLE.select(["sex"]), values={"sex": ["f", "m"]}, method="pure")
    assert (made.delta, made.spent["delta"]) == (0.0, 0.0)


@pytest.fixture
def same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table has the noisy model of the first one."""
    kept: dict[str, Any] = {}
    release = module.release_mechanism

    def once(*arguments: Any, **options: Any) -> Any:
        if "found" not in kept:
            kept["found"] = release(*arguments, **options)
        return kept["found"]

    monkeypatch.setattr(module, "release_mechanism", once)


@pytest.mark.usefixtures("same_model")
@pytest.mark.parametrize("count", [500, 10])  # of ten people two can be set aside, of nine none
def test_all_that_is_published_is_the_same_on_neighbors_with_the_same_noisy_model(count: int):
    people = PEOPLE.slice(0, count)
    first, second = (discreet.synthesize(one, **DECLARED) for one in (people, people.slice(1)))
    published = [
        {name: value for name, value in (one.manifest_content or {}).items() if name != "made"}
        for one in (first, second)
    ]
    assert published[0] == published[1]
    assert first.to_arrow() == second.to_arrow()
    assert first.model.to_bytes() == second.model.to_bytes()


def test_how_few_people_the_source_has_is_not_published():
    options: dict[str, Any] = {**DECLARED, "sensitive": ["ill"], "rows": 50}
    few, many = (discreet.synthesize(draw_people(number), **options) for number in (9, 10))
    assert (bool(few.findings), bool(many.findings)) == (False, True)  # the custodian sees it
    first, second = ((found.manifest_content or {})["release"] for found in (few, many))
    assert set(first["attacks"]) == {found.attack for found in many.findings}
    assert first["attacks"] == second["attacks"]
    assert "linkability" in render_synthetic_page(few)


def test_a_frame_without_types_needs_no_policy_where_the_call_declares_its_columns():
    people = pd.DataFrame(
        {
            "id": [*range(100)] * 2,
            "age": [30.0, None] * 100,  # as pandas has whole numbers beside missing ones
            "pay": [1, 2] * 100,
            "sex": ["f", "m"] * 100,
            "ill": [True, None] * 100,
        }
    )
    made = discreet.synthesize(
        people,
        unit="id",
        rows_per_unit=2,
        bounds={"age": (0, 99), "pay": (0.0, 9.5)},
        values={"sex": ["f", "m"], "ill": [False, True]},
        method="fast",
        accept_risk="a test",
    )
    assert isinstance(made.frame, pd.DataFrame)
    kinds = {field.name: str(field.type) for field in made.to_arrow().schema}
    wanted = {"id": "string", "age": "int64", "pay": "double", "sex": "string", "ill": "bool"}
    assert kinds == wanted


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"bounds": {"age": (0, float("inf"))}}, "not two numbers"),
        ({"bounds": {"age": ("2020-01-01", "2021-01-01")}}, "not two numbers"),
        ({"bounds": {"age": (9, 0)}}, "Swap them"),
        ({"values": {"sex": []}}, "no `values`"),
    ],
)
def test_what_a_call_declares_wrongly_is_refused(declared: Any, words: str):
    with pytest.raises(WrongUsage, match=words):
        discreet.synthesize(PEOPLE, **declared)


def test_an_epsilon_that_no_noise_is_large_enough_for_is_refused_before_it_is_charged():
    with pytest.raises(InvalidBudget, match="large enough"):
        discreet.explain_synthesis(PEOPLE.select(["sex"]), values={"sex": ["f"]}, epsilon="1e-9")


PARTLY = """
tables:
  people:
    unit: row
    columns:
      first: %s
      last: {role: sensitive, bounds: [0, 9]}
"""


def test_a_policy_without_a_unit_is_not_taken_for_one_of_rows():
    undeclared = parse_policy((PARTLY % "sensitive").replace("unit: row", "id: people-of-a-test"))
    people = pa.table({"first": [1, 2] * 50, "last": [4, 5] * 50})
    with pytest.raises(UndeclaredUnit):
        discreet.explain_synthesis(people, undeclared, bounds={"first": (0, 9)})


def test_another_hierarchy_of_a_column_whose_bounds_are_found_is_another_request(tmp_path: Path):
    people = tmp_path / "people.parquet"
    pq.write_table(pa.table({"first": [1, 2, 3, 4] * 50, "last": [4, 5, 6, 7] * 50}), people)
    options: dict[str, Any] = {"find_domains": "0.2", "method": "fast", "accept_risk": "a test"}
    first, second, again = (
        discreet.synthesize(
            people,
            parse_policy(PARTLY % f"{{role: sensitive, hierarchy: {{intervals: [{width}]}}}}"),
            ledger=tmp_path / "ledger.db",
            **options,
        )
        for width in (2, 4, 2)
    )
    assert (first.cached, second.cached, again.cached) == (False, False, True)


def test_rows_that_cannot_be_drawn_are_refused_before_anything_is_paid(tmp_path: Path):
    ledger = tmp_path / "ledger.db"
    with pytest.raises(WrongUsage, match="too many to draw at once"):
        discreet.synthesize(PEOPLE, **DECLARED, rows=10**9, ledger=ledger)
    paid = discreet.synthesize(PEOPLE, **DECLARED, rows=5, ledger=ledger)
    assert paid.cached is False


def test_several_rows_of_a_unit_count_as_far_as_is_allowed():
    visits = pa.table({"who": [n % 100 for n in range(400)], "ward": ["a", "b"] * 200})
    made = discreet.synthesize(
        visits, unit="who", rows_per_unit=2, values={"ward": ["a", "b"]}, method="fast"
    )
    assert (made.unit, made.rows_per_unit) == ("who", 2)


STAYS = """
tables:
  data:
    unit: row
    columns:
      admitted: {role: quasi-identifier, bounds: [2024-01-01, 2024-03-31]}
      left: {role: quasi-identifier, bounds: [2024-01-01, 2024-03-31]}
      sex: {role: quasi-identifier, values: [f, m]}
      pregnant: {role: sensitive, values: ['no', 'yes']}
    rules:
      - order: [admitted, left]
      - never: {sex: m, pregnant: 'yes'}
      - never: {sex: {missing: true}}
"""


def test_rules_of_the_policy_hold_in_every_row():
    chance = np.random.default_rng(1)
    first = np.datetime64("2024-01-01") + chance.integers(0, 60, 300)
    sex = chance.choice(["f", "m"], 300)
    stays = pa.table(
        {
            "admitted": pa.array(first),
            "left": pa.array(first + chance.integers(0, 30, 300)),
            "sex": sex,
            "pregnant": np.where((sex == "f") & (chance.random(300) < 0.4), "yes", "no"),
        }
    )
    made = discreet.synthesize(stays, parse_policy(STAYS), method="fast", accept_risk="a test")
    rows = made.to_arrow().to_pylist()
    both = [row for row in rows if row["admitted"] and row["left"]]
    assert all(row["admitted"] <= row["left"] for row in both)
    assert not any(row["sex"] == "m" and row["pregnant"] == "yes" for row in rows)
    assert all(row["sex"] is not None for row in rows)


def test_a_policy_can_be_declared_further():
    text = "tables: {data: {unit: row, columns: {sex: {role: quasi-identifier, values: [f, m]}}}}"
    made = discreet.synthesize(
        PEOPLE.select(["sex", "age"]), parse_policy(text), bounds={"age": (0, 99)}, method="fast"
    )
    assert made.to_arrow().column_names == ["sex", "age"]


FINDING: dict[str, Any] = {
    "quasi": ["age", "sex"],
    "sensitive": ["ill"],
    "find_domains": "0.2",
    "epsilon": 4,
    "method": "fast",
    "accept_risk": "a test",
}


@pytest.fixture(scope="module")
def crowd() -> Any:
    people = draw_people(4000).drop_columns(["name", "income"])
    last = pa.table({"age": [10**9], "sex": ["rare"], "ill": ["no"]}, schema=people.schema)
    return pa.concat_tables([people, last])


def test_domains_that_are_not_declared_are_found_for_a_share(crowd: Any, tmp_path: Any):
    ledger = tmp_path / "ledger.db"
    made = discreet.synthesize(crowd, **FINDING, ledger=ledger)
    rows = made.to_arrow()
    assert rows.column_names == ["age", "sex", "ill"]
    assert {*rows["sex"].to_pylist()} <= {"f", "m", "*", None}
    assert all(0 <= age <= 128 for age in rows["age"].to_pylist() if age is not None)
    assert made.spent["epsilon"] == 4
    assert any("20% of the price" in caution for caution in made.cautions)
    assert [one.name for one in made.model.domain.columns] == ["age", "sex", "ill"]


def test_domains_are_found_within_the_price(crowd: Any):
    with module._open_synthesis(crowd, None, FINDING) as opened:
        request = opened.request
        plans = opened._domain_searches.plan(opened.held)
    paid = price(Sequence(tuple(plan.event for plan in plans)))
    counts = request.make_budget(sensitivity=1, one=1).left
    assert paid.rho + counts <= request.price.rho
    assert paid.slip <= request.price.slip == request.delta / 2
    assert epsilon_of_rho(request.price.rho, delta=request.delta / 2) <= 4


def test_values_cannot_be_found_without_a_delta(crowd: Any):
    with pytest.raises(InvalidBudget, match="needs a delta"):
        discreet.synthesize(crowd, **FINDING | {"method": "pure"})


def test_an_explanation_names_what_would_be_found(crowd: Any):
    asked = {name: value for name, value in FINDING.items() if name != "accept_risk"}
    found = discreet.explain_synthesis(crowd, **asked)
    assert [(one.column, one.made) for one in found.columns] == [
        ("age", "synthesized, bounds found privately"),
        ("sex", "synthesized, values found privately"),
        ("ill", "synthesized, values found privately"),
    ]
    with pytest.raises(InvalidBudget, match="above 0 and below 1"):
        discreet.explain_synthesis(crowd, **asked | {"find_domains": 1})


def test_predictions_of_the_target_are_judged_for_a_price_of_their_own(tmp_path: Any):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    asked = {**DECLARED, "target": "ill", "evaluate": 1, "ledger": tmp_path / "ledger.sqlite"}
    first = discreet.synthesize(tmp_path / "people.parquet", **asked)
    assert first.spent["epsilon"] == 2
    assert first.evaluation is not None
    assert (first.evaluation.target, first.evaluation.question) == ("ill", "ill = yes")
    again = discreet.synthesize(tmp_path / "people.parquet", **asked)
    assert again.spent["epsilon"] == 0
    assert again.evaluation == first.evaluation
    assert again.remaining == first.remaining
    assert "evaluation" not in str(first.manifest_content)


def test_an_evaluation_is_refused_before_anything_is_read():
    with pytest.raises(WrongUsage, match="--target"):
        discreet.synthesize(PEOPLE, **DECLARED, evaluate=1)
    with pytest.raises(InvalidBudget, match=r"0\.1"):
        discreet.synthesize(PEOPLE, **DECLARED, target="ill", evaluate=0)


def test_over_budget_with_its_evaluation_the_table_is_not_paid_either(tmp_path: Any):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    asked = {**DECLARED, "target": "ill", "ledger": tmp_path / "ledger.sqlite"}
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 1001 .*Nothing was spent"):
        discreet.synthesize(tmp_path / "people.parquet", **asked, evaluate=1000)
    alone = discreet.synthesize(tmp_path / "people.parquet", **asked)
    assert alone.spent["epsilon"] == 1
    # Paid for already, the table is free, and the evaluation is refused alone.
    with pytest.raises(BudgetExceeded, match=r"costs epsilon 1000,"):
        discreet.synthesize(tmp_path / "people.parquet", **asked, evaluate=1000)


def test_missing_values_that_noise_may_have_made_are_named_and_a_rule_prevents_them():
    policy = """
tables:
  people:
    limits: {rows-per-unit: 1}
    columns:
      sex: {role: insensitive, kind: text, values: [f, m]}
      ill: {role: insensitive, kind: text, values: ["no", "yes"]}
"""
    people = PEOPLE.select(["sex", "ill"]).slice(0, 60)
    asked = {"method": "fast", "epsilon": "0.2", "accept_risk": "a test", "rows": 3000}
    for _ in range(40):  # until noise has put some there: one in two times
        found = discreet.synthesize(people, parse_policy(policy), **asked)
        gaps = [one for one in found.cautions if "missing: true" in one]
        cells = found.to_arrow()
        if gaps:
            break
    assert gaps
    assert cells["sex"].null_count + cells["ill"].null_count > 0
    rules = (
        "    rules:\n      - never: {sex: {missing: true}}\n      - never: {ill: {missing: true}}\n"
    )
    ruled = parse_policy(policy.replace("    columns:\n", rules + "    columns:\n"))
    found = discreet.synthesize(people, ruled, **asked)
    assert not [one for one in found.cautions if "missing: true" in one]
    assert found.to_arrow()["sex"].null_count == 0
