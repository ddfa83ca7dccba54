"""Figures of an evaluation: accuracy, ranks, calibration and groups, from noisy counts and with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learning.evaluation import (
    CHANCES,
    LEVELS,
    MIDDLE,
    EvaluationPlan,
    MeasuredPredictions,
    Subgroups,
)
from discreet.measure.utility.scored_counts import (
    NoisyFigure,
    estimate_rank_share,
    estimate_share,
)
from discreet.result import Result

Floats = NDArray[np.float64]
_FEWEST = 3  # a mean over fewer rows than so many standard errors of their number says nothing


@dataclass(frozen=True)
class ReliabilityBucket:
    """Rows that are predicted alike, and what is true of them.

    Attributes:
        low: The smallest predicted chance, or number, of the bucket.
        high: The largest.
        rows: How many rows it has, by a noisy count.
        observed: The share of rows whose class is the predicted one, or the mean of true numbers; None where
            noise hides it.
    """

    low: float
    high: float
    rows: float
    observed: NoisyFigure | None


@dataclass(frozen=True)
class SubgroupPerformance:
    """How well a model predicts one group of rows; what noise hides, or does not apply, is None.

    Attributes:
        column: The column that tells groups apart.
        group: The group: a value, or a range of values.
        rows: How many rows it has, by a noisy count.
        accuracy: The share of right predictions.
        predicted_share: The share of rows that are predicted to be of the second class.
        false_positive_rate: Of the rows of the first class, the share that is predicted to be of the second.
        false_negative_rate: Of the rows of the second class, the share that is predicted to be of the first.
        mean_error: By how much predicted numbers are too high on average.
        root_mean_squared_error: The usual error of predicted numbers.
    """

    column: str
    group: str
    rows: float
    accuracy: NoisyFigure | None = None
    predicted_share: NoisyFigure | None = None
    false_positive_rate: NoisyFigure | None = None
    false_negative_rate: NoisyFigure | None = None
    mean_error: NoisyFigure | None = None
    root_mean_squared_error: NoisyFigure | None = None


@dataclass(frozen=True)
class ModelEvaluation(Result):
    """How well a model predicts, from noisy counts that were paid for; what noise hides is None.

    Attributes:
        source: The rows it was judged on.
        same_rows: Whether these are the rows it was learned from, so that figures are a little too good.
        epsilon: What the counts cost.
        rows: How many rows were judged, by a noisy count.
        positive: The second of two classes, which chances are of; None for several classes and for numbers.
        accuracy: The share of right predictions; None for numbers.
        baseline: The share of the more frequent class.
        auc: The chance that a row of the second class has a higher score than one of the first.
        false_positive_rate: Of the rows of the first class, the share that is predicted to be of the second.
        false_negative_rate: Of the rows of the second class, the share that is predicted to be of the first.
        r_squared: The share of the variance of numbers that predictions explain; its error is that of noise.
        root_mean_squared_error: The usual error of predicted numbers; its error is that of noise.
        reliability: What is true of rows that are predicted alike.
        groups: How well groups of rows are predicted; of several classes, the rows of each class come first.
        classes: How many classes there are; 0 for numbers.
    """

    source: str
    same_rows: bool
    epsilon: float
    rows: float
    positive: Any = None
    accuracy: NoisyFigure | None = None
    baseline: float | None = None
    auc: NoisyFigure | None = None
    false_positive_rate: NoisyFigure | None = None
    false_negative_rate: NoisyFigure | None = None
    r_squared: NoisyFigure | None = None
    root_mean_squared_error: NoisyFigure | None = None
    reliability: tuple[ReliabilityBucket, ...] = ()
    groups: tuple[SubgroupPerformance, ...] = ()
    classes: int = 0


def read_performance(
    plan: EvaluationPlan,
    measured: MeasuredPredictions,
    *,
    source: str,
    same_rows: bool,
    epsilon: float,
) -> ModelEvaluation:
    """Return what noisy counts say about a model: arithmetic on what was released."""
    if plan.space.task == "regression":
        return _read_numbers(plan, measured, source, same_rows=same_rows, epsilon=epsilon)
    count = len(plan.space.classes)
    if count > 2:
        return _read_several(plan, measured, source, same_rows=same_rows, epsilon=epsilon)
    counts, scale = measured.overall, measured.scales[0]
    halves = np.stack([counts[:MIDDLE].sum(axis=0), counts[MIDDLE:].sum(axis=0)])
    is_right = np.zeros(counts.shape, bool)
    is_right[:MIDDLE, 0] = is_right[MIDDLE:, 1] = True
    is_second = np.zeros(len(counts), bool)
    is_second[MIDDLE:] = True
    whole = max(1.0, float(halves.sum()))
    edges = [0.0, *CHANCES, 1.0]
    return ModelEvaluation(
        source,
        same_rows,
        epsilon,
        max(0.0, float(counts.sum())),
        positive=plan.space.classes[1],
        accuracy=estimate_share(counts, is_right, scale=scale),
        baseline=min(1.0, max(0.0, float(halves.sum(axis=0).max()) / whole)),
        auc=estimate_rank_share(counts[:, 1], counts[:, 0], scale=scale),
        false_positive_rate=estimate_share(counts[:, 0], is_second, scale=scale),
        false_negative_rate=estimate_share(counts[:, 1], ~is_second, scale=scale),
        reliability=tuple(
            ReliabilityBucket(
                low,
                high,
                max(0.0, float(row.sum())),
                estimate_share(row, np.array([False, True]), scale=scale),
            )
            for low, high, row in zip(edges[:-1], edges[1:], counts, strict=True)
        ),
        groups=tuple(_list_class_groups(plan.groups, measured)),
        classes=2,
    )


def describe_performance(found: ModelEvaluation) -> str:
    """Return an evaluation in one sentence, ± 1.96 standard errors.

    >>> judged = ModelEvaluation("people.csv", True, 0.1, 900.0, "yes", NoisyFigure(0.85, 0.01))
    >>> describe_performance(judged)
    'By noisy counts for epsilon 0.1, on the rows it was learned from: accuracy 0.850 ± 0.020.'
    """
    named = {
        "accuracy": found.accuracy,
        "AUC": found.auc,
        "R²": found.r_squared,
        "root mean squared error": found.root_mean_squared_error,
    }
    parts = [
        f"{name} {one.value:.4g} ± {1.96 * one.error:.2g}"
        if name.startswith("root")
        else f"{name} {one.value:.3f} ± {1.96 * one.error:.3f}"
        for name, one in named.items()
        if one is not None
    ]
    where = "the rows it was learned from" if found.same_rows else f"the rows of {found.source}"
    figures = ", ".join(parts) or "noise hides all figures; a larger epsilon shows them"
    return f"By noisy counts for epsilon {found.epsilon:g}, on {where}: {figures}."


def _read_several(
    plan: EvaluationPlan,
    measured: MeasuredPredictions,
    source: str,
    *,
    same_rows: bool,
    epsilon: float,
) -> ModelEvaluation:
    """Return the figures of several classes, from counts by whether the predicted one is right."""
    counts, scale = measured.overall, measured.scales[0]
    is_right = np.zeros(counts.shape, bool)
    is_right[1] = True
    whole = max(1.0, float(counts.sum()))
    target = plan.space.columns[-1].name
    tables = [(target, [str(one) for one in plan.space.classes], counts, scale)]
    for one, table, size in zip(plan.groups, measured.groups, measured.scales[1:], strict=True):
        tables.append((one.column.name, [*one.names], table, size))
    groups = tuple(
        SubgroupPerformance(
            column,
            name,
            max(0.0, float(table[:, place].sum())),
            accuracy=estimate_share(table[:, place], np.array([False, True]), scale=size),
        )
        for column, names, table, size in tables
        for place, name in enumerate(names)
    )
    return ModelEvaluation(
        source,
        same_rows,
        epsilon,
        max(0.0, float(counts.sum())),
        accuracy=estimate_share(counts, is_right, scale=scale),
        baseline=min(1.0, max(0.0, float(counts.sum(axis=0).max()) / whole)),
        groups=groups,
        classes=len(plan.space.classes),
    )


def _list_class_groups(
    groups: Sequence[Subgroups], measured: MeasuredPredictions
) -> list[SubgroupPerformance]:
    found: list[SubgroupPerformance] = []
    right, second = np.eye(2, dtype=bool), np.array([False, True])
    for some, counts, scale in zip(groups, measured.groups, measured.scales[1:], strict=True):
        for place, name in enumerate(some.names):
            one = counts[:, :, place]
            found.append(
                SubgroupPerformance(
                    some.column.name,
                    name,
                    max(0.0, float(one.sum())),
                    accuracy=estimate_share(one, right, scale=scale),
                    predicted_share=estimate_share(
                        one, np.array([[False, False], [True, True]]), scale=scale
                    ),
                    false_positive_rate=estimate_share(one[:, 0], second, scale=scale),
                    false_negative_rate=estimate_share(one[:, 1], ~second, scale=scale),
                )
            )
    return found


def _read_numbers(
    plan: EvaluationPlan,
    measured: MeasuredPredictions,
    source: str,
    *,
    same_rows: bool,
    epsilon: float,
) -> ModelEvaluation:
    numbers = plan.space.target_numbers
    low, half = float(numbers.min()), (float(numbers.max() - numbers.min()) or 1.0) / 2
    rows, sums = measured.overall[:LEVELS], measured.overall[LEVELS : 2 * LEVELS]
    off, power = 4 * float(measured.overall[-2]), float(measured.overall[-1])
    scale, whole = measured.scales[0], float(rows.sum())
    edges = low + half * np.linspace(0, 2, LEVELS + 1)
    return ModelEvaluation(
        source,
        same_rows,
        epsilon,
        max(0.0, whole),
        r_squared=_explain_variance(whole, float(sums.sum()), off, power, scale),
        root_mean_squared_error=_mean_root(off, whole, 4 * scale, half)
        if whole > _FEWEST * scale * math.sqrt(LEVELS)
        else None,
        reliability=tuple(
            ReliabilityBucket(
                float(first),
                float(last),
                max(0.0, float(n)),
                _find_mean(n, total, scale, low, half),
            )
            for first, last, n, total in zip(edges[:-1], edges[1:], rows, sums, strict=True)
        ),
        groups=tuple(_list_number_groups(plan.groups, measured, half)),
    )


def _explain_variance(
    rows: float, total: float, off: float, power: float, scale: float
) -> NoisyFigure | None:
    """Return R² with the error of its noise; None where noise hides the variance."""
    if rows <= 0:
        return None
    mean = total / rows
    spread = power - rows * mean**2
    noise = scale * math.sqrt(1 + LEVELS * (4 * mean**2 + mean**4))
    if spread < _FEWEST * noise:
        return None
    error = math.hypot(4 * scale / spread, off * noise / spread**2)
    return NoisyFigure(1 - max(0.0, off) / spread, error)


def _find_mean(
    rows: float, total: float, scale: float, low: float, half: float
) -> NoisyFigure | None:
    """Return the mean of the numbers of some rows; its error is that of noise and of at most so much variance."""
    if rows < max(1.0, _FEWEST * scale):
        return None
    mean = min(1.0, max(-1.0, total / rows))
    variance = (1 - mean**2) / rows + (scale / rows) ** 2 * (1 + mean**2)
    return NoisyFigure(low + (mean + 1) * half, math.sqrt(variance) * half)


def _mean_root(squares: float, rows: float, noise: float, half: float) -> NoisyFigure | None:
    """Return the root of a mean of squares with the error of their noise."""
    if squares < noise:
        return None
    root = math.sqrt(squares / rows)
    return NoisyFigure(root * half, noise / rows / (2 * root) * half)


def _list_number_groups(
    groups: Sequence[Subgroups], measured: MeasuredPredictions, half: float
) -> list[SubgroupPerformance]:
    found: list[SubgroupPerformance] = []
    for some, counts, scale in zip(groups, measured.groups, measured.scales[1:], strict=True):
        for place, name in enumerate(some.names):
            rows, off, squares = (float(one) for one in counts[:, place])
            is_seen = rows > max(1.0, _FEWEST * scale)
            found.append(
                SubgroupPerformance(
                    some.column.name,
                    name,
                    max(0.0, rows),
                    mean_error=NoisyFigure(
                        2 * off / rows * half,
                        2 * half * math.sqrt(scale**2 + max(0.0, squares)) / rows,
                    )
                    if is_seen
                    else None,
                    root_mean_squared_error=_mean_root(4 * squares, rows, 4 * scale, half)
                    if is_seen
                    else None,
                )
            )
    return found
