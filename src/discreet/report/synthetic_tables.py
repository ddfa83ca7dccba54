"""Several synthetic tables as one page: what was measured of each, how well it is kept, and what is promised.

All numbers follow from the noisy model: the page may go with the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from discreet.answer.wording import format_amounts, format_short
from discreet.release.synthesize.evaluate import describe_evaluation
from discreet.release.synthesize.record import FamilyTable, SyntheticTables
from discreet.report.assessment import KeyFigure, file_name
from discreet.report.page import PageTable, render_page
from discreet.report.synthetic import (
    ColumnChart,
    chart_columns,
    chart_numbers,
    tabulate_columns,
    tabulate_relations,
)
from discreet.writing import write_atomically


@dataclass(frozen=True)
class TableSection:
    """What the page shows of one table."""

    name: str
    rows: int
    rows_per_unit: int
    columns: PageTable
    relations: PageTable | None
    charts: tuple[ColumnChart, ...]


@dataclass(frozen=True)
class TablesPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    facts: tuple[KeyFigure, ...]
    tables: tuple[TableSection, ...]
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    computed: tuple[tuple[str, str], ...]


def write_tables_report(found: SyntheticTables, path: Path) -> None:
    """Write the report of `found` to `path`, atomically replacing an existing file."""
    write_atomically(path, render_tables_page(found))


def render_tables_page(found: SyntheticTables, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize_tables(found, on=on or datetime.now(UTC).date())
    return render_page("synthetic_tables.html.j2", page=page)


def summarize_tables(found: SyntheticTables, *, on: date) -> TablesPage:
    """Return what the page of `found` shows."""
    numbers = tuple(KeyFigure(f"{one.rows:,}", f"rows of {one.table}") for one in found.tables)
    return TablesPage(
        source=file_name(found.source),
        on=on,
        verdict=found.verdict,
        facts=(*numbers, KeyFigure(format_short(found.epsilon), "epsilon for all tables")),
        tables=tuple(_summarize_table(found, place) for place in range(len(found.tables))),
        promised=found.promised,
        not_promised=found.not_promised,
        computed=_computation_notes(found),
    )


def _summarize_table(found: SyntheticTables, place: int) -> TableSection:
    table = found.tables[place]
    return TableSection(
        table.table,
        table.rows,
        table.rows_per_unit,
        tabulate_columns(table.columns),
        tabulate_relations(table.marginals),
        _chart_table(found, table, place),
    )


def _chart_table(found: SyntheticTables, table: FamilyTable, place: int) -> tuple[ColumnChart, ...]:
    """Return a chart for each of the table's own columns that was measured, and of its numbers of children."""
    model, domain = found.model.model, found.model.tables[place].domain
    fitted, first = model.models[place], model.count_above(place)
    own = range(first, first + len(domain.columns))
    measured = [
        (domain.columns[one - first], counts)
        for one, counts in zip(fitted.rules.places, fitted.columns.counts, strict=True)
        if one in own
    ]
    factor = table.rows / max(1.0, fitted.columns.total)
    charts = chart_columns(measured, table.to_arrow(), factor)
    return (*charts, *_chart_children(found, place, factor))


def _chart_children(found: SyntheticTables, place: int, factor: float) -> list[ColumnChart]:
    """Return a chart for each child table of a table: how many of its rows have so many rows there."""
    model, parent = found.model.model, found.tables[place]
    fitted, first = model.models[place], model.count_above(place) + model.count_own(place)
    counts = dict(zip(fitted.rules.places, fitted.columns.counts, strict=True))
    charts: list[ColumnChart] = []
    for number, child_place in enumerate(model.tree.list_children(place)):
        child = found.model.tables[child_place]
        (key,) = (one.name for one in child.domain.surrogates if one.is_unit)
        keys = found.tables[child_place].to_arrow()[key].combine_chunks()
        numbers = keys.value_counts().field("counts").to_numpy()
        drawn = np.bincount(numbers, minlength=child.most + 1)
        drawn[0] = parent.rows - len(numbers)
        noisy = counts[first + number]
        charts.append(chart_numbers(f"number of {child.name}", drawn, noisy * factor))
    return charts


def _computation_notes(found: SyntheticTables) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Method", found.method),
        ("Price", format_amounts(found.epsilon, found.delta)),
        ("Protected unit", f"{found.unit}, with all rows in all tables that count"),
        ("Noisy number of rows of the parent table", f"{round(found.total):,}"),
    ]
    if found.target is not None:
        facts.append(("Column that others predict", found.target))
    if found.evaluation is not None:
        facts.append(("Prediction", describe_evaluation(found.evaluation)))
    for table in found.tables:
        facts.append((f"Attacks that the gate tries on {table.table}", ", ".join(table.attacks)))
        if table.output is not None and table.output.sha256:
            name = file_name(table.output.place)
            facts.append((f"SHA-256 of {name}", table.output.sha256))
    return tuple(facts)
