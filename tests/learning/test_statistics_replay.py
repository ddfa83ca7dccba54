"""Exact replay: what a statistic releases of a table costs at most its price on a neighboring one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learning.counts import make_space, replay
from tests.learning.statistics_cases import CASES, plan_case

from discreet.learning.statistics.released import measure_look


def prepare(case):
    """Return what measures a case, its space, and random rows."""
    plan = plan_case(case)
    absent = plan.missing
    if absent is None:
        sizes = [column.size for column in plan.columns]
        codes = [list(range(size)) for size in sizes]
    else:
        sizes = [absent + 1] * len(plan.columns)
        codes = [[*range(column.coding.size), absent] for column in plan.columns]
    chance = np.random.default_rng(1)
    rows = np.stack([chance.choice(some, 60) for some in codes], axis=1)

    def fit(training):
        return measure_look(plan.look, training.counts, training.spending, noise="gaussian")

    return fit, make_space(sizes), codes, rows


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("case", CASES)
@given(person=st.data())
@settings(max_examples=10, deadline=None)
def test_one_person_costs_at_most_the_price(case, pure, person):
    fit, space, codes, rows = prepare(case)
    one = [person.draw(st.sampled_from(some)) for some in codes]
    assert replay(fit, rows, np.vstack([rows, one]), space, pure=pure) <= 1 + 1e-9


@pytest.mark.parametrize("pure", [False, True], ids=["gaussian", "laplace"])
@pytest.mark.parametrize("case", CASES)
def test_a_person_who_is_there_many_times_exceeds_the_price(case, pure):
    fit, space, codes, rows = prepare(case)
    many = np.vstack([rows, np.tile([some[0] for some in codes], (4, 1))])
    assert replay(fit, rows, many, space, pure=pure) > 1


@pytest.mark.parametrize("case", CASES)
def test_a_person_at_an_end_uses_much_of_the_price(case):
    fit, space, codes, rows = prepare(case)
    person = [some[0] for some in codes]
    assert replay(fit, rows, np.vstack([rows, person]), space) > 0.3
