"""Charts as SVG, drawn without script, font or address in the result.

Colors are the page's CSS variables, so a chart follows its dark and print styles. Every bar
carries its value as text, and a description serves screen readers.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import Bug, MissingExtra

try:
    import altair as alt
    import vl_convert
except ImportError as error:
    raise MissingExtra(what="The HTML report", extra="report") from error


# One width for all, so that letters have one size: it still reads well on a narrow phone.
WIDTH = 460
LETTER = 7.6  # about the width of one, at the font's size
ROW = 27
FONT_SIZE = 13
NEAR = 1.6  # numbers on a logarithmic scale, whose words would touch
LONGEST_LABEL = 18  # letters; the tables beside charts show names in full
INK, MUTED, GRID = "var(--ink)", "var(--muted)", "var(--line)"
BAR, ALERT, MARK = "var(--bar)", "var(--alert)", "var(--ink)"


@dataclass(frozen=True)
class Bar:
    """One bar, the words beside it, and whether it stands for trouble.

    `required` marks the value that a policy requires.
    """

    label: str
    value: float
    text: str
    is_alert: bool = False
    required: float | None = None


def bars(
    rows: Sequence[Bar], *, title: str, axis: str, form: str = "~s", most: float | None = None
) -> str:
    """Return horizontal bars, first row on top.

    Args:
        rows: What to draw.
        title: What the chart shows, for screen readers.
        axis: What the length of a bar means.
        form: How numbers on the axis are written, in d3's notation.
        most: The value at the right end, where that is not the longest bar.
    """
    ends = [most or 0.0, *(row.value for row in rows), *(row.required or 0.0 for row in rows)]
    values = [
        {
            "place": place,
            "value": row.value,
            "text": row.text,
            "required": row.required,
            # A required mark beyond the bar would lie under the words.
            "end": max(row.value, row.required or 0.0),
            "color": ALERT if row.is_alert else BAR,
        }
        for place, row in enumerate(rows)
    ]
    names = {str(place): f"·{shorten_label(row.label)}" for place, row in enumerate(rows)}
    y = alt.Y(
        "place:O",
        title=None,
        axis=alt.Axis(
            # Behind a mark, which is cut off: a literal that is one of Vega's own words, such as
            # `if`, is taken for it.
            labelExpr=f"slice({vega_literal(names)}[datum.value], 1)",
            ticks=False,
            domain=False,
            labelPadding=8,
        ),
        scale=alt.Scale(paddingInner=0.28, paddingOuter=0.14),
    )
    scale = alt.Scale(domain=[0, max(ends) or 1], nice=most is None)
    x_axis = alt.Axis(
        labelExpr=f"format(datum.value, '{form}')",
        tickCount=3,
        values=alt.Undefined if most is None else [most * part / 4 for part in range(5)],
        domain=False,
        ticks=False,
        labelPadding=6,
    )
    base = alt.Chart(alt.Data(values=values)).encode(y=y)
    layers = [
        base.mark_bar(cornerRadiusEnd=3).encode(
            # Unstacked: stacked bars with round ends are clipped by shapes whose names would clash.
            x=alt.X("value:Q", title=axis, scale=scale, axis=x_axis, stack=None),
            color=alt.Color("color:N", scale=None),
        ),
        base.mark_text(align="left", dx=7, color=INK, fontSize=FONT_SIZE).encode(
            x=alt.X("end:Q"), text=alt.Text("text:N")
        ),
    ]
    if any(row.required is not None for row in rows):
        layers.append(
            base.transform_filter("isValid(datum.required)")
            .mark_tick(color=MARK, thickness=3, size=ROW * 0.9)
            .encode(x=alt.X("required:Q"))
        )
    words = "; ".join(f"{row.label}: {row.text}" for row in rows)
    padding = {
        "left": label_width(shorten_label(row.label) for row in rows),
        "right": label_width(row.text for row in rows),
        "top": 4,
        "bottom": 50,
    }
    drawing = alt.layer(*layers)
    return draw_chart(
        drawing, height=ROW * len(rows), title=title, words=f"{axis}. {words}.", room=padding
    )


def steps(
    points: Sequence[tuple[float, float]],
    *,
    title: str,
    words: str,
    threshold: tuple[float, str] | None = None,
    last: float = 100,
) -> str:
    """Return the share of people whose chance of being found is at least 1 in x, as steps over x.

    Args:
        points: A number of people x that hide each other, and the share hidden among x or fewer.
        title: What the chart shows.
        words: A text for screen readers.
        threshold: Where to put a line, and what to write beside it.
        last: The greatest x drawn; the scale is logarithmic from 1.
    """
    inside = [(x, share) for x, share in points if 1 <= x <= last]
    start = [] if inside and inside[0][0] == 1 else [(1.0, 0.0)]
    line = [*start, *inside, (last, inside[-1][1] if inside else 0.0)]
    x = alt.X(
        "x:Q",
        title="Chance of being found, at least",
        scale=alt.Scale(type="log", domain=[1, last], nice=False),
        axis=alt.Axis(
            values=[1, 2, 5, 10, 25, 100],
            labelExpr="datum.value == 1 ? 'certain' : '1 in ' + datum.value",
            grid=False,
            tickColor=GRID,
            domainColor=GRID,
            labelOverlap=False,
            labelFlush=False,
        ),
    )
    y = alt.Y(
        "share:Q",
        title="Share of people",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=4, domain=False, ticks=False, labelPadding=8),
    )
    data = alt.Data(values=[{"x": x_value, "share": share} for x_value, share in line])
    base = alt.Chart(data).encode(x=x, y=y)
    layers: list[Any] = [
        base.mark_area(interpolate="step-after", color=BAR, opacity=0.2),
        base.mark_line(interpolate="step-after", color=BAR, strokeWidth=2.5),
    ]
    if threshold is not None and threshold[0] <= last:
        place, label = threshold
        right = place < 12  # keep the words inside the chart
        marked = alt.Chart(alt.Data(values=[{"x": place, "label": label}])).encode(x=alt.X("x:Q"))
        layers += [
            marked.mark_rule(color=MARK, strokeDash=[5, 4], strokeWidth=1.5),
            marked.mark_text(
                align="left" if right else "right",
                dx=6 if right else -6,
                baseline="bottom",
                color=INK,
                fontSize=FONT_SIZE,
            ).encode(y=alt.value(-6), text=alt.Text("label:N")),
        ]
    padding = {"left": 66, "right": 28, "top": 26, "bottom": 52}
    return draw_chart(alt.layer(*layers), height=200, title=title, words=words, room=padding)


@dataclass(frozen=True)
class Point:
    """One point of a curve, the words beside it, and whether it is the requested one."""

    x: float
    y: float
    text: str
    is_marked: bool = False


def curve(
    points: Sequence[Point], *, title: str, axes: tuple[str, str], words: str, mark: str
) -> str:
    """Return shares over numbers on a logarithmic scale, each point with its words.

    Args:
        points: What to draw, from left to right.
        title: What the chart shows.
        axes: What x and y mean.
        words: A text for screen readers.
        mark: What is written above the marked point, from which a line falls to its x.
    """
    numbers = [point.x for point in points]
    values = [
        {
            "x": point.x,
            "y": point.y,
            "marked": point.is_marked,
            # Where points are close, words would lie on each other.
            "text": point.text if place == 0 or point.x >= NEAR * numbers[place - 1] else "",
        }
        for place, point in enumerate(points)
    ]
    x = alt.X(
        "x:Q",
        title=axes[0],
        scale=alt.Scale(type="log", domain=[min(numbers) / 1.25, max(numbers) * 1.25], nice=False),
        axis=alt.Axis(
            values=numbers,
            labelExpr="format(datum.value, ',')",
            grid=False,
            tickColor=GRID,
            domainColor=GRID,
            labelOverlap=True,
            labelFlush=False,
        ),
    )
    height = 200
    top = max(point.y for point in points) * 1.25 or 1
    y = alt.Y(
        "y:Q",
        title=axes[1],
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=alt.Axis(format=".0%", tickCount=4, domain=False, ticks=False, labelPadding=8),
    )
    base = alt.Chart(alt.Data(values=values)).encode(x=x, y=y)
    marked = base.transform_filter("datum.marked")
    layers: list[Any] = [
        marked.mark_rule(color=MARK, strokeDash=[5, 4], strokeWidth=1.5).encode(
            y2=alt.value(height)
        ),
        marked.mark_text(baseline="bottom", dy=-26, color=INK, fontSize=FONT_SIZE).encode(
            text=alt.value(mark)
        ),
        base.mark_line(color=BAR, strokeWidth=2.5),
        base.mark_circle(color=BAR, size=60, opacity=1),
        marked.mark_circle(color=MARK, size=130, opacity=1),
        base.mark_text(
            align="center", baseline="bottom", dy=-9, color=INK, fontSize=FONT_SIZE
        ).encode(text=alt.Text("text:N")),
    ]
    padding = {"left": 66, "right": 28, "top": 12, "bottom": 52}
    return draw_chart(alt.layer(*layers), height=height, title=title, words=words, room=padding)


def draw_chart(
    chart: alt.LayerChart | alt.FacetChart,
    *,
    height: float,
    title: str,
    words: str,
    room: dict[str, int],
) -> str:
    """Return the chart as SVG that stands in a page: named, described, as wide as its place."""
    styled = chart.properties(
        width=WIDTH - room["left"] - room["right"],
        height=height,
        padding=room,
        autosize=alt.AutoSizeParams(type="none"),
    ).configure(
        aria=False,
        background="transparent",
        font="sans-serif",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            gridColor=GRID,
            labelColor=INK,
            labelFontSize=FONT_SIZE,
            labelLimit=WIDTH,
            titleColor=MUTED,
            titleFontSize=FONT_SIZE,
            titleFontWeight="normal",
            titlePadding=10,
        ),
    )
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    drawn = vl_convert.vegalite_to_svg(
        styled.to_dict(validate=False),
        vl_version=version,
        allowed_base_urls=[],
        show_warnings=False,
    )
    return _embeddable_svg(drawn, title=title, words=words)


def _embeddable_svg(drawn: str, *, title: str, words: str) -> str:
    found = re.match(r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>", drawn)
    if found is None:
        raise Bug("A chart was drawn without a view box. Please report it.")
    head = (
        f'<svg class="chart" role="img" aria-label="{html.escape(title)}" {found[1]}>'
        f"<title>{html.escape(title)}</title><desc>{html.escape(words)}</desc>"
    )
    # Inside role="img" nothing else is announced: the drawing's own labels are noise there.
    rest = re.sub(
        r"<[a-z]+ [^<>]*>",
        lambda tag: re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", tag[0]),
        drawn[found.end() :],
    )
    return head + rest


def label_width(texts: Iterable[str]) -> int:
    """Return how much room the longest of some texts takes, and a little more."""
    return 16 + round(LETTER * max((len(text) for text in texts), default=0))


def shorten_label(label: str) -> str:
    """Return a label with an ellipsis where it is too long for a chart."""
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"


def vega_literal(names: dict[str, str]) -> str:
    """Return names, of any letters, as an object literal of Vega's expressions."""
    safe = {
        key: "".join(f"\\u{unit:04x}" for unit in _utf16_units(name)) for key, name in names.items()
    }
    return "{" + ",".join(f"'{key}':'{name}'" for key, name in safe.items()) + "}"


def _utf16_units(text: str) -> list[int]:
    """Return the UTF-16 code units of a text, as its escapes in an expression need them."""
    data = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
