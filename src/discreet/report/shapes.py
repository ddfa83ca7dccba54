"""Shape functions: what each value of a feature adds to a model's score, how far noise reaches, and their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.learning.additive import AdditiveModel

Floats = NDArray[np.float64]
REACH = 1.96  # standard errors on both sides: about 95 of 100 draws of the noise lie within
MISSING = "missing"
MOST_SCORES = 4  # of several classes, the shapes of so many


@dataclass(frozen=True)
class Shape:
    """One shape function of a feature.

    Attributes:
        column: The feature.
        values: What each code adds, the last one that of missing values.
        errors: The standard error that noise gives each, None where unknown.
        axis: What it adds to.
    """

    column: CodedColumn
    values: Floats
    errors: Floats | None
    axis: str

    @property
    def spans(self) -> tuple[Floats, Floats]:
        """Between which two numbers each value lies, as far as noise goes."""
        reach = np.zeros(len(self.values)) if self.errors is None else REACH * self.errors
        return self.values - reach, self.values + reach


def list_shapes(model: AdditiveModel) -> list[Shape]:
    """Return the shape functions of a model; features that move scores most come first."""
    space = model.space
    reach = [float(np.ptp(shape[:-1], axis=0).max()) for shape in model.shapes]
    order = np.argsort([-one for one in reach], kind="stable")
    return [
        Shape(
            space.features[place],
            model.shapes[place][:, score],
            None if model.errors is None else model.errors[place][:, score],
            axis,
        )
        for place in order
        for score, axis in enumerate(_name_scores(model)[:MOST_SCORES])
    ]


def _name_scores(model: AdditiveModel) -> list[str]:
    """Return what each score is, in words."""
    target = "the target" if model.space.target is None else f"'{model.space.target.name}'"
    if model.link == "identity":
        return [f"added to the predicted {target}"]
    classes = model.space.classes[1:] if model.link == "logistic" else model.space.classes
    return [f"added to the log odds of {target} = {one}" for one in classes]


def name_codes(column: CodedColumn) -> list[str]:
    """Return the first value of each code as text, without that of missing values."""
    firsts = column.coding.representatives()[0].to_pylist()
    return ["all others" if one is None else _format_value(one) for one in firsts]


def format_signed(value: float) -> str:
    """Return a number with its sign and three digits that count.

    >>> format_signed(0.1234), format_signed(1523.4), format_signed(0)
    ('+0.123', '+1520', '0')
    """
    shown = float(f"{value:.3g}")
    return "0" if shown == 0 else f"{shown:+.6g}".replace("-", "\N{MINUS SIGN}")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
