"""Logistic regression on rows of a fitted table: one private fit, and all that follows is arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learning.additive import AdditiveModel, read_additive_model
from discreet.learning.features import require_few_pairs
from discreet.learning.training import Codes, Training
from discreet.registry import LearnerSpec, OptionSpec
from discreet.release.synthesize.fit import minimize_smooth
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, PURE, fit_model

Floats = NDArray[np.float64]
_BINS = 24  # that a feature's codes are merged into at most
_ROWS = (10_000, 50_000)  # of the fitted table that are learned from, at least and at most
_RIDGE = 2.0  # the weight of a squared coefficient against the loss of one row
_ITERATIONS = 200
_TOLERANCE = 1e-7


def fit_logistic(
    training: Training, *, bins: int | None = None, ridge: float | None = None
) -> AdditiveModel:
    """Return the logistic regression of rows that are drawn from a fitted table.

    Guarantee: that of `training.spending`, all of which `discreet.release.synthesize.rounds.fit_model` spends:
    each of its noisy looks is at counts of which a row is in one cell, or at gains that a row changes by at most one. No
    step after it depends on counts.

    Args:
        training: Counts, features, and what may be spent.
        bins: Into how many bins a feature's values are merged at most.
        ridge: How strongly coefficients are drawn to 0, in rows.
    """
    space, spending = training.space, training.spending
    shapes = [
        ColumnShape(one.size, one.is_ordered, one.levels, has_missing=True) for one in space.columns
    ]
    most = bins or _BINS
    settings = FAST if spending.power > 1 / 2 else PURE  # less is measured where noise is Laplace's
    settings = replace(settings, caps=tuple(sorted({min(one, most) for one in (3, 6, 12, most)})))
    model = fit_model(
        training.counts,
        shapes,
        spending,
        target=training.target_place,
        settings=settings,
        chance=training.chance,
    )
    count = round(float(np.clip(model.columns.total, *_ROWS)))
    rows = model.sample(count, training.chance)
    known = rows[rows[:, -1] < space.sizes[-1] - 1]
    groups = [one.finest for one in model.columns.resolutions[:-1]]
    problem = _make_problem(known, groups, len(space.classes), _RIDGE if ridge is None else ridge)
    return _make_model(training, problem, groups)


@dataclass(frozen=True)
class _LogisticProblem:
    """The loss of logistic or softmax regression on grouped rows.

    Attributes:
        places: For each row and feature, the place of its coefficient.
        classes: For each row and score, whether it is of the score's class.
        size: How many coefficients a score has, with the intercept, which comes first.
        ridge: The weight of squared coefficients.
    """

    places: Codes
    classes: Floats
    size: int
    ridge: float

    def evaluate(self, stacked: Floats) -> tuple[float, Floats]:
        """Return the loss and its gradient; coefficients are stacked score by score."""
        coefficients = stacked.reshape(self.classes.shape[1], self.size)
        scores = np.stack([one[0] + one[self.places].sum(axis=1) for one in coefficients], axis=1)
        logarithms, chances = _normalize_scores(scores)
        loss = float(logarithms.sum() - (scores * self.classes).sum())
        residuals = chances - self.classes
        gradient = np.empty_like(coefficients)
        flat = self.places.ravel()
        for place in range(len(coefficients)):
            repeated = np.repeat(residuals[:, place], self.places.shape[1])
            gradient[place] = np.bincount(flat, repeated, minlength=self.size)
            gradient[place, 0] = residuals[:, place].sum()
        weights = np.full(self.size, self.ridge)
        weights[0] = 1e-3  # enough for a class that no row has
        loss += 0.5 * float((weights * coefficients**2).sum())
        return loss, (gradient + weights * coefficients).ravel()


def _normalize_scores(scores: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of each row's sum of powers, and the chance of each score's class.

    One score stands for two classes, of which the first one has the score 0.
    """
    whole = scores if scores.shape[1] > 1 else np.append(np.zeros_like(scores), scores, axis=1)
    most = whole.max(axis=1, keepdims=True)
    powers = np.exp(whole - most)
    sums = powers.sum(axis=1, keepdims=True)
    return (np.log(sums) + most)[:, 0], (powers / sums)[:, whole.shape[1] - scores.shape[1] :]


def _make_problem(
    rows: NDArray[np.integer[Any]], groups: list[Codes], classes: int, ridge: float
) -> _LogisticProblem:
    starts = np.cumsum([1, *(int(one.max()) + 1 for one in groups)])
    places = np.stack(
        [codes[rows[:, i]] + starts[i] for i, codes in enumerate(groups)], axis=1
    ).astype(np.intp)
    wanted = np.arange(1, 2) if classes == 2 else np.arange(classes)
    is_class = (rows[:, -1:] == wanted).astype(float)
    return _LogisticProblem(places, is_class, int(starts[-1]), ridge)


def _make_model(
    training: Training, problem: _LogisticProblem, groups: list[Codes]
) -> AdditiveModel:
    """Return the model where the loss is least; shapes are centered on the rows it was learned from."""
    scores = problem.classes.shape[1]
    found = minimize_smooth(
        problem.evaluate,
        np.zeros(scores * problem.size),
        iterations=_ITERATIONS,
        tolerance=_TOLERANCE,
    ).reshape(scores, problem.size)
    intercept = found[:, 0].copy()
    shapes: list[Floats] = []
    start = 1
    for place, codes in enumerate(groups):
        size = int(codes.max()) + 1
        shape = found[:, start : start + size].T
        counts = np.bincount(problem.places[:, place] - start, minlength=size)
        middle = counts @ shape / max(1, int(counts.sum()))
        intercept += middle
        shapes.append((shape - middle)[codes])
        start += size
    link = "logistic" if scores == 1 else "softmax"
    return AdditiveModel(training.space, link, intercept, tuple(shapes))


SPEC = LearnerSpec(
    name="logistic",
    summary="Logistic regression on a fitted table; one pass of counts, quick on many rows.",
    description="Logistic regression: each feature adds to the log odds what its value has.",
    tasks=("classification",),
    fit=fit_logistic,
    read=read_additive_model,
    options=(
        OptionSpec(
            "bins",
            "integer",
            "Into how many bins a feature's values are merged at most.",
            minimum=2,
            maximum=256,
        ),
        OptionSpec(
            "ridge", "number", "How strongly coefficients are drawn to 0, in rows.", above=0
        ),
    ),
    model="additive",
    check=require_few_pairs,
    position=20,
)
