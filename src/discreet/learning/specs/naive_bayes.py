"""Naive Bayes: the noisy counts of each feature with the class."""

from __future__ import annotations

import numpy as np

from discreet.dp.spending import divide_budget
from discreet.learning.additive import AdditiveModel, read_additive_model
from discreet.learning.training import Training
from discreet.registry import LearnerSpec


def fit_naive_bayes(training: Training) -> AdditiveModel:
    """Return the log odds of noisy counts, each feature's apart.

    Guarantee: that of `training.spending`. A row is in one cell of each of the tables, each of which is measured
    once, for a share of the whole; the rest is arithmetic on noisy counts.
    """
    space, spending = training.space, training.spending
    exact = training.count_pairs()
    prices = divide_budget(spending.left, [1.0] * len(exact))
    noisy = [
        spending.measure(one.ravel(), price).reshape(one.shape)
        for one, price in zip(exact, prices, strict=True)
    ]
    scale = spending.scale(prices[0])
    priors = np.maximum(np.mean([one.sum(axis=0) for one in noisy], axis=0), 1.0)
    shapes, errors = [], []
    for one in noisy:
        floored = np.maximum(one, max(scale, 0.5))
        shapes.append(np.log(floored / floored.sum(axis=0)))
        errors.append(scale / floored)
    intercept = np.log(priors / priors.sum())
    if len(space.classes) > 2:
        return AdditiveModel(space, "softmax", intercept, tuple(shapes), tuple(errors))
    return AdditiveModel(
        space,
        "logistic",
        intercept[1:] - intercept[:1],
        tuple(one[:, 1:] - one[:, :1] for one in shapes),
        tuple(np.sqrt((one**2).sum(axis=1, keepdims=True)) for one in errors),
    )


SPEC = LearnerSpec(
    name="naive-bayes",
    summary="Log odds of each feature apart; the quickest, one noisy table a feature.",
    description="Naive Bayes: how much likelier each value is among people of one class than of another.",
    tasks=("classification",),
    fit=fit_naive_bayes,
    read=read_additive_model,
    model="additive",
    position=30,
)
