"""What classes reveal of each sensitive column, as parts of a page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.formatting import format_level, format_percent
from discreet.measure.assessment import (
    Assessment,
    Closeness,
    CriterionVerdict,
    Diversity,
    SensitiveColumn,
)
from discreet.report import charts
from discreet.report.page import Figure, PageTable

SHORTEST_SCALE = 4


@dataclass(frozen=True)
class SensitivePart:
    """One sensitive column: a sentence, charts of what is reached and required, every level."""

    column: str
    sentence: str
    figures: tuple[Figure, ...]
    table: PageTable


def sensitive_parts(found: Assessment) -> tuple[SensitivePart, ...]:
    """Return a part for each sensitive column."""
    return tuple(
        _column_part(
            name, column, [verdict for verdict in found.criteria if verdict.column == name]
        )
        for name, column in found.sensitive.items()
    )


def _column_part(
    name: str, column: SensitiveColumn, verdicts: list[CriterionVerdict]
) -> SensitivePart:
    return SensitivePart(
        column=name,
        sentence=_disclosure_sentence(column),
        figures=(
            _diversity_figure(name, column.l, verdicts),
            _closeness_figure(name, column, verdicts),
        ),
        table=_level_table(name, column),
    )


def _disclosure_sentence(column: SensitiveColumn) -> str:
    # A missing value counts as a value of the column; in prose it is not one.
    distinct = column.values - 1 if column.missing else column.values
    missing = f", and {column.missing:,} rows miss it" if column.missing else ""
    values = f"The column has {distinct:,} distinct values{missing}."
    if column.l.distinct <= 1:
        return (
            f"{values} In at least one class everybody has the same value: anyone who knows that a "
            "person is in that class knows the value, without finding the record."
        )
    return (
        f"{values} Every class has at least {column.l.distinct:,} different values; the most "
        f"frequent one of a class is right for up to {format_percent(column.alpha)} of its people."
    )


def _diversity_figure(name: str, l: Diversity, verdicts: list[CriterionVerdict]) -> Figure:
    levels = {"distinct": l.distinct, "probabilistic": l.probabilistic, "entropy": l.entropy}
    rows = [
        _level_bar(
            f"{kind} l",
            level,
            _strictest_verdict(verdicts, "l-diversity", kind=kind),
            is_better_when_large=True,
        )
        for kind, level in levels.items()
    ]
    longest = max(max(row.value, row.required or 0.0) for row in rows)
    svg = charts.bars(
        rows,
        title=f"Diversity of {name} in the worst class",
        axis="Values (more is safer)",
        form="~g",
        # A single value must look as poor as it is, not fill the chart.
        most=SHORTEST_SCALE if longest <= SHORTEST_SCALE else None,
    )
    return Figure(svg, f"Diversity in the worst class: more is safer.{_requirement_legend(rows)}")


def _closeness_figure(
    name: str, column: SensitiveColumn, verdicts: list[CriterionVerdict]
) -> Figure:
    rows = [
        _level_bar("highest share α", column.alpha, _strictest_verdict(verdicts, "alpha-k")),
        *(
            _level_bar(
                f"{distance} t",
                level,
                _strictest_verdict(verdicts, "t-closeness", distance=distance),
            )
            for distance, level in _measured_distances(column.t).items()
        ),
    ]
    svg = charts.bars(
        rows,
        title=f"What the worst class reveals of {name}",
        axis="From 0 to 1 (less is safer)",
        form="~g",
        most=1,
    )
    return Figure(svg, f"What the worst class reveals: less is safer.{_requirement_legend(rows)}")


def _measured_distances(t: Closeness) -> dict[str, float]:
    found = {"equal": t.equal, "ordered": t.ordered, "hierarchical": t.hierarchical}
    return {name: level for name, level in found.items() if level is not None}


def _strictest_verdict(
    verdicts: list[CriterionVerdict], criterion: str, **kind: str
) -> CriterionVerdict | None:
    """Return the strictest verdict on a criterion: one that fails stands before one that holds."""
    wanted: dict[str, Any] = kind
    found = [
        verdict
        for verdict in verdicts
        if verdict.criterion == criterion and wanted.items() <= dict(verdict.required).items()
    ]
    return min(found, key=lambda verdict: verdict.holds, default=None)


def _level_bar(
    label: str,
    level: float,
    verdict: CriterionVerdict | None,
    *,
    is_better_when_large: bool = False,
) -> charts.Bar:
    if verdict is None:
        return charts.Bar(label, level, format_level(level))
    letter = {"l-diversity": "l", "t-closeness": "t", "alpha-k": "alpha"}[verdict.criterion]
    wanted = float(verdict.required[letter])
    met = level >= wanted - 1e-9 if is_better_when_large else level <= wanted + 1e-9
    sign = "✓" if met else "✗"
    bound = "≥" if is_better_when_large else "≤"
    text = f"{format_level(level)} {sign} {bound} {format_level(wanted)}"
    return charts.Bar(label, level, text, is_alert=not met, required=wanted)


def _requirement_legend(rows: list[charts.Bar]) -> str:
    if all(row.required is None for row in rows):
        return ""
    return " The mark is what the policy requires; ✓ reached, ✗ not reached."


def _level_table(name: str, column: SensitiveColumn) -> PageTable:
    l, t = column.l, column.t
    deepest = max((depth for depth, c in l.recursive.items() if not math.isinf(c)), default=None)
    rows = [
        ("Distinct l", format_level(l.distinct), "Different values in each class, at least."),
        (
            "Probabilistic l",
            format_level(l.probabilistic),
            "No value is guessed right more often than 1 in l.",
        ),
        (
            "Entropy l",
            format_level(l.entropy),
            "Each class is as uncertain as l equally likely values.",
        ),
        *(
            (
                f"Recursive, l = {depth}",
                "no c is enough" if math.isinf(c) else f"c > {format_level(c)}",
                "The most frequent value stays below c times the rest from the l-th on.",
            )
            for depth, c in l.recursive.items()
            if depth in (2, deepest)
        ),
        (
            "t, equal",
            format_level(t.equal),
            "Distance from the whole table, all values equally far apart.",
        ),
        ("t, ordered", format_level(t.ordered), "The same where neighboring values are close."),
        (
            "t, hierarchical",
            format_level(t.hierarchical),
            "The same where related values are close.",
        ),
        ("α", format_level(column.alpha), "Share of the most frequent value in a class, at most."),
        (
            "β, basic",
            format_level(column.basic_beta),
            "By how much a value's share rises in a class, relative.",
        ),
        (
            "β, enhanced",
            format_level(column.enhanced_beta),
            "The same, with a cap for frequent values.",
        ),
        (
            "δ",
            format_level(column.delta_disclosure),
            "Change of a value's share on a log scale; ∞ where a class lacks a value.",
        ),
    ]
    return PageTable(
        caption=f"Levels that {name} reaches, in the worst class of each",
        header=("Measure", "Reached", "Meaning"),
        rows=tuple(rows),
        numbers=frozenset({1}),
    )
