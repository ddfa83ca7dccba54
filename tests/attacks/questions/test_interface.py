"""Whatever answers SQL: what it says, refuses, and how often it was asked."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import condition

from discreet.attacks.questions.interface import Interface, InterfaceReply
from discreet.errors import BudgetExceeded, EngineFailed, QuestionRefused


def replying(value: object, **options: object) -> Interface:
    return Interface(lambda _: value, **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    "value", [7, 7.0, [7], [[7]], [(7, 1)], [{"n": 7}], {"n": 7}, pa.table({"n": [7]})]
)
def test_numbers_rows_mappings_and_arrow_tables_are_all_answers(value):
    assert replying(value).count() == 7.0


def test_a_sum_over_no_one_is_zero_and_none_is_a_refusal():
    assert replying([[None]]).total("age") == 0.0
    assert replying(None).total("age") is None


def test_questions_and_refusals_are_counted_and_written_down():
    replies = iter([3, None, 4])
    interface = Interface(lambda _: next(replies), source="people")
    interface.count()
    interface.count(condition("age > 3"))
    interface.total("age", condition("age > 3"))
    assert (interface.questions, interface.refusals) == (3, 1)
    assert [asked.question for asked in interface.transcript] == [
        'SELECT COUNT(*) FROM "people"',
        'SELECT COUNT(*) FROM "people" WHERE age > 3',
        'SELECT SUM("age") FROM "people" WHERE age > 3',
    ]


def test_a_question_that_was_asked_is_recalled_but_can_be_asked_again():
    replies = iter([3, 4])
    interface = Interface(lambda _: next(replies))
    assert [interface.count(), interface.count()] == [3.0, 3.0]
    assert interface.questions == 1
    assert interface.ask('SELECT COUNT(*) FROM "data"').number == 4.0


def test_the_adversarys_own_budget_ends_all_questions():
    interface = replying(5, budget=2)
    answers = [interface.count(condition(f"x = {number}")) for number in range(3)]
    assert answers == [5.0, 5.0, None]
    assert (interface.questions, interface.refusals, interface.ended) == (2, 0, "questions")


def test_a_refusal_is_no_end_and_a_spent_budget_is():
    def answer(text: str) -> object:
        if "2" in text:
            raise BudgetExceeded("spent")
        raise QuestionRefused("no")

    interface = Interface(answer)
    assert interface.ask("1") == InterfaceReply(None, "question-refused")
    assert not interface.ended
    assert interface.ask("2").refusal == "budget-exceeded"
    assert interface.ended == "budget-exceeded"
    interface.ask("3")
    assert interface.questions == 2


def test_a_failure_is_no_refusal():
    def answer(text: str) -> object:
        raise EngineFailed("broken")

    with pytest.raises(EngineFailed):
        Interface(answer).count()
