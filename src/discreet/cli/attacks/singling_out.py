"""`discreet attack singling-out`: descriptions read off synthetic data that fit one real person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.trial import open_trial_of, random_generator, trial_options

EXAMPLES = """\b
Examples:
  discreet attack singling-out synthetic.csv --source people.csv --control others.csv
  discreet attack singling-out synthetic.csv --source people.csv --control others.csv \\
      --columns age,sex,zip,diagnosis --width 4 --tolerance 5%
"""


@click.command(epilog=EXAMPLES)
@trial_options
@click.option(
    "--width",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Columns that one description combines; descriptions of one column are always tried.",
)
@finding_options
def command(
    *,
    synthetic: str,
    guesses: int,
    seed: int | None,
    width: int,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **tables: Any,
) -> None:
    """Read descriptions off SYNTHETIC that fit exactly one real person.

    A description such as "age >= 84 and sex = f" that fits one synthetic row is right when it fits
    exactly one person of --source. Some fit one person by chance: how often they would single out
    people of --control, who had no part in it, is no breach and is taken off.
    """
    from discreet.attacks.synthetic.singling_out import single_out

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    trial = open_trial_of(synthetic, **tables)
    findings = single_out(trial, rng=random_generator(seed), guesses=guesses, width=width)
    judge_and_print(findings, tolerance=tolerated, as_json=as_json, report=report)
