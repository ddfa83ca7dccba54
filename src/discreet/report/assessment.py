"""An assessment as one page: the verdict first, then what it rests on. Aggregates only.

The template is given numbers, words and names of columns, never the assessment itself, so that no
value of a class and no record can reach the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from discreet.formatting import format_percent
from discreet.measure.assessment import Assessment, CriterionVerdict, Selectivity
from discreet.measure.describe import bin_sizes
from discreet.measure.wording import CRITERIA_HEADER, criterion_rows
from discreet.report import charts, wording
from discreet.report.page import Figure, PageTable, Status, render_page
from discreet.report.risk import (
    EstimatePart,
    PresencePart,
    RiskPart,
    WeightedPart,
    estimate_part,
    presence_part,
    risk_part,
    weighted_part,
)
from discreet.report.sensitive import SensitivePart, sensitive_parts
from discreet.writing import write_atomically

COLUMNS_DRAWN = 15


@dataclass(frozen=True)
class KeyFigure:
    """A number in large type, and what it counts."""

    number: str
    label: str
    is_alert: bool = False


@dataclass(frozen=True)
class PageSection:
    """A chart beside its table, with a sentence that explains it."""

    sentence: str
    figure: Figure | None
    table: PageTable | None


@dataclass(frozen=True)
class AssessmentPage:
    """Everything the page shows, in its order."""

    source: str
    on: date
    verdict: str
    status: Status | None
    status_words: str
    meaning: tuple[str, ...]
    facts: tuple[KeyFigure, ...]
    criteria: PageTable | None
    sizes: PageSection | None
    columns: PageSection | None
    combinations: PageSection | None
    exposed: PageTable
    exposures: PageSection | None
    sensitive: tuple[SensitivePart, ...]
    risk: RiskPart
    population: EstimatePart | None
    presence: PresencePart | None
    weighted: WeightedPart | None
    cautions: tuple[str, ...]
    computed: tuple[tuple[str, str], ...]


def write_assessment_report(assessment: Assessment, path: Path) -> None:
    """Write the report of `assessment` to `path`, atomically replacing an existing file.

    Raises:
        OutputRefused: `path` is a folder, or its folder is missing or cannot be written.
    """
    write_atomically(path, render_assessment_page(assessment))


def render_assessment_page(assessment: Assessment, *, on: date | None = None) -> str:
    """Return the report of `assessment` as one HTML page, dated `on` (today when not given)."""
    return render_page(
        "assessment.html.j2",
        page=summarize_assessment(assessment, on=on or datetime.now(UTC).date()),
    )


def summarize_assessment(found: Assessment, *, on: date) -> AssessmentPage:
    """Return what the page of `found` shows."""
    source = file_name(found.source)
    status, status_words = _criteria_status(found)
    return AssessmentPage(
        source=source,
        on=on,
        verdict=found.verdict.replace(found.source, source),
        status=status,
        status_words=status_words,
        meaning=wording.explain_assessment(found),
        facts=_key_figures(found),
        criteria=criteria_table(
            "What the policy demands and what the table reaches",
            found.criteria,
            k=found.k,
            counts=True,
        ),
        sizes=_class_size_section(found),
        columns=_column_section(found),
        combinations=_combination_section(found),
        exposed=_exposure_table(found),
        exposures=_exposure_section(found),
        sensitive=sensitive_parts(found),
        risk=risk_part(found),
        population=estimate_part(found.population) if found.population else None,
        presence=presence_part(found.presence) if found.presence else None,
        weighted=weighted_part(found.weighted) if found.weighted else None,
        cautions=found.cautions + (found.combinations.cautions if found.combinations else ()),
        computed=wording.computation_notes(found, source=source),
    )


def file_name(source: str) -> str:
    r"""Return the last part of a path or address: folders and passwords are left out.

    >>> file_name("/home/ada/clinic/patients.csv"), file_name("C:\\data\\a.csv"), file_name("DataFrame")
    ('patients.csv', 'a.csv', 'DataFrame')
    """
    return re.split(r"[/\\]", source.rstrip("/\\"))[-1] or source


def _criteria_status(found: Assessment) -> tuple[Status | None, str]:
    total = len(found.criteria)
    failed = sum(not verdict.holds for verdict in found.criteria)
    if not total:
        return None, "Measured, not judged: no policy with criteria was given."
    if not failed:
        which = (
            "the policy's only criterion" if total == 1 else f"all {total} criteria of the policy"
        )
        meets = f"The table meets {which}"
        if found.is_tolerable:
            return Status(holds=True), f"{meets}."
        return Status(holds=False), f"{meets}, and exposes people all the same."
    which = "the policy's only criterion" if total == 1 else f"{failed} of {total} criteria"
    return Status(holds=False), f"The table fails {which}."


def _key_figures(found: Assessment) -> tuple[KeyFigure, ...]:
    targeted = found.risk.prosecutor
    facts = [KeyFigure(f"{found.people:,}", "people in the table")]
    if found.k is None:
        return (*facts, KeyFigure(f"{found.suppressed:,}", "rows suppressed"))
    share = format_percent(found.unique / found.people)
    facts.append(KeyFigure(f"{found.unique:,}", f"are unique ({share})", is_alert=found.unique > 0))
    facts.append(
        KeyFigure(f"k = {found.k:,}", "people in the smallest class", is_alert=found.k == 1)
    )
    if targeted.share_at_risk is not None:
        facts.append(
            KeyFigure(
                format_percent(targeted.share_at_risk),
                f"can be found with a chance above {wording.round_share(targeted.threshold)}",
                is_alert=targeted.people_at_risk > 0,
            )
        )
    return tuple(facts)


def criteria_table(
    caption: str, verdicts: Sequence[CriterionVerdict], *, k: int | None, counts: bool = False
) -> PageTable | None:
    """Return the table of criteria, None without any; with `counts`, of who fails them."""
    rows = [
        (*row.texts, Status(holds=row.holds), *(row.counts if counts else ()))
        for row in criterion_rows(verdicts, k=k)
    ]
    header = (*CRITERIA_HEADER, "Verdict")
    if counts:
        header = (*header, "People failing", "Classes failing")
    return PageTable(caption, header, tuple(rows), numbers=frozenset({4, 5})) if rows else None


def _class_size_section(found: Assessment) -> PageSection | None:
    if found.k is None:
        return None
    threshold = found.risk.prosecutor.threshold
    total = sum(found.class_sizes.values())
    rows: list[tuple[str, ...]] = []
    drawn: list[charts.Bar] = []
    for first, last, people, classes in bin_sizes(dict(found.class_sizes)):
        label = f"{first:,}" if last == first else f"{first:,}–{last:,}" if last else f"{first:,}+"
        share = format_percent(people / total)
        rows.append((label, f"{classes:,}", f"{people:,}", share, wording.chance_of_finding(first)))
        at_risk = people > 0 and 1 / first > threshold
        drawn.append(charts.Bar(label, people, f"{people:,} ({share})", is_alert=at_risk))
    figure = Figure(
        charts.bars(drawn, title="People by the size of their class", axis="People"),
        "People by the size of their class. " + _at_risk_below(threshold, drawn),
    )
    table = PageTable(
        caption="Class sizes",
        header=("People in the class", "Classes", "People", "Share", "Found, at most"),
        rows=tuple(rows),
        numbers=frozenset({1, 2, 3}),
    )
    sentence = (
        f"{'Leaving out suppressed rows, people' if found.suppressed else 'People'} fall into "
        f"{found.classes:,} {'class' if found.classes == 1 else 'classes'}. "
        "The smaller the class, the easier its people are found."
    )
    return PageSection(sentence, figure, table)


def _at_risk_below(threshold: float, drawn: list[charts.Bar]) -> str:
    smallest = next((size for size in range(1, 10_001) if 1 / size <= threshold), None)
    if smallest is None or smallest == 1:
        return ""
    if not any(bar.is_alert for bar in drawn):
        return f"No one is in a class of fewer than {smallest:,}."
    limit = wording.round_share(threshold)
    return f"In a class of fewer than {smallest:,} (red) a person is found with a chance above {limit}."


def _column_section(found: Assessment) -> PageSection | None:
    if not found.columns:
        return None
    ranked = sorted(found.columns, key=lambda column: -column.unique)
    table = PageTable(
        caption="Columns by themselves",
        header=("Column", "Role", "Distinct values", "Missing", "Unique people"),
        rows=tuple(
            (
                column.column,
                column.role,
                f"{column.distinct:,}",
                f"{column.missing:,}",
                f"{column.unique:,}",
            )
            for column in ranked
        ),
        numbers=frozenset({2, 3, 4}),
    )
    top = ranked[0]
    if not top.unique:
        return PageSection("No column singles anybody out by itself.", None, table)
    away = "1 person" if top.unique == 1 else f"{top.unique:,} people"
    sentence = f"Known by itself, {top.column} gives {away} away."
    return PageSection(sentence, _selectivity_figure(ranked, people=found.people), table)


def _selectivity_figure(ranked: list[Selectivity], *, people: int) -> Figure:
    drawn = [
        charts.Bar(
            column.column,
            column.unique / people,
            f"{column.unique:,} ({format_percent(column.unique / people)})",
        )
        for column in ranked[:COLUMNS_DRAWN]
    ]
    svg = charts.bars(
        drawn,
        title="People who are alone with their value, by column",
        axis="Share of people with a value of their own",
        form=".0%",
        most=1,
    )
    end = f"; the {COLUMNS_DRAWN} most telling columns." if len(ranked) > COLUMNS_DRAWN else "."
    return Figure(svg, f"People who are the only ones with their value, by column{end}")


def _combination_section(found: Assessment) -> PageSection | None:
    searched = found.combinations
    if searched is None:
        return None
    columns = "column" if searched.depth == 1 else "columns"
    if not searched.singled_out:
        return PageSection(
            f"No one is singled out by at most {searched.depth} of these {columns}.",
            None,
            None,
        )
    are = "person is" if searched.singled_out == 1 else "people are"
    share = format_percent(searched.singled_out / searched.people)
    sentence = f"{searched.singled_out:,} {are} singled out by at most {searched.depth} {columns} ({share})."
    telling = [column_set for column_set in searched.most_exposing if column_set.minimal]
    table = PageTable(
        caption="The smallest sets of columns that single people out",
        header=("Columns", "Unique people", "Of them, on no smaller set", "Classes"),
        rows=tuple(
            (
                " + ".join(column_set.columns),
                f"{column_set.unique:,}",
                f"{column_set.minimal:,}",
                f"{column_set.classes:,}",
            )
            for column_set in telling
        ),
        numbers=frozenset({1, 2, 3}),
    )
    return PageSection(sentence, None, table)


def _exposure_table(found: Assessment) -> PageTable:
    """Return the exposure that no criterion covers, with its tolerance."""
    return PageTable(
        caption="What no criterion looks at, if the table is published as it is",
        header=("Exposed by", "People", "Share", "Tolerated", "In words"),
        rows=tuple(
            (
                f"{one.attack} of {one.column}" if one.column else one.attack,
                f"{one.people:,}",
                format_percent(one.share),
                format_percent(one.tolerance),
                one.words,
            )
            for one in found.exposures
        ),
        numbers=frozenset({1, 2, 3}),
    )


def _exposure_section(found: Assessment) -> PageSection | None:
    searched = found.combinations
    if searched is None or not searched.singled_out:
        return None
    ranked = sorted(searched.exposures, key=lambda exposure: -(exposure.contribution or 0.0))
    drawn = [
        charts.Bar(exposure.column, part, format_percent(part))
        for exposure in ranked[:COLUMNS_DRAWN]
        for part in ((exposure.contribution or 0.0) / 100,)
    ]
    figure = Figure(
        charts.bars(
            drawn,
            title="Part of each column in singling people out",
            axis="Part in all scores",
            form=".0%",
            most=1,
        ),
        "Part of each column in singling people out: small sets weigh more (special uniques). "
        "Several columns share in one set, so the parts add up to more than 100 %.",
    )
    sentence = (
        f"{ranked[0].column} takes part the most in singling people out: "
        "coarsening it is where to begin."
    )
    return PageSection(sentence, figure, None)
