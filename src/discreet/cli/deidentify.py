"""`discreet deidentify`: rows without what names people, by one of three methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from discreet.cli import options, output
from discreet.cli.findings import print_refusal
from discreet.errors import OutputRefused, RiskNotTolerated, WrongUsage
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.measure.assess import Progress

EXAMPLES = """\b
Examples:
  discreet deidentify patients.csv --method safe-harbor -o shared.csv
  discreet deidentify release.csv --method expert --policy policy.yaml
  discreet deidentify visits.csv --method pseudonymize --key-file secret.key \\
      --columns patient_id -o visits.parquet
"""

HELP = """\b
Write SOURCE without what names people, by one of three methods:
  safe-harbor   removes or coarsens HIPAA's 18 classes of identifiers, also in
                free text, and columns not recognized that differ for many;
                warns of what still singles people out
  expert        measures the risk of a release against a threshold, for an
                expert to sign; exit code 3 if it is above
  pseudonymize  replaces identifiers by keyed pseudonyms; joins survive
"""

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


def _safe_harbor_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--restricted-zips",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Safe Harbor: small ZIP areas, one in each line.",
        ),
        click.option(
            "--as-of",
            type=click.IntRange(1900, 2200),
            metavar="YEAR",
            help="Safe Harbor: count ages to it.",
        ),
        click.option(
            "--keep",
            type=options.NAMES,
            help="Columns that stay as they are.",
        ),
        click.option(
            "--class",
            "classes",
            type=ClassType(),
            multiple=True,
            metavar="COLUMN=CLASS",
            help="Safe Harbor: A to R, zip, age or text.",
        ),
    ):
        command = option(command)
    return command


def _expert_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--expert", metavar="NAME", help="Expert: who signs."),
        click.option(
            "--fraction",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="Expert: share of the population.",
        ),
        click.option(
            "--against",
            metavar="SOURCE",
            help="Expert: the population of the people.",
        ),
        click.option(
            "--adversary",
            type=click.Choice(["prosecutor", "journalist", "marketer"]),
            metavar="WHO",
            help="Expert: prosecutor, journalist or marketer.",
        ),
        click.option(
            "--threshold",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            metavar="RISK",
            help="Expert: greatest risk, 0.09 is 1/11.",
        ),
    ):
        command = option(command)
    return command


def _pseudonym_options(command: Callable[..., Any]) -> Callable[..., Any]:
    names: dict[str, Any] = {"type": options.NAMES}
    for option in (
        click.option("--hash", "hash_name", metavar="NAME", hidden=True),  # refused
        click.option(
            "--unit",
            metavar="COLUMN",
            help="Says whose row it is.",
        ),
        click.option("--shift-dates", **names, help="Dates that move together by person."),
        click.option(
            "--mapping",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Keep random texts sealed, and reuse them.",
        ),
        click.option("--tokens", **names, help="Random texts instead."),
        click.option("--reversible", **names, help="Pseudonyms that the key undoes."),
        click.option("--format-preserving", **names, help="Pseudonyms of the same form."),
        click.option("--columns", **names, help="Keyed pseudonyms that nobody undoes."),
        click.option("--key-env", metavar="VAR", help="The variable with the secret key."),
        click.option(
            "--key-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The file with the secret key.",
        ),
    ):
        command = option(command)
    return command


@click.command(help=HELP, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--method",
    type=click.Choice([SAFE_HARBOR, EXPERT, PSEUDONYMIZE]),
    metavar="METHOD",
    required=True,
    help="One of the three.",
)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    callback=options.require_name,
    help="Where rows go; OUT.release.json tells how.",
)
@options.policy_option
@_safe_harbor_options
@_expert_options
@_pseudonym_options
@options.leave_out_option
@options.accept_risk_option
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, write nothing.")
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
        raise WrongUsage("Say where the rows go with -o OUT, or look first with --dry-run.")
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
    """Return what writes the report; a missing library or a wrong place is told before any work."""
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
    from discreet.cli import deidentified_output

    deidentified_output.show_deidentification(found, output.console())
