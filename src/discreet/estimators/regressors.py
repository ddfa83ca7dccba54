"""Regressors: numbers between declared bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.estimators.base import PrivateEstimator
from discreet.estimators.cells import RawColumn
from discreet.estimators.declared import Declarations, TargetDeclared, read_pair
from discreet.estimators.scikit_learn import RegressorMixin


class PrivateRegressor(RegressorMixin, PrivateEstimator):
    """A regressor; what it predicts lies between `target_bounds`."""

    task = "regression"
    own_parameters: ClassVar[Mapping[str, Any]] = {"target_bounds": None}

    target_bounds: Any

    def _declare_target(
        self,
        target: str,
        cells: RawColumn,  # noqa: ARG002 -- one shape with classifiers
        said: Declarations,
    ) -> TargetDeclared:
        if self.target_bounds is not None:
            return TargetDeclared("number", bounds=read_pair(self.target_bounds))
        declared = said.column(target)
        if declared is not None and declared.values is not None:
            raise WrongUsage(
                f"'{target}' has listed values in the policy. Choose a classifier, or give `target_bounds`."
            )
        return TargetDeclared("number" if declared is None else declared.kind)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted number of each row of X."""
        return self._predict_scores(X)[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² on rows; it is exact, and hence not private."""
        return float(super().score(X, self._require_column(X, y), sample_weight))
