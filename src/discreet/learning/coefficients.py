"""Models with coefficients: additive models that also say how each feature counts, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.binned_range import BinnedRange
from discreet.domain.coded_column import CodedColumn
from discreet.learning.additive import AdditiveModel, Link, read_additive_model
from discreet.learning.design import Design, DesignColumn
from discreet.learning.features import FeatureSpace, code_numbers

Floats = NDArray[np.float64]
_QUANTILE = 1.959964  # of the Gaussian, for intervals of 95 %
_HIDDEN = (
    0.05  # the share of a coefficient's direction that noise may hide before it gets no interval
)


@dataclass(frozen=True)
class Coefficient:
    """What one more of a number, or one of some values of a category, adds to a score.

    Attributes:
        feature: The feature.
        values: The values it is of, None for a missing one; none where it is that of the number itself. What
            values add is relative to the average row.
        score: The class whose score it adds to; None where there is one score.
        estimate: What it adds, in units of the target or as log odds.
        noise: The standard error that noise alone gives it.
        error: The standard error of noise and of chance in which people are in the table.
        low: The lower end of its interval of 95 %; None where noise hides too much of it.
        high: The upper end.
    """

    feature: str
    values: tuple[str | None, ...]
    score: str | None
    estimate: float
    noise: float
    error: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CoefficientModel(AdditiveModel):
    """An additive model of coefficients.

    Attributes:
        coefficients: One for each number, and for each group of values of a category.
    """

    coefficients: tuple[Coefficient, ...] = ()

    def to_content(self) -> dict[str, Any]:
        """Return the model in plain values."""
        made = [asdict(one) | {"values": list(one.values)} for one in self.coefficients]
        return {**super().to_content(), "coefficients": made}


@dataclass(frozen=True)
class FittedScore:
    """The coefficients of one score, with what is known of their errors.

    Attributes:
        intercept: The score of the average row.
        coefficients: Of the design.
        noise: Their covariance by noise.
        chance: Their covariance by chance in which people are in the table.
        seen: The projection on directions in which noise does not hide what rows say.
    """

    intercept: float
    coefficients: Floats
    noise: Floats
    chance: Floats
    seen: Floats


def read_coefficient_model(space: FeatureSpace, content: Mapping[str, Any]) -> CoefficientModel:
    """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    model = read_additive_model(space, content)
    return CoefficientModel(
        space,
        model.link,
        model.intercept,
        model.shapes,
        model.errors,
        model.bounds,
        tuple(_read_coefficient(one) for one in content["coefficients"]),
    )


def make_coefficient_model(
    space: FeatureSpace,
    design: Design,
    fitted: Sequence[FittedScore],
    *,
    averages: Floats,
    link: Link,
) -> CoefficientModel:
    """Return the model of fitted scores; for `identity` a score of -1 … 1 becomes a number of the target.

    Args:
        space: The features and the target.
        design: How features enter.
        fitted: The fit of each score.
        averages: What the average row has for each coefficient, to which shapes are relative.
        link: How scores become predictions.
    """
    middle, half = (0.0, 1.0) if link != "identity" else _target_scale(space)
    shapes: list[Floats] = []
    errors: list[Floats] = []
    found: list[Coefficient] = []
    names = _score_names(space, len(fitted))
    for feature, column, span, average in zip(
        space.features, design.columns, design.spans, design.split(averages), strict=True
    ):
        rows = column.code_matrix - average
        shapes.append(half * np.stack([rows @ one.coefficients[span] for one in fitted], axis=1))
        errors.append(
            half
            * np.stack([_standard_errors(rows, one.noise[span, span]) for one in fitted], axis=1)
        )
        for name, one in zip(names, fitted, strict=True):
            found += _list_coefficients(feature, column, one, span, average, half, name)
    intercept = middle + half * np.array([one.intercept for one in fitted])
    bounds = (middle - half, middle + half) if link == "identity" else None
    return CoefficientModel(
        space, link, intercept, tuple(shapes), tuple(errors), bounds, tuple(found)
    )


def _target_scale(space: FeatureSpace) -> tuple[float, float]:
    numbers = space.target_numbers
    low, high = float(numbers.min()), float(numbers.max())
    return low / 2 + high / 2, high / 2 - low / 2


def _score_names(space: FeatureSpace, count: int) -> list[str | None]:
    return [None] if count == 1 else [str(one) for one in space.classes]


def _standard_errors(rows: Floats, covariance: Floats) -> Floats:
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0))


def _list_coefficients(
    feature: CodedColumn,
    column: DesignColumn,
    fitted: FittedScore,
    span: slice,
    average: Floats,
    half: float,
    score: str | None,
) -> list[Coefficient]:
    """Return the coefficients of one feature: of the number itself, and of groups of values."""
    contrasts = np.eye(column.size)
    if not column.is_scale:
        contrasts = contrasts - average
    seen = np.einsum("ij,jk,ik->i", contrasts, fitted.seen[span, span], contrasts) / np.maximum(
        (contrasts**2).sum(axis=1), 1e-12
    )
    noise = _standard_errors(contrasts, fitted.noise[span, span])
    error = np.hypot(noise, _standard_errors(contrasts, fitted.chance[span, span]))
    estimates = contrasts @ fitted.coefficients[span]
    made: list[Coefficient] = []
    for place, values in enumerate(_values_of_entries(feature, column)):
        is_number = column.is_scale and place == 0
        factor = half / _half_range(feature) if is_number else half
        middle, margin = estimates[place] * factor, _QUANTILE * error[place] * factor
        is_known = seen[place] > 1 - _HIDDEN and math.isfinite(margin)
        made.append(
            Coefficient(
                feature.name,
                () if is_number else values,
                score,
                float(middle),
                float(noise[place] * factor),
                float(error[place] * factor),
                float(middle - margin) if is_known else None,
                float(middle + margin) if is_known else None,
            )
        )
    return made


def _values_of_entries(feature: CodedColumn, column: DesignColumn) -> list[tuple[str | None, ...]]:
    """Return the values that share each coefficient of a category, and the missing one of a number."""
    found: list[list[str | None]] = [[] for _ in range(column.size)]
    if column.is_scale:
        return [(), *([(None,)] * (column.size - 1))]
    for code, entry in enumerate(column.entries[column.levels].tolist()):
        found[entry].append(_word_code(feature, code))
    return [tuple(one) for one in found]


def _word_code(feature: CodedColumn, code: int) -> str | None:
    coding = feature.coding
    if code == feature.missing:
        return None
    if isinstance(coding, BinnedRange):
        return f"{code_numbers(feature)[code]:g}"
    return str(coding.values[code]) if code < len(coding.values) else "*"


def _half_range(feature: CodedColumn) -> float:
    numbers = code_numbers(feature)
    return float(numbers.max() / 2 - numbers.min() / 2) or 1.0


def _read_coefficient(content: Mapping[str, Any]) -> Coefficient:
    score = content["score"]
    return Coefficient(
        str(content["feature"]),
        tuple(None if one is None else str(one) for one in content["values"]),
        None if score is None else str(score),
        *(_read_number(content[name]) for name in ("estimate", "noise", "error")),
        *(
            None if content[name] is None else _read_number(content[name])
            for name in ("low", "high")
        ),
    )


def _read_number(content: Any) -> float:
    found = float(content)
    if not math.isfinite(found):
        raise ValueError("a coefficient is no number")
    return found
