"""A learned model as a fitted estimator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from discreet.api.learn import load_model
from discreet.errors import WrongUsage
from discreet.estimators import learners
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.privacy import describe_promise
from discreet.learning.record import LearnedModel


def load(model: LearnedModel | str | Path) -> Any:
    """Return a fitted estimator from a model of `discreet.learn` or the path of its `model.json`.

    Raises:
        WrongUsage: No estimator belongs to its learner.

    >>> import discreet, pyarrow
    >>> people = pyarrow.table({"age": [30.0, 60.0] * 500, "ill": [False, True] * 500})
    >>> model = discreet.learn(people, target="ill", bounds={"age": (0, 110)})
    >>> load(model).predict(pyarrow.table({"age": [30.0, 60.0]}))
    array([False,  True])
    """
    found = model if isinstance(model, LearnedModel) else load_model(model)
    kind = estimator_classes().get((found.learner, found.task))
    if kind is None:
        raise WrongUsage(
            f"No estimator belongs to the learner '{found.learner}'. Predict with the model itself."
        )
    made: Any = kind
    estimator = made(epsilon=found.epsilon, delta=found.delta)
    estimator.model_ = found
    estimator.feature_names_in_ = np.array(found.features, dtype=object)
    estimator.n_features_in_ = len(found.features)
    estimator.privacy_ = describe_promise(found, ledger=None)
    estimator._set_attributes()
    return estimator


def estimator_classes() -> dict[tuple[str, str], type[PrivateEstimator]]:
    """Return the estimator of each learner and task."""
    every = [kind for kind in vars(learners).values() if isinstance(kind, type)]
    found = [kind for kind in every if issubclass(kind, PrivateEstimator)]
    return {(kind.learner, kind.task): kind for kind in found if hasattr(kind, "learner")}
