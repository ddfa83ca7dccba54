"""Sentences, tables and small charts as HTML for notebooks: no script, no style sheet, all text escaped.

Charts are SVG in the color of the surrounding text, with two colors that are readable on light and
dark pages. Each number is also written as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, ROW, LETTER = 560, 22, 7.0  # LETTER: about the width of one at FONT_SIZE
FONT_SIZE = 12
LONGEST_LABEL = 28
MOST_ROWS = 20  # of a chart; the table beside it has all of them
MOST_TABLE_ROWS = 200
BAR, ALERT = "#3b82c4", "#d9480f"  # at least 3:1 on white and on near-black


@dataclass(frozen=True)
class BarRow:
    """One bar from 0 to `value`, its words, and whether it stands for a problem."""

    label: str
    value: float
    text: str
    is_alert: bool = False


@dataclass(frozen=True)
class IntervalRow:
    """One point with what it may be off, and its words."""

    label: str
    low: float
    value: float
    high: float
    text: str


@dataclass(frozen=True)
class Chart:
    """A chart of bars or of intervals; `most` is the value at its right end, if not the largest one."""

    title: str
    rows: Sequence[BarRow] | Sequence[IntervalRow]
    most: float | None = None


@dataclass(frozen=True)
class TextTable:
    """A table of texts: the first column names the rows."""

    caption: str
    rows: Sequence[Sequence[str]]
    header: Sequence[str] = ()


@dataclass(frozen=True)
class Card:
    """What a notebook shows of a result: a headline, tables, charts and cautions, in this order."""

    headline: str = ""
    tables: Sequence[TextTable] = ()
    charts: Sequence[Chart] = ()
    notes: Sequence[str] = ()
    cautions: Sequence[str] = ()


def render_card(card: Card) -> str:
    """Return a card as HTML that stands in any page.

    >>> render_card(Card("Safe <b>enough</b>", cautions=["Read it."]))
    '<div><p><strong>Safe &lt;b&gt;enough&lt;/b&gt;</strong></p><p>Caution: Read it.</p></div>'
    """
    parts = [f"<p><strong>{escape(card.headline)}</strong></p>"] if card.headline else []
    parts += [_render_table(table) for table in card.tables if table.rows]
    parts += [_render_chart(chart) for chart in card.charts if chart.rows]
    parts += [f"<p>{escape(note)}</p>" for note in card.notes]
    parts += [f"<p>Caution: {escape(caution)}</p>" for caution in card.cautions]
    return f"<div>{''.join(parts)}</div>"


def _render_table(table: TextTable) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    head = f"<thead><tr>{names}</tr></thead>" if table.header else ""
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in others)
        + "</tr>"
        for first, *others in table.rows[:MOST_TABLE_ROWS]
    )
    left = len(table.rows) - MOST_TABLE_ROWS
    more = f"<p>{left:,} more rows are not shown.</p>" if left > 0 else ""
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>{more}"


def _render_chart(chart: Chart) -> str:
    title = escape(_chart_title(chart))
    drawing = draw_row_chart(chart, attributes='style="max-width:100%;height:auto"')
    return f'<figure style="margin:0.6em 0"><figcaption>{title}</figcaption>{drawing}</figure>'


def _chart_title(chart: Chart) -> str:
    shown = min(len(chart.rows), MOST_ROWS)
    hidden = len(chart.rows) > shown
    return chart.title + (f" (the first {shown} of {len(chart.rows)})" if hidden else "")


def draw_row_chart(chart: Chart, *, attributes: str = "") -> str:
    """Return the first rows of a chart as SVG, every word escaped; `attributes` are those of its root."""
    rows = chart.rows[:MOST_ROWS]
    labels = [_shorten_label(row.label) for row in rows]
    left = max(len(label) for label in labels) * LETTER + 14
    right = max(len(row.text) for row in rows) * LETTER + 10
    least, most = _chart_range(rows, chart.most)
    scale = max(WIDTH - left - right, 80) / ((most - least) or 1)
    height = len(rows) * ROW
    drawn = "".join(
        _render_row(row, label, top=index * ROW, left=left, least=least, scale=scale)
        for index, (row, label) in enumerate(zip(rows, labels, strict=True))
    )
    zero = left - least * scale
    axis = f'<path d="M{zero:.1f} 0V{height}" stroke="currentColor" stroke-opacity="0.35"/>'
    width = left + (most - least) * scale + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(_chart_title(chart))}" '
        f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
        f'{attributes} font-family="sans-serif" font-size="{FONT_SIZE}">'
        f"{axis}{drawn}</svg>"
    )


def _chart_range(
    rows: Sequence[BarRow] | Sequence[IntervalRow], most: float | None
) -> tuple[float, float]:
    lows = [row.low for row in rows if isinstance(row, IntervalRow)]
    highs = [row.high if isinstance(row, IntervalRow) else row.value for row in rows]
    return min([0.0, *lows]), max([most or 0.0, *highs])


def _render_row(
    row: BarRow | IntervalRow, label: str, *, top: float, left: float, least: float, scale: float
) -> str:
    middle = top + ROW / 2
    base = middle + FONT_SIZE * 0.35

    def at(value: float) -> float:
        return left + (value - least) * scale

    name = _render_text(left - 8, base, label, anchor="end")
    if isinstance(row, BarRow):
        color = ALERT if row.is_alert else BAR
        width = max(row.value * scale, 1.0)
        shape = (
            f'<rect x="{at(0):.1f}" y="{top + 4:.1f}" width="{width:.1f}" height="{ROW - 8}" '
            f'fill="{color}"/>'
        )
        return name + shape + _render_text(at(max(row.value, 0.0)) + 7, base, row.text)
    low, high = at(row.low), at(row.high)
    ends = "".join(f"M{x:.1f} {middle - 5:.1f}v10" for x in (low, high))
    shape = (
        f'<path d="M{low:.1f} {middle:.1f}H{high:.1f}{ends}" stroke="{BAR}" stroke-width="1.5" fill="none"/>'
        f'<circle cx="{at(row.value):.1f}" cy="{middle:.1f}" r="3.5" fill="{BAR}"/>'
    )
    return name + shape + _render_text(high + 7, base, row.text)


def _render_text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">'
        f"{escape(text)}</text>"
    )


def _shorten_label(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
