"""`discreet deidentify`: rows without what names people, by one of three methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from discreet.cli import options, output
from discreet.cli.findings import print_refusal, show_findings
from discreet.errors import OutputRefused, RiskNotTolerated, WrongUsage
from discreet.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.progress import Progress
    from discreet.release.deidentify.expert import Determination
    from discreet.release.deidentify.record import Deidentified
    from discreet.release.write import WrittenOutput

EXAMPLES = """\b
Examples:
  discreet deidentify patients.csv --method safe-harbor -o shared.csv
  discreet deidentify release.csv --method expert --policy policy.yaml
  discreet deidentify visits.csv --method pseudonymize --key-file KEY --columns id -o out.csv
"""

HELP = """\b
Write SOURCE without what names people, by one of three methods:
  safe-harbor   removes or coarsens HIPAA's 18 classes of identifiers, also in free text
  expert        measures the risk for an expert to sign; exit 3 if too high
  pseudonymize  replaces identifiers by keyed pseudonyms; tables can still be joined
"""

GROUPS = {
    "Safe Harbor": ("classes", "keep", "as_of", "restricted_zips"),
    "Expert": ("threshold", "adversary", "against", "fraction", "expert"),
    "Pseudonyms": (
        *("key_file", "key_env", "columns", "format_preserving", "reversible", "tokens"),
        *("mapping", "shift_dates"),
    ),
}

SAFE_HARBOR, EXPERT, PSEUDONYMIZE = "safe-harbor", "expert", "pseudonymize"


class ClassType(click.ParamType[tuple[str, str]]):
    """A column and its class: `zip=B`; the last equals sign counts."""

    name = "column=class"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the column and the letter."""
        if isinstance(value, tuple):
            return value
        column, equals, letter = str(value).rpartition("=")
        if not equals or not column or not letter:
            self.fail("Write a column and its class, such as zip=B or remarks=text.", param, ctx)
        return column, letter


_safe_harbor_options = options.combine_options(
    click.option(
        "--class",
        "classes",
        type=ClassType(),
        multiple=True,
        metavar="COLUMN=CLASS",
        help="A to R, zip, age or text.",
    ),
    click.option(
        "--keep",
        type=options.NAMES,
        help="Columns that stay as they are.",
    ),
    click.option(
        "--as-of",
        type=click.IntRange(1900, 2200),
        metavar="YEAR",
        help="The year to count ages to.",
    ),
    click.option(
        "--restricted-zips",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Small ZIP areas, one in each line.",
    ),
)


_expert_options = options.combine_options(
    click.option(
        "--threshold",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="RISK",
        help="The greatest risk, such as 0.09.",
    ),
    click.option(
        "--adversary",
        type=click.Choice(["prosecutor", "journalist", "marketer"]),
        metavar="WHO",
        help="prosecutor, journalist or marketer.",
    ),
    click.option(
        "--against",
        metavar="SOURCE",
        help="The population of the people.",
    ),
    click.option(
        "--fraction",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="SHARE",
        help="Share of the population in the table.",
    ),
    click.option("--expert", metavar="NAME", help="The name of the expert who signs."),
)


_pseudonym_options = options.combine_options(
    options.key_options,
    click.option("--columns", type=options.NAMES, help="Keyed pseudonyms that cannot be undone."),
    click.option(
        "--format-preserving", type=options.NAMES, help="Pseudonyms of the same form as the value."
    ),
    click.option("--reversible", type=options.NAMES, help="Pseudonyms that the key undoes."),
    click.option("--tokens", type=options.NAMES, help="Random tokens instead of keyed pseudonyms."),
    click.option(
        "--mapping",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Keep random tokens, encrypted.",
    ),
    click.option("--shift-dates", type=options.NAMES, help="Dates to shift, by person."),
    click.option(
        "--unit",
        metavar="COLUMN",
        help="The column that names a row's person.",
    ),
    click.option("--hash", "hash_name", metavar="NAME", hidden=True),  # refused
)


@click.command(cls=options.SourceCommand, help=HELP, epilog=EXAMPLES, groups=GROUPS)
@options.source_argument
@click.option(
    "--method",
    type=click.Choice([SAFE_HARBOR, EXPERT, PSEUDONYMIZE]),
    metavar="METHOD",
    required=True,
    help="One of the methods above.",
)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    callback=options.require_name,
    help="Where rows go, and OUT.release.json.",
)
@options.policy_option
@_safe_harbor_options
@_expert_options
@_pseudonym_options
@options.leave_out_option
@options.accept_risk_option
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and write nothing.")
@options.reading_options
@options.report_option
@options.json_option
@click.pass_context
def command(
    context: click.Context,
    source: str,
    method: str,
    report: Path | None,
    as_json: bool,
    **choices: Any,
) -> int:
    """Write SOURCE without what names people."""
    _refuse_foreign(context, method)
    _refuse_collisions(source, report, choices)
    write = _report_writer(report, method) if report is not None else None
    if choices.pop("hash_name") is not None:
        from discreet.release.deidentify.hashes import refuse_unkeyed_hash

        refuse_unkeyed_hash(context.params["hash_name"])
    with output.progress() as step:
        try:
            found = _run_method(source, method, choices, step)
        except RiskNotTolerated as refusal:
            print_refusal(refusal, as_json=as_json, report=report)
            raise
    if write is not None:
        write(found)
    _show_result(found, as_json=as_json)
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)
    return 0 if getattr(found, "holds", True) else 3


def _refuse_foreign(context: click.Context, method: str) -> None:
    """Refuse an option that the method would not heed: its user believes that it does."""
    from discreet.api.deidentify import METHODS_OF_OPTION

    known = {**METHODS_OF_OPTION, "hash_name": (PSEUDONYMIZE,)}
    for parameter in context.command.params:
        name = parameter.name or ""
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and method not in known.get(name, (method,)):
            raise WrongUsage(
                f"{parameter.opts[0]} belongs to --method {' or '.join(known[name])}, not to {method}."
            )


def _refuse_collisions(source: str, report: Path | None, choices: dict[str, Any]) -> None:
    target, dry_run = choices["target"], choices["dry_run"]
    if dry_run and report is not None:
        raise WrongUsage("--dry-run writes nothing. Leave out --report or --dry-run.")
    places = [Path(target)] if target and "://" not in target else []
    for place in (*places, *([report] if report else [])):
        if place.exists() and Path(source).exists() and place.samefile(source):
            raise OutputRefused(f"{place} is the source itself. Name another file.")
    if report is not None and report in places:
        raise OutputRefused(f"{report} cannot hold both the rows and the report.")


def _run_method(source: str, method: str, choices: dict[str, Any], step: Progress) -> Any:
    from discreet.api.deidentify import deidentify

    if choices["target"] is None and not choices["dry_run"] and method != EXPERT:
        raise WrongUsage("Name the output with -o OUT, or add --dry-run.")
    given = {name: value for name, value in choices.items() if name not in ("target", "classes")}
    return deidentify(
        source,
        method=method,  # pyright: ignore[reportArgumentType] -- one of the choices
        output=choices["target"],
        classes=dict(choices["classes"]) or None,
        progress=step,
        **given,
    )


def _report_writer(path: Path, method: str) -> Callable[[Any], None]:
    """Return what writes the report; a missing library or a wrong place is an error before any work."""
    from discreet.writing import require_writable_path

    if method == EXPERT:
        from discreet.report.expert import write_expert_report as write_report
    else:
        from discreet.report.deidentified import write_deidentified_report as write_report
    require_writable_path(path)
    return lambda found: write_report(found, path)


def _show_result(found: Result, *, as_json: bool) -> None:
    if as_json:
        output.print_json(found)
        return
    _show_deidentification(found, output.console())


def _show_deidentification(found: Result, to: Console) -> None:
    """Print what was done, then what is left to worry about."""
    from discreet.release.deidentify.expert import Determination
    from discreet.release.deidentify.record import Deidentified

    if isinstance(found, Determination):
        _show_determination(found, to)
    elif isinstance(found, Deidentified):
        _show_deidentified(found, to)


def _show_deidentified(found: Deidentified, to: Console) -> None:
    output.print_sentence(to, found.verdict, style="bold")
    _show_columns(found, to)
    _show_classes(found, to)
    if found.warnings:
        to.print("\n[bold]What still singles people out[/bold]")
    for warning in found.warnings:
        output.print_sentence(to, f"! {warning}", style="yellow")
    show_findings(found.findings, found.accepted_risk, to)
    if found.cautions:
        to.print("\n[bold]Keep in mind[/bold]")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    _show_output(found.output, to)


def _show_columns(found: Deidentified, to: Console) -> None:
    rows = [
        (
            column.column,
            column.letter or "–",
            column.action,
            f"{column.changed:,}",
            f"{column.removed:,}",
            column.reason,
        )
        for column in found.columns
    ]
    header = ("Column", "Class", "Done", "Changed", "Removed", "Why")
    output.print_table(to, "What was done to each column", header, rows, texts=(0, 1, 2, 5))


def _show_classes(found: Deidentified, to: Console) -> None:
    rows = [
        (
            f"{item.letter}  {item.kind}",
            ", ".join(item.columns) or "–",
            f"{item.changed:,}",
            f"{item.removed:,}",
            f"{item.in_text:,}",
        )
        for item in found.classes
        if item.columns
    ]
    if not found.classes:
        return
    header = ("Class", "Found in", "Changed", "Removed", "In free text")
    title = "Cells by the classes of Safe Harbor"
    output.print_table(to, title, header, rows, texts=(0, 1))
    absent = [item.letter for item in found.classes if not item.columns]
    if absent:
        output.print_sentence(to, f"Not found: {', '.join(absent)}.")


def _show_output(written: WrittenOutput | None, to: Console) -> None:
    if written is None:
        return
    to.print()
    output.print_sentence(to, f"Wrote {written.rows:,} rows to {written.place}.")


def _show_determination(found: Determination, to: Console) -> None:
    from discreet.formatting import format_percent

    is_good = found.holds and not found.undecided and not any(f.exceeds for f in found.findings)
    style = "bold" if is_good else "bold red"
    output.print_sentence(to, f"{'✓' if is_good else '✗'} {found.verdict}", style=style)
    rows = [
        (
            f"{'✗' if risk.is_above else '✓'} {risk.adversary}",
            "–" if risk.worst is None else format_percent(risk.worst),
            "–" if risk.average is None else format_percent(risk.average),
            "–" if risk.people_at_risk is None else f"{risk.people_at_risk:,}",
        )
        for risk in found.risks
    ]
    header = ("Adversary", "Worst", "Average", f"People above {format_percent(found.threshold)}")
    output.print_table(to, "Risk of being found", header, rows)
    for title, attacks in (
        ("Attacks tried", found.attacks_tried),
        ("Attacks not tried", found.attacks_not_tried),
    ):
        listed = [(item.attack, item.finding) for item in attacks]
        output.print_table(to, title, ("Attack", "Finding"), listed, texts=(0, 1))
    show_findings(found.findings, found.accepted_risk, to)
    to.print("\n[bold]Assumptions[/bold]")
    for assumption in found.assumptions:
        output.print_sentence(to, f"- {assumption}")
    for caution in found.cautions:
        output.print_sentence(to, f"! {caution}", style="yellow")
    _show_output(found.output, to)
