"""`discreet assess`: how identifiable are the people in this table?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options, output
from discreet.measure.assessment import Assessment, SensitiveColumn

if TYPE_CHECKING:
    from rich.console import Console


SENSITIVE_ABREAST = 5  # sensitive columns side by side in one table
COLUMNS_ABREAST = 5  # quasi-identifiers; more share one cell of a terminal's width

EXAMPLES = """\b
Examples:
  discreet assess people.csv
  discreet assess people.csv --quasi birth_date,sex,zip --sensitive diagnosis
  discreet assess people.csv --policy policy.yaml --against voters.csv --report people.html
  discreet assess postgresql://localhost/clinic --table patients --policy policy.yaml
  discreet assess survey.csv --quasi age,sex,region --weight pweight --household hhid
  cat people.csv | discreet assess - --quasi age,zip --json
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@options.policy_option
@options.role_options
@options.survey_options
@options.rows_option
@click.option(
    "--against",
    metavar="SOURCE",
    help="The population the people were drawn from, such as a voter list.",
)
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="The share of the population in the table, to estimate population uniqueness.",
)
@click.option(
    "--depth",
    type=click.IntRange(0),
    metavar="N",
    default=3,
    show_default=True,
    help="Largest number of columns combined when searching what singles people out; 0 skips it.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="CHANCE",
    default=0.2,
    show_default=True,
    help="People whose chance of being found is above this are at risk.",
)
@options.reading_options
@options.report_option
@options.json_option
def command(
    source: str, report: Path | None, as_json: bool, memory: str | None, **choices: Any
) -> None:
    """Measure how identifiable the people in SOURCE are.

    Groups rows by the columns outsiders may know (quasi-identifiers) and shows how many people are
    alone in their group, what groups reveal about sensitive columns, which columns single people
    out, and how likely three kinds of adversary find someone. Without --policy or --quasi the roles
    are guessed.
    """
    from discreet.measure.assess import assess

    write = _report_writer(report) if report is not None else None
    with output.progress() as step:
        found = assess(source, memory=memory, progress=step, **choices)
    if write is not None:
        write(found)
    if as_json:
        output.print_json(found)
    else:
        show_assessment(found, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def _report_writer(path: Path) -> Callable[[Assessment], None]:
    """Return what writes the report; a missing library or a wrong place is an error before any work."""
    from discreet.report.assessment import write_assessment_report
    from discreet.writing import require_writable_path

    require_writable_path(path)
    return lambda found: write_assessment_report(found, path)


def show_assessment(found: Assessment, to: Console) -> None:
    """Print an assessment for its custodian: the verdict, then tables."""
    output.print_sentence(to, found.verdict, style="bold")
    output.print_sentence(to, _describe_size(found))
    title = "Criteria of the policy, and who fails them"
    output.print_criteria(to, title, found.criteria, k=found.k, counts=True)
    _show_sizes(found, to)
    _show_columns(found, to)
    _show_combinations(found, to)
    _show_exposures(found, to)
    _show_sensitive(found, to)
    _show_worst(found, to)
    _show_risk(found, to)
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")


def _describe_size(found: Assessment) -> str:
    from discreet.formatting import format_count

    facts = format_count(found.rows, "row", "rows")
    if found.unit:
        facts += f" of {format_count(found.people, 'person', 'people')}"
    if found.suppressed:
        facts += f", {found.suppressed:,} of them suppressed"
    if found.k is None:
        return f"{facts}."
    classes = format_count(found.classes, "equivalence class", "equivalence classes")
    return f"{facts}, in {classes}; the smallest has {found.k:,} (k = {found.k:,})."


def _show_sizes(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent
    from discreet.measure.describe import bin_sizes

    total = sum(found.class_sizes.values()) or 1
    rows: list[tuple[str, str, str]] = []
    for first, last, people, _ in bin_sizes(found.class_sizes, (1, 2, 3, 4, 5, 10, 20, 100)):
        name = str(first) if first == last else f"{first}–{last}" if last else f"{first} and more"
        if people:
            rows.append((name, f"{people:,}", format_percent(people / total)))
    header = ("Class of", "People", "Share")
    output.print_table(to, "People by the size of their class", header, rows)


def _show_columns(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent

    if not found.columns:
        return
    ranked = sorted(found.columns, key=lambda column: -column.unique)
    rows = [
        (
            column.column,
            column.role,
            f"{column.distinct:,}",
            f"{column.unique:,}",
            format_percent(column.unique / max(found.people, 1)),
        )
        for column in ranked[:12]
    ]
    header = ("Column", "Role", "Values", "Unique people", "Share")
    title = "How far each column narrows a person down"
    output.print_table(to, title, header, rows, texts=(0, 1))


def _show_combinations(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent

    searched = found.combinations
    if searched is None or not searched.most_exposing:
        return
    rows = [
        (
            " + ".join(entry.columns),
            f"{entry.unique:,}",
            format_percent(entry.unique / searched.people),
            f"{entry.minimal:,}",
        )
        for entry in searched.most_exposing[:8]
    ]
    header = ("Columns", "Unique people", "Share", "Of them, on no smaller set")
    output.print_table(to, "Smallest sets of columns that single people out", header, rows)


def _show_exposures(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent

    rows = [
        (
            f"{'✗ ' if one.exceeds else ''}{one.attack}{f' of {one.column}' if one.column else ''}",
            f"{one.people:,}",
            format_percent(one.share),
            format_percent(one.tolerance),
        )
        for one in found.exposures
        if one.people
    ]
    if rows:
        title = "What no criterion looks at, if the table is published as it is"
        output.print_table(to, title, ("Exposed by", "People", "Share", "Tolerated"), rows)


def _show_sensitive(found: Assessment, to: Console) -> None:
    names = list(found.sensitive)
    for start in range(0, len(names), SENSITIVE_ABREAST):
        abreast = names[start : start + SENSITIVE_ABREAST]
        levels = [_sensitive_levels(found.sensitive[name]) for name in abreast]
        rows = [
            (measure, *(output.format_number(column[measure]) for column in levels))
            for measure in levels[0]
        ]
        title = "What the worst class reveals: l is safer when large, the others when small"
        output.print_table(to, title, ("Sensitive column", *abreast), rows)


def _sensitive_levels(column: SensitiveColumn) -> dict[str, float | None]:
    return {
        "l-diversity, distinct": column.l.distinct,
        "l-diversity, probabilistic": column.l.probabilistic,
        "l-diversity, entropy": column.l.entropy,
        "t-closeness, equal": column.t.equal,
        "t-closeness, ordered": column.t.ordered,
        "t-closeness, hierarchical": column.t.hierarchical,
        "share of one value (α)": column.alpha,
        "β-likeness, basic": column.basic_beta,
        "β-likeness, enhanced": column.enhanced_beta,
        "δ-disclosure": column.delta_disclosure,
    }


def _show_worst(found: Assessment, to: Console) -> None:
    """Name the classes that stand in the way: their custodian may see them, a report never does."""
    shown = [("smallest", view) for view in found.smallest[:3]]
    for name, column in found.sensitive.items():
        fewest, farthest = column.worst["distinct"][:1], column.worst["equal"][:1]
        shown += [
            (f"{name}: fewest values, l = {output.format_number(v.level)}", v) for v in fewest
        ]
        shown += [
            (f"{name}: least typical, t = {output.format_number(v.level)}", v) for v in farthest
        ]
    columns = found.quasi
    values = [tuple(map(_format_cell, view.values.values())) for _, view in shown]
    if len(columns) > COLUMNS_ABREAST:
        columns = (", ".join(columns),)
        values = [(", ".join(cells),) for cells in values]
    header = ("Class", *columns, "People")
    rows = [
        (why, *cells, f"{view.size:,}") for (why, view), cells in zip(shown, values, strict=True)
    ]
    title = "Classes that give most away (for your eyes only)"
    output.print_table(to, title, header, rows, texts=range(len(header) - 1))


def _format_cell(value: object) -> str:
    return "missing" if value is None else str(value)


def _show_risk(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent
    from discreet.measure.describe import weighted_rows
    from discreet.report.wording import round_share

    risk = found.risk
    rows: list[tuple[object, ...]] = []
    for name, adversary in (
        ("Prosecutor: knows who is in the table", risk.prosecutor),
        ("Journalist: knows who may be in it", risk.journalist),
    ):
        shares = (adversary.worst, adversary.average, adversary.share_at_risk)
        rows.append((name, *("–" if share is None else format_percent(share) for share in shares)))
    marketer = risk.marketer.expected_share
    rows.append(
        ("Marketer: wants anybody", "", "–" if marketer is None else format_percent(marketer), "")
    )
    header = (
        "Adversary",
        "Worst",
        "Average",
        f"People above {round_share(risk.prosecutor.threshold)}",
    )
    output.print_table(to, "Chance that a match is right", header, rows)
    if found.weighted is not None:
        title = "By the sampling weights, which journalist and marketer rest on"
        lines = weighted_rows(found.weighted)
        output.print_table(to, title, ("Measure", "Value"), lines)
    if found.presence is not None:
        presence = found.presence
        output.print_sentence(
            to,
            f"Against a population of {presence.population:,} people: each class has at least "
            f"{presence.k_map:,} of them (k-map), and a person who fits one is in the table with a chance "
            f"between {format_percent(presence.lowest)} and {format_percent(min(presence.highest, 1.0))}.",
        )
    _show_population(found, to)


def _show_population(found: Assessment, to: Console) -> None:
    from discreet.formatting import format_percent

    if found.population is None:
        return
    estimates = found.population
    rows: list[tuple[str, str, str, str]] = []
    for name, title in (("pitman", "Pitman"), ("zayatz", "Zayatz"), ("snb", "SNB")):
        estimate = getattr(estimates, name)
        if estimate.uniques is None:
            rows.append((title, "–", "–", f"no estimate: {estimate.reason}"))
        else:
            note = "chosen by Dankar's rule" if estimates.chosen == name else ""
            share = format_percent(estimate.share or 0.0)
            rows.append((title, f"{estimate.uniques:,.0f}", share, note))
    title = f"Estimated unique people in a population of {estimates.population:,.0f}"
    header = ("Estimator", "People", "Share", "")
    output.print_table(to, title, header, rows, texts=(0, 3))
