"""Analysts who cheat: averaging, rare keys, errors, parts of a table, and budgets that must not be stretched."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.answer.curators import hold, without_noise

import discreet
from discreet.errors import BudgetExceeded, DiscreetError, QuestionRefused
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.answer.curator import Curator

POLICY = """
tables:
  people:
    unit: row
    budget: {epsilon: 1, delta: 0.1}
    columns:
      name: {role: identifier}
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      disease: {role: sensitive}
      pay: {role: sensitive, bounds: [0, 1000]}
"""
OLD = "SELECT count(*) FROM people WHERE age >= 40"


def _people() -> pa.Table:
    chance = np.random.default_rng(3)
    return pa.table(
        {
            "name": ["Alice", *(f"person {number}" for number in range(999))],
            "age": [44, *chance.integers(0, 90, 999).tolist()],
            "sex": ["X", *chance.choice(["F", "M"], 999).tolist()],
            "disease": ["rare", *chance.choice(["flu", "cold"], 999).tolist()],
            "pay": [500.0, *chance.uniform(0, 900, 999).tolist()],
        }
    )


@pytest.fixture
def curator() -> Curator:
    return hold({"people": _people()}, POLICY)


def _left(curator: Curator, **options: Any) -> float:
    answer = curator.ask(OLD, epsilon="0.001", **options)
    return answer.remaining["epsilon"]


def test_the_same_question_has_the_same_answer_and_is_free(curator: Curator) -> None:
    first = curator.ask(OLD, epsilon="0.1")
    again = [curator.ask(OLD, epsilon="0.1") for _ in range(50)]
    assert {answer.rows[0][0] for answer in again} == {first.rows[0][0]}
    assert all(answer.cached and answer.spent["epsilon"] == 0 for answer in again)
    assert again[-1].remaining == first.remaining


@pytest.mark.parametrize(
    "written",
    [
        "select COUNT(*) from PEOPLE where AGE >= 40",
        "SELECT count(*)\nFROM people -- again\nWHERE age >= 40",
        "SELECT count(*) FROM people WHERE age >= 40;",
    ],
)
def test_another_way_of_writing_is_the_same_question(curator: Curator, written: str) -> None:
    curator.ask(OLD, epsilon="0.1")
    assert curator.ask(written, epsilon="0.1").cached


def test_the_answer_to_an_old_question_is_returned_when_nothing_is_left(curator: Curator) -> None:
    first = curator.ask(OLD, epsilon=1)
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT count(*) FROM people", epsilon="0.001")
    assert curator.ask(OLD, epsilon=1).rows == first.rows


def test_what_means_the_same_in_other_words_is_paid_for_until_nothing_is_left(
    curator: Curator,
) -> None:
    """Averaging would need more questions than the budget allows."""
    result: list[int] = []
    for number in range(10):
        question = f"SELECT count(*) FROM people WHERE age >= 40 AND age < {1000 + number}"
        result.append(curator.ask(question, epsilon="0.1").rows[0][0])
    with pytest.raises(BudgetExceeded):
        curator.ask("SELECT count(*) FROM people WHERE NOT age < 40", epsilon="0.1")
    assert len(result) == 10


@pytest.mark.parametrize(
    "changed",
    [{"epsilon": "0.1001"}, {"noise": "gaussian"}, {"confidence": 0.5}, {"consistent": True}],
    ids=str,
)
def test_no_option_brings_fresh_noise_for_free(curator: Curator, changed: dict[str, Any]) -> None:
    options: dict[str, Any] = {"epsilon": "0.1", "delta": "0.00001", "noise": "laplace"}
    first, second = curator.ask(OLD, **options), curator.ask(OLD, **options | changed)
    paid = first.remaining["epsilon"] - second.remaining["epsilon"]
    assert paid > 0.099 or second.rows == first.rows


def test_refused_questions_cost_nothing_and_reveal_nothing(curator: Curator) -> None:
    with pytest.raises(QuestionRefused):
        curator.ask("SELECT name FROM people", epsilon="0.5")
    assert _left(curator) == pytest.approx(0.999)


def test_changed_data_are_paid_for_again(tmp_path: Path) -> None:
    """Otherwise the difference of two answers would tell what was added, without noise of its own."""
    path, policy = tmp_path / "people.parquet", parse_policy(POLICY)
    remaining: list[float] = []
    for table in (_people(), _people().slice(1)):
        pq.write_table(table, path)
        with discreet.open(path, policy, ledger=tmp_path / "ledger.sqlite") as curator:
            remaining.append(curator.ask(OLD, epsilon="0.25").remaining["epsilon"])
    assert remaining == [0.75, 0.5]


def test_a_budget_outlives_its_curator(tmp_path: Path) -> None:
    path, policy = tmp_path / "people.parquet", parse_policy(POLICY)
    pq.write_table(_people(), path)
    with discreet.open(path, policy, ledger=tmp_path / "ledger.sqlite") as curator:
        curator.ask(OLD, epsilon=1)
    with (
        discreet.open(path, policy, ledger=tmp_path / "ledger.sqlite") as curator,
        pytest.raises(BudgetExceeded),
    ):
        curator.ask("SELECT count(*) FROM people", epsilon="0.001")


BY_DISEASE = "SELECT disease, count(*) AS n FROM people GROUP BY disease"


def test_a_key_that_is_not_public_needs_a_delta(curator: Curator) -> None:
    with pytest.raises(QuestionRefused, match="rare one"):
        curator.ask(BY_DISEASE, epsilon=1)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_rare_key_is_never_released(noise: Any) -> None:
    """Each time with chance 1e-9 at most; 40 times with 4e-8."""
    curator = hold({"people": _people()}, POLICY.replace("epsilon: 1,", "epsilon: 1000,"))
    for number in range(40):
        answer = curator.ask(BY_DISEASE, epsilon=f"1.{number:03d}", delta=1e-9, noise=noise)
        assert [row[0] for row in answer.rows] == ["cold", "flu"]


def test_a_key_outside_the_public_values_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    table = _people().filter(pc.not_equal(_people()["sex"], "M"))
    answer = hold({"people": table}, POLICY).ask(
        "SELECT sex, count(*) FROM people GROUP BY sex", epsilon=1
    )
    assert [row[0] for row in answer.rows] == ["F", "M"]
    assert answer.rows[1][1] == 0


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM people WHERE 1 / (CASE WHEN name = 'Alice' THEN 0 ELSE 1 END) > 0",
        "SELECT sum(CASE WHEN name = 'Alice' THEN 1e308 * 10 ELSE 1 END) FROM people",
        "SELECT count(*) FROM people WHERE CAST(disease AS INTEGER) > 0",
        "SELECT count(*) FROM people WHERE sqrt(age - 44) > 1",
        "SELECT count(*) FROM people WHERE ln(age - 44) > 1",
        "SELECT sum(pay) FROM people WHERE age % (age - 44) = 0",
        "SELECT count(*) FROM people WHERE age * 9223372036854775807 > 0",
        "SELECT count(*) FROM people WHERE CAST(name AS DATE) > DATE '2024-01-01'",
        "SELECT max(pay / (age - 44)) FROM people",
        "SELECT count(*) FROM people WHERE error(name) IS NULL",
        "SELECT count(*) FROM people WHERE repeat(name, 1000000000) = name",
        "SELECT CAST(disease AS INTEGER), count(*) FROM people GROUP BY 1",
    ],
)
def test_whether_alice_is_there_decides_over_no_error(question: str) -> None:
    """Either the question is refused for what it says, or it is answered with and without her."""
    result: list[str] = []
    for table in (_people(), _people().slice(1), _people().slice(0, 0)):
        curator = hold({"people": table}, POLICY)
        try:
            curator.ask(question, epsilon=1, delta=1e-6)
            result.append("answered")
        except DiscreetError as error:
            result.append(str(error))
    assert len(set(result)) == 1
    assert "Alice" not in result[0] or "Alice" in question


EVENTS = """
tables:
  events:
    budget: {epsilon: 1}
    partitions: {day: month}
    columns:
      day: {role: quasi-identifier}
      other: {role: quasi-identifier}
      pay: {role: sensitive, bounds: [0, 10]}
"""
JANUARY = "SELECT count(*) FROM events WHERE day >= '2024-01-01' AND day < '2024-02-01'"
FEBRUARY = "SELECT sum(pay) FROM events WHERE day BETWEEN '2024-02-01' AND '2024-02-29'"
MARCH = "day >= '2024-03-01' AND day < '2024-04-01'"
OVERLAPPING = [
    "FROM events WHERE day >= '2024-01-31' AND day <= '2024-02-01'",
    "FROM events WHERE day < '2024-01-02'",
    "FROM events",
    "FROM events WHERE pay > 3",
    "FROM events WHERE day >= '2024-03-01' OR pay > 3",
    "FROM events WHERE NOT day >= '2024-02-01'",
    "FROM events WHERE day <> '2024-03-01'",
    "FROM events WHERE other >= '2024-03-01' AND other < '2024-04-01'",
    f"FROM (SELECT other AS day, pay FROM events) e WHERE {MARCH}",
    f"FROM (SELECT coalesce(other, day) AS day, pay FROM events) e WHERE {MARCH}",
    f"FROM (SELECT pay FROM events WHERE {MARCH} UNION ALL SELECT pay FROM events) e",
    f"FROM events WHERE ({MARCH}) OR day = '2024-01-05'",
    f"FROM events WHERE ({MARCH}) IS NOT NULL",
]


@pytest.fixture
def events() -> Curator:
    days = [dt.date(2024, month, day) for month in (1, 2, 3) for day in (1, 15, 29)]
    table = pa.table({"day": days, "other": days[::-1], "pay": [1.0] * len(days)})
    return hold({"events": table}, EVENTS)


def test_questions_about_disjoint_months_are_paid_for_apart(events: Curator) -> None:
    events.ask(JANUARY, epsilon=1)
    answer = events.ask(FEBRUARY, epsilon=1)
    assert answer.spent["epsilon"] == 1


@pytest.mark.parametrize("source", OVERLAPPING)
def test_questions_about_overlapping_months_add_up(events: Curator, source: str) -> None:
    """January may be touched, of which nothing is left."""
    events.ask(JANUARY, epsilon=1)
    with pytest.raises(BudgetExceeded):
        events.ask(f"SELECT sum(pay) {source}", epsilon="0.001")


def test_conditions_of_single_aggregates_make_no_parts(events: Curator) -> None:
    events.ask(JANUARY, epsilon=1)
    with pytest.raises(BudgetExceeded):
        events.ask(f"SELECT sum(pay) FILTER (WHERE {MARCH}) FROM events", epsilon="0.001")


def test_a_question_pays_for_the_parts_of_all_its_subqueries(events: Curator) -> None:
    events.ask(JANUARY, epsilon=1)
    with pytest.raises(BudgetExceeded):
        events.ask(
            f"WITH a AS (SELECT count(*) AS n FROM events WHERE {MARCH}), "
            "b AS (SELECT count(*) AS n FROM events WHERE day = '2024-01-05') "
            "SELECT a.n + b.n AS n FROM a CROSS JOIN b",
            epsilon="0.001",
        )


def test_after_a_question_about_all_months_each_has_less(events: Curator) -> None:
    events.ask("SELECT sum(pay) FROM events", epsilon="0.5")
    events.ask(JANUARY, epsilon="0.5")
    with pytest.raises(BudgetExceeded):
        events.ask(FEBRUARY, epsilon="0.501")
    events.ask(FEBRUARY, epsilon="0.5")
