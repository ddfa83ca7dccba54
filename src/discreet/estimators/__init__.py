"""Estimators of scikit-learn's conventions, whose fits are private and paid for."""

from discreet.estimators.conventions import expected_failed_checks
from discreet.estimators.learners import (
    PCA,
    BoostingClassifier,
    BoostingRegressor,
    DecisionTreeClassifier,
    HuberRegressor,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayesClassifier,
    QuantileRegressor,
    RandomForestClassifier,
)
from discreet.estimators.load import load
from discreet.estimators.privacy import EstimatorPrivacy, UntrackedSpendingWarning

__all__ = [
    "PCA",
    "BoostingClassifier",
    "BoostingRegressor",
    "DecisionTreeClassifier",
    "EstimatorPrivacy",
    "HuberRegressor",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "NaiveBayesClassifier",
    "QuantileRegressor",
    "RandomForestClassifier",
    "UntrackedSpendingWarning",
    "expected_failed_checks",
    "load",
]
