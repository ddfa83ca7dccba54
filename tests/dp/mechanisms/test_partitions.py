from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.statistics.fit import gaussian_below, laplace_below
from tests.statistics.runs import ManyRuns

from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.dp.event import Gaussian, Laplace, Sequence, Slip
from discreet.dp.mechanisms.partitions import (
    gaussian_tail,
    gaussian_threshold,
    laplace_tail,
    laplace_threshold,
    select_gaussian,
    select_laplace,
)
from discreet.errors import InvalidBudget, InvalidMechanism

ONE = Fraction(1)
scales = st.fractions(min_value=Fraction(1, 10), max_value=1000)
deltas = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10))


@given(scales, deltas, st.integers(1, 50))
def test_the_threshold_of_laplace_noise_is_the_least_that_suffices(scale, delta, groups):
    least = laplace_threshold(scale, delta, groups) - 1
    below = laplace_below(scale)
    passing = [-math.expm1(groups * math.log1p(-(1 - below(k)))) for k in (least, least - 1)]
    assert passing[0] <= delta * (1 + 1e-6)
    assert passing[1] >= delta * (1 - 1e-6) or least == 1


@given(st.sampled_from([Fraction(1, 3), ONE, Fraction(7, 2), Fraction(12), Fraction(300)]), deltas)
def test_the_threshold_of_gaussian_noise_suffices_and_is_near(scale: Fraction, delta: Fraction):
    least = gaussian_threshold(scale, delta, 1) - 1
    below = gaussian_below(scale)
    assert 1 - below(least) <= delta * (1 + 1e-6)
    assert 1 - below(least - 2) >= delta * (1 - 1e-6) or least <= 2


@given(st.fractions(min_value=Fraction(1, 10), max_value=40), st.integers(1, 200))
def test_tails_are_rounded_up(scale: Fraction, least: int):
    assert float(laplace_tail(scale, least)) == pytest.approx(
        math.exp(-least / scale) / (1 + math.exp(-1 / scale)), rel=1e-9
    )
    support = np.arange(-2000, 2001)
    weights = np.exp(-(support**2) / (2 * float(scale) ** 2))
    exact = weights[support >= least].sum() / weights.sum()
    assert float(gaussian_tail(scale, least)) >= exact * (1 - 1e-12)


def test_tails_of_large_scales_are_those_of_the_normal_distribution():
    found = float(gaussian_tail(Fraction(10**6), 5 * 10**6))
    assert found == pytest.approx(stats.norm.sf(5 - 0.5e-6), rel=1e-9)


def test_a_unit_with_more_rows_raises_the_threshold_by_as_many():
    settings = (Fraction(2), Fraction(1, 10**6), 3)
    assert laplace_threshold(*settings, per_group=5) == laplace_threshold(*settings) + 4
    assert gaussian_threshold(*settings, per_group=5) == gaussian_threshold(*settings) + 4


def test_a_delta_too_small_for_any_float_has_a_threshold():
    assert laplace_threshold(ONE, Fraction(1, 10**200), 7) == 1 + math.ceil(
        math.log(7 / (1 + math.exp(-1))) + 200 * math.log(10)
    )


@pytest.mark.statistics
@pytest.mark.parametrize("choose", ["laplace", "gaussian"])
def test_groups_of_one_unit_pass_no_more_often_than_delta(choose: str):
    """100 000 units in 4 groups each; delta 1 %, alpha 1e-7."""
    units, groups, delta = 100_000, 4, Fraction(1, 100)
    counts, noise = np.ones(units * groups, np.int64), ManyRuns()
    settings = {"delta": delta, "groups": groups, "noise": noise}
    if choose == "laplace":
        kept, _ = select_laplace(counts, epsilon=ONE, **settings)
    else:
        kept, _ = select_gaussian(counts, rho=Fraction(1, 2), **settings)
    is_kept = np.zeros(counts.size, np.bool_)
    is_kept[kept.places] = True
    passed = int(is_kept.reshape(units, groups).any(axis=1).sum())
    assert stats.binom.sf(passed - 1, units, float(delta)) > 1e-7
    assert passed > units * float(delta) / 10


@pytest.mark.statistics
def test_a_threshold_one_lower_is_caught():
    # The right threshold leaves next to nothing of this delta; one lower, 1340 pass instead of 490.
    units, delta = 100_000, Fraction(1, 200)
    noise = ManyRuns()
    threshold = laplace_threshold(ONE, delta, 1)
    passed = int((1 + noise.laplace(ONE, units) >= threshold - 1).sum())
    assert stats.binom.sf(passed - 1, units, float(delta)) < 1e-7


@pytest.mark.statistics
def test_groups_that_others_are_in_reveal_no_more_than_epsilon():
    """What comes out for a group of 5 or 6 units, 200 000 times each, alpha 1e-7."""
    outputs = []
    for units in (5, 6):
        counts = np.full(200_000, units)
        kept, _ = select_laplace(counts, epsilon=ONE, delta=Fraction(1, 100), groups=1)
        result = np.full(counts.size, -1)
        result[kept.places] = kept.counts
        outputs.append(result)
    assert 0.7 < epsilon_lower_bound(*outputs, delta=0.0) <= 1


def test_what_passes_is_reported_with_its_event():
    delta = Fraction(1, 10**6)
    kept, event = select_laplace([10**6, 1, 10**6], epsilon=Fraction(1, 2), delta=delta, groups=3)
    assert kept.places.tolist() == [0, 2]
    assert all(abs(int(count) - 10**6) < 1000 for count in kept.counts)
    assert event == Sequence((Laplace(Fraction(3), Fraction(6)), Slip(delta)))
    _, other = select_gaussian([5], rho=Fraction(1, 8), delta=delta, groups=4)
    assert other == Sequence((Gaussian(Fraction(4), Fraction(4)), Slip(delta)))


def test_no_groups_are_no_groups():
    assert select_laplace([], epsilon=ONE, delta=Fraction(1, 10), groups=1)[0].places.size == 0


def test_parameters_out_of_range_are_refused():
    for delta in (Fraction(0), ONE):
        with pytest.raises(InvalidBudget):
            select_laplace([1], epsilon=ONE, delta=delta, groups=1)
    with pytest.raises(InvalidMechanism):
        select_laplace([1], epsilon=ONE, delta=Fraction(1, 10), groups=0)
