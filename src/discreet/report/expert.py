"""An expert determination as one page: threshold, risks, attacks, assumptions, and a place to sign."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from discreet.measure.criteria.words import criterion, reached, required
from discreet.measure.describe import percent
from discreet.report.assessment import Fact, file_name
from discreet.report.page import Status, Table, render_page
from discreet.report.risk import estimates, risk
from discreet.writing import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.deidentify.attacks import Attack
    from discreet.release.deidentify.expert import Determination
    from discreet.report.page import Figure
    from discreet.report.risk import EstimatePart


@dataclass(frozen=True)
class ExpertPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    status: Status
    status_words: str
    facts: tuple[Fact, ...]
    risks: Table
    figure: Figure | None
    population: EstimatePart | None
    tried: Table
    not_tried: Table
    criteria: Table | None
    assumptions: tuple[str, ...]
    cautions: tuple[str, ...]
    expert: str | None
    computed: tuple[tuple[str, str], ...]


def write_report(found: Determination, path: Path) -> None:
    """Write the report of `found` to `path`, replacing what was there, whole or not at all."""
    write_whole(path, render(found))


def render(found: Determination, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize(found, on=on or datetime.now(UTC).date())
    return render_page("expert.html.j2", page=page)


def summarize(found: Determination, *, on: date) -> ExpertPage:
    """Return what the page of `found` shows: names of columns and counts, no cell."""
    measured = found.assessment
    side = "not above" if found.holds else "above"
    source = file_name(found.source)
    return ExpertPage(
        source=source,
        on=on,
        verdict=found.verdict.replace(found.source, source),
        status=Status(holds=found.holds),
        status_words=f"The residual risk is {side} the threshold.",
        facts=_facts(found),
        risks=_risks(found),
        figure=risk(measured).figure if measured is not None else None,
        population=estimates(measured.population) if measured and measured.population else None,
        tried=_attacks("Attacks tried, and what they found", found.attacks_tried),
        not_tried=_attacks("Attacks not tried, and why", found.attacks_not_tried),
        criteria=_criteria(found),
        assumptions=found.assumptions,
        cautions=found.cautions,
        expert=found.expert,
        computed=_computed(found, source),
    )


def _facts(found: Determination) -> tuple[Fact, ...]:
    return (
        Fact(percent(found.residual_risk), "residual risk", is_alert=not found.holds),
        Fact(percent(found.threshold), "threshold chosen"),
        Fact(f"{found.people:,}", "people in the table"),
        Fact(f"{found.unique:,}", "are unique", is_alert=found.unique > 0),
    )


def _risks(found: Determination) -> Table:
    def share(value: float | None) -> str:
        return "does not apply" if value is None else percent(value)

    return Table(
        caption=f"Measured risks against the threshold of {percent(found.threshold)}",
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


def _attacks(caption: str, attacks: tuple[Attack, ...]) -> Table:
    rows = tuple((item.attack.capitalize(), item.finding) for item in attacks)
    return Table(caption=caption, header=("Attack", "Finding"), rows=rows)


def _criteria(found: Determination) -> Table | None:
    if not found.criteria:
        return None
    return Table(
        caption="Criteria of the policy",
        header=("Criterion", "Required", "Reached", "Verdict"),
        rows=tuple(
            (
                criterion(verdict),
                required(verdict),
                reached(verdict, k=found.k),
                Status(holds=verdict.holds),
            )
            for verdict in found.criteria
        ),
    )


def _computed(found: Determination, source: str) -> tuple[tuple[str, str], ...]:
    told = [
        ("Source", source),
        ("Rows", f"{found.rows:,}"),
        ("Quasi-identifiers", ", ".join(found.quasi)),
        ("Smallest class", "none" if found.k is None else f"{found.k:,}"),
    ]
    if found.removed:
        told.append(("Removed before", ", ".join(found.removed)))
    if found.output is not None and found.output.sha256:
        told += [
            ("Output", file_name(found.output.place)),
            ("SHA-256 of the output", found.output.sha256),
        ]
    return tuple(told)
