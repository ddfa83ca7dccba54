"""`discreet check`: the gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.measure.assessment import CriterionVerdict, Exposure

NOT_SAFE_ENOUGH = 3

EXAMPLES = """\b
Examples:
  discreet check people.csv --policy policy.yaml
  discreet check released.csv --policy policy.yaml --table people --rows --json
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="The policy whose criteria must hold.",
)
@click.option("--against", metavar="SOURCE", help="The population, for k-map and δ-presence.")
@options.survey_options
@options.rows_option
@options.reading_options
@options.json_option
@click.pass_context
def command(ctx: click.Context, source: str, as_json: bool, **choices: Any) -> None:
    """Exit 0 when SOURCE meets every criterion of its policy, 3 when it does not.

    Prints each criterion with the level reached, and who fails it. Also 3 when more people
    are exposed than the policy tolerates: alone on all columns that stay, or in a class that shares
    one sensitive value; and when the policy leaves open what must be decided.
    """
    from discreet.api.check import check

    with output.progress() as step:
        found = check(source, progress=step, **choices)
    if as_json:
        output.print_json(found)
    else:
        for verdict in found.criteria:
            click.echo(output.replace_control_characters(_verdict_line(verdict, k=found.k)))
        for exposure in found.exposures:
            click.echo(output.replace_control_characters(_exposure_line(exposure)))
        for point in found.undecided:
            click.echo(output.replace_control_characters(f"FAILED {point}"))
        # Beside the verdicts: no criterion looks at names that were not removed.
        for caution in found.cautions:
            click.echo(output.replace_control_characters(f"! {caution}"), err=True)
    if not found.holds or not found.is_tolerable:
        ctx.exit(NOT_SAFE_ENOUGH)


def _exposure_line(exposure: Exposure) -> str:
    from discreet.formatting import format_percent

    state = "FAILED" if exposure.exceeds else "ok    "
    of = f" of {exposure.column}" if exposure.column else ""
    line = (
        f"{state} {exposure.attack}{of}: {format_percent(exposure.share)} of people, "
        f"tolerated {format_percent(exposure.tolerance)}"
    )
    return f"{line}. {exposure.words}" if exposure.exceeds else line


def _verdict_line(verdict: CriterionVerdict, *, k: int | None) -> str:
    from discreet.formatting import format_count
    from discreet.measure.wording import criterion_rows

    (row,) = criterion_rows([verdict], k=k)
    state = "ok    " if verdict.holds else "FAILED"
    line = f"{state} {row.criterion}: reached {row.reached}, required {row.required}"
    if verdict.holds:
        return line
    people = format_count(verdict.failing_people, "person", "people")
    classes = format_count(verdict.failing_classes, "class", "classes")
    return f"{line}; {people} in {classes} fail"
