"""What noise costs a model: how far its predictions lie from those of the same steps without noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.learning.additive import AdditiveModel, Floats

_ROWS = 4_000  # rows of values that are drawn evenly, for which predictions are compared
_SEED = 20_261_118  # of a simulation on public numbers: the same model has the same figures


@dataclass(frozen=True)
class ExpectedNoise:
    """How noise moves predictions, on average over rows whose values are drawn evenly from each feature's.

    Attributes:
        score: The standard deviation of the noise in a score, of a row in the middle.
        prediction: By how much a predicted chance, or number, moves on average.
        changed: The share of rows whose predicted class changes; None for numbers.
    """

    score: float
    prediction: float
    changed: float | None


def simulate_noise(model: AdditiveModel) -> ExpectedNoise | None:
    """Return what the standard errors of shape functions mean for predictions, None where they are unknown.

    Each shape's value is moved by normal noise of its standard error, and predictions are compared before and
    after. Nothing but released numbers is used. Bins and steps are taken as given: what they lose is not in it.
    """
    if model.errors is None or not model.shapes:
        return None
    chance = np.random.default_rng(_SEED)
    sizes = [len(shape) - 1 for shape in model.shapes]
    codes = np.stack([chance.integers(0, max(1, size), _ROWS) for size in sizes], axis=1)
    spreads = [one[codes[:, place]] for place, one in enumerate(model.errors)]
    before = model.scores(codes)
    moved = before + sum(chance.normal(size=one.shape) * one for one in spreads)
    variance: Floats = np.sum([one**2 for one in spreads], axis=0)
    score = float(np.median(np.sqrt(variance.mean(axis=1))))
    first, second = model.predict_scores(before), model.predict_scores(moved)
    if model.link == "identity":
        return ExpectedNoise(score, float(np.abs(first - second).mean()), None)
    changed = float((first.argmax(axis=1) != second.argmax(axis=1)).mean())
    return ExpectedNoise(score, float(np.abs(first - second)[:, -1].mean()), changed)
