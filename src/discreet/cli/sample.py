"""`discreet sample`: more rows of a synthetic table's model, at no cost."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import options, output

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
@options.json_option
def command(
    model: Path, *, rows: int, out: str, seed: int | None, force: bool, as_json: bool
) -> None:
    """Draw more rows from the model that `discreet synthesize --model` saved.

    The model was paid for, and rows follow from it alone: they cost nothing, and the source is not
    needed.
    """
    from discreet.api.sample import sample

    found = sample(model, rows=rows, seed=seed, output=out, force=force)
    if as_json:
        output.print_json(found)
    else:
        sentence = f"Wrote {found.rows:,} rows to {out}. They cost nothing."
        output.print_sentence(output.console(), sentence)
