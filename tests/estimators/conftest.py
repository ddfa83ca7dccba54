"""Estimators as scikit-learn's checks need them: public facts declared, noise too small to notice, a ledger."""

from __future__ import annotations

from decimal import Decimal

import pytest

from discreet.estimators.load import estimator_classes
from discreet.policy.answer_model import BudgetPolicy
from discreet.policy.model import Policy, TablePolicy

WIDE = Policy(
    {
        "data": TablePolicy(
            "data",
            (),
            unit_is_row=True,
            budget=BudgetPolicy(Decimal(10) ** 6, Decimal("0.9"), "approximate"),
        )
    }
)
OPTIONS = {
    "boosting": {"rounds": 4},
    "forest": {"trees": 3},
    "k-means": {"clusters": 2, "rounds": 1},
}


@pytest.fixture(scope="module")
def make_estimator(tmp_path_factory):
    """Return what makes an estimator of a learner and a task."""

    def make(learner: str, task: str):
        folder = tmp_path_factory.mktemp("ledger")
        kind = estimator_classes()[learner, task]
        own = {
            "classification": {"classes": [0, 1, 2]},
            "regression": {"target_bounds": (-5, 5)},
        }
        return kind(
            epsilon=1000,
            bounds=(-10, 10),
            policy=WIDE,
            ledger=folder / "ledger.sqlite",
            **own.get(task, {}),
            **OPTIONS.get(learner, {}),
        )

    return make
