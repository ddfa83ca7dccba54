"""A finding's rate, interval and advantage, and when it exceeds what is tolerated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.attacks.finding import judge, make_finding, worst_first
from discreet.attacks.intervals import clopper_pearson, wilson
from discreet.errors import WrongUsage


def found(exposed: int, targets: int = 100, attack: str = "linkage", **more):
    words = {"target": "t", "verdict": "v", "knowledge": "k", "remedy": "r"}
    return make_finding(attack, targets=targets, exposed=exposed, **words, **more)


def test_what_is_learned_without_the_target_is_no_advantage():
    assert found(60, baseline=0.6).advantage == 0
    assert found(60, control=0.7).advantage == 0
    assert found(60, baseline=0.2, control=0.5).advantage == pytest.approx(0.2)
    assert found(100, baseline=1.0).advantage == 0


def test_a_finding_exceeds_above_its_tolerance_only():
    assert judge(found(6), {"default": 0.05}).exceeds
    assert not judge(found(5), {"default": 0.05}).exceeds
    assert judge(found(1), {"default": 1.0, "linkage": 0.0}).exceeds
    assert not judge(found(50), {}).exceeds
    assert judge(found(50), {}).tolerance is None


def test_chance_exceeds_nothing():
    by_chance = found(55, baseline=0.5)
    assert by_chance.interval[0] < 0.5
    assert not judge(by_chance, {"default": 0.01}).exceeds
    assert judge(found(5500, 10_000, baseline=0.5), {"default": 0.01}).exceeds


def test_no_one_to_attack_is_no_one_exposed():
    assert (found(0, 0).rate, found(0, 0).interval) == (0.0, (0.0, 1.0))


def test_worst_findings_come_first():
    mild, bad = judge(found(90), {"default": 1.0}), judge(found(2), {"default": 0.0})
    assert worst_first([mild, bad, found(50)]) == (bad, mild, found(50))


def test_an_example_stays_out_of_what_is_shared():
    result = found(1, example=["Alice Meier has flu"]).to_dict()
    assert "Alice" not in str(result)
    assert {"attack", "targets", "claimed", "correct", "rate", "interval"} <= set(result)
    assert {"baseline", "queries"} <= set(result)


def test_an_unknown_attack_is_refused():
    with pytest.raises(ValueError, match="no attack"):
        found(1, attack="magic")


@given(st.integers(0, 60), st.integers(1, 60))
def test_intervals_hold_the_share_they_were_made_of(successes: int, trials: int):
    successes = min(successes, trials)
    for interval in (wilson(successes, trials), clopper_pearson(successes, trials)):
        assert 0 <= interval[0] <= successes / trials <= interval[1] <= 1


@given(st.integers(1, 40), st.floats(0.01, 0.99))
def test_exact_intervals_miss_seldom_enough(trials: int, share: float):
    missed = 0.0
    for successes in range(trials + 1):
        low, high = clopper_pearson(successes, trials)
        missed += float(binom.pmf(successes, trials, share)) * (not low <= share <= high)
    assert missed <= 0.05 + 1e-9


def test_more_successes_than_trials_are_refused():
    with pytest.raises(WrongUsage):
        wilson(3, 2)


def test_a_title_names_what_an_attack_on_classes_learned():
    assert found(1, attack="inference", details={"columns": ["ill"]}).title == "inference of ill"
    assert found(1, attack="singling-out", details={"columns": 3}).title == "singling-out"
