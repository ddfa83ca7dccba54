"""A sum of permitted questions equals the forbidden one, whatever the people, also with NULLs."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import condition

from discreet.attacks.questions import plans
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.laboratory import laboratory
from discreet.engines.connect import open_table

ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 4)),
        st.one_of(st.none(), st.integers(0, 4)),
        st.one_of(st.none(), st.integers(-9, 9)),
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.integers(0, 4), st.integers(0, 3), st.integers(0, 2))
@settings(max_examples=10)
def test_every_plan_reveals_what_the_direct_question_reveals(rows, who, inner, more):
    a, b, v = zip(*rows, strict=True)
    table = pa.table(
        {"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64()), "v": pa.array(v, pa.int64())}
    )
    interface = laboratory(open_table(table))
    person = condition(f"a = {who} AND b >= 1")
    crowd, outer = condition(f"b < {inner}"), condition(f"b < {inner + more}")
    wanted = plans.direct_plan(person)
    others = [
        plans.complement_plan(person),
        plans.general_plan(person, crowd, asks_all=True),
        plans.general_plan(person, crowd, asks_all=False),
        plans.double_plan(person, crowd, outer),
        *plans.individual_plans(person),
    ]
    assert {plan.count(interface) for plan in others} == {wanted.count(interface)}
    assert {plan.total(interface, "v") for plan in others} == {wanted.total(interface, "v")}


def test_a_refused_term_ends_a_plan_at_once():
    asked: list[str] = []
    interface = Interface(asked.append)
    assert plans.complement_plan(condition("a = 1")).count(interface) is None
    assert len(asked) == 1


@pytest.mark.parametrize(("text", "count"), [("a = 1", 0), ("a = 1 AND b = 2", 2)])
def test_only_a_person_of_several_conditions_has_individual_trackers(text, count):
    assert len(plans.individual_plans(condition(text))) == count
