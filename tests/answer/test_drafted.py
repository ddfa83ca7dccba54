"""What `init` drafted from the data is public to no question until the custodian confirms it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.answer.question_key import question_key
from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.errors import NoBounds, QuestionRefused
from discreet.measure.profile import draft_tables
from discreet.policy.load import parse_policy

PEOPLE = pa.table(
    {
        "age": [n % 70 + 18 for n in range(200)],
        "sex": ["f", "m"] * 100,
        "salary": [20_000 + 317 * n for n in range(200)],
        "well": [True, False] * 100,
    }
)
OF_BOUNDS = ["sum(salary)", "avg(age)", "median(salary)", "max(salary)", "sum(salary / 12)"]


def _draft(data: pa.Table) -> str:
    found = open_table(data)
    table = Table(found.engine, found.relation, found.columns, "people")
    return draft_tables([table]).to_yaml()


def _refusal(question: str, policy: str, data: pa.Table = PEOPLE, **options: Any) -> str:
    with hold({"people": data}, policy) as curator, pytest.raises(QuestionRefused) as caught:
        curator.plan(question, epsilon=1, **options)
    return str(caught.value)


@pytest.mark.parametrize("asked", OF_BOUNDS)
def test_bounds_that_init_drafted_from_the_data_are_refused(asked: str) -> None:
    drafted = _draft(PEOPLE)
    result = _refusal(f"SELECT {asked} FROM people", drafted)
    assert "change that word to `public`" in result
    lines = drafted.splitlines()
    (name,) = [name for name in ("salary", "age") if f"'{name}' (line " in result]
    number = int(result.partition("(line ")[2].partition(" ")[0])
    assert lines[number - 1].lstrip().startswith(f"{name}: {{role: ")


@pytest.mark.parametrize("asked", OF_BOUNDS)
def test_one_word_of_the_custodian_confirms_them(asked: str) -> None:
    confirmed = _draft(PEOPLE).replace("drafted", "public")
    with hold({"people": PEOPLE}, confirmed) as curator:
        plan, _ = curator.plan(f"SELECT {asked} FROM people", epsilon=1)
    assert plan.price.epsilon == 1


def test_values_that_init_drafted_from_the_data_are_no_public_groups() -> None:
    question = "SELECT sex, count(*) FROM people GROUP BY sex"
    assert "change that word to `public`" in _refusal(question, _draft(PEOPLE))
    with hold({"people": PEOPLE}, _draft(PEOPLE)) as curator:
        plan, _ = curator.plan(question, epsilon=1, delta="1e-6")
        assert plan.private_queries[0].domain is None
        assert plan.private_queries[0].threshold is not None


def test_whole_numbers_within_drafted_bounds_are_no_public_groups() -> None:
    question = "SELECT age, count(*) FROM people GROUP BY age"
    assert "not public" in _refusal(question, _draft(PEOPLE))


def test_truth_values_are_public_whatever_was_drafted() -> None:
    with hold({"people": PEOPLE}, _draft(PEOPLE)) as curator:
        plan, _ = curator.plan("SELECT well, count(*) FROM people GROUP BY well", epsilon=1)
    assert plan.private_queries[0].domain is not None


def test_bounds_of_the_question_itself_need_no_confirmation() -> None:
    with hold({"people": PEOPLE}, _draft(PEOPLE)) as curator:
        question = "SELECT avg(age) FROM people WHERE age BETWEEN 0 AND 99"
        plan, _ = curator.plan(question, epsilon=1)
    assert plan.price.epsilon == 1


@pytest.mark.parametrize("asked", [*OF_BOUNDS, "sum(s) FROM (SELECT salary AS s FROM people) q --"])
def test_a_refusal_does_not_reveal_what_was_drafted(asked: str) -> None:
    """One person with an odd salary moves the drafted bounds, which an analyst must not see."""
    richer = PEOPLE.set_column(2, "salary", pa.array([9_900_000, *range(20_000, 20_199)]))
    question = f"SELECT {asked} FROM people"
    assert _draft(PEOPLE) != _draft(richer)
    assert _refusal(question, _draft(PEOPLE)) == _refusal(question, _draft(richer), richer)


@pytest.mark.parametrize("written", ["bounds: {drafted: [0, 9]}", ""])
def test_sums_within_a_person_are_refused_in_the_same_words(written: str) -> None:
    policy = (
        "tables: {people: {unit: sex, limits: {rows-per-unit: 9}, columns: {sex: identifier, "
        f"salary: {{role: sensitive, {written}}}}}}}}}"
    )
    question = "SELECT avg(t) FROM (SELECT sex, sum(salary) AS t FROM people GROUP BY sex) q"
    with (
        hold({"people": PEOPLE}, policy) as curator,
        pytest.raises(NoBounds, match="change that word to `public`"),
    ):
        curator.plan(question, epsilon=1)


def test_a_confirmation_is_another_question() -> None:
    """An answer with a threshold is not given again once the groups are public."""
    question = "SELECT sex, count(*) FROM people GROUP BY sex"
    keys: list[str] = []
    for text in (_draft(PEOPLE), _draft(PEOPLE).replace("drafted", "public")):
        with hold({"people": PEOPLE}, text) as curator:
            plan, asked = curator.plan(question, epsilon=1, delta="1e-6")
            keys.append(question_key(asked, plan, [], analyst=None, options=[]))
    assert keys[0] != keys[1]


def test_a_release_may_use_what_was_drafted() -> None:
    drafted, public = (
        parse_policy(text).tables["people"]
        for text in (_draft(PEOPLE), _draft(PEOPLE).replace("drafted", "public"))
    )
    assert [(c.bounds, c.values) for c in drafted.columns] == [
        (c.bounds, c.values) for c in public.columns
    ]
    assert {word for c in drafted.columns for word in c.drafted} == {"bounds", "values"}
