"""A private histogram of rows per person says what each limit cuts off, and which one errs least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise

from discreet.errors import BudgetExceeded, InvalidBudget, QuestionRefused, WrongUsage

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

POLICY = """
tables:
  trips: {unit: pid, budget: {epsilon: 10}, columns: {pid: identifier}}
  towns: {columns: {name: identifier}}
"""
# 1,000 people with 3 rows and 100 with 40.
ROWS = [n for n in range(1000) for _ in range(3)] + [
    n for n in range(1000, 1100) for _ in range(40)
]


def _curator(rows: list[int] = ROWS) -> Curator:
    return hold({"trips": pa.table({"pid": rows}), "towns": pa.table({"name": ["a"]})}, POLICY)


def test_the_error_against_the_limit_is_that_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    with _curator() as curator:
        found = curator.limits("trips", epsilon=1)
    cut = {one.limit: round(one.bias) for one in found.curve}
    assert (round(found.people), round(found.rows)) == (1100, 7000)
    assert cut == {
        1: 7000 - 1100,
        2: 7000 - 2200,
        4: 7000 - 3400,
        8: 7000 - 3800,
        16: 7000 - 4600,
        32: 7000 - 6200,
        64: 0,
    }
    assert found.recommended == 64


def test_more_groups_and_less_epsilon_recommend_a_lower_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_noise(monkeypatch)
    with _curator() as curator:
        many = curator.limits("trips", epsilon=1, for_epsilon="0.01", groups=50)
    assert many.recommended == 1


def test_it_is_charged_once_and_free_again() -> None:
    with _curator() as curator:
        first = curator.limits("trips", epsilon="0.25")
        again = curator.limits("trips", epsilon="0.25", groups=9)
    assert (first.spent["epsilon"], first.remaining["epsilon"]) == (0.25, 9.75)
    assert (again.spent["epsilon"], again.remaining["epsilon"]) == (0.0, 9.75)
    assert (again.people, again.rows, again.cached) == (first.people, first.rows, True)


def test_what_it_says_holds_through_real_noise() -> None:
    """At epsilon 8, noise of scale 1/8 moves 1,100 people by 20 with a chance below 1e-60."""
    with _curator() as curator:
        found = curator.limits("trips", epsilon=8)
    assert found.people == pytest.approx(1100, abs=20)
    assert found.recommended == 64


def test_groups_of_few_people_are_not_released() -> None:
    with _curator([1] * 5000 + [2]) as curator:
        found = curator.limits("trips", epsilon="0.01")
    if found.recommended is None:  # but with a chance of about 1 %, that noise looks like people
        assert len(found.curve) == 1


@pytest.mark.parametrize(
    ("table", "epsilon", "kind"),
    [
        ("towns", 1, QuestionRefused),
        ("trips", 0, InvalidBudget),
        ("trips", 101, InvalidBudget),
        ("trips", 11, BudgetExceeded),
        (None, 1, WrongUsage),
    ],
)
def test_a_question_without_an_answer_costs_nothing(
    table: str | None, epsilon: int, kind: type[Exception]
) -> None:
    with _curator() as curator:
        with pytest.raises(kind):
            curator.limits(table, epsilon=epsilon)
        assert curator.ledger.accounts() == []
