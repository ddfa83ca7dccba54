"""How well a model predicts, as a part of its card: figures with their errors, a reliability curve, and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.answer.wording import format_short
from discreet.formatting import format_percent
from discreet.learning.performance import ModelEvaluation, SubgroupPerformance
from discreet.measure.utility.scored_counts import NoisyFigure
from discreet.report.charts import BAR, GRID, MUTED, alt, draw_chart
from discreet.report.page import Figure, PageTable
from discreet.report.shapes import REACH

HIDDEN = "hidden by noise"


@dataclass(frozen=True)
class PerformancePart:
    """What the card shows of an evaluation."""

    sentences: tuple[str, ...]
    figures: PageTable
    reliability: Figure | None
    groups: PageTable | None


def summarize_performance(found: ModelEvaluation, *, target: str) -> PerformancePart:
    """Return what a card shows of an evaluation."""
    return PerformancePart(
        _describe_source(found),
        _figure_table(found),
        _draw_reliability(found, target),
        _group_table(found),
    )


def format_figure(figure: NoisyFigure | None) -> str:
    """Return a share with what it may be off, at 95 of 100.

    >>> format_figure(NoisyFigure(0.8512, 0.0031)), format_figure(None)
    ('85.1 % ± 0.6', 'hidden by noise')
    """
    if figure is None:
        return HIDDEN
    return f"{100 * figure.value:.1f} % ± {100 * REACH * figure.error:.1f}"


def _format_number(figure: NoisyFigure | None) -> str:
    if figure is None:
        return HIDDEN
    value, error = figure.value, REACH * figure.error
    return f"{format_short(float(f'{value:.3g}'))} ± {format_short(float(f'{error:.2g}'))}"


def _describe_source(found: ModelEvaluation) -> tuple[str, ...]:
    paid = (
        f"Bought for epsilon {format_short(found.epsilon)} more, on top of the model's price: the engine counted rows by "
        "prediction and truth, and the counts got Laplace noise. Every figure follows from these noisy counts; ± is 1.96 "
        "standard errors, by the noise and by which people are in the table."
    )
    where = (
        "The rows are those that the model was learned from. Figures are therefore optimistic: on people that it has not "
        "seen, it does a little worse. `--evaluate-on` judges it on others."
        if found.same_rows
        else "The rows are others than those that the model was learned from. If people are in both, figures are optimistic."
    )
    return paid, where


def _figure_table(found: ModelEvaluation) -> PageTable:
    rows = [("Rows with a target, by a noisy count", f"{found.rows:,.0f}")]
    if not found.classes:
        rows += [
            ("R² (± of noise)", _format_number(found.r_squared)),
            (
                "Root mean squared error (± of noise)",
                _format_number(found.root_mean_squared_error),
            ),
        ]
    else:
        baseline = HIDDEN if found.baseline is None else format_percent(found.baseline)
        rows += [
            ("Right predictions (accuracy)", format_figure(found.accuracy)),
            ("Always the most frequent class", baseline),
        ]
    if found.classes == 2:
        rows += [
            ("Area under the ROC curve (AUC)", _format_rank(found.auc)),
            ("False positive rate", format_figure(found.false_positive_rate)),
            ("False negative rate", format_figure(found.false_negative_rate)),
        ]
    return PageTable("How well it predicts", ("Figure", "Value"), tuple(rows), frozenset({1}))


def _format_rank(figure: NoisyFigure | None) -> str:
    return HIDDEN if figure is None else f"{figure.value:.3f} ± {REACH * figure.error:.3f}"


def _draw_reliability(found: ModelEvaluation, target: str) -> Figure | None:
    """Return what is true of rows that are predicted alike; on the line, predictions are what happens."""
    seen = [(one, one.observed) for one in found.reliability if one.observed is not None]
    if not seen:
        return None
    low, high = found.reliability[0].low, found.reliability[-1].high
    is_chance = found.positive is not None
    rows: list[dict[str, Any]] = []
    for bucket, observed in seen:
        reach = REACH * observed.error
        rows.append(
            {
                "x": (bucket.low + bucket.high) / 2,
                "y": observed.value,
                "low": max(low, observed.value - reach),
                "high": min(high, observed.value + reach),
            }
        )
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    form = ".0%" if is_chance else "~s"
    style = alt.Axis(
        format=form, tickCount=5, gridColor=GRID, domain=False, ticks=False, labelPadding=6
    )
    what = f"{target} = {found.positive}" if is_chance else target
    x = alt.X("x:Q", title=f"Predicted: {what}", scale=scale, axis=style)
    y = alt.Y("y:Q", title="Observed, by noisy counts", scale=scale, axis=style)
    base = alt.Chart(alt.Data(values=rows)).encode(x=x)
    ends = [{"x": low, "y": low}, {"x": high, "y": high}]
    layers: list[Any] = [
        alt.Chart(alt.Data(values=ends))
        .mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x=x, y=y),
        base.mark_rule(color=BAR, strokeWidth=5, opacity=0.35).encode(
            y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")
        ),
        base.mark_circle(color=BAR, size=60, opacity=1).encode(y=y),
    ]
    words = "; ".join(
        f"predicted {_format_end(bucket.low, is_chance)} to {_format_end(bucket.high, is_chance)}: observed "
        f"{_format_end(observed.value, is_chance)}"
        for bucket, observed in seen
    )
    drawn = draw_chart(
        alt.layer(*layers),
        height=300,
        title="Reliability: what was observed of rows that are predicted alike",
        words=f"{words}.",
        room={"left": 76, "right": 28, "top": 10, "bottom": 52},
    )
    return Figure(
        drawn,
        "Reliability: on the dashed line, predictions are what happens. Bars are ± 1.96 standard errors; buckets that noise hides "
        "are left out.",
    )


def _format_end(value: float, is_chance: bool) -> str:
    return format_percent(value) if is_chance else format_short(float(f"{value:.3g}"))


def _group_table(found: ModelEvaluation) -> PageTable | None:
    if not found.groups:
        return None
    caption = "Groups of rows, each figure from noisy counts of the group alone"
    first = ("Group", "Rows")
    if found.classes > 2:
        rights = tuple((*_name_group(one), format_figure(one.accuracy)) for one in found.groups)
        return PageTable(caption, (*first, "Right"), rights, frozenset({1, 2}))
    if not found.classes:
        return PageTable(
            caption,
            (*first, "Too high by", "Root mean squared error"),
            tuple(
                (
                    *_name_group(one),
                    _format_number(one.mean_error),
                    _format_number(one.root_mean_squared_error),
                )
                for one in found.groups
            ),
            frozenset({1, 2, 3}),
        )
    return PageTable(
        caption,
        (
            *first,
            "Right",
            f"Predicted {found.positive}",
            "False positive rate",
            "False negative rate",
        ),
        tuple(
            (
                *_name_group(one),
                format_figure(one.accuracy),
                format_figure(one.predicted_share),
                format_figure(one.false_positive_rate),
                format_figure(one.false_negative_rate),
            )
            for one in found.groups
        ),
        frozenset({1, 2, 3, 4, 5}),
    )


def _name_group(one: SubgroupPerformance) -> tuple[str, str]:
    return f"{one.column}: {one.group}", f"{one.rows:,.0f}"
