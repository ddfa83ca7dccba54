"""`discreet attack linkability`: two tables about the same people, joined through synthetic data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, finish, tolerance_of
from discreet.cli.attacks.trial import chance, open_trial_of, trial_options

if TYPE_CHECKING:
    from pathlib import Path

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
    from discreet.attack.synthetic.linkability import link

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    if tables["columns"] is None and first and second:
        tables["columns"] = (*first, *(name for name in second if name not in first))
    trial = open_trial_of(synthetic, **tables)
    found = link(
        trial, first=first, second=second, rng=chance(seed), guesses=guesses, neighbors=neighbors
    )
    finish([found], tolerance=tolerated, as_json=as_json, report=report)
