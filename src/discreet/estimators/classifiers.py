"""Classifiers: chances of declared classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.api.declarations import implied_kind
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.cells import RawColumn, is_boolean_type
from discreet.estimators.declared import (
    Declarations,
    TargetDeclared,
    plain_classes,
    undeclared_columns_error,
)
from discreet.estimators.scikit_learn import ClassifierMixin, available_if
from discreet.learning.additive import AdditiveModel


def _has_scores(estimator: PrivateClassifier) -> bool:
    return isinstance(estimator.model_.saved.predictor, AdditiveModel)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):
    """A classifier; the classes that it may predict are declared, or those of a boolean target."""

    task = "classification"
    own_parameters: ClassVar[Mapping[str, Any]] = {"classes": None}

    classes: Any
    classes_: NDArray[Any]

    def _declare_target(self, target: str, cells: RawColumn, said: Declarations) -> TargetDeclared:
        if self.classes is not None:
            values = plain_classes(self.classes)
            return TargetDeclared(implied_kind(values), values=values)
        declared = said.column(target)
        if declared is not None and declared.values is not None:
            return TargetDeclared(declared.kind or "text")
        if is_boolean_type(cells):
            return TargetDeclared("boolean")
        unknown = [name for name in said.kinds if not said.knows(name)]
        raise undeclared_columns_error(self, [*unknown, target], target)

    def _set_attributes(self) -> None:
        super()._set_attributes()
        self.classes_ = np.array(list(self.model_.classes))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of each class of `classes_`, a row for each row of X."""
        return self._predict_scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row of X."""
        chances = self._predict_scores(X)
        return self.classes_[chances.argmax(axis=1)]

    @available_if(_has_scores)
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each class for each row of X; of two classes, that of the second."""
        codes = self._encode(X)
        scores = self.model_.saved.predictor.scores(codes)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows; it is exact, and hence not private."""
        return float(super().score(X, self._require_column(X, y), sample_weight))
