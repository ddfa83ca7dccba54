"""Estimators of scikit-learn's conventions, whose fits are private and paid for."""

from discreet.estimators.conventions import expected_failed_checks
from discreet.estimators.learners import (
    BoostingClassifier,
    BoostingRegressor,
    LinearRegression,
    LogisticRegression,
    NaiveBayesClassifier,
)
from discreet.estimators.load import load
from discreet.estimators.privacy import EstimatorPrivacy, UntrackedSpendingWarning

__all__ = [
    "BoostingClassifier",
    "BoostingRegressor",
    "EstimatorPrivacy",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayesClassifier",
    "UntrackedSpendingWarning",
    "expected_failed_checks",
    "load",
]
