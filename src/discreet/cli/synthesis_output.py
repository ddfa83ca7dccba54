"""What is printed of synthetic tables, and which places they may not be written to."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli import curator_options, output
from discreet.errors import OutputRefused

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.attacks.finding import Finding
    from discreet.release.synthesize.record import (
        ColumnSynthesis,
        MeasuredMarginal,
        SyntheticRelease,
        SyntheticTables,
    )

_WITHIN_CHANCE = "What exceeds its tolerance here may be chance: a few people are attacked, and a refusal needs near certainty."


def require_distinct_places(source: str, out: str, model: Path | None, report: Path | None) -> None:
    """Refuse output that would replace the source, or other output."""
    places = [Path(out)] if "://" not in out else []
    named = [*places, *(place for place in (model, report) if place is not None)]
    if report is not None:
        from discreet.writing import require_writable_path

        import_module("discreet.report.synthetic")  # a missing library is an error before any work
        require_writable_path(report)
    if len(set(named)) < len(named):
        raise OutputRefused("Rows, model and report need a file each. Name different ones.")
    for place in named:
        if place.exists() and Path(source).exists() and place.samefile(source):
            raise OutputRefused(f"{place} is the source itself. Name another file.")


def show_columns(
    columns: tuple[ColumnSynthesis, ...], to: Console, *, title: str = "Columns"
) -> None:
    """Print how columns are made and how exact a count of one value is."""
    rows = [
        (
            one.column,
            one.made,
            output.format_number(one.codes),
            output.format_number(one.standard_error),
        )
        for one in columns
    ]
    header = ("Column", "Made", "Values", "± of a count")
    output.print_table(to, title, header, rows, texts=(0, 1))


def show_marginals(marginals: tuple[MeasuredMarginal, ...], to: Console) -> None:
    """Print which columns were counted together."""
    rows = [
        (" × ".join(one.columns), f"{one.cells:,}", output.format_number(one.standard_error))
        for one in marginals
    ]
    if rows:
        header = ("Columns", "Cells", "± of a count")
        output.print_table(to, "Relations that were measured", header, rows)


def show_chance(findings: tuple[Finding, ...], to: Console) -> None:
    """Print why a table may be published although an attack is above its tolerance."""
    if any(not one.exceeds and one.advantage > (one.tolerance or 1) for one in findings):
        output.print_sentence(to, _WITHIN_CHANCE)


def show_spending(found: SyntheticRelease | SyntheticTables, to: Console) -> None:
    """Print cautions, what was spent, and what is left."""
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    spent = curator_options.format_amounts(found.spent["epsilon"], found.spent["delta"])
    if found.cached:
        spent = "nothing: the same table was paid for before"
    left = curator_options.format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    output.print_sentence(to, f"Spent {spent}. Left: {left}.")
