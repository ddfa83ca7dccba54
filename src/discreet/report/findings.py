"""Findings of attacks as one page: what was learned, what it took, what would stop it; nobody's values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from discreet.measure.describe import percent
from discreet.report.assessment import Fact, file_name
from discreet.report.charts import Bar, bars
from discreet.report.page import Figure, Status, Table, render_page
from discreet.writing import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from discreet.attack.finding import Finding


@dataclass(frozen=True)
class Told:
    """One finding in words and numbers."""

    attack: str
    verdict: str
    exceeds: bool
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FindingsPage:
    """Everything the page shows, in its order."""

    target: str
    on: date
    verdict: str
    facts: tuple[Fact, ...]
    chart: Figure | None
    overview: Table
    findings: tuple[Told, ...]


def write_report(findings: Sequence[Finding], path: Path) -> None:
    """Write the report of `findings` to `path`, replacing what was there, whole or not at all."""
    write_whole(path, render(findings))


def render(findings: Sequence[Finding], *, on: date | None = None) -> str:
    """Return the report of `findings` as one HTML page, dated `on` (today when not given)."""
    page = summarize(findings, on=on or datetime.now(UTC).date())
    return render_page("findings.html.j2", page=page)


def summarize(findings: Sequence[Finding], *, on: date) -> FindingsPage:
    """Return what the page shows: sentences, counts and shares; no example, no cell."""
    # Two releases may be attacked together; the page is named after all of them.
    targets = dict.fromkeys(file_name(found.target) for found in findings)
    return FindingsPage(
        target=", ".join(targets) or "nothing",
        on=on,
        verdict=_verdict(findings),
        facts=_facts(findings),
        chart=_chart(findings),
        overview=findings_table(findings),
        findings=tuple(_told(found) for found in findings),
    )


def _verdict(findings: Sequence[Finding]) -> str:
    beyond = sum(found.exceeds for found in findings)
    if beyond:
        attacks = "1 attack learns" if beyond == 1 else f"{beyond} attacks learn"
        return f"Not safe enough: {attacks} more than is tolerated."
    if any(found.tolerance is not None for found in findings):
        return "No attack learned more than is tolerated."
    if any(found.advantage > 0 for found in findings):
        return "Attacks learned something; nobody said how much is tolerated."
    return "No attack learned anything about the people in it."


def _facts(findings: Sequence[Finding]) -> tuple[Fact, ...]:
    beyond = sum(found.exceeds for found in findings)
    worst = max((found.advantage for found in findings), default=0.0)
    questions = sum(found.queries for found in findings)
    facts = [
        Fact(f"{len(findings):,}", "findings"),
        Fact(f"{beyond:,}", "beyond tolerance", is_alert=beyond > 0),
        Fact(percent(worst), "learned by the worst, beyond guessing", is_alert=beyond > 0),
    ]
    if questions:
        facts.append(Fact(f"{questions:,}", "questions asked"))
    return tuple(facts)


def _chart(findings: Sequence[Finding]) -> Figure | None:
    if not findings:
        return None
    rows = [
        Bar(
            found.attack,
            found.advantage,
            percent(found.advantage),
            is_alert=found.exceeds,
            required=found.tolerance,
        )
        for found in findings
    ]
    title = "What each attack learned beyond guessing"
    svg = bars(rows, title=title, axis="Share of people", form=".0%", most=1.0)
    marks = any(found.tolerance is not None for found in findings)
    return Figure(svg, f"{title}. A mark shows what is tolerated." if marks else f"{title}.")


def findings_table(findings: Sequence[Finding]) -> Table:
    """Return one row per finding, in the order given."""

    def row(found: Finding) -> tuple[str | Status, ...]:
        low, high = found.interval
        reference = [share for share in (found.baseline, found.control) if share is not None]
        state: str | Status = "–"
        if found.tolerance is not None:
            state = Status(not found.exceeds, yes="within", no="beyond")
        return (
            found.title,
            f"{found.targets:,}",
            f"{found.claimed:,}",
            "–" if found.correct is None else f"{found.correct:,}",
            percent(found.rate),
            f"{percent(low)} to {percent(high)}",
            percent(max(reference)) if reference else "–",
            percent(found.advantage),
            state,
        )

    return Table(
        caption="Findings, worst first",
        header=(
            *("Attack", "Tried", "Claimed", "Right", "Exposed"),
            *("95 % interval", "Without it", "Learned", "Tolerance"),
        ),
        rows=tuple(row(found) for found in findings),
        numbers=frozenset(range(1, 8)),
    )


def _told(found: Finding) -> Told:
    pairs = [("Needs to know", found.knowledge), ("What stops it", found.remedy)]
    if found.certainty is not None:
        pairs.append(("How sure the adversary is", percent(found.certainty)))
    if found.queries:
        pairs.append(("Questions asked", f"{found.queries:,}"))
    if found.tolerance is not None:
        pairs.append(("Tolerated", percent(found.tolerance)))
    return Told(found.title, found.verdict, found.exceeds, tuple(pairs))
