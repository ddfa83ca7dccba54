"""Additive boosting on merged bins: one shape function a feature, improved by noisy sums of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import RowChange, divide_budget
from discreet.learning.additive import AdditiveModel, Link, read_additive_model
from discreet.learning.merged_bins import MergedBins, measure_features, merge_codes
from discreet.learning.training import Codes, Counts, Training
from discreet.registry import LearnerSpec, OptionSpec

Floats = NDArray[np.float64]
_COUNTING = 0.2  # the share of the price for the counts by which bins are merged
_UNIT = 256  # scores and residuals are whole numbers of this part of one
_STEP = 16  # buckets of a score are so many of these wide
_FARTHEST = 8  # from 0; scores beyond it fall into the last bucket
_CURVATURE = 0.18  # of the logistic loss, on average over rows
_LEVELS = 32  # at most so many levels of a target that is a number


@dataclass(frozen=True)
class BoostingSettings:
    """How a model is boosted; it depends on epsilon times the noisy number of rows only.

    Attributes:
        bins: Into how many bins a feature's codes are merged.
        rounds: How often each feature's shape is improved.
        rate: Which share of an improvement is taken.
    """

    bins: int
    rounds: int
    rate: float


def choose_settings(epsilon: float, rows: float) -> BoostingSettings:
    """Return settings by how much the noise hides: more bins and smaller steps where it hides little.

    >>> choose_settings(1.0, 30_000).bins < choose_settings(10.0, 30_000).bins
    True
    """
    exactness = epsilon * rows
    if exactness < 100_000:
        return BoostingSettings(6, 3, 0.6)
    if exactness < 200_000:
        return BoostingSettings(12, 6, 0.4)
    return BoostingSettings(24, 10, 0.3)


def choose_number_settings(epsilon: float, rows: float) -> BoostingSettings:
    """Return settings for a target that is a number: its residuals say more of each row than those of classes.

    >>> choose_number_settings(1.0, 30_000).bins > choose_settings(1.0, 30_000).bins
    True
    """
    exactness = epsilon * rows
    if exactness < 10_000:
        return BoostingSettings(6, 4, 0.5)
    return BoostingSettings(16, 6, 0.5) if exactness < 100_000 else BoostingSettings(24, 12, 0.5)


def fit_boosting(
    training: Training,
    *,
    bins: int | None = None,
    rounds: int | None = None,
    rate: float | None = None,
) -> AdditiveModel:
    """Return an additive model whose shapes are improved one feature after the other.

    Guarantee: that of `training.spending`. Each feature's counts are measured once, a row in one cell. A step
    measures, for the bins of one feature, the sum of residuals: a row is in one bin, and its residual is at
    most one, so that it changes the vector by at most `_UNIT` in either norm. Scores are whole numbers that
    follow from what was measured before; residuals follow from the bucket of the score and the target.

    Args:
        training: Counts, features, and what may be spent.
        bins: Into how many bins a feature is merged; by default from epsilon times rows.
        rounds: How often each feature is improved.
        rate: Which share of an improvement is taken.
    """
    spending = training.spending
    columns = measure_features(training, spending.left * Fraction(_COUNTING))
    choose = choose_number_settings if training.space.task == "regression" else choose_settings
    found = choose(float(training.epsilon), columns.rows)
    settings = BoostingSettings(
        bins or found.bins, rounds or found.rounds, found.rate if rate is None else rate
    )
    merged = merge_codes(training, columns, [settings.bins] * training.target_place)
    goals = _list_goals(training)
    steps = len(training.space.features) * settings.rounds * len(goals)
    price = divide_budget(spending.left, [1.0] * steps)[0]
    fitted = [_boost_shapes(training, merged, settings, goal, price) for goal in goals]
    return _make_model(training, merged, goals, fitted)


@dataclass(frozen=True)
class _Goal:
    """What residuals are taken of: the chance of a class, or a number.

    Attributes:
        values: What each level of the target should be predicted as, from 0 to 1 or from -1 to 1.
        levels: The level of each code of the target; the last one is missing.
        is_chance: Whether a score becomes a chance before it is compared.
    """

    values: Floats
    levels: Codes
    is_chance: bool


@dataclass(frozen=True)
class _Boosted:
    shapes: list[Floats]
    errors: list[Floats]


def _list_goals(training: Training) -> list[_Goal]:
    space = training.space
    if space.task == "regression":
        numbers = space.target_numbers
        low, high = float(numbers.min()), float(numbers.max())
        scaled = (numbers - low) / ((high - low) or 1.0) * 2 - 1
        levels = np.minimum((scaled + 1) / 2 * _LEVELS, _LEVELS - 1).astype(np.intp)
        used = np.unique(levels, return_inverse=True)[1]
        values = np.array([scaled[used == one].mean() for one in range(int(used.max()) + 1)])
        return [_Goal(values, np.append(used, len(values)), is_chance=False)]
    count = len(space.classes)
    levels = np.arange(count + 1)
    wanted = range(1, 2) if count == 2 else range(count)
    return [
        _Goal((np.arange(count) == one).astype(float), levels, is_chance=True) for one in wanted
    ]


def _boost_shapes(
    training: Training,
    merged: MergedBins,
    settings: BoostingSettings,
    goal: _Goal,
    price: Fraction,
) -> _Boosted:
    """Return the shapes over merged bins that predict one goal."""
    spending, target = training.spending, training.target_place
    change = RowChange(_UNIT, _UNIT**2)
    scale = spending.scale(price, change=change) / _UNIT
    maps = [*merged.maps, goal.levels]
    shapes = [np.zeros(len(one), np.int64) for one in merged.counts]
    squared = [np.zeros(len(one)) for one in merged.counts]
    weights = [*shapes, np.zeros(len(goal.values) + 1, np.int64)]
    cuts, residuals = _bucket_residuals(goal)
    curvature = _CURVATURE if goal.is_chance else 1.0
    for _ in range(settings.rounds):
        for place in training.chance.permutation(target):
            counted = training.counts.count_scored(weights, cuts, [(int(place), target)], maps)[0]
            exact = add_up_residuals(counted, residuals)
            noisy = spending.measure(exact, price, change=change) / _UNIT
            divisor = merged.counts[place] * curvature + 2 * scale
            step = np.clip(noisy / divisor, -1, 1) * settings.rate
            squared[place] += (scale / divisor * settings.rate) ** 2
            weights[place] = weights[place] + np.round(step * _UNIT).astype(np.int64)
    return _Boosted([one / _UNIT for one in weights[:-1]], [np.sqrt(one) for one in squared])


def _bucket_residuals(goal: _Goal) -> tuple[list[int], Counts]:
    """Return where buckets of scores begin, and the residual of each bucket and level, in whole parts of one.

    No residual exceeds one: chances lie between 0 and 1, and those of numbers are clamped.
    """
    reach = _FARTHEST if goal.is_chance else 1
    width = _STEP if goal.is_chance else _STEP // 2
    cuts = list(range(-reach * _UNIT, reach * _UNIT + 1, width))
    middles = (np.array([cuts[0] - width, *cuts]) + width / 2) / _UNIT
    predicted = 1 / (1 + np.exp(-middles)) if goal.is_chance else middles
    residuals = np.clip(goal.values[None, :] - predicted[:, None], -1, 1)
    return cuts, np.round(residuals * _UNIT).astype(np.int64)


def add_up_residuals(counted: Counts, residuals: Counts) -> Counts:
    """Return the sum of residuals of each bin, from counts by bucket, bin and level of the target.

    The last level, where the target is missing, adds nothing.
    """
    return np.einsum("sbl,sl->b", counted[:, :, :-1], residuals)


def _make_model(
    training: Training, merged: MergedBins, goals: Sequence[_Goal], fitted: Sequence[_Boosted]
) -> AdditiveModel:
    """Return the model over codes: each shape is centered, and what that takes goes to the intercept."""
    space = training.space
    shapes: list[Floats] = []
    errors: list[Floats] = []
    intercept = np.zeros(len(goals))
    for place, codes in enumerate(merged.maps):
        shape = np.stack([one.shapes[place] for one in fitted], axis=1)
        weights = merged.counts[place] / merged.counts[place].sum()
        middle = weights @ shape
        intercept += middle
        shapes.append((shape - middle)[codes])
        errors.append(np.stack([one.errors[place] for one in fitted], axis=1)[codes])
    if space.task == "regression":
        numbers = space.target_numbers
        low, high = float(numbers.min()), float(numbers.max())
        half = ((high - low) or 1.0) / 2
        return AdditiveModel(
            space,
            "identity",
            low + (intercept + 1) * half,
            tuple(one * half for one in shapes),
            tuple(one * half for one in errors),
            (low, high),
        )
    link: Link = "logistic" if len(goals) == 1 else "softmax"
    return AdditiveModel(space, link, intercept, tuple(shapes), tuple(errors))


SPEC = LearnerSpec(
    name="boosting",
    summary="A shape function for each feature, improved step by step; the default for classes.",
    description="Additive boosting: each feature adds what its shape function has for its value.",
    tasks=("classification", "regression"),
    fit=fit_boosting,
    read=read_additive_model,
    options=(
        OptionSpec(
            "bins",
            "integer",
            "Into how many bins a feature's values are merged.",
            minimum=2,
            maximum=256,
        ),
        OptionSpec(
            "rounds",
            "integer",
            "How often each feature's shape is improved.",
            minimum=1,
            maximum=100,
        ),
        OptionSpec("rate", "number", "Which share of an improvement is taken.", above=0, maximum=1),
    ),
    model="additive",
    position=10,
)
