"""`discreet assess`: how identifiable are the people in this table?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options, output

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from discreet.measure.assessment import Assessment

EXAMPLES = """\b
Examples:
  discreet assess people.csv
  discreet assess people.csv --quasi birth_date,sex,zip --sensitive diagnosis
  discreet assess people.csv --policy policy.yaml --against voters.csv --report people.html
  discreet assess postgresql://localhost/clinic --table patients --policy policy.yaml
  cat people.csv | discreet assess - --quasi age,zip --json
"""


@click.command(epilog=EXAMPLES)
@options.source_argument
@options.policy_option
@options.role_options
@click.option("--against", metavar="SOURCE", help="The population the people were drawn from.")
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    help="The share of the population in the table, to estimate population uniqueness.",
)
@click.option(
    "--depth",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Largest number of columns combined when searching what singles people out; 0 skips it.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
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

    Groups rows by the columns outsiders may know (quasi-identifiers) and tells how many people are
    alone in their group, what groups reveal about sensitive columns, which columns single people
    out, and how likely three kinds of adversary find someone. Without --policy or --quasi the roles
    are guessed.
    """
    from discreet.measure.assess import assess

    if report is not None:
        from discreet.report.page import require_writable

        require_writable(report)
    with output.progress() as step:
        found = assess(source, memory_limit=memory, progress=step, **choices)
    if report is not None:
        from discreet.report.assessment import write_report

        write_report(found, report)
    if as_json:
        output.print_json(found)
    else:
        show(found, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def show(found: Assessment, to: Console) -> None:
    """Print an assessment for its custodian: the verdict, then tables."""
    output.print_sentence(to, found.verdict, style="bold")
    output.print_sentence(to, _facts(found))
    _show_criteria(found, to)
    _show_sizes(found, to)
    _show_columns(found, to)
    _show_combinations(found, to)
    _show_sensitive(found, to)
    _show_worst(found, to)
    _show_risk(found, to)
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")


def _facts(found: Assessment) -> str:
    parts = [f"{found.rows:,} rows"]
    if found.unit:
        parts.append(f"{found.people:,} people")
    if found.suppressed:
        parts.append(f"{found.suppressed:,} suppressed")
    parts += [f"{found.classes:,} classes", f"k = {output.number(found.k)}"]
    return ", ".join(parts) + "."


def _show_criteria(found: Assessment, to: Console) -> None:
    if not found.criteria:
        return
    rows = [
        (
            f"{'✓' if verdict.holds else '✗'} {verdict.title}",
            output.number(verdict.reached),
            output.number(verdict.failing_classes),
            output.number(verdict.failing_people),
        )
        for verdict in found.criteria
    ]
    header = ("Criterion", "Reached", "Failing classes", "People in them")
    output.print_table(to, "Criteria of the policy", header, rows)


def _show_sizes(found: Assessment, to: Console) -> None:
    from discreet.measure.describe import percent

    total = sum(found.class_sizes.values()) or 1
    bins = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 4), "5–9": (5, 9), "10–19": (10, 19)}
    bins |= {"20–99": (20, 99), "100 and more": (100, max(found.class_sizes, default=100) + 100)}
    rows: list[tuple[str, str, str]] = []
    for name, (low, high) in bins.items():
        people = sum(n for size, n in found.class_sizes.items() if low <= size <= high)
        if people:
            rows.append((name, f"{people:,}", percent(people / total)))
    output.print_table(to, "People by the size of their class", ("Size", "People", ""), rows)


def _show_columns(found: Assessment, to: Console) -> None:
    from discreet.measure.describe import percent

    if not found.columns:
        return
    ranked = sorted(found.columns, key=lambda column: -column.unique)
    rows = [
        (
            column.column,
            column.role,
            f"{column.distinct:,}",
            f"{column.unique:,}",
            percent(column.unique / max(found.people, 1)),
        )
        for column in ranked[:12]
    ]
    header = ("Column", "Role", "Values", "Unique people", "")
    output.print_table(to, "How far each column narrows a person down", header, rows)


def _show_combinations(found: Assessment, to: Console) -> None:
    from discreet.measure.describe import percent

    if found.combinations is None or not found.combinations.most_exposing:
        return
    rows = [
        (
            " + ".join(entry.columns),
            f"{entry.unique:,}",
            percent(entry.unique / found.people),
            f"{entry.minimal:,}",
        )
        for entry in found.combinations.most_exposing[:8]
    ]
    header = ("Columns", "Unique people", "", "Not with fewer columns")
    output.print_table(to, "Smallest sets of columns that single people out", header, rows)


def _show_sensitive(found: Assessment, to: Console) -> None:
    if not found.sensitive:
        return
    rows = [
        (
            name,
            f"{column.l.distinct} / {column.l.probabilistic:.3g} / {column.l.entropy:.3g}",
            (
                f"{output.number(column.t.equal)} / {output.number(column.t.ordered)}"
                f" / {output.number(column.t.hierarchical)}"
            ),
            f"{column.alpha:.3g}",
            output.number(column.basic_beta),
            output.number(column.delta_disclosure),
        )
        for name, column in found.sensitive.items()
    ]
    header = (
        "Sensitive column",
        "l distinct / probable / entropy",
        "t equal / ordered / tree",
        "α",
        "β",
        "δ",
    )
    output.print_table(to, "What the worst class reveals", header, rows)


def _show_worst(found: Assessment, to: Console) -> None:
    """Name the classes that stand in the way: their custodian may see them, a report never does."""
    shown = [("smallest", view) for view in found.smallest[:3]]
    for name, column in found.sensitive.items():
        shown += [
            (f"{name}: l = {output.number(v.level)}", v) for v in column.worst["distinct"][:1]
        ]
        shown += [(f"{name}: t = {output.number(v.level)}", v) for v in column.worst["equal"][:1]]
    rows = [
        (why, *("missing" if v is None else v for v in view.values.values()), f"{view.size:,}")
        for why, view in shown
    ]
    header = ("Class", *found.quasi, "People")
    if len(found.quasi) <= 8:
        output.print_table(to, "Classes that give most away (for your eyes only)", header, rows)


def _show_risk(found: Assessment, to: Console) -> None:
    from discreet.measure.describe import percent

    risk = found.risk
    rows: list[tuple[object, ...]] = []
    for name, adversary in (
        ("Prosecutor: knows who is in the table", risk.prosecutor),
        ("Journalist: knows who may be in it", risk.journalist),
    ):
        shares = (adversary.worst, adversary.average, adversary.share_at_risk)
        rows.append((name, *("–" if share is None else percent(share) for share in shares)))
    marketer = risk.marketer.expected_share
    rows.append(
        ("Marketer: takes whomever", "", "–" if marketer is None else percent(marketer), "")
    )
    threshold = percent(risk.prosecutor.threshold)
    header = ("Adversary", "Worst", "Average", f"People above {threshold}")
    output.print_table(to, "Chance that a match is right", header, rows)
    if found.presence is not None:
        presence = found.presence
        output.print_sentence(
            to,
            f"Against {presence.population:,} people: k-map = {presence.k_map:,}, presence "
            f"between {percent(presence.lowest)} and {percent(min(presence.highest, 1.0))}.",
        )
    _show_population(found, to)


def _show_population(found: Assessment, to: Console) -> None:
    from discreet.measure.describe import percent

    if found.population is None:
        return
    estimates = found.population
    rows: list[tuple[str, str, str]] = []
    for name in ("pitman", "zayatz", "snb"):
        estimate = getattr(estimates, name)
        chosen = " (chosen by Dankar's rule)" if estimates.chosen == name else ""
        if estimate.uniques is None:
            rows.append((name + chosen, "no estimate", estimate.reason or ""))
        else:
            rows.append((name + chosen, f"{estimate.uniques:,.0f}", percent(estimate.share or 0.0)))
    title = f"Estimated unique people in a population of {estimates.population:,.0f}"
    output.print_table(to, title, ("Estimator", "People", "Share"), rows)
