"""Which of scikit-learn's checks privacy forbids to pass, and why."""

from __future__ import annotations

from discreet.estimators.base import PrivateEstimator
from discreet.estimators.classifiers import PrivateClassifier
from discreet.estimators.regressors import PrivateRegressor
from discreet.estimators.unsupervised import PrivateClusterer

_EVERY = {
    "check_estimators_empty_data_messages": (
        "Whether a table has rows is a fact about people: a fit of none is paid for, and learns from noise."
    ),
}
_OF_TARGETS = {
    "check_supervised_y_no_nan": (
        "An error about a cell of y would say what it holds: a missing one is not learned from, an infinite one "
        "counts as the bound."
    ),
}
_OF_CLASSES = {
    "check_classifiers_classes": (
        "`classes_` are those that the constructor declares; the labels that y holds would reveal people."
    ),
    "check_classifiers_train": (
        "Scores have a column for each declared class, also where y holds fewer of them."
    ),
    "check_classifiers_regression_target": (
        "An error about the cells of y would say what they hold: a label that is not declared counts as missing."
    ),
}
_OF_CLUSTERS = {
    "check_clustering": (
        "It reads `labels_`, which would be a cell of each row that was learned from: `predict` returns clusters of "
        "rows that are given to it."
    ),
}


def expected_failed_checks(estimator: PrivateEstimator) -> dict[str, str]:
    """Return the checks of scikit-learn's `check_estimator` that an estimator must fail, each with its reason.

    >>> from discreet.estimators import BoostingRegressor
    >>> sorted(expected_failed_checks(BoostingRegressor()))
    ['check_estimators_empty_data_messages', 'check_supervised_y_no_nan']
    """
    found = dict(_EVERY)
    if isinstance(estimator, (PrivateClassifier, PrivateRegressor)):
        found |= _OF_TARGETS
    if isinstance(estimator, PrivateClassifier):
        found |= _OF_CLASSES
    if isinstance(estimator, PrivateClusterer):
        found |= _OF_CLUSTERS
    return found
