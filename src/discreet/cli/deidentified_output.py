"""De-identified tables and determinations, as the terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli import output
from discreet.cli.findings import show_findings
from discreet.release.deidentify.record import Deidentified
from discreet.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.release.deidentify.expert import Determination
    from discreet.release.write import WrittenOutput


def show_deidentification(found: Result, to: Console) -> None:
    """Print what was done, then what is left to worry about."""
    from discreet.release.deidentify.expert import Determination
    from discreet.release.deidentify.record import Deidentified

    if isinstance(found, Determination):
        _show_determination(found, to)
    elif isinstance(found, Deidentified):
        _show_deidentified(found, to)


def _show_deidentified(found: Deidentified, to: Console) -> None:
    output.print_sentence(to, found.verdict, style="bold")
    _show_columns(found, to)
    _show_classes(found, to)
    if found.warnings:
        to.print("\n[bold]What still singles people out[/bold]")
    for warning in found.warnings:
        output.print_sentence(to, f"! {warning}", style="yellow")
    show_findings(found.findings, found.accepted_risk, to)
    if found.cautions:
        to.print("\n[bold]Keep in mind[/bold]")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    _show_output(found.output, to)


def _show_columns(found: Deidentified, to: Console) -> None:
    rows = [
        (
            column.column,
            column.letter or "–",
            column.action,
            f"{column.changed:,}",
            f"{column.removed:,}",
            column.reason,
        )
        for column in found.columns
    ]
    header = ("Column", "Class", "Done", "Changed", "Removed", "Why")
    output.print_table(to, "What was done to each column", header, rows, texts=(0, 1, 2, 5))


def _show_classes(found: Deidentified, to: Console) -> None:
    rows = [
        (
            f"{item.letter}  {item.kind}",
            ", ".join(item.columns) or "–",
            f"{item.changed:,}",
            f"{item.removed:,}",
            f"{item.in_text:,}",
        )
        for item in found.classes
        if item.columns
    ]
    if not found.classes:
        return
    header = ("Class", "Found in", "Changed", "Removed", "In free text")
    title = "Cells by the classes of Safe Harbor"
    output.print_table(to, title, header, rows, texts=(0, 1))
    absent = [item.letter for item in found.classes if not item.columns]
    if absent:
        output.print_sentence(to, f"Not found: {', '.join(absent)}.")


def _show_output(written: WrittenOutput | None, to: Console) -> None:
    if written is None:
        return
    to.print()
    output.print_sentence(to, f"Wrote {written.rows:,} rows to {written.place}.")


def _show_determination(found: Determination, to: Console) -> None:
    from discreet.formatting import format_percent

    is_good = found.holds and not found.undecided and not any(f.exceeds for f in found.findings)
    style = "bold" if is_good else "bold red"
    output.print_sentence(to, f"{'✓' if is_good else '✗'} {found.verdict}", style=style)
    rows = [
        (
            f"{'✗' if risk.is_above else '✓'} {risk.adversary}",
            "–" if risk.worst is None else format_percent(risk.worst),
            "–" if risk.average is None else format_percent(risk.average),
            "–" if risk.people_at_risk is None else f"{risk.people_at_risk:,}",
        )
        for risk in found.risks
    ]
    header = ("Adversary", "Worst", "Average", f"People above {format_percent(found.threshold)}")
    output.print_table(to, "Risk of being found", header, rows)
    for title, attacks in (
        ("Attacks tried", found.attacks_tried),
        ("Attacks not tried", found.attacks_not_tried),
    ):
        told = [(item.attack, item.finding) for item in attacks]
        output.print_table(to, title, ("Attack", "Finding"), told, texts=(0, 1))
    show_findings(found.findings, found.accepted_risk, to)
    to.print("\n[bold]Assumptions[/bold]")
    for assumption in found.assumptions:
        output.print_sentence(to, f"- {assumption}")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    _show_output(found.output, to)
