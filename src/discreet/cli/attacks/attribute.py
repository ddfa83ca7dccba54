"""`discreet attack attribute`: what the closest synthetic record gives away about a person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import (
    ToleranceType,
    finding_options,
    judge_and_print,
    tolerance_of,
)
from discreet.cli.attacks.trial import open_trial_of, random_generator, trial_options

EXAMPLES = """\b
Examples:
  discreet attack attribute synthetic.csv --source people.csv --control others.csv --secret diagnosis
  discreet attack attribute synthetic.csv --source people.csv --control others.csv \\
      --secret income --columns age,sex,zip,income --within 10%
  discreet attack attribute synthetic.csv --source people.csv --control others.csv --policy policy.yaml
"""


@click.command(epilog=EXAMPLES)
@trial_options
@click.option(
    "--secret",
    "secrets",
    type=options.NAMES,
    help="Columns to guess. Default: the sensitive ones of the policy, else each in turn.",
)
@click.option(
    "--within",
    type=ToleranceType(),
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="A number is right when it is off by no more than this share of the truth.",
)
@finding_options
def command(
    *,
    synthetic: str,
    guesses: int,
    seed: int | None,
    secrets: tuple[str, ...] | None,
    within: float,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **tables: Any,
) -> None:
    """Guess a secret of a person from the synthetic record closest to them.

    The adversary knows the other columns of a person, looks up the closest row of SYNTHETIC and reads
    the secret off it. The same on people of --control shows what follows from the population alone,
    and is taken off: that smoking goes with lung cancer is no breach.
    """
    from discreet.attacks.synthetic.attribute import infer_attribute

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    trial = open_trial_of(synthetic, **tables)
    rng = random_generator(seed)
    wanted = secrets or _sensitive_columns(policy, tables["source"], trial.names) or trial.names
    findings = [
        infer_attribute(trial, name, rng=rng, guesses=guesses, within=within) for name in wanted
    ]
    judge_and_print(findings, tolerance=tolerated, as_json=as_json, report=report)


def _sensitive_columns(policy: Path | None, label: str, names: Sequence[str]) -> list[str]:
    """Return the sensitive columns of the policy that the tables share."""
    if policy is None:
        return []
    from discreet.measure.roles import select_table
    from discreet.policy.load import load_policy
    from discreet.policy.model import ColumnRole

    table = select_table(load_policy(policy), label=label)
    sensitive = [column.name for column in table.columns if column.role is ColumnRole.SENSITIVE]
    return [name for name in sensitive if name in names]
