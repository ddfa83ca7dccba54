"""`discreet attack linkability`: two tables about the same people, joined through synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.trial import open_trial_of, random_generator, trial_options

EXAMPLES = """\b
Examples:
  discreet attack linkability synthetic.csv --source people.csv --control others.csv \\
      --first age,sex,zip --second diagnosis,income
  discreet attack linkability synthetic.csv --source people.csv --control others.csv --neighbors 5
"""


@click.command(epilog=EXAMPLES)
@trial_options
@click.option("--first", type=options.NAMES, help="Columns of the one table that is known.")
@click.option("--second", type=options.NAMES, help="Columns of the other. Default: the rest.")
@click.option(
    "--neighbors",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many of the closest records are looked at.",
)
@finding_options
def command(
    *,
    synthetic: str,
    guesses: int,
    seed: int | None,
    first: tuple[str, ...] | None,
    second: tuple[str, ...] | None,
    neighbors: int,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **tables: Any,
) -> None:
    """Join two tables about the same people through SYNTHETIC.

    Somebody has a table with the --first columns and one with the --second, and no column in common.
    A person is linked when the synthetic record closest to them is the same by both. How often that
    happens to people of --control, who had no part in SYNTHETIC, is taken off.
    """
    from discreet.attacks.synthetic.linkability import link_column_sets

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    if tables["columns"] is None and first and second:
        tables["columns"] = (*first, *(name for name in second if name not in first))
    trial = open_trial_of(synthetic, **tables)
    found = link_column_sets(
        trial,
        first=first,
        second=second,
        rng=random_generator(seed),
        guesses=guesses,
        neighbors=neighbors,
    )
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)
