"""A statistic in a notebook: its sentence, its table, and its intervals as a chart."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from discreet.answer.wording import format_share, format_short
from discreet.report.notebook_html import Card, Chart, IntervalRow, TextTable

if TYPE_CHECKING:
    from discreet.learning.statistics.record import StatisticResult


def statistic_card(found: StatisticResult) -> Card:
    """Return the card of a statistic."""
    header, rows = found.tabulate()
    sure = format_share(found.confidence)
    test = [] if found.test is None else [f"Tested: {found.test.describe()}."]
    spent = "It was measured before, and cost nothing." if found.cached else ""
    spent = spent or f"Spent epsilon {format_short(found.spent['epsilon'])}."
    return Card(
        found.verdict,
        tables=[TextTable(f"Estimates, {sure} confidence", rows, header=header)],
        charts=_chart_quantities(found, sure),
        notes=[*test, f"Intervals are about {found.covers}.", spent],
        cautions=found.cautions,
    )


def _chart_quantities(found: StatisticResult, sure: str) -> list[Chart]:
    """Return a chart for each quantity, as each has a scale of its own."""
    charts: list[Chart] = []
    for quantity in dict.fromkeys(row.quantity for row in found.rows):
        intervals = [
            IntervalRow(
                ", ".join(row.labels.values()) or quantity,
                row.low,
                row.estimate,
                row.high,
                format_short(float(f"{row.estimate:.4g}")),
            )
            for row in found.rows
            if row.quantity == quantity
            and row.estimate is not None
            and row.low is not None
            and row.high is not None
            and isfinite(row.low)
            and isfinite(row.high)
        ]
        charts.append(Chart(f"{quantity.capitalize()}, with {sure} confidence", intervals))
    return charts
