"""scikit-learn, or the error that names the extra: the only module that imports it for estimators."""

from __future__ import annotations

from discreet.errors import MissingExtra

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import (
        check_array,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise MissingExtra(what="discreet.estimators", extra="utility") from error

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "ClusterMixin",
    "RegressorMixin",
    "TransformerMixin",
    "available_if",
    "check_array",
    "check_consistent_length",
    "check_is_fitted",
    "column_or_1d",
    "validate_data",
]
