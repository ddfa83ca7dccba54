"""What a question would cost and how exact it would be, before anything is read or spent."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator
    from discreet.answer.explain import Explanation

POLICY = """
tables:
  people:
    budget: {epsilon: 3, delta: 1e-3}
    partitions: {year: value}
    columns:
      age: {role: quasi-identifier, bounds: [0, 100]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
      year: {role: quasi-identifier}
"""
SIZE = 1000
PEOPLE = pa.table(
    {"age": [15, 85] * (SIZE // 2), "sex": ["F", "M"] * (SIZE // 2), "town": ["x"] * SIZE}
    | {"year": [2024] * SIZE}
)


@pytest.fixture
def curator() -> Curator:
    return hold({"people": PEOPLE}, POLICY)


@pytest.fixture
def explained(curator: Curator):
    def call(question: str, *, delta: float = 0, epsilon: float = 1, **options) -> Explanation:
        plan, text = curator.plan(question, epsilon=epsilon, delta=delta)
        return curator.explain_plan(plan, text, **options)

    return call


def test_nothing_is_read_and_nothing_spent(curator: Curator, explained):
    found = explained("SELECT sex, count(*), avg(age) FROM people GROUP BY sex")
    assert curator.engine.queries == []
    assert curator.ledger.accounts() == []
    assert (found.epsilon, found.delta) == (1.0, 0.0)
    assert found.remaining["epsilon"] == 3
    assert found.groups == 2
    assert found.mechanisms == 1


def test_an_explanation_says_what_the_answer_then_costs(curator: Curator, explained):
    question = "SELECT town, count(*), avg(age) FROM people GROUP BY town"
    found = explained(question, delta=1e-6)
    result = curator.ask(question, epsilon=1, delta=1e-6)
    assert result.spent == {"epsilon": found.epsilon, "delta": found.delta}
    assert found.threshold > 1
    assert found.groups is None


@pytest.mark.parametrize(
    "aggregate", ["count(*)", "count(age)", "sum(age)", "avg(age)", "variance(age)", "stddev(age)"]
)
def test_the_expected_error_is_that_of_an_answer(curator: Curator, explained, aggregate: str):
    question = f"SELECT {aggregate} AS x FROM people"
    (expected,) = explained(question, size=SIZE).expected
    (error,) = curator.ask(question, epsilon=1).error[0]
    # The answer's error is read at noisy sums, this one at the middle of the bounds.
    assert error.standard_error == pytest.approx(expected.standard_error, rel=0.15, abs=0.2)


@pytest.mark.parametrize(
    ("low", "high", "middle"), [(0, 100, 50), (-1000, 10, -495), (40, 60, 50), (-100, 100, 0)]
)
@pytest.mark.parametrize("aggregate", ["sum", "avg"])
def test_an_error_is_a_share_of_the_value_in_the_middle_of_the_bounds(
    explained, aggregate: str, low: int, high: int, middle: int
):
    number = f"least(greatest(age, {low}), {high})"
    (found,) = explained(f"SELECT {aggregate}({number}) FROM people", size=SIZE).expected
    value = abs(middle) * (SIZE if aggregate == "sum" else 1)
    share = found.within / value if value else None
    assert found.relative == (share if share is None else pytest.approx(share, rel=1e-3))


def test_no_epsilon_makes_an_error_a_share_of_nothing(explained):
    with pytest.raises(QuestionRefused, match="middle of its bounds"):
        explained("SELECT sum(least(greatest(age, -9), 9)) FROM people", within=Fraction(1, 10))


def test_errors_shrink_with_epsilon_and_size_and_grow_with_confidence(explained):
    question = "SELECT avg(age) FROM people"

    def within(**options) -> float:
        (found,) = explained(question, **options).expected
        return found.within

    assert within(epsilon=2) < within(epsilon=1) < within(epsilon=0.1)
    assert within(size=10_000) < within(size=1000) < within(size=100)
    assert within(confidence=0.5) < within(confidence=0.95) < within(confidence=0.999)


@pytest.mark.parametrize("within", ["1/100", "1/20", "1/2"])
def test_the_needed_epsilon_is_enough_and_no_more(explained, within: str):
    question = "SELECT count(*), avg(age) FROM people"
    share = Fraction(within)
    needed = explained(question, within=share).needed_epsilon
    enough = explained(question, epsilon=needed * 1.001).expected
    assert all(item.relative <= share for item in enough)
    little = explained(question, epsilon=needed * 0.98).expected
    assert any(item.relative > share for item in little)


def test_an_error_that_no_epsilon_gives_is_refused(explained):
    with pytest.raises(QuestionRefused, match="No epsilon"):
        explained("SELECT avg(age) FROM people", within=Fraction(1, 10**6), size=1)


@pytest.mark.parametrize("aggregate", ["median(age)", "count(DISTINCT town)"])
def test_errors_that_depend_on_the_data_are_not_promised(explained, aggregate: str):
    question = f"SELECT {aggregate} FROM people"
    (found,) = explained(question).expected
    assert found.relative is None
    with pytest.raises(QuestionRefused, match="depends on the data"):
        explained(question, within=Fraction(1, 20))


def test_a_median_reports_how_many_ranks_it_may_be_off(explained):
    (near,) = explained("SELECT median(age) FROM people", epsilon=10).expected
    (far,) = explained("SELECT median(age) FROM people", epsilon=0.1).expected
    assert 0 < near.ranks < far.ranks


def test_the_parts_that_are_charged_are_named(explained):
    assert explained("SELECT count(*) FROM people").cells == {"people": None}
    (cell,) = explained("SELECT count(*) FROM people WHERE year = 2024").cells["people"]
    assert "2024" in cell


def test_the_explanation_is_plain_json(explained):
    found = explained("SELECT sex, count(*) FROM people GROUP BY sex").to_dict()
    assert found["expected"][0]["aggregate"] == "count"
    assert {"epsilon", "delta", "noise", "expected", "remaining", "cautions"} <= set(found)
