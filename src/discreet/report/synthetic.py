"""A synthetic table as one page: what was measured, how well the table keeps it, and what is promised.

All numbers follow from the noisy model: the page may go with the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.answer.wording import format_amounts, format_short
from discreet.formatting import format_count
from discreet.release.synthesize.evaluate import describe_evaluation
from discreet.release.synthesize.record import (
    ColumnSynthesis,
    MeasuredMarginal,
    SyntheticRelease,
)
from discreet.report.assessment import KeyFigure, file_name
from discreet.report.charts import Bar, bars
from discreet.report.page import Figure, PageTable, render_page
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from discreet.domain.coded_column import CodedColumn
    from discreet.engines.engine import ArrowTable

MOST_BARS = 10
MISSING = "missing"
OTHERS = "all others"


@dataclass(frozen=True)
class ColumnChart:
    """A column: noisy counts beside those of the synthetic rows."""

    name: str
    figure: Figure


@dataclass(frozen=True)
class SyntheticPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    facts: tuple[KeyFigure, ...]
    charts: tuple[ColumnChart, ...]
    columns: PageTable
    relations: PageTable | None
    unrelated: str
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    computed: tuple[tuple[str, str], ...]


def write_synthetic_report(found: SyntheticRelease, path: Path) -> None:
    """Write the report of `found` to `path`, atomically replacing an existing file."""
    write_atomically(path, render_synthetic_page(found))


def render_synthetic_page(found: SyntheticRelease, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize_synthetic(found, on=on or datetime.now(UTC).date())
    return render_page("synthetic.html.j2", page=page)


def summarize_synthetic(found: SyntheticRelease, *, on: date) -> SyntheticPage:
    """Return what the page of `found` shows."""
    return SyntheticPage(
        source=file_name(found.source),
        on=on,
        verdict=found.verdict,
        facts=_key_figures(found),
        charts=_column_charts(found),
        columns=tabulate_columns(found.columns),
        relations=tabulate_relations(found.marginals),
        unrelated=_describe_unrelated(found),
        promised=found.promised,
        not_promised=found.not_promised,
        computed=_computation_notes(found),
    )


def _key_figures(found: SyntheticRelease) -> tuple[KeyFigure, ...]:
    errors = [one.standard_error for one in found.columns if one.standard_error is not None]
    typical = format_short(float(f"{np.median(errors):.2g}"))
    return (
        KeyFigure(f"{found.rows:,}", "synthetic rows"),
        KeyFigure(format_short(found.epsilon), "epsilon"),
        KeyFigure(f"± {typical}", "rows: the error of a count of one value, for the median column"),
        KeyFigure(f"{len(found.marginals):,}", "relations of columns measured"),
    )


def _column_charts(found: SyntheticRelease) -> tuple[ColumnChart, ...]:
    saved = found.model
    fitted = [saved.domain.columns[place] for place in saved.model.rules.places]
    measured = list(zip(fitted, saved.model.columns.counts, strict=True))
    return chart_columns(measured, found.to_arrow(), found.rows / max(1.0, found.total))


def chart_columns(
    measured: Sequence[tuple[CodedColumn, NDArray[np.float64]]], rows: ArrowTable, factor: float
) -> tuple[ColumnChart, ...]:
    """Return a chart for each measured column: synthetic rows, and `factor` times its noisy counts."""
    charts: list[ColumnChart] = []
    for column, counts in measured:
        codes = column.encode(rows[column.name].combine_chunks())
        drawn = np.bincount(codes, minlength=column.size)
        charts.append(
            _chart_parts(column.name, _group_codes(column, counts), drawn, counts * factor)
        )
    return tuple(charts)


def chart_numbers(
    name: str, drawn: NDArray[np.int64], expected: NDArray[np.float64]
) -> ColumnChart:
    """Return a chart of a number from 0 on: how many synthetic rows have each, and how many are expected to."""
    parts = np.array_split(np.arange(len(drawn)), min(len(drawn), MOST_BARS))
    labels = [str(part[0]) if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
    return _chart_parts(name, list(zip(labels, parts, strict=True)), drawn, expected)


def _chart_parts(
    name: str,
    parts: Sequence[tuple[str, NDArray[np.int64]]],
    drawn: NDArray[np.integer],
    expected: NDArray[np.float64],
) -> ColumnChart:
    shown = [
        Bar(
            label,
            float(drawn[places].sum()),
            f"{int(drawn[places].sum()):,}",
            required=max(0.0, float(expected[places].sum())),
        )
        for label, places in parts
    ]
    title = f"Rows by {name}: synthetic rows as bars, noisy counts of the source as marks"
    return ColumnChart(
        name, Figure(bars(shown, title=title, axis="Rows", form="~s"), f"By {name}.")
    )


def _group_codes(
    column: CodedColumn, counts: NDArray[np.float64]
) -> list[tuple[str, NDArray[np.int64]]]:
    """Return up to ten groups of codes with their names: intervals, or the most frequent values."""
    firsts = column.coding.representatives()[0].to_pylist()
    size = column.coding.size
    gaps = [(MISSING, np.array([column.missing]))] if counts[column.missing] >= 1 else []
    if size <= MOST_BARS:
        return [*((str(firsts[code]), np.array([code])) for code in range(size)), *gaps]
    if column.is_ordered:
        parts = np.array_split(np.arange(size), MOST_BARS)
        names = [f"from {firsts[part[0]]}" for part in parts]
        return [*zip(names, parts, strict=True), *gaps]
    order = np.argsort(-counts[:size], kind="stable")
    top = [(str(firsts[code]), np.array([code])) for code in order[: MOST_BARS - 1]]
    return [*top, (OTHERS, order[MOST_BARS - 1 :]), *gaps]


def tabulate_columns(columns: Sequence[ColumnSynthesis]) -> PageTable:
    """Return how each column was made, and how exactly."""
    return PageTable(
        caption="How each column was made, and how exact a count of one of its values is",
        header=("Column", "Made", "Values", "± of a count"),
        rows=tuple(
            (
                one.column,
                one.made,
                "–" if one.codes is None else f"{one.codes:,}",
                "–" if one.standard_error is None else format_error(one.standard_error),
            )
            for one in columns
        ),
        numbers=frozenset({2, 3}),
    )


def format_error(error: float) -> str:
    """Return a standard error in rows, with two digits.

    >>> format_error(4.4721)
    '4.5'
    """
    return format_short(float(f"{error:.2g}"))


def tabulate_relations(marginals: Sequence[MeasuredMarginal]) -> PageTable | None:
    """Return which columns were measured together; None where none were."""
    if not marginals:
        return None
    return PageTable(
        caption="Relations that were measured, and how exact a count of one cell is",
        header=("Columns", "Cells", "± of a count"),
        rows=tuple(
            (
                " × ".join(one.columns),
                f"{one.cells:,}",
                "–" if one.standard_error is None else format_error(one.standard_error),
            )
            for one in marginals
        ),
        numbers=frozenset({1, 2}),
    )


def _describe_unrelated(found: SyntheticRelease) -> str:
    """Return how many pairs of columns stand in no measured relation."""
    names = [one.column for one in found.columns if one.codes is not None]
    together = {
        frozenset((first, second))
        for one in found.marginals
        for first in one.columns
        for second in one.columns
        if first != second
    }
    pairs = len(names) * (len(names) - 1) // 2
    left = pairs - len(together)
    return (
        f"Of {format_count(pairs, 'pair', 'pairs')} of columns, {left:,} are in no measured relation. There the "
        "table shows what follows from the relations that were measured, and no more: do not "
        "study these in it."
    )


def _computation_notes(found: SyntheticRelease) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Method", found.method),
        ("Price", format_amounts(found.epsilon, found.delta)),
        ("Protected unit", f"{found.unit}, with at most {found.rows_per_unit:,} of its rows"),
        ("Noisy number of rows of the source", f"{round(found.total):,}"),
        (
            "Attacks that the gate tries",
            ", ".join(found.attacks),
        ),
    ]
    if found.target is not None:
        facts.append(("Column that others predict", found.target))
    if found.evaluation is not None:
        facts.append(("Prediction", describe_evaluation(found.evaluation)))
    if found.output is not None and found.output.sha256:
        facts += [
            ("Output", file_name(found.output.place)),
            ("SHA-256 of the output", found.output.sha256),
        ]
    return tuple(facts)
