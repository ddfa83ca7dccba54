"""Findings of attacks as one page: what was learned, what it took, what would stop it; no values of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from discreet.attacks.finding import Finding
from discreet.formatting import format_count, format_percent
from discreet.report.assessment import KeyFigure, file_name
from discreet.report.charts import Bar, bars
from discreet.report.page import Figure, PageTable, Status, render_page
from discreet.writing import write_atomically


@dataclass(frozen=True)
class FindingSummary:
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
    facts: tuple[KeyFigure, ...]
    chart: Figure | None
    overview: PageTable
    findings: tuple[FindingSummary, ...]


def describe_beyond(findings: Sequence[Finding]) -> list[str]:
    """Return how many attacks learn more than is tolerated, as a sentence, or nothing."""
    beyond = sum(one.exceeds for one in findings)
    words = format_count(beyond, "attack learns", "attacks learn")
    return [f"{words} more than is tolerated."] if beyond else []


def write_findings_report(findings: Sequence[Finding], path: Path) -> None:
    """Write the report of `findings` to `path`, atomically replacing an existing file."""
    write_atomically(path, render_findings_page(findings))


def render_findings_page(findings: Sequence[Finding], *, on: date | None = None) -> str:
    """Return the report of `findings` as one HTML page, dated `on` (today when not given)."""
    page = summarize_findings(findings, on=on or datetime.now(UTC).date())
    return render_page("findings.html.j2", page=page)


def summarize_findings(findings: Sequence[Finding], *, on: date) -> FindingsPage:
    """Return what the page shows: sentences, counts and shares; no example, no cell."""
    # Two releases may be attacked together; the page is named after all of them.
    targets = dict.fromkeys(file_name(found.target) for found in findings)
    return FindingsPage(
        target=", ".join(targets) or "nothing",
        on=on,
        verdict=_overall_verdict(findings),
        facts=_key_figures(findings),
        chart=_advantage_chart(findings),
        overview=findings_table(findings),
        findings=tuple(_summarize_finding(found) for found in findings),
    )


def _overall_verdict(findings: Sequence[Finding]) -> str:
    beyond = sum(found.exceeds for found in findings)
    if beyond:
        attacks = "1 attack learns" if beyond == 1 else f"{beyond} attacks learn"
        return f"Not safe enough: {attacks} more than is tolerated."
    if any(found.tolerance is not None for found in findings):
        return "No attack learned more than is tolerated."
    if any(found.advantage > 0 for found in findings):
        return "Attacks learned something; no tolerance was stated."
    return "No attack learned anything about the people in it."


def _key_figures(findings: Sequence[Finding]) -> tuple[KeyFigure, ...]:
    beyond = sum(found.exceeds for found in findings)
    worst = max((found.advantage for found in findings), default=0.0)
    questions = sum(found.queries for found in findings)
    facts = [
        KeyFigure(f"{len(findings):,}", "findings"),
        KeyFigure(f"{beyond:,}", "beyond tolerance", is_alert=beyond > 0),
        KeyFigure(
            format_percent(worst), "learned by the worst, beyond guessing", is_alert=beyond > 0
        ),
    ]
    if questions:
        facts.append(KeyFigure(f"{questions:,}", "questions asked"))
    return tuple(facts)


def _advantage_chart(findings: Sequence[Finding]) -> Figure | None:
    if not findings:
        return None
    rows = [
        Bar(
            found.attack,
            found.advantage,
            format_percent(found.advantage),
            is_alert=found.exceeds,
            required=found.tolerance,
        )
        for found in findings
    ]
    title = "What each attack learned beyond guessing"
    svg = bars(rows, title=title, axis="Share of people", form=".0%", most=1.0)
    marks = any(found.tolerance is not None for found in findings)
    return Figure(svg, f"{title}. A mark shows what is tolerated." if marks else f"{title}.")


def findings_table(findings: Sequence[Finding]) -> PageTable:
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
            format_percent(found.rate),
            f"{format_percent(low)} to {format_percent(high)}",
            format_percent(max(reference)) if reference else "–",
            format_percent(found.advantage),
            state,
        )

    return PageTable(
        caption="Findings, worst first",
        header=(
            *("Attack", "Tried", "Claimed", "Right", "Exposed"),
            *("95 % interval", "Without it", "Learned", "Tolerance"),
        ),
        rows=tuple(row(found) for found in findings),
        numbers=frozenset(range(1, 8)),
    )


def _summarize_finding(found: Finding) -> FindingSummary:
    pairs = [("Needs to know", found.knowledge), ("What stops it", found.remedy)]
    if found.certainty is not None:
        pairs.append(("How sure the adversary is", format_percent(found.certainty)))
    if found.queries:
        pairs.append(("Questions asked", f"{found.queries:,}"))
    if found.tolerance is not None:
        pairs.append(("Tolerated", format_percent(found.tolerance)))
    return FindingSummary(found.title, found.verdict, found.exceeds, tuple(pairs))
