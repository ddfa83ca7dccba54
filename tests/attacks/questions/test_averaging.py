"""Means see through fresh noise; other words see through noise that sticks to a text."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import condition
from tests.attacks.crowded import opened

from discreet.attacks.questions.averaging import average_counts, average_out, bit_error, rewordings
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.attacks.questions.people import draw_people
from discreet.engines.connect import open_table

ALICE = condition("name = 'Alice' AND ill = 'gout'")


@pytest.fixture(scope="module")
def table():
    return opened()


def noisy(table, scale: float, *, sticky: bool = False, seed: int = 1):
    rules = LaboratoryRules(noise=LaboratoryNoise("laplace", scale, sticky=sticky))
    return laboratory(table, rules, chance=np.random.default_rng(seed))


NUMBERS = pa.table({"x": [None, *range(-2, 13)], "name": ["O'Hara", *"abcdefghijklmno"]})


@given(st.sampled_from(["x > 10", "x <= 3 AND name <> 'b'", "name = 'O''Hara'", "NOT x = 4"]))
@settings(max_examples=4)
def test_other_words_mean_the_same_and_no_two_are_equal(text):
    interface = laboratory(open_table(NUMBERS))
    others = list(islice(rewordings(condition(text)), 12))
    assert len({other.sql() for other in others}) == 12
    assert len({interface.count(other) for other in others}) == 1


@pytest.mark.parametrize(("scale", "repeats"), [(1, 22), (5, 542), (10, 2165)])
def test_the_error_of_a_mean_is_five_percent_after_so_many_answers(scale, repeats):
    assert bit_error(repeats, 2**0.5 * scale) == pytest.approx(0.05, abs=0.002)
    assert bit_error(repeats, 0.0) == 0.0


@pytest.mark.statistics
def test_the_mean_of_noise_errs_as_often_as_the_formula_says():
    """20,000 means of 22 draws of Laplace noise, seeded: 4 standard errors are 0.006."""
    means = np.random.default_rng(4).laplace(0, 1, (20_000, 22)).mean(axis=1)
    assert np.mean(means > 0.5) == pytest.approx(bit_error(22, 2**0.5), abs=0.006)


def test_sticky_noise_stops_the_same_words_and_no_others(table):
    interface = noisy(table, 1.0, sticky=True)
    same = average_counts(interface, ALICE, repeats=40)
    other = average_counts(interface, ALICE, repeats=40, way="reworded")
    assert same.deviation == 0.0
    assert other.deviation > 0.5
    assert other.mean is not None
    assert 0.5 < other.mean < 1.5


def people(table, count: int):
    return draw_people(
        table,
        by=[table.column("name")],
        value=condition("ill = 'gout'"),
        people=count,
        absent=1,
        chance=np.random.default_rng(1),
    )


@pytest.mark.statistics
def test_many_answers_reveal_nearly_everyone(table):
    """7 people and 24 answers of Laplace noise 1, seeded: each is inferred rightly with chance 0.96."""
    finding = average_out(
        noisy(table, 1.0),
        people(table, 6),
        condition=condition("ill = 'gout'"),
        repeats=24,
        way="repeated",
    )
    assert finding.correct is not None
    assert finding.correct >= 5
    assert finding.certainty == pytest.approx(0.96, abs=0.03)
    assert finding.details["predicted_error"] == pytest.approx(0.04, abs=0.03)
    assert finding.queries == 7 * 24


def test_refused_answers_have_no_mean(table):
    interface = laboratory(table, LaboratoryRules(smallest=5))
    finding = average_out(
        interface, people(table, 2), condition=condition("ill = 'gout'"), repeats=3
    )
    assert (finding.claimed, finding.rate) == (0, 0.0)
    assert "refused" in finding.verdict
