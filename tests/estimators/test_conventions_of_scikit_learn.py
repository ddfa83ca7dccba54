"""Estimators pass scikit-learn's own checks, but those that privacy forbids, each for its reason."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

from discreet.estimators import expected_failed_checks
from discreet.estimators.load import estimator_classes
from discreet.registry import LEARNERS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "estimators.md"
QUICK = [("naive-bayes", "classification")]
OTHERS = sorted(set(estimator_classes()) - set(QUICK))
# Needs an environment variable before Python starts.
SKIPPED = {"check_array_api_input"}


def run_checks(estimator):
    """Return the checks by what became of them, and the errors of those that failed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            estimator,
            expected_failed_checks=expected_failed_checks(estimator),
            on_skip=None,
            on_fail=None,
        )
    names: dict[str, set[str]] = {}
    for one in found:
        names.setdefault(one["status"], set()).add(one["check_name"])
    return names, [(one["check_name"], one["exception"]) for one in found]


@pytest.mark.parametrize(
    ("learner", "task"),
    [*QUICK, *(pytest.param(*pair, marks=pytest.mark.soak) for pair in OTHERS)],
)
def test_the_checks_pass_but_those_that_privacy_forbids(learner, task, make_estimator):
    estimator = make_estimator(learner, task)
    names, errors = run_checks(estimator)
    assert names.get("failed", set()) == set(), errors
    assert names["xfail"] == set(expected_failed_checks(estimator))
    assert names["xfail"] & names["passed"] == set()
    assert names.get("skipped", set()) <= SKIPPED
    assert len(names["passed"]) > 30


def test_every_learner_of_the_registry_has_its_estimators():
    wanted = {(spec.name, task) for spec in LEARNERS.own() for task in spec.tasks}
    assert set(estimator_classes()) == wanted


def test_the_page_lists_the_checks_with_their_reasons():
    listed = dict(re.findall(r"(?m)^\| `(check_\w+)` \| (.+?) \|", PAGE.read_text("utf-8")))
    said: dict[str, str] = {}
    for kind in estimator_classes().values():
        said |= expected_failed_checks(kind())
    assert listed == said
