"""A release printed for its custodian: what was published, what it proves, what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli import output
from discreet.cli.findings import show_findings
from discreet.release.release import Release

if TYPE_CHECKING:
    from rich.console import Console


DIVERSITY_SHOWN = 3
MINIMAL_SHOWN = 20


def show_release(found: Release, to: Console) -> None:
    """Print the verdict, then criteria, loss, risk and what to be careful about."""
    output.print_sentence(to, found.verdict, style="bold")
    _show_search(found, to)
    measured = "what was written" if found.output else "what would be written"
    output.print_criteria(to, f"Criteria, measured on {measured}", found.criteria, k=found.k)
    _show_losses(found, to)
    _show_accuracy(found, to)
    _show_risk(found, to)
    _show_diversity(found, to)
    show_findings(found.findings, found.accepted_risk, to)
    _show_frontier(found, to)
    _show_minimal(found, to)
    for step in found.steps:
        name = next(iter(step))
        output.print_sentence(to, f"Step {name}: {step['promise']}")
    for sentence in found.outliers:
        output.print_sentence(to, f"! {sentence}", style="yellow")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    if found.left_out:
        output.print_sentence(to, f"Left out: {', '.join(found.left_out)}.")
    if found.output:
        where = f"Written to {found.output}"
        output.print_sentence(
            to, f"{where}, manifest in {found.manifest}." if found.manifest else f"{where}."
        )


def _show_search(found: Release, to: Console) -> None:
    node = found.search.get("node")
    if node is None:
        return
    levels = ", ".join(f"{name} {level}" for name, level in node.items())
    gap = found.search.get("gap") or 0
    proof = "the proven optimum" if not gap else f"at most {gap:.4f} from the optimum"
    lattice = found.search["lattice"]
    checked = f"{min(found.search['checked'], lattice):,} of {lattice:,} nodes checked"
    output.print_sentence(to, f"Levels: {levels} ({proof}; {checked}).")


def _show_losses(found: Release, to: Console) -> None:
    from discreet.formatting import format_percent

    rows = [
        (name, format_percent(lost))
        for name, lost in sorted(found.losses.items(), key=lambda x: -x[1])
    ]
    rows.append(("all of them", format_percent(found.loss)))
    if found.weighted is not None:
        rows.append((f"all, by {found.weighted.weight}", format_percent(found.weighted.loss)))
    output.print_table(to, "Detail lost, by column", ("Column", "Loss"), rows)


def _show_accuracy(found: Release, to: Console) -> None:
    from discreet.formatting import format_percent

    measured = found.utility.get("classification")
    if measured is not None:
        output.print_sentence(
            to,
            f"Predicting {measured['target']}: {format_percent(measured['before'])} right before, "
            f"{format_percent(measured['after'])} after; always guessing the most frequent value is right for "
            f"{format_percent(measured['majority'])}.",
        )


def _show_risk(found: Release, to: Console) -> None:
    from discreet.formatting import format_percent
    from discreet.measure.describe import weighted_rows

    def cell(share: float | None) -> str:
        return "–" if share is None else format_percent(share)

    before, after = found.risk.before, found.risk.after
    rows = [
        ("Worst chance of being found", before.prosecutor.worst, after.prosecutor.worst),
        ("Average chance", before.prosecutor.average, after.prosecutor.average),
        ("People at risk", before.prosecutor.share_at_risk, after.prosecutor.share_at_risk),
    ]
    printed = [(name, cell(first), cell(last)) for name, first, last in rows]
    output.print_table(
        to, "Risk, if it is known who is in the table", ("", "Before", "After"), printed
    )
    if found.weighted is not None:
        pairs = zip(
            weighted_rows(found.weighted.before), weighted_rows(found.weighted.after), strict=True
        )
        lines = [(name, first, last) for (name, first), (_, last) in pairs]
        output.print_table(to, "Risk, by the sampling weights", ("", "Before", "After"), lines)


def _show_diversity(found: Release, to: Console) -> None:
    """Name the classes whose people share one sensitive value: k-anonymity does not hide that."""
    rows = [
        (
            column,
            ", ".join("missing" if v is None else str(v) for v in view.values.values()),
            view.size,
        )
        for column, views in found.diversity.items()
        for view in views[:DIVERSITY_SHOWN]
        if view.level == 1
    ]
    if rows:
        title = "Classes that reveal one sensitive value of all their people (for your eyes only)"
        output.print_table(to, title, ("Column", "Class", "People"), rows, texts=(0, 1))


def _show_frontier(found: Release, to: Console) -> None:
    from discreet.formatting import format_percent

    if not found.frontier:
        return
    rows = [
        (
            f"{point['k']:,}{' (asked)' if point['asked'] else ''}",
            format_percent(point["loss"]),
            f"{point['classes']:,}",
            f"{point['suppressed']:,}",
        )
        for point in found.frontier
    ]
    header = ("k", "Loss", "Classes", "Suppressed")
    output.print_table(to, "What other values of k would cost", header, rows)


def _show_minimal(found: Release, to: Console) -> None:
    if not found.minimal:
        return
    header = tuple(found.minimal[0])
    rows = [tuple(node.values()) for node in found.minimal[:MINIMAL_SHOWN]]
    title = f"Minimal generalizations, as levels ({len(found.minimal):,} in all)"
    output.print_table(to, title, header, rows, texts=())
