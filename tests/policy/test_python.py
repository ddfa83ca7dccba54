"""A policy made in Python: its parts are public, it is checked as files are, and written as one."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from discreet import policy
from discreet.errors import InvalidPolicy, OutputRefused
from discreet.policy import model
from discreet.registry import CRITERIA


def make(*criteria: model.Criterion) -> policy.Policy:
    columns = (
        policy.ColumnPolicy(
            "zip", policy.ColumnRole.QUASI_IDENTIFIER, hierarchy=policy.Prefix((3, 1), length=5)
        ),
        policy.ColumnPolicy("ill", policy.ColumnRole.SENSITIVE),
    )
    return policy.Policy({"people": policy.TablePolicy("people", columns, criteria=criteria)})


def test_every_listed_name_is_there():
    assert [name for name in policy.__all__ if not hasattr(policy, name)] == []
    assert dir(policy) == sorted(policy.__all__)


def test_every_criterion_and_step_is_listed():
    kinds = (*(spec.criterion for spec in CRITERIA.own()), *model.STEPS.values())
    assert [kind.__name__ for kind in kinds if kind.__name__ not in policy.__all__] == []


def test_a_saved_policy_is_read_back_the_same(tmp_path: Path):
    made = make(policy.KAnonymity(5), policy.LDiversity("ill", 2))
    saved = policy.save_policy(made, tmp_path / "policy.yaml")
    assert saved == made == discreet.load_policy(tmp_path / "policy.yaml")
    with pytest.raises(OutputRefused):
        policy.save_policy(made, tmp_path / "policy.yaml")


def test_a_policy_with_faults_is_not_saved(tmp_path: Path):
    with pytest.raises(InvalidPolicy, match="'salary' is not listed"):
        policy.save_policy(make(policy.LDiversity("salary", 2)), tmp_path / "policy.yaml")
    assert list(tmp_path.iterdir()) == []


def test_every_fault_is_listed():
    broken = make(policy.LDiversity("salary", 2), policy.TCloseness("pay", 0.2))
    with pytest.raises(InvalidPolicy, match=r"(?s)salary.*pay"):
        policy.validate_policy(broken)
