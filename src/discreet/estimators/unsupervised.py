"""Estimators without a target: clusters of rows, and components of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.estimators.base import PrivateEstimator
from discreet.estimators.cells import RawColumn
from discreet.estimators.inputs import InputColumns
from discreet.estimators.scikit_learn import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from discreet.learning.coordinates import REACH


class PrivateClusterer(ClusterMixin, PrivateEstimator):
    """Clusters of rows.

    It keeps no `labels_`: the cluster of each row that it was learned from would be one of its cells.
    """

    task = "clustering"

    cluster_centers_: NDArray[np.float64]
    cluster_sizes_: NDArray[np.float64]

    def _read_target(self, rows: InputColumns, y: Any) -> tuple[str | None, RawColumn]:  # noqa: ARG002 -- there is none
        return None, None

    def _set_attributes(self) -> None:
        predictor = self.model_.saved.predictor
        self.cluster_centers_ = predictor.centers / REACH
        self.cluster_sizes_ = predictor.rows

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the cluster of each row of X: that of the nearest center."""
        codes = self._encode(X)
        return self.model_.saved.predictor.predict(codes)

    def fit_predict(self, X: Any, y: Any = None, **refused: Any) -> NDArray[np.int64]:
        """Return the cluster of each row of X, after learning from them."""
        return self.fit(X, y, **refused).predict(X)


class PrivateTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """Components of columns: how far rows lie from the mean in the directions in which rows differ most."""

    task = "components"

    components_: NDArray[np.float64]
    mean_: NDArray[np.float64]
    explained_variance_ratio_: NDArray[np.float64]

    def _read_target(self, rows: InputColumns, y: Any) -> tuple[str | None, RawColumn]:  # noqa: ARG002 -- there is none
        return None, None

    def _set_attributes(self) -> None:
        predictor = self.model_.saved.predictor
        self.components_, self.mean_ = predictor.components, predictor.mean
        self.explained_variance_ratio_ = predictor.shares

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return each row of X as one number for each component."""
        codes = self._encode(X)
        return self.model_.saved.predictor.predict(codes)
