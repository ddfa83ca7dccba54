"""Claims about chance: noise raises no false alarms, and intervals hold; `bench/significance.py` has more settings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.learning.statistics_cases import plan_case, release_sums

pytestmark = pytest.mark.statistics
# A test of level 7 %, which is the bound we state for 5 %, rejects more often than this with a chance of 1e-6.
RUNS, ALPHA = 200, 1e-6
MOST_ALARMS = int(stats.binom.isf(ALPHA, RUNS, 0.07))
NOISE = 6.0  # rows, as at epsilon 1 and delta 1e-9


def conclude_runs(case, draw, seed):
    """Return the conclusions of noisy releases of drawn exact sums."""
    plan, chance = plan_case(case), np.random.default_rng(seed)
    return [plan.conclude(release_sums(plan, draw(chance), NOISE, chance)) for _ in range(RUNS)]


def draw_table(chance):
    """Return a table of 2×3 whose margins are uneven and independent, of 500 rows."""
    shares = np.outer([0.9, 0.1], [0.6, 0.3, 0.1])
    return [chance.multinomial(500, shares.reshape(-1)).reshape(2, 3)]


def draw_groups(chance):
    """Return rows, sums and squares of skewed numbers from -4 to 4 in units of 8, in groups of 80 and 400 rows."""
    groups = [2 * np.minimum(chance.poisson(2, size), 8) - 8 for size in (80, 400)]
    return [
        [len(one) for one in groups],
        [one.sum() for one in groups],
        [(2 * one**2 - 64).sum() for one in groups],
    ]


def test_noise_alone_raises_no_alarm_of_the_chi_square_test():
    found = conclude_runs("independence", draw_table, 1)
    alarms = sum(one.test is not None and one.test.p_value <= 0.05 for one in found)
    assert alarms <= MOST_ALARMS


def test_a_chi_square_test_that_ignores_noise_raises_too_many():
    chance = np.random.default_rng(1)
    tables = [draw_table(chance)[0] + chance.normal(0, NOISE, (2, 3)) for _ in range(RUNS)]
    levels = [
        stats.chi2_contingency(np.maximum(one, 0.5), correction=False).pvalue for one in tables
    ]
    assert sum(level <= 0.05 for level in levels) > MOST_ALARMS


def test_noise_alone_raises_no_alarm_of_the_t_test_and_its_interval_holds():
    found = [one for one in conclude_runs("t-test", draw_groups, 2) if one.test is not None]
    assert len(found) > RUNS / 2
    assert sum(one.test.p_value <= 0.05 for one in found) <= MOST_ALARMS
    held = sum(one.rows[-1].low <= 0 <= one.rows[-1].high for one in found)
    assert held >= stats.binom.ppf(ALPHA, len(found), 0.94)
