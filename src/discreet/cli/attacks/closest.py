"""`discreet attack closest`: who lies so near to a synthetic record that they must be its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.attacks.findings import (
    ToleranceType,
    finding_options,
    judge_and_print,
    tolerance_of,
)
from discreet.cli.attacks.trial import open_trial_of, random_generator, trial_options

EXAMPLES = """\b
Examples:
  discreet attack closest synthetic.csv --source people.csv --control others.csv
  discreet attack closest synthetic.csv --source people.csv --control others.csv --false-alarms 1%
"""


@click.command(epilog=EXAMPLES)
@trial_options
@click.option(
    "--false-alarms",
    type=ToleranceType(),
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="How many people of the control group the adversary may take for people of the source.",
)
@finding_options
def command(
    *,
    synthetic: str,
    guesses: int,
    seed: int | None,
    false_alarms: float,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **tables: Any,
) -> None:
    """Tell who is in the source by how near a synthetic record is.

    A generator that learned people by heart puts records closer to them than to others. The adversary
    says "was in it" of whoever is nearer to SYNTHETIC than nearly all of one half of --control; the
    other half shows how often that is wrong.
    """
    from discreet.attacks.synthetic.closest import find_closest_people

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    trial = open_trial_of(synthetic, **tables)
    found = find_closest_people(
        trial, rng=random_generator(seed), guesses=guesses, false_alarms=false_alarms
    )
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)
