"""The rows of a result as a table, with their errors, and as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from markupsafe import Markup

from discreet.answer.wording import format_answer_cell, format_key, format_short
from discreet.report.notebook_html import Chart, IntervalRow, draw_row_chart
from discreet.server.session import Notice, Outcome, PrivacyCost

MOST_SHOWN = 200  # rows of a page; other clients get all
LONGEST_CELL = 500


@dataclass(frozen=True)
class ShownColumn:
    """A column, and whether its cells are numbers, which are set to the right."""

    name: str
    is_number: bool


@dataclass(frozen=True)
class ShownCell:
    """A cell, and how far noise may have moved it."""

    text: str
    give: str = ""


@dataclass(frozen=True)
class ShownResult:
    """A result as a page shows it."""

    tag: str
    columns: tuple[ShownColumn, ...]
    rows: tuple[tuple[ShownCell, ...], ...]
    total: int
    notices: tuple[Notice, ...]
    cost: PrivacyCost | None
    chart: Markup | None = None
    chart_title: str = ""


def show_result(outcome: Outcome, notices: Sequence[Notice]) -> ShownResult:
    """Return a result with its first rows as texts."""
    table, cost = outcome.table, outcome.cost
    if table is None or outcome.fields is None:
        return ShownResult(outcome.tag, (), (), 0, tuple(notices), cost)
    first = table.slice(0, MOST_SHOWN)
    values = list(zip(*(column.to_pylist() for column in first.columns), strict=True))
    errors = (cost.errors if cost is not None else ()) or ((None,) * len(outcome.fields),) * len(
        values
    )
    names = [field.name for field in outcome.fields]
    columns = tuple(
        ShownColumn(name, all(_is_number(row[place]) for row in values))
        for place, name in enumerate(names)
    )
    rows = tuple(
        tuple(_show_cell(*parts) for parts in zip(names, row, halves, strict=True))
        for row, halves in zip(values, errors, strict=False)
    )
    chart = _chart_errors(names, values, errors)
    return ShownResult(
        outcome.tag,
        columns,
        rows,
        table.num_rows,
        tuple(notices),
        cost,
        None if chart is None else Markup(draw_row_chart(chart)),  # noqa: S704 -- it escapes
        "" if chart is None else chart.title,
    )


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _show_cell(name: str, value: Any, half: float | None) -> ShownCell:
    if half is None:
        return ShownCell(format_key(name, value)[:LONGEST_CELL])
    return ShownCell(format_answer_cell(name, value, half), f"± {format_short(half)}")


def _chart_errors(
    names: Sequence[str], values: Sequence[Sequence[Any]], errors: Sequence[Sequence[float | None]]
) -> Chart | None:
    """Return the first noisy column with its errors, each row named by its exact columns."""
    noisy = [place for place in range(len(names)) if any(row[place] is not None for row in errors)]
    if not noisy or len(values) < 2:
        return None
    keys = [place for place in range(len(names)) if place not in noisy]
    rows = [
        IntervalRow(
            ", ".join(format_key(names[key], row[key]) for key in keys),
            row[noisy[0]] - half,
            row[noisy[0]],
            row[noisy[0]] + half,
            format_answer_cell(names[noisy[0]], row[noisy[0]], half),
        )
        for row, halves in zip(values, errors, strict=False)
        if (half := halves[noisy[0]]) is not None
        and isinstance(row[noisy[0]], (int, float))
        and isfinite(half)
    ]
    return Chart(f"{names[noisy[0]]}, with what noise may have moved it", rows) if rows else None
