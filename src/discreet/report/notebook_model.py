"""A learned model in a notebook: what it cost, how well it predicts, and its shape functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.answer.wording import format_amounts
from discreet.report.notebook_html import Card, Chart, IntervalRow, TextTable

# They are loaded where a model is shown; other results do without.
if TYPE_CHECKING:
    from discreet.learning.performance import ModelEvaluation
    from discreet.learning.record import LearnedModel
    from discreet.measure.utility.scored_counts import NoisyFigure
    from discreet.report.shapes import Shape

_MOST_CHARTS = 8  # the page of `write_report` has all
_REACH = 1.96


def build_model_card(found: LearnedModel) -> Card:
    """Return what a notebook shows of a model."""
    from discreet.learning.additive import AdditiveModel
    from discreet.report.shapes import list_shapes

    facts = [
        ("Learner", found.learner),
        ("Task", found.task),
        ("Features", f"{len(found.features):,}"),
        ("Promised", format_amounts(found.epsilon, found.delta)),
        ("Protected unit", f"{found.unit}, with at most {found.rows_per_unit:,} of its rows"),
        ("Spent", format_amounts(found.spent["epsilon"], found.spent["delta"])),
    ]
    model = found.saved.predictor
    shapes = list_shapes(model) if isinstance(model, AdditiveModel) else []
    notes = ["`discreet.write_report(model, 'card.html')` writes the whole model card."]
    if shapes:
        notes.append(
            "Shape functions: what a value adds to the score, ± 1.96 standard errors of the noise."
        )
    return Card(
        found.verdict,
        tables=[TextTable("Model", facts), *_list_performance(found.evaluation)],
        charts=[_chart_shape(one) for one in shapes[:_MOST_CHARTS]],
        notes=notes,
        cautions=found.cautions,
    )


def _list_performance(found: ModelEvaluation | None) -> list[TextTable]:
    if found is None:
        return []
    figures = {
        "Right predictions": found.accuracy,
        "AUC": found.auc,
        "R²": found.r_squared,
        "Root mean squared error": found.root_mean_squared_error,
    }
    rows = [(name, _format_figure(one)) for name, one in figures.items() if one is not None]
    where = "the rows it was learned from" if found.same_rows else f"the rows of {found.source}"
    return [TextTable(f"On {where}, by noisy counts for epsilon {found.epsilon:g}", rows)]


def _format_figure(figure: NoisyFigure) -> str:
    return f"{figure.value:.4g} ± {_REACH * figure.error:.2g}"


def _chart_shape(shape: Shape) -> Chart:
    """Return a row for each step of a shape, named by the value it begins with, and one for missing values."""
    from discreet.report.shapes import MISSING, format_signed, name_codes

    names = name_codes(shape.column)
    lows, highs = shape.spans
    codes: Sequence[int] = range(len(names))
    if shape.column.is_ordered:
        changes = np.flatnonzero(np.diff(shape.values[:-1])) + 1
        codes = [0, *changes.tolist()]
    labels = [f"from {names[code]}" if len(codes) < len(names) else names[code] for code in codes]
    rows = [
        IntervalRow(
            label,
            float(lows[code]),
            float(shape.values[code]),
            float(highs[code]),
            format_signed(float(shape.values[code])),
        )
        for label, code in zip([*labels, MISSING], [*codes, -1], strict=True)
    ]
    return Chart(f"{shape.column.name}: {shape.axis}", rows)
