"""`discreet sample`: more rows of a synthetic table's model, at no cost."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import options, output
from discreet.errors import WrongUsage
from discreet.formatting import join_names

EXAMPLES = """\b
Examples:
  discreet sample model.json --rows 1000 -o more.csv
  discreet sample model.json --rows 1000 --seed 7 -o again.parquet
"""


@click.command(epilog=EXAMPLES)
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--rows", type=click.IntRange(1), required=True, metavar="NUMBER", help="How many rows."
)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    metavar="OUT",
    callback=options.require_name,
    help="Where rows go.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="NUMBER",
    help="The same seed gives the same rows. Default: new rows each time.",
)
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option(
    "--file-format",
    metavar="ENDING",
    help="Of a model of several tables: csv, parquet, … Default: parquet.",
)
@options.json_option
def command(
    model: Path,
    *,
    rows: int,
    out: str,
    seed: int | None,
    force: bool,
    as_json: bool,
    file_format: str | None,
) -> None:
    """Draw more rows from the model that `discreet synthesize --model` saved.

    The model was paid for, and rows follow from it alone: they cost nothing, and the source is not
    needed. Of a model of several tables ROWS is the number of parents, and OUT a folder.
    """
    from discreet.api.sample import sample, sample_tables
    from discreet.release.synthesize.model_file import (
        FAMILY_FORMAT,
        find_model_format,
        read_model_file,
    )

    if find_model_format(read_model_file(model)) == FAMILY_FORMAT:
        form = {"file_format": file_format} if file_format else {}
        made = sample_tables(model, rows=rows, seed=seed, output=out, force=force, **form)
        numbers = join_names([f"{one.rows:,} of '{one.table}'" for one in made.tables])
        sentence = f"Wrote rows to {out}: {numbers}. They cost nothing."
    elif file_format:
        raise WrongUsage("--file-format is for several tables. The ending of OUT says it for one.")
    else:
        made = sample(model, rows=rows, seed=seed, output=out, force=force)
        sentence = f"Wrote {made.rows:,} rows to {out}. They cost nothing."
    if as_json:
        output.print_json(made)
    else:
        output.print_sentence(output.console(), sentence)
