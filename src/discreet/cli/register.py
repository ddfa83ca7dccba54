"""`discreet register`: number each person's rows by chance, once, so that questions are quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.writing import refuse_collisions

EXAMPLES = """\b
Examples:
  discreet register visits.csv --policy policy.yaml -o visits.parquet
  discreet ask visits.parquet "SELECT count(*) FROM visits" --policy policy.yaml --epsilon 1
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--policy",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="The policy that names the table's unit.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE.parquet",
    help="Where the numbered copy goes.",
)
@click.option("--force", is_flag=True, help="Replace the output if it is there.")
@options.reading_options
@options.json_option
def command(source: str, policy: Path, **choices: Any) -> None:
    """Copy SOURCE with a random rank for each of a person's rows, so that questions are quick.

    Questions about people with several rows must bound how many of them count. With ranks that is
    a comparison; without, the rows of every person must be gathered first.
    """
    from discreet.answer.register import register_table
    from discreet.policy.load import load_policy

    place, as_json = choices.pop("output"), choices.pop("as_json")
    refuse_collisions([policy], {"the numbered copy": place}, source=source)
    choices["reading"] = {
        "memory_limit": choices.pop("memory"),
        "delimiter": choices.pop("delimiter"),
        "encoding": choices.pop("encoding"),
    }
    with output.progress() as step:
        step("Numbering rows", 0, 1)
        made = register_table(source, load_policy(policy), output=place, **choices)
    if as_json:
        output.print_json(made)
    else:
        click.echo(
            output.replace_control_characters(
                f"{made.rows:,} rows of '{made.table}' are numbered within each '{made.unit}' in "
                f"{made.output}: ask that file."
            )
        )
