"""`discreet check`: the gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output

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
@options.format_option
@click.pass_context
def command(
    ctx: click.Context, source: str, as_json: bool, form: str | None, **choices: Any
) -> None:
    """Exit 0 when SOURCE meets every criterion of its policy, 3 when it does not.

    Prints each criterion with the level reached, and who fails it. Also 3 when more people
    are exposed than the policy tolerates: alone on all columns that stay, or in a class that shares
    one sensitive value; and when the policy leaves open what must be decided.
    """
    from discreet.api.check import check
    from discreet.measure.wording import describe_criterion, describe_exposure

    with output.progress() as step:
        found = check(source, progress=step, **choices)
    if form is not None:
        from discreet.report.judgments import RENDERERS, judge_assessment

        click.echo(RENDERERS[form](judge_assessment(found), target=found.source))
    elif as_json:
        output.print_json(found)
    else:
        for verdict in found.criteria:
            _print_line(*describe_criterion(verdict, k=found.k))
        for exposure in found.exposures:
            _print_line(*describe_exposure(exposure))
        for point in found.undecided:
            click.echo(output.replace_control_characters(f"FAILED {point}"))
        # Beside the verdicts: no criterion looks at names that were not removed.
        for caution in found.cautions:
            click.echo(output.replace_control_characters(f"! {caution}"), err=True)
    if not found.holds or not found.is_tolerable:
        ctx.exit(NOT_SAFE_ENOUGH)


def _print_line(name: str, holds: bool, sentence: str) -> None:
    line = f"{'ok    ' if holds else 'FAILED'} {name}: {sentence}"
    click.echo(output.replace_control_characters(line))
