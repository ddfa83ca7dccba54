"""An expert determination as one page: threshold, risks, attacks, assumptions, and a place to sign."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.formatting import format_percent
from discreet.release.deidentify.attacks import AttackAttempt
from discreet.report.assessment import KeyFigure, criteria_table, file_name
from discreet.report.findings import describe_beyond
from discreet.report.page import Figure, PageTable, Status, render_page
from discreet.report.risk import EstimatePart, estimate_part, risk_part
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from discreet.release.deidentify.expert import Determination


@dataclass(frozen=True)
class ExpertPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    status: Status
    status_words: str
    facts: tuple[KeyFigure, ...]
    risks: PageTable
    figure: Figure | None
    population: EstimatePart | None
    tried: PageTable
    not_tried: PageTable
    criteria: PageTable | None
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...]
    expert: str | None
    computed: tuple[tuple[str, str], ...]


def write_expert_report(found: Determination, path: Path) -> None:
    """Write the report of `found` to `path`, atomically replacing an existing file."""
    write_atomically(path, render_determination_page(found))


def render_determination_page(found: Determination, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize_determination(found, on=on or datetime.now(UTC).date())
    return render_page("expert.html.j2", page=page)


def summarize_determination(found: Determination, *, on: date) -> ExpertPage:
    """Return what the page of `found` shows: names of columns and counts, no cell."""
    measured = found.assessment
    side = "not above" if found.holds else "above"
    beyond = [*describe_beyond(found.findings), *found.undecided]
    source = file_name(found.source)
    return ExpertPage(
        source=source,
        on=on,
        verdict=found.verdict.replace(found.source, source),
        status=Status(holds=found.holds and not beyond),
        status_words=" ".join([f"The residual risk is {side} the threshold.", *beyond]),
        facts=_key_figures(found),
        risks=_risk_table(found),
        figure=risk_part(measured).figure if measured is not None else None,
        population=estimate_part(measured.population) if measured and measured.population else None,
        tried=_attack_table("Attacks tried, and what they found", found.attacks_tried),
        not_tried=_attack_table("Attacks not tried, and why", found.attacks_not_tried),
        criteria=criteria_table("Criteria of the policy", found.criteria, k=found.k),
        assumptions=found.assumptions,
        cautions=found.cautions,
        expert=found.expert,
        computed=_computation_notes(found, source),
    )


def _key_figures(found: Determination) -> tuple[KeyFigure, ...]:
    return (
        KeyFigure(format_percent(found.residual_risk), "residual risk", is_alert=not found.holds),
        KeyFigure(format_percent(found.threshold), "threshold chosen"),
        KeyFigure(f"{found.people:,}", "people in the table"),
        KeyFigure(f"{found.unique:,}", "are unique", is_alert=found.unique > 0),
    )


def _risk_table(found: Determination) -> PageTable:
    def share(value: float | None) -> str:
        return "does not apply" if value is None else format_percent(value)

    return PageTable(
        caption=f"Measured risks against the threshold of {format_percent(found.threshold)}",
        header=("Adversary", "Worst", "On average", "People above", "Verdict"),
        rows=tuple(
            (
                item.adversary.capitalize()
                + (" (decides)" if item.adversary == found.adversary else ""),
                share(item.worst),
                share(item.average),
                "does not apply" if item.people_at_risk is None else f"{item.people_at_risk:,}",
                Status(holds=not item.is_above, yes="not above", no="above"),
            )
            for item in found.risks
        ),
        numbers=frozenset({1, 2, 3}),
    )


def _attack_table(caption: str, attacks: tuple[AttackAttempt, ...]) -> PageTable:
    rows = tuple((item.attack.capitalize(), item.finding) for item in attacks)
    return PageTable(caption=caption, header=("Attack", "Finding"), rows=rows)


def _computation_notes(found: Determination, source: str) -> tuple[tuple[str, str], ...]:
    facts = [
        ("Source", source),
        ("Rows", f"{found.rows:,}"),
        ("Quasi-identifiers", ", ".join(found.quasi)),
        ("Smallest class", "none" if found.k is None else f"{found.k:,}"),
    ]
    if found.removed:
        facts.append(("Removed before", ", ".join(found.removed)))
    if found.output is not None and found.output.sha256:
        facts += [
            ("Output", file_name(found.output.place)),
            ("SHA-256 of the output", found.output.sha256),
        ]
    return tuple(facts)
