"""A learned model as one page: what is promised, what it does with each feature, what noise costs, how well it predicts.

All numbers follow from the released model and from noisy counts that were paid for: the page may go with the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from discreet.answer.wording import format_amounts, format_short
from discreet.domain.binned_range import BinnedRange
from discreet.domain.coded_column import CodedColumn
from discreet.formatting import format_count, format_percent, join_names
from discreet.learning.additive import AdditiveModel
from discreet.learning.expected_noise import ExpectedNoise, simulate_noise
from discreet.learning.record import LearnedModel
from discreet.learning.tree_model import TreeModel
from discreet.registry import LEARNERS
from discreet.report.assessment import KeyFigure, file_name
from discreet.report.model_performance import (
    PerformancePart,
    summarize_performance,
)
from discreet.report.page import Figure, PageTable, render_page
from discreet.report.shape_charts import draw_shape
from discreet.report.shapes import REACH, Shape, format_signed, list_shapes
from discreet.writing import write_atomically

MOST_CHARTS = 30
_MOST_LINES = 200  # of trees
_FEW_NAMES = 4  # a headline names so many features


@dataclass(frozen=True)
class ModelCardPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    facts: tuple[KeyFigure, ...]
    cautions: tuple[str, ...]
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    noise: tuple[str, ...]
    features: PageTable
    shapes: tuple[Figure, ...]
    shape_words: str
    trees: str | None
    performance: PerformancePart | None
    computed: tuple[tuple[str, str], ...]


def write_model_card(found: LearnedModel, path: Path) -> None:
    """Write the page of a model to `path`, atomically replacing an existing file."""
    write_atomically(path, render_model_card(found))


def render_model_card(found: LearnedModel, *, on: date | None = None) -> str:
    """Return the page of a model as HTML, dated `on` (today when not given)."""
    page = summarize_model(found, on=on or datetime.now(UTC).date())
    return render_page("model_card.html.j2", page=page)


def summarize_model(found: LearnedModel, *, on: date) -> ModelCardPage:
    """Return what the page of a model shows."""
    model = found.saved.predictor
    additive = model if isinstance(model, AdditiveModel) else None
    noise = None if additive is None else simulate_noise(additive)
    shapes = [] if additive is None else list_shapes(additive)
    return ModelCardPage(
        source=file_name(found.source),
        on=on,
        verdict=_word_headline(found),
        facts=_key_figures(found, noise),
        cautions=found.cautions,
        promised=_list_promises(found),
        not_promised=_list_limits(found),
        noise=_describe_noise(found, noise),
        features=_feature_table(found, additive),
        shapes=tuple(
            Figure(draw_shape(one), f"{one.column.name}: {one.axis}.")
            for one in shapes[:MOST_CHARTS]
        ),
        shape_words=_describe_shapes(found, shapes),
        trees=_write_trees(found),
        performance=None
        if found.evaluation is None
        else summarize_performance(found.evaluation, target=str(found.target)),
        computed=_computation_notes(found),
    )


def _word_headline(found: LearnedModel) -> str:
    """Return the model in one sentence; many features are counted, not named."""
    many = len(found.features)
    from_what = join_names(found.features) if many <= _FEW_NAMES else f"{many:,} features"
    of = "of" if found.target is None else f"of '{found.target}' from"
    price = format_amounts(found.epsilon, found.delta)
    return f"A private model {of} {from_what} by {found.learner}: {price} for each {found.unit}."


def _key_figures(found: LearnedModel, noise: ExpectedNoise | None) -> tuple[KeyFigure, ...]:
    facts = [KeyFigure(format_short(found.epsilon), f"epsilon for each {found.unit}")]
    judged = found.evaluation
    if judged is not None and judged.accuracy is not None:
        facts.append(
            KeyFigure(
                format_percent(judged.accuracy.value),
                f"right predictions, ± {100 * REACH * judged.accuracy.error:.1f} points",
            )
        )
    if judged is not None and judged.r_squared is not None:
        facts.append(KeyFigure(f"{judged.r_squared.value:.2f}", "R², by noisy counts"))
    if noise is not None and noise.changed is not None:
        facts.append(
            KeyFigure(
                format_percent(noise.changed),
                "of predicted classes would be others without noise, by simulation",
            )
        )
    elif noise is not None:
        facts.append(
            KeyFigure(
                f"± {format_short(float(f'{noise.prediction:.2g}'))}",
                "by which noise moves a predicted number on average, by simulation",
            )
        )
    facts.append(KeyFigure(f"{len(found.features):,}", "features"))
    return tuple(facts)


def _list_promises(found: LearnedModel) -> tuple[str, ...]:
    ratio = format_short(float(f"{math.exp(min(found.epsilon, 50)):.3g}"))
    noise = "Gaussian" if found.delta else "Laplace"
    beyond = f", but for events of a total probability of at most {format_short(found.delta)}"
    whose = (
        "one row is"
        if found.unit == "row"
        else f"the rows of one {found.unit}, of which at most {found.rows_per_unit:,} counted, are"
    )
    promised = [
        (
            f"The model is differentially private: {format_amounts(found.epsilon, found.delta)} for each {found.unit}. "
            f"Whether {whose} in the table or not changes the probability of any result by a factor of at most "
            f"{ratio}{beyond if found.delta else ''}."
        ),
        (
            f"Every count and sum that the learner took from the table got exact discrete {noise} noise over whole "
            "numbers, before anything was decided by it. The model follows from these noisy numbers alone."
        ),
        "Whatever is done with the model costs nothing more: predictions, plots, and exports.",
    ]
    judged = found.evaluation
    if judged is not None:
        whole = format_amounts(found.epsilon + judged.epsilon, found.delta)
        rows = (
            f"of the same rows: model and page together are {whole} for each {found.unit}"
            if judged.same_rows
            else f"of the rows of {file_name(judged.source)}"
        )
        promised.append(
            f"The evaluation on this page took epsilon {format_short(judged.epsilon)} {rows}."
        )
    return tuple(promised)


def _list_limits(found: LearnedModel) -> tuple[str, ...]:
    return (
        f"The guarantee is for one {found.unit}. For several that belong together, epsilons add up.",
        (
            "What is true of people in general is learned, and holds for a person whether or not their rows are in the table: a "
            "model may predict it for them."
        ),
        "Other models and answers from the same table add to its price; the ledger adds them up.",
        (
            "A prediction may be wrong for a person, and it shows what goes together, not what causes it. The page does not "
            "show for which use the model is fit."
        ),
    )


def _describe_noise(found: LearnedModel, noise: ExpectedNoise | None) -> tuple[str, ...]:
    if noise is None:
        return (
            (
                f"The learner `{found.learner}` states no standard errors, so that it is not known what noise costs this "
                "model. Learn it with a larger epsilon, on data that need no protection, to compare."
            ),
        )
    score = format_short(float(f"{noise.score:.2g}"))
    moved = format_short(float(f"{noise.prediction:.2g}"))
    if noise.changed is None:
        first = f"Noise moves a predicted number by {moved} on average; its standard deviation is {score} for the median row."
    else:
        first = (
            f"Noise has a standard deviation of {score} in the score (in log odds) of the median row. It moves a predicted "
            f"chance by {moved} on average, and changes the predicted class of {format_percent(noise.changed)} of rows."
        )
    return (
        first,
        (
            "This is a simulation from the released standard errors: 4,000 rows whose values are drawn evenly from each "
            "feature's, predicted with and without normal noise of that size in each shape. People's own values are not even: "
            "frequent ones have less noise. Bins and settings are taken as given: what they lose to noise is not in it."
        ),
    )


def _feature_table(found: LearnedModel, model: AdditiveModel | None) -> PageTable:
    header = ("Feature", "Kind", "Coded as", "Steps", "Adds from", "to", "± noise")
    rows: list[tuple[str, ...]] = []
    for place, column in enumerate(found.saved.space.features):
        rows.append(
            (
                column.name,
                column.kind.value,
                describe_coding(column),
                *_describe_reach(model, place),
            )
        )
    return PageTable(
        caption="Features, their public values, and how far each moves the score",
        header=header,
        rows=tuple(rows),
        numbers=frozenset({3, 4, 5, 6}),
    )


def _describe_reach(model: AdditiveModel | None, place: int) -> tuple[str, str, str, str]:
    """Return how many values a shape has, its least and its largest one, and the median of its noise."""
    if model is None:
        return "–", "–", "–", "–"
    shape = model.shapes[place][:-1]
    steps = f"{len(np.unique(shape, axis=0)):,}"
    if model.errors is None:
        noise = "–"
    else:
        noise = format_short(float(f"{REACH * np.median(model.errors[place][:-1]):.2g}"))
    return steps, format_signed(float(shape.min())), format_signed(float(shape.max())), noise


def describe_coding(column: CodedColumn) -> str:
    """Return how a column's values become codes, in words."""
    coding, size = column.coding, column.coding.size
    if not isinstance(coding, BinnedRange):
        return f"{format_count(size, 'listed value', 'listed values')}, and missing"
    bins = format_count(size, "bin", "bins")
    return f"{bins} from {coding.low} to {coding.high}, and missing; what is beyond counts as the bound"


def _describe_shapes(found: LearnedModel, shapes: Sequence[Shape]) -> str:
    if not shapes:
        return f"A model by `{found.learner}` is no sum of shape functions: there is no plot of each feature's part."
    left = len(shapes) - MOST_CHARTS
    more = f" {left:,} more are not drawn; the table above has them." if left > 0 else ""
    return (
        "A prediction adds up what each feature's value has here; features that move it most come first. The line, or the dot, "
        "is what was learned; the band is ± 1.96 standard errors of the noise, in which the value without noise lies about 95 "
        f"times of 100. Where the band holds 0, the model may have learned noise. Missing values stand apart.{more}"
    )


def _write_trees(found: LearnedModel) -> str | None:
    """Return the first lines of the trees of a model, None where it has none."""
    if not isinstance(found.saved.predictor, TreeModel):
        return None
    lines = found.explain().splitlines()
    left = len(lines) - _MOST_LINES
    more = [f"… {left:,} more lines: `model.explain()`"] if left > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *more])


def _computation_notes(found: LearnedModel) -> tuple[tuple[str, str], ...]:
    saved = found.saved
    learner = LEARNERS.get(saved.learner)
    stated = ", ".join(f"`{name}` = {value}" for name, value in saved.options.items())
    chosen = [one.name for one in learner.options if one.name not in saved.options]
    left = (
        f"{', '.join(f'`{name}`' for name in chosen)}: chosen from epsilon and the noisy number of rows"
        if chosen
        else ""
    )
    facts = [
        ("Learner", f"`{saved.learner}`. {learner.description}"),
        ("Options", "; ".join(part for part in (stated, left) if part) or "none"),
        ("Task", found.task),
        ("Price", format_amounts(found.epsilon, found.delta)),
        ("Protected unit", f"{found.unit}, with at most {found.rows_per_unit:,} of its rows"),
        ("Table", found.table),
    ]
    if found.classes:
        facts.insert(3, ("Classes", ", ".join(str(one) for one in found.classes)))
    if found.output is not None:
        facts.append(("Model file", file_name(found.output)))
    return tuple(facts)
