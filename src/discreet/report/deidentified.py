"""A de-identified table as one page: what was found where, what was done, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from discreet.formatting import format_percent
from discreet.release.deidentify.record import Deidentified
from discreet.report.assessment import KeyFigure, file_name
from discreet.report.findings import describe_beyond
from discreet.report.page import PageTable, Status, render_page
from discreet.writing import write_atomically

TITLES = {"safe-harbor": "Safe Harbor de-identification", "pseudonymize": "Pseudonymization"}


@dataclass(frozen=True)
class DeidentifiedPage:
    """Everything the page shows, in its order."""

    title: str
    source: str
    on: date
    verdict: str
    status: Status
    status_words: str
    facts: tuple[KeyFigure, ...]
    columns: PageTable
    classes: PageTable | None
    warnings: tuple[str, ...]
    cautions: tuple[str, ...]
    computed: tuple[tuple[str, str], ...]


def write_deidentified_report(found: Deidentified, path: Path) -> None:
    """Write the report of `found` to `path`, atomically replacing an existing file."""
    write_atomically(path, render_deidentified_page(found))


def render_deidentified_page(found: Deidentified, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize_deidentified(found, on=on or datetime.now(UTC).date())
    return render_page("deidentified.html.j2", page=page)


def summarize_deidentified(found: Deidentified, *, on: date) -> DeidentifiedPage:
    """Return what the page of `found` shows: names of columns and counts, no cell."""
    beyond = [*describe_beyond(found.findings), *found.undecided]
    accepted = f"Accepted for this reason: {found.accepted_risk}" if found.accepted_risk else ""
    tolerable = "Attacks on what stays learn no more than is tolerated."
    return DeidentifiedPage(
        title=TITLES[found.method],
        source=file_name(found.source),
        on=on,
        verdict=found.verdict,
        status=Status(holds=not beyond),
        status_words=" ".join([*beyond, accepted]).strip() or tolerable,
        facts=_key_figures(found),
        columns=_column_table(found),
        classes=_identifier_class_table(found),
        warnings=found.warnings,
        cautions=found.cautions,
        computed=_computation_notes(found),
    )


def _key_figures(found: Deidentified) -> tuple[KeyFigure, ...]:
    removed = sum(column.removed for column in found.columns)
    changed = sum(column.changed for column in found.columns)
    facts = [
        KeyFigure(f"{found.rows:,}", "rows"),
        KeyFigure(f"{removed:,}", "cells removed"),
        KeyFigure(f"{changed:,}", "cells changed"),
    ]
    left = found.remaining
    if left is not None:
        share = format_percent(left.unique / max(left.people, 1))
        label = f"people still unique on what is left ({share})"
        facts.append(KeyFigure(f"{left.unique:,}", label, is_alert=left.unique > 0))
    return tuple(facts)


def _column_table(found: Deidentified) -> PageTable:
    return PageTable(
        caption="What was done to each column, and why",
        header=("Column", "Class", "Done", "Cells", "Changed", "Removed", "Why"),
        rows=tuple(
            (
                column.column,
                column.letter or "–",
                column.action,
                f"{column.cells:,}",
                f"{column.changed:,}",
                f"{column.removed:,}",
                column.reason,
            )
            for column in found.columns
        ),
        numbers=frozenset({3, 4, 5}),
    )


def _identifier_class_table(found: Deidentified) -> PageTable | None:
    if not found.classes:
        return None
    return PageTable(
        caption="The 18 classes of 45 CFR 164.514(b)(2)(i)",
        header=("Class", "Identifiers", "Found in", "Changed", "Removed", "In free text"),
        rows=tuple(
            (
                item.letter,
                item.kind,
                ", ".join(item.columns) or "not found",
                f"{item.changed:,}",
                f"{item.removed:,}",
                f"{item.in_text:,}",
            )
            for item in found.classes
        ),
        numbers=frozenset({3, 4, 5}),
    )


def _computation_notes(found: Deidentified) -> tuple[tuple[str, str], ...]:
    facts = [("Source", file_name(found.source)), ("Rows", f"{found.rows:,}")]
    settings = found.settings
    if found.method == "safe-harbor":
        facts += [
            ("Ages counted to", str(settings["as_of"])),
            ("Small ZIP areas", str(settings["small_areas"])),
        ]
    elif settings.get("key"):
        facts.append(("Fingerprint of the key", str(settings["key"])))
    if found.output is not None and found.output.sha256:
        facts += [
            ("Output", file_name(found.output.place)),
            ("SHA-256 of the output", found.output.sha256),
        ]
    return tuple(facts)
