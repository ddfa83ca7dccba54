"""A plan says what will be done and what it costs, before anything is read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.answer.curators import hold

from discreet.dp import event as events
from discreet.dp.accounting.pricing import price
from discreet.errors import InvalidBudget, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator
    from discreet.answer.plan import Plan

POLICY = """
tables:
  people:
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      pay: {role: sensitive, bounds: [-1000, 3000]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
  visits:
    unit: who
    limits: {rows-per-unit: 4}
    columns: &columns
      who: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b, c]}
      code: {role: sensitive}
      cost: {role: sensitive, bounds: [0, 100]}
  stays:
    unit: who
    limits: {groups-per-unit: 3, rows-per-group: 2}
    columns: *columns
  unlimited:
    unit: who
    columns: *columns
"""
VISITS = pa.table({"who": ["p"], "ward": ["a"], "code": ["x"], "cost": [1.0]})
TABLES = {
    "people": pa.table({"age": [3], "pay": [1.5], "sex": ["F"], "town": ["x"]}),
    "visits": VISITS,
    "stays": VISITS,
    "unlimited": VISITS,
}


@pytest.fixture(scope="module")
def curator() -> Curator:
    return hold(TABLES, POLICY)


@pytest.fixture(scope="module")
def plan(curator: Curator):
    def call(question: str, epsilon="1", delta="0", noise=None, cut_share="0.05") -> Plan:
        found, _ = curator.plan(
            question, epsilon=epsilon, delta=delta, noise=noise, cut_share=cut_share
        )
        return found

    return call


def mechanisms(plan: Plan) -> int:
    return sum(
        len(leaf.blocks) + len(leaf.ranks) + len(leaf.distincts) for leaf in plan.private_queries
    )


def test_a_count_has_noise_of_scale_one_over_epsilon(plan):
    (leaf,) = plan("SELECT count(*) FROM people", epsilon="0.5").private_queries
    (block,) = leaf.blocks
    assert (block.sensitivity, block.scale) == (1, 2)


@pytest.mark.parametrize(
    ("aggregates", "expected"),
    [
        ("count(*)", 1),
        ("sum(age)", 1),
        ("count(*), sum(age), avg(age)", 1),
        ("count(*), avg(age), variance(age), stddev_pop(age)", 1),
        ("count(*), count(pay), sum(pay)", 1),
        ("sum(age), sum(pay)", 2),
        ("avg(age), avg(pay), count(*)", 2),
        ("count(*), count(DISTINCT town), median(age), min(age), max(age)", 5),
    ],
)
def test_aggregates_of_one_argument_share_their_noise(plan, aggregates: str, expected: int):
    assert mechanisms(plan(f"SELECT {aggregates} FROM people")) == expected


def test_a_sum_alone_changes_by_its_larger_bound(plan):
    (leaf,) = plan("SELECT sum(pay) FROM people").private_queries
    (noisy,) = leaf.blocks
    assert noisy.sensitivity * noisy.block.step == pytest.approx(3000, rel=1e-3)


def test_rows_that_count_multiply_the_noise(plan):
    (alone,) = plan("SELECT count(*) FROM people").private_queries[0].blocks
    leaf = plan("SELECT count(*) FROM visits", cut_share="0").private_queries[0]
    (many,) = leaf.blocks
    assert many.scale / leaf.limit.one == 4 * alone.scale


def test_public_groups_cost_no_more_than_one(plan):
    (one,) = plan("SELECT count(*) FROM people").private_queries[0].blocks
    (each,) = plan("SELECT sex, count(*) FROM people GROUP BY sex").private_queries[0].blocks
    assert one.scale == each.scale


@pytest.mark.parametrize(
    ("question", "delta", "noise", "method"),
    [
        ("SELECT count(*) FROM people", "0", None, "none"),
        ("SELECT count(*) FROM visits", "0", None, "rescale"),
        ("SELECT ward, count(*) FROM visits GROUP BY ward", "0", None, "rescale"),
        ("SELECT ward, count(*) FROM stays GROUP BY ward", "1e-6", "gaussian", "truncate"),
        ("SELECT code, count(*) FROM visits GROUP BY code", "1e-6", None, "truncate"),
        ("SELECT ward, count(DISTINCT who) FROM visits GROUP BY ward", "0", None, "truncate"),
    ],
)
def test_contributions_are_bounded_as_the_question_needs(plan, question, delta, noise, method):
    (leaf,) = plan(question, delta=delta, noise=noise).private_queries
    assert leaf.limit.method == method


def test_a_unit_without_limits_is_refused(plan):
    with pytest.raises(QuestionRefused, match="rows-per-unit"):
        plan("SELECT count(*) FROM unlimited")


def test_one_row_for_each_person_needs_no_limits(plan):
    text = "SELECT count(*) FROM (SELECT who FROM unlimited GROUP BY who) x"
    assert plan(text).private_queries[0].limit.method == "none"


def test_private_keys_need_a_delta_and_have_a_threshold(plan):
    question = "SELECT town, count(*) FROM people GROUP BY town"
    with pytest.raises(QuestionRefused, match="--delta"):
        plan(question)
    low, high = (
        plan(question, delta=delta).private_queries[0].threshold for delta in ("1e-3", "1e-9")
    )
    assert 1 < low < high


def test_a_smaller_epsilon_raises_the_threshold(plan):
    question = "SELECT town, count(*) FROM people GROUP BY town"
    found = [
        plan(question, epsilon=e, delta="1e-6").private_queries[0].threshold
        for e in ("2", "1", "0.1")
    ]
    assert found == sorted(found)
    assert len(set(found)) == 3


def test_the_noise_with_the_smaller_error_is_taken(plan):
    many = ", ".join(f"sum(age + {n})" for n in range(30))
    assert plan("SELECT count(*) FROM people", delta="1e-6").noise == "laplace"
    assert plan(f"SELECT {many} FROM people", delta="1e-6").noise == "gaussian"
    assert plan(f"SELECT {many} FROM people").noise == "laplace"


def test_gaussian_noise_has_a_price_in_every_currency(plan):
    found = plan("SELECT count(*), sum(pay) FROM people", delta="1e-6", noise="gaussian")
    assert found.price.epsilon == 1
    assert found.price.delta == Fraction(1, 10**6)
    assert found.price.rho is not None


def test_a_delta_that_is_not_needed_is_not_charged(plan):
    assert plan("SELECT count(*) FROM people", delta="1e-6", noise="laplace").price.delta == 0


def test_a_delta_is_shared_by_all_that_may_slip(plan):
    text = "SELECT town, count(*) AS n FROM people GROUP BY town"
    found = plan(f"SELECT max(a.n) FROM ({text}) a JOIN ({text}) b USING (town)", delta="1e-6")
    assert found.price.delta <= Fraction(1, 10**6)
    assert len(found.private_queries) == 2


@pytest.mark.parametrize(
    ("epsilon", "delta", "noise"),
    [
        ("0", "0", None),
        ("-1", "0", None),
        ("101", "0", None),
        ("1", "-0.1", None),
        ("1", "0.5", None),
        ("1", "0", "gaussian"),
    ],
)
def test_prices_that_protect_no_one_are_invalid(plan, epsilon, delta, noise):
    with pytest.raises(InvalidBudget):
        plan("SELECT count(*) FROM people", epsilon=epsilon, delta=delta, noise=noise)


QUESTIONS = [
    "SELECT count(*) FROM people",
    "SELECT sex, avg(age), sum(pay), count(town) FROM people GROUP BY sex",
    "SELECT median(age), max(pay), count(DISTINCT town) FROM people",
    "SELECT town, count(*), avg(age) FROM people GROUP BY town",
    "SELECT code, count(*), median(cost) FROM visits GROUP BY code",
    "SELECT ward, count(DISTINCT who), variance(cost) FROM stays GROUP BY ward",
    "SELECT avg(n) FROM (SELECT who, count(*) AS n FROM visits GROUP BY who) x",
    "SELECT (SELECT count(*) FROM people) - count(*) AS d FROM visits",
]


def pure(event: events.Event) -> Fraction:
    """Return the epsilon of an event, added up by hand."""
    if isinstance(event, events.Sequence):
        return sum((pure(part) for part in event.events), Fraction(0))
    if isinstance(event, events.Laplace):
        return event.sensitivity / event.scale
    return event.epsilon if isinstance(event, events.Choice) else Fraction(0)


@settings(max_examples=20)
@given(
    question=st.sampled_from(QUESTIONS),
    epsilon=st.fractions(Fraction(1, 1000), Fraction(50), max_denominator=10**4),
    noise=st.sampled_from(["laplace", "gaussian"]),
)
def test_no_plan_costs_more_than_was_asked_for(curator, question, epsilon, noise):
    delta = Fraction(1, 10**6)
    found, _ = curator.plan(
        question, epsilon=str(float(epsilon)), delta=str(float(delta)), noise=noise
    )
    assert found.price.epsilon <= Fraction(str(float(epsilon)))
    assert found.price.delta <= delta
    done = price(found.event)
    if noise == "laplace":
        assert pure(found.event) <= Fraction(str(float(epsilon)))
        assert done.epsilon == pure(found.event)
    else:
        assert done.rho is not None
