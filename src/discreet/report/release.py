"""A release as one page for its custodian: what was done, what it proves, what it cost.

The template is given numbers, words and names of columns, never the release itself, so that no
value of a class can reach the page.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from discreet.formatting import format_chance, format_count, format_percent, join_names
from discreet.measure.describe import weighted_rows
from discreet.policy.model import ColumnRole
from discreet.policy.write import flow_text
from discreet.registry import METHODS
from discreet.release.release import Release
from discreet.report import charts, losses
from discreet.report.assessment import KeyFigure, PageSection, criteria_table, file_name
from discreet.report.findings import describe_beyond, findings_table
from discreet.report.page import Figure, PageTable, Status, render_page
from discreet.report.wording import chance_of_finding, round_share
from discreet.writing import write_atomically

MINIMAL_SHOWN = 20


# Their bounds are values of the table: only the terminal shows them, to the custodian.
OUTLIERS = (
    "A few people at the ends of a column force coarse labels on everybody. The terminal names the "
    "columns, and the clipping that would help."
)


@dataclass(frozen=True)
class ReleasePage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    headline: str
    verdict: str
    status: Status
    status_words: str
    meaning: tuple[str, ...]
    facts: tuple[KeyFigure, ...]
    done: tuple[tuple[str, str], ...]
    steps: PageTable | None
    criteria: PageTable | None
    homogeneous: PageSection | None
    risk: PageSection
    detail: PageSection
    measures: PageTable | None
    pairs: PageSection | None
    frontier: PageSection | None
    minimal: PageTable | None
    attacks: PageSection | None
    outliers: tuple[str, ...]
    cautions: tuple[str, ...]
    provenance: tuple[tuple[str, str], ...]


def write_release_report(found: Release, path: Path) -> None:
    """Write the report of `found` to `path`, atomically replacing an existing file.

    Raises:
        OutputRefused: `path` is a folder, or its folder is missing or cannot be written.
    """
    write_atomically(path, render_release_page(found))


def render_release_page(found: Release, *, on: date | None = None) -> str:
    """Return the report of `found` as one HTML page, dated `on` (today when not given)."""
    page = summarize_release(found, on=on or datetime.now(UTC).date())
    return render_page("release.html.j2", page=page)


def summarize_release(found: Release, *, on: date) -> ReleasePage:
    """Return what the page of `found` shows: names of columns, counts and shares, no cell."""
    source = file_name(found.source)
    holds = all(verdict.holds for verdict in found.criteria)
    is_tolerable = not found.undecided and not any(one.exceeds for one in found.findings)
    return ReleasePage(
        source=source,
        on=on,
        headline=_verdict_headline(found, source),
        verdict=found.verdict.replace(found.source, source),
        status=Status(holds=holds and is_tolerable),
        status_words=_criteria_status(found, holds=holds),
        meaning=_explain_release(found),
        facts=_key_figures(found),
        done=_applied_settings(found),
        steps=_step_table(found),
        criteria=criteria_table(
            "What was demanded and what the release reaches", found.criteria, k=found.k
        ),
        homogeneous=_homogeneity_section(found),
        risk=_risk_section(found),
        detail=losses.detail_section(found),
        measures=losses.utility_measures(found),
        pairs=losses.worst_pairs(found),
        frontier=losses.frontier_section(found),
        minimal=_minimal_table(found),
        attacks=_attack_section(found),
        outliers=(OUTLIERS,) if found.outliers else (),
        cautions=found.cautions,
        provenance=_provenance_notes(found, source),
    )


def _verdict_headline(found: Release, source: str) -> str:
    if found.k is None or found.suppressed == found.rows:
        return f"Every row of {source} is suppressed."
    if found.k == 1:
        return f"Someone in the release of {source} is unique."
    worst = next((one for one in found.findings if one.exceeds), None)
    if worst is not None:
        return worst.verdict
    others = format_count(found.k - 1, "other", "others")
    return f"Everybody in the release of {source} looks like at least {others}."


def _criteria_status(found: Release, *, holds: bool) -> str:
    total = len(found.criteria)
    which = "the only criterion" if total == 1 else f"all {total} criteria"
    where = (
        "on the written rows, read again" if found.output else "in a dry run: nothing was written"
    )
    words = f"{'Meets' if holds else 'Does not meet'} {which}, measured {where}."
    return " ".join([words, *describe_beyond(found.findings), *found.undecided])


def _explain_release(found: Release) -> tuple[str, ...]:
    quasi = found.policy.with_role(ColumnRole.QUASI_IDENTIFIER)
    if found.k is None:
        return ("Every row is suppressed: no one can be found, and nothing is revealed.",)
    knows = f"the {join_names(quasi)}" if len(quasi) <= 5 else f"the {len(quasi)} quasi-identifiers"
    before, after = found.risk.before.prosecutor, found.risk.after.prosecutor
    first = (
        f"An outsider who knows {knows} of a person in this table finds at least {found.k:,} records "
        f"that fit, so that a guess is right at best once in {found.k:,} times."
    )
    if before.worst is None or after.worst is None:
        return (first,)
    second = (
        f"Before, {format_percent(before.share_at_risk or 0.0)} of people could be found with a chance above "
        f"{round_share(before.threshold)}; now it is {format_percent(after.share_at_risk or 0.0)}. This "
        "protects against outsiders who know those columns and no others: whether they may know "
        "more is for you to judge."
    )
    return first, second


def _key_figures(found: Release) -> tuple[KeyFigure, ...]:
    k = "none" if found.k is None else f"k = {found.k:,}"
    hidden = format_percent(found.suppressed / found.rows) if found.rows else "0 %"
    return (
        KeyFigure(k, "people look alike, at least"),
        KeyFigure(
            f"{found.classes:,}", f"classes of {format_count(found.people, 'person', 'people')}"
        ),
        KeyFigure(format_percent(found.loss), "of the quasi-identifiers' detail is lost"),
        KeyFigure(f"{found.suppressed:,}", f"rows suppressed ({hidden})"),
    )


def _applied_settings(found: Release) -> tuple[tuple[str, str], ...]:
    release = found.policy.release
    facts = [("Method", METHODS.get(found.method).description), *_search(found)]
    facts.append(
        ("Quasi-identifiers", join_names(found.policy.with_role(ColumnRole.QUASI_IDENTIFIER)) + ".")
    )
    sensitive = found.policy.with_role(ColumnRole.SENSITIVE)
    if sensitive:
        facts.append(
            ("Sensitive", f"{join_names(sensitive)}: published as they are, within classes.")
        )
    left = f"{join_names(found.left_out)}." if found.left_out else "No column."
    facts.append(("Left out", left))
    hidden = f"{format_count(found.suppressed, 'row', 'rows')} of {found.rows:,}"
    allowed = f"; at most {round_share(release.suppress)} was allowed" if release.suppress else ""
    where = ""
    if found.suppressed:
        kept = found.suppressed - found.withheld
        where = (
            " They are left out of the output."
            if not kept
            else " Their quasi-identifiers are `*` in the output."
        )
    facts.append(("Suppressed", f"{hidden}{allowed}.{where}"))
    return tuple(facts)


def _search(found: Release) -> list[tuple[str, str]]:
    searched = found.search
    if "node" not in searched:
        return [("Classes", f"{found.classes:,}, each with labels of its own.")]
    gap = searched.get("gap") or 0
    proof = "the proven optimum" if not gap else f"at most {gap:.4f} from the optimum"
    lattice = searched["lattice"]
    words = (
        f"By {searched['metric']}: {proof}; {min(searched['checked'], lattice):,} of {lattice:,} "
        "combinations of levels were checked. The levels are in the table of columns."
    )
    return [("Search", words)]


def _step_table(found: Release) -> PageTable | None:
    if not found.steps:
        return None
    rows = tuple(
        (name, f"`{flow_text(step[name])}`" if step[name] else "", str(step["promise"]))
        for step in found.steps
        for name in (next(iter(step)),)
    )
    return PageTable(
        "Steps before classes were made", ("Step", "Settings", "What it promises"), rows
    )


def _attack_section(found: Release) -> PageSection | None:
    if not found.findings:
        return None
    text = "The rows were attacked before they were published. "
    if found.accepted_risk is not None:
        text += f"What is beyond tolerance was accepted: {found.accepted_risk}"
    elif any(one.exceeds for one in found.findings):
        text += "What is beyond tolerance keeps a release back, unless the risk is accepted."
    else:
        text += "No attack learned more than is tolerated."
    return PageSection(text, None, findings_table(found.findings))


def _homogeneity_section(found: Release) -> PageSection | None:
    if not found.homogeneous:
        return None
    rows = tuple(
        (
            column,
            f"{counts.classes:,}",
            f"{counts.people:,} ({format_percent(counts.people / found.people) if found.people else '0 %'})",
        )
        for column, counts in found.homogeneous.items()
    )
    table = PageTable(
        "Classes without diversity",
        header=("Sensitive column", "Classes with one value", "People in them"),
        rows=rows,
        numbers=frozenset({1, 2}),
    )
    if any(counts.classes for counts in found.homogeneous.values()):
        sentence = (
            "In these classes everybody has the same sensitive value: it is known of all of them, "
            "however many look alike. Require l-diversity or t-closeness if it must not be."
        )
    else:
        sentence = "No class reveals one sensitive value of all its people."
    return PageSection(sentence, None, table)


def _risk_section(found: Release) -> PageSection:
    before, after = found.risk.before.prosecutor, found.risk.after.prosecutor
    measured = [
        ("At worst", "Chance of being found, at worst", before.worst, after.worst),
        ("On average", "Chance of being found, on average", before.average, after.average),
        (
            "At risk",
            f"People with a chance above {round_share(after.threshold)}",
            before.share_at_risk,
            after.share_at_risk,
        ),
    ]
    drawn = [
        charts.Bar(
            f"{short}, {when}", value or 0.0, format_chance(value), is_alert=when == "before"
        )
        for short, _, *values in measured
        for when, value in zip(("before", "after"), values, strict=True)
    ]
    figure = Figure(
        charts.bars(
            drawn,
            title="Risk before and after",
            axis="Chance, or share of people",
            form=".0%",
            most=1,
        ),
        "The chance of being found by an outsider who knows that a person is in the table, in the "
        "source (red) and in the release.",
    )
    rows = [(name, format_chance(first), format_chance(last)) for _, name, first, last in measured]
    first, last = (
        "–" if one.marketer.expected_people is None else f"{one.marketer.expected_people:,.0f}"
        for one in (found.risk.before, found.risk.after)
    )
    rows.append(("People found by guessing at all of them, about", first, last))
    if found.weighted is not None:
        pairs = zip(
            weighted_rows(found.weighted.before), weighted_rows(found.weighted.after), strict=True
        )
        rows += [(f"{name}, by the weights", one, other) for (name, one), (_, other) in pairs]
    table = PageTable(
        "Risk before and after", ("", "Before", "After"), tuple(rows), numbers=frozenset({1, 2})
    )
    worst = (
        f" At worst it fell from {_chance_text(before.worst)} to {_chance_text(after.worst)}."
        if before.worst and after.worst and after.worst < before.worst
        else ""
    )
    return PageSection(f"A person who is unique is found for certain.{worst}", figure, table)


def _chance_text(risk: float) -> str:
    return chance_of_finding(round(1 / risk))


def _minimal_table(found: Release) -> PageTable | None:
    if not found.minimal:
        return None
    header = tuple(found.minimal[0])
    total = len(found.minimal)
    first = f"the first {MINIMAL_SHOWN} of {total:,}" if total > MINIMAL_SHOWN else f"all {total:,}"
    return PageTable(
        f"Minimal generalizations, as levels: {first}",
        header=("", *header),
        rows=tuple(
            (f"{place + 1}", *(f"{node[name]}" for name in header))
            for place, node in enumerate(found.minimal[:MINIMAL_SHOWN])
        ),
        numbers=frozenset(range(1, len(header) + 1)),
    )


def _provenance_notes(found: Release, source: str) -> tuple[tuple[str, str], ...]:
    unit = (
        f"All rows with the same {found.unit} belong to one person."
        if found.unit
        else "Each row is taken for one person."
    )
    facts = [
        ("Source", f"{source}, {found.rows:,} rows, all of them read."),
        ("People", f"{found.people:,}. {unit}"),
    ]
    if found.output is None:
        facts.append(("Output", "None: a dry run."))
    else:
        size = f", {found.bytes:,} bytes" if found.bytes is not None else ""
        facts.append(("Output", f"{file_name(found.output)}{size}. Rows are sorted by class."))
    if found.sha256:
        facts.append(("SHA-256 of the output", f"`{found.sha256}`"))
    if found.manifest:
        name = file_name(found.manifest)
        words = (
            f"{name}: what goes with the rows, and reveals nothing about the source. This page does: it "
            f"is for you. `discreet anonymize --replay {name}` makes the release again."
        )
        facts.append(("Manifest", words))
    return tuple(facts)
