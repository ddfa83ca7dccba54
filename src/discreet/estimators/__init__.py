"""Estimators of scikit-learn's conventions, whose fits are private and paid for."""

from discreet.estimators.conventions import expected_failed_checks
from discreet.estimators.learners import (
    BoostingClassifier,
    BoostingRegressor,
    HuberRegressor,
    LinearRegression,
    LogisticRegression,
    NaiveBayesClassifier,
    QuantileRegressor,
)
from discreet.estimators.load import load
from discreet.estimators.privacy import EstimatorPrivacy, UntrackedSpendingWarning

__all__ = [
    "BoostingClassifier",
    "BoostingRegressor",
    "EstimatorPrivacy",
    "HuberRegressor",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayesClassifier",
    "QuantileRegressor",
    "UntrackedSpendingWarning",
    "expected_failed_checks",
    "load",
]
