"""Each attack finds what was copied, and nothing where only the population was learned.

Claims about chance: seeded, 500 descriptions or 1,000 people at most; `judge` asks for a 95 % interval, so
that an honest table is found guilty by chance in fewer than 5 % of seeds, and these seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.attacks.synthetic.conftest import ROWS

from discreet.attacks.finding import Finding, judge
from discreet.attacks.synthetic.attribute import infer_attribute
from discreet.attacks.synthetic.closest import find_closest_people
from discreet.attacks.synthetic.linkability import link_column_sets
from discreet.attacks.synthetic.singling_out import single_out
from discreet.attacks.synthetic.trial import SyntheticTrial

Attack = Callable[[SyntheticTrial], Finding]


def singling_out_many(trial: SyntheticTrial) -> Finding:
    return single_out(trial, rng=np.random.default_rng(7), guesses=500)[1]


def linkability(trial: SyntheticTrial) -> Finding:
    rng = np.random.default_rng(7)
    return link_column_sets(trial, first=["age", "sex", "town"], second=["income", "ill"], rng=rng)


def attribute_word(trial: SyntheticTrial) -> Finding:
    return infer_attribute(trial, "town", rng=np.random.default_rng(7))


def attribute_number(trial: SyntheticTrial) -> Finding:
    return infer_attribute(trial, "income", rng=np.random.default_rng(7))


def closest(trial: SyntheticTrial) -> Finding:
    return find_closest_people(trial, rng=np.random.default_rng(7))


ATTACKS = [singling_out_many, linkability, attribute_word, attribute_number, closest]
attacks = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)


@pytest.fixture(scope="module")
def leaked(leaky: SyntheticTrial) -> dict[str, Finding]:
    """What each attack finds in copies, found once."""
    return {attack.__name__: attack(leaky) for attack in ATTACKS}


@pytest.mark.statistics
@attacks
def test_copied_people_are_found(attack: Attack, leaked: dict[str, Finding]):
    found = judge(leaked[attack.__name__], {"default": 0.05})
    assert found.exceeds
    assert found.advantage > 0.25
    assert found.details["risk_interval"][0] > 0.15


@pytest.mark.statistics
@attacks
def test_independent_columns_teach_nothing(attack: Attack, honest: SyntheticTrial):
    assert not judge(attack(honest), {"default": 0.0}).exceeds


@pytest.mark.statistics
@attacks
def test_learning_the_population_is_no_breach(attack: Attack, faithful: SyntheticTrial):
    found = judge(attack(faithful), {"default": 0.0})
    assert not found.exceeds
    assert found.advantage < 0.05


@attacks
def test_a_control_group_that_was_copied_too_hides_everything(
    attack: Attack, leaky: SyntheticTrial
):
    assert not judge(attack(replace(leaky, control=leaky.source)), {"default": 0.0}).exceeds


@attacks
def test_the_same_seed_gives_the_same_finding(
    attack: Attack, leaky: SyntheticTrial, leaked: dict[str, Finding]
):
    assert attack(leaky).to_dict() == leaked[attack.__name__].to_dict()


@attacks
def test_a_finding_holds_no_value_of_a_person(attack: Attack, leaked: dict[str, Finding]):
    found = leaked[attack.__name__]
    assert found.example
    assert "town-" not in str(found.to_dict())


@attacks
def test_more_guesses_than_people_try_each_once(attack: Attack, leaked: dict[str, Finding]):
    assert leaked[attack.__name__].targets <= ROWS
