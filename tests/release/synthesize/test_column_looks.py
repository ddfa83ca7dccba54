"""A column of thousands of values is counted at a coarser public level, too, for the same price."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from bench.synthesize import ArrayCounter
from tests.release.synthesize.test_replay import RecordedBudget, ReplayedBudget

from discreet.dp.spending import ZcdpSpending
from discreet.release.synthesize.column_looks import (
    ColumnLook,
    coarse_groups,
    column_scales,
    combine_looks,
    look_at_columns,
    settle_frequencies,
)
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, fit_model

CODES, CATEGORIES = 4000, 200
OF_CATEGORY = np.append(np.repeat(np.arange(CATEGORIES), CODES // CATEGORIES), CATEGORIES)
LISTED = ColumnShape(CODES + 1, False, (OF_CATEGORY // 20, OF_CATEGORY), has_missing=True)
SMALL = ColumnShape(6, False)
RHO = Fraction(1, 100)


def count_codes(rows: int) -> np.ndarray:
    weights = np.random.default_rng(4).permutation(1 / np.arange(1, CODES + 1))
    drawn = np.random.default_rng(5).multinomial(rows, weights / weights.sum())
    return np.append(drawn, 0)


def test_only_long_lists_with_levels_have_groups():
    assert coarse_groups(SMALL) is None
    assert coarse_groups(ColumnShape(CODES, False)) is None
    assert coarse_groups(ColumnShape(CODES + 1, True, LISTED.levels)) is None
    found = coarse_groups(LISTED)
    assert found is not None
    assert found.tolist() == OF_CATEGORY.tolist()  # the finest of both levels


def test_looks_cost_their_price_and_errors_are_those_that_were_announced():
    allowance = ZcdpSpending(RHO, sensitivity=1)
    expected = column_scales([LISTED, SMALL], allowance, RHO)
    exact = [count_codes(20_000), np.arange(6)]
    looks = look_at_columns(exact, [LISTED, SMALL], allowance, RHO)
    assert 0 <= allowance.left < RHO / 10**6  # shares are rounded down
    assert [one.scale for one in looks] == expected
    assert [combine_looks([one]).scale for one in looks] == pytest.approx(expected)


def test_totals_of_groups_are_the_least_squares_of_both_counts():
    look = ColumnLook(
        np.array([3.0, 5.0, 1.0]), 1.0, np.array([0, 0, 1]), np.array([12.0, 1.0]), 1.0
    )
    found = combine_looks([look])
    # Of the sum 8 with variance 2 and the total 12 with variance 1: 32 / 3, divided evenly.
    assert found.counts == pytest.approx([3 + 4 / 3, 5 + 4 / 3, 1.0])


def test_values_that_noise_hides_share_what_the_others_leave():
    look = ColumnLook(
        np.array([90.0, 2.0, -4.0, 1.0]),
        5.0,
        np.array([0, 0, 0, 1]),
        np.array([96.0, 4.0]),
        1.0,
    )
    assert settle_frequencies(look, 100.0) == pytest.approx([0.9, 0.03, 0.03, 0.04])


def test_shares_are_never_negative_and_add_up():
    exact = [count_codes(3_000)]
    for price in (Fraction(1, 10**6), RHO, Fraction(9)):
        (look,) = look_at_columns(exact, [LISTED], ZcdpSpending(price, sensitivity=1), price)
        shares = settle_frequencies(combine_looks([look, look]), 3_000.0)
        assert shares.min() >= 0
        assert shares.sum() == pytest.approx(1)


def test_a_person_more_costs_at_most_the_price():
    rows = np.stack(
        [
            np.random.default_rng(6).choice(CODES, 400),
            np.random.default_rng(7).integers(0, 6, 400),
        ],
        axis=1,
    )

    def run(rows, allowance):
        return fit_model(
            ArrayCounter(rows, [CODES + 1, 6]),
            [LISTED, SMALL],
            allowance,
            target=None,
            settings=FAST,
            chance=np.random.default_rng(9),
        )

    recorded = RecordedBudget(RHO)
    run(rows, recorded)
    for times, is_within in ((1, True), (2, False)):
        replayed = ReplayedBudget(RHO, recorded.kept)
        run(np.concatenate([rows, np.repeat([[17, 2]], times, axis=0)]), replayed)
        assert (replayed.cost <= float(RHO) * 1.000001) is is_within
