"""Additive models: a score that is a sum of what each feature's code adds. Boosting, Bayes and regressions are such."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.learning.features import FeatureSpace

Floats = NDArray[np.float64]
Link = Literal["logistic", "softmax", "identity"]


@dataclass(frozen=True)
class AdditiveModel:
    """Scores as sums of contributions of codes.

    Attributes:
        space: The features and the target.
        link: How scores become predictions: `logistic` for two classes (one score), `softmax` for several
            (a score each), `identity` for numbers.
        intercept: What every row starts with, for each score.
        shapes: For each feature, what each of its codes adds to each score: its shape function.
        errors: For each feature, the standard error that noise gives each of these, None where unknown.
        bounds: Between which a predicted number is clamped.
    """

    space: FeatureSpace
    link: Link
    intercept: Floats
    shapes: tuple[Floats, ...]
    errors: tuple[Floats, ...] | None = None
    bounds: tuple[float, float] | None = None

    def scores(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """Return the scores of rows of codes, a column each."""
        total = np.tile(self.intercept, (len(codes), 1))
        for place, shape in enumerate(self.shapes):
            total += shape[codes[:, place]]
        return total

    def predict(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """Return the chance of each class, or the predicted number in one column."""
        return self.predict_scores(self.scores(codes))

    def predict_scores(self, scores: Floats) -> Floats:
        """Return what scores predict: the chance of each class, or the number in one column."""
        if self.link == "identity":
            return scores if self.bounds is None else np.clip(scores, *self.bounds)
        if self.link == "logistic":
            chance = 1 / (1 + np.exp(-np.clip(scores[:, 0], -500, 500)))
            return np.stack([1 - chance, chance], axis=1)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def to_content(self) -> dict[str, Any]:
        """Return the model in plain values."""
        return {
            "kind": "additive",
            "link": self.link,
            "intercept": self.intercept.tolist(),
            "shapes": [one.tolist() for one in self.shapes],
            "errors": None if self.errors is None else [one.tolist() for one in self.errors],
            "bounds": None if self.bounds is None else list(self.bounds),
        }


def read_additive_model(space: FeatureSpace, content: Mapping[str, Any]) -> AdditiveModel:
    """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    if content["kind"] != "additive" or content["link"] not in ("logistic", "softmax", "identity"):
        raise ValueError("it is no additive model")
    intercept = np.array(content["intercept"], float)
    shapes = _read_shapes(space, content["shapes"], len(intercept))
    errors = content["errors"]
    bounds = content["bounds"]
    if not np.isfinite(intercept).all() or intercept.ndim != 1:
        raise ValueError("the intercept is malformed")
    _require_link(space, content["link"], len(intercept))
    if bounds is not None and not -math.inf < float(bounds[0]) <= float(bounds[1]) < math.inf:
        raise ValueError("the bounds are malformed")
    return AdditiveModel(
        space,
        content["link"],
        intercept,
        shapes,
        None if errors is None else _read_shapes(space, errors, len(intercept)),
        None if bounds is None else (float(bounds[0]), float(bounds[1])),
    )


def _require_link(space: FeatureSpace, link: Link, scores: int) -> None:
    """Refuse so many scores under a link that does not make predictions of the target of them."""
    fitting = {
        "identity": space.task == "regression" and scores == 1,
        "logistic": len(space.classes) == 2 and scores == 1,
        "softmax": len(space.classes) == scores,
    }
    if space.target is None or not fitting[link]:
        raise ValueError("the scores do not fit the target")


def _read_shapes(space: FeatureSpace, content: Any, scores: int) -> tuple[Floats, ...]:
    found = tuple(np.array(one, float) for one in content)
    wanted = [(column.size, scores) for column in space.features]
    if [one.shape for one in found] != wanted or not all(np.isfinite(one).all() for one in found):
        raise ValueError("a shape function does not fit its feature")
    return found
