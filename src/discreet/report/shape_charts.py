"""Shape functions as charts: what each value of a feature adds to a model's score, and how far noise reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.report.charts import (
    BAR,
    FONT_SIZE,
    GRID,
    INK,
    ROW,
    alt,
    draw_chart,
    label_width,
    shorten_label,
    vega_literal,
)
from discreet.report.shapes import MISSING, Floats, Shape, format_signed, name_codes

MOST_VALUES = 16  # of a category, drawn one below the other
_TICKS, _FEWER, _LONG = 4, 3, 6  # marks on a scale; of names of more than six letters fewer
_BESIDE = 0.22  # where the missing value stands, beyond the end of a scale, as a part of its length
_HEIGHT = 190


def draw_shape(shape: Shape) -> str:
    """Return a shape function as SVG: steps over a scale, or dots of categories; missing values stand apart."""
    ends = shape.column.coding.ends
    if ends is not None and shape.column.is_ordered and shape.column.coding.size > 2:
        return _draw_steps(shape, ends[0], ends[1])
    return _draw_dots(shape)


def _describe_words(shape: Shape, names: Sequence[str]) -> str:
    """Return what a chart shows, for screen readers: at most as many values as are drawn of a category."""
    step = max(1, len(names) // MOST_VALUES)
    lows, highs = shape.spans
    shown = [(code, names[code]) for code in range(0, len(names), step)] + [(-1, MISSING)]
    parts = [
        f"{name}: {format_signed(shape.values[code])} "
        f"({format_signed(lows[code])} to {format_signed(highs[code])})"
        for code, name in shown
    ]
    return f"{shape.axis}. {'; '.join(parts)}."


def _draw_steps(shape: Shape, firsts: Floats, lasts: Floats) -> str:
    """Return steps over a scale, with a band of the noise; equal neighbors are one step."""
    size = shape.column.coding.size
    lows, highs = shape.spans
    names = name_codes(shape.column)
    length = float(lasts[-1] - firsts[0]) or 1.0
    values, places = shape.values, range(size)
    kept = [
        code
        for code in places
        if code == 0 or values[code] != values[code - 1] or highs[code] != highs[code - 1]
    ]
    rows = [
        {"x": float(firsts[code]), "y": values[code], "low": lows[code], "high": highs[code]}
        for code in kept
    ]
    rows.append(rows[-1] | {"x": float(lasts[-1])})
    beside = float(lasts[-1]) + _BESIDE * length
    ticks = _choose_ticks(firsts, names)
    words = {str(place): f"·{names[code]}" for place, code in enumerate(ticks)}
    words[str(len(ticks))] = f"·{MISSING}"
    marks = [*(float(firsts[code]) for code in ticks), beside]
    found = vega_literal(words)
    x = alt.X(
        "x:Q",
        title=None,
        scale=alt.Scale(domain=[float(firsts[0]), beside + 0.02 * length], nice=False, zero=False),
        axis=alt.Axis(
            values=marks,
            labelExpr=f"slice({found}[indexof({marks!r}, datum.value)], 1)",
            grid=False,
            tickColor=GRID,
            domainColor=GRID,
            labelOverlap=False,
            labelFlush=False,
        ),
    )
    base = alt.Chart(alt.Data(values=_plain_rows(rows))).encode(x=x)
    one = {"x": beside, "y": values[-1], "low": lows[-1], "high": highs[-1]}
    apart = alt.Chart(alt.Data(values=_plain_rows([one]))).encode(x=x)
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=True), axis=_score_axis())
    layers: list[Any] = [
        base.mark_area(interpolate="step-after", color=BAR, opacity=0.25).encode(
            y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")
        ),
        base.mark_line(interpolate="step-after", color=BAR, strokeWidth=2).encode(y=y),
        apart.mark_rule(color=BAR, strokeWidth=6, opacity=0.35).encode(
            y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")
        ),
        apart.mark_circle(color=BAR, size=55, opacity=1).encode(y=y),
    ]
    return draw_chart(
        alt.layer(*layers),
        height=_HEIGHT,
        title=f"What '{shape.column.name}' adds",
        words=_describe_words(shape, names),
        room={"left": 52, "right": 34, "top": 8, "bottom": 28},
    )


def _draw_dots(shape: Shape) -> str:
    """Return a dot for each category, with a rule as far as noise goes; those that add most, in their order."""
    size = shape.column.coding.size
    order = np.argsort(-np.abs(shape.values[:size]), kind="stable")[:MOST_VALUES]
    codes = [*np.sort(order).tolist(), size]
    names = [*name_codes(shape.column), MISSING]
    lows, highs = shape.spans
    rows = [
        {
            "place": place,
            "y": shape.values[code],
            "low": lows[code],
            "high": highs[code],
            "text": format_signed(shape.values[code]),
        }
        for place, code in enumerate(codes)
    ]
    labels = {str(place): f"·{shorten_label(names[code])}" for place, code in enumerate(codes)}
    base = alt.Chart(alt.Data(values=_plain_rows(rows))).encode(
        y=alt.Y(
            "place:O",
            title=None,
            axis=alt.Axis(
                labelExpr=f"slice({vega_literal(labels)}[datum.value], 1)",
                ticks=False,
                domain=False,
                labelPadding=8,
            ),
        )
    )
    x = alt.X("y:Q", title=None, scale=alt.Scale(zero=True), axis=_score_axis())
    layers: list[Any] = [
        base.mark_rule(color=BAR, strokeWidth=6, opacity=0.35).encode(
            x=alt.X("low:Q", title=None), x2=alt.X2("high:Q")
        ),
        base.mark_circle(color=BAR, size=70, opacity=1).encode(x=x),
        base.mark_text(align="left", dx=8, color=INK, fontSize=FONT_SIZE).encode(
            x=alt.X("high:Q"), text=alt.Text("text:N")
        ),
    ]
    return draw_chart(
        alt.layer(*layers),
        height=ROW * len(codes),
        title=f"What '{shape.column.name}' adds",
        words=_describe_words(shape, names[:-1]),
        room={
            "left": label_width(shorten_label(names[code]) for code in codes),
            "right": 62,
            "top": 4,
            "bottom": 28,
        },
    )


def _score_axis() -> Any:
    return alt.Axis(
        tickCount=4,
        labelExpr="datum.value == 0 ? '0' : format(datum.value, '+~g')",
        domain=False,
        ticks=False,
        labelPadding=6,
        gridColor=GRID,
    )


def _choose_ticks(firsts: Floats, names: Sequence[str]) -> list[int]:
    """Return codes that stand about evenly along a scale."""
    is_long = max(len(name) for name in (names[0], names[-1])) > _LONG
    marks = np.linspace(firsts[0], firsts[-1], _FEWER if is_long else _TICKS)
    found = np.clip(np.searchsorted(firsts, marks, side="right") - 1, 0, len(firsts) - 1)
    return list(dict.fromkeys(int(code) for code in found))


def _plain_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            name: float(value) if isinstance(value, np.floating) else value
            for name, value in row.items()
        }
        for row in rows
    ]
