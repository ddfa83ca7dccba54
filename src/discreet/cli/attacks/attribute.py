"""`discreet attack attribute`: what the closest synthetic record gives away about a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import Share, finding_options, finish, tolerance_of
from discreet.cli.attacks.trial import chance, open_trial_of, trial_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    type=Share(),
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
    from discreet.attack.synthetic.attribute import infer

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=tables["source"])
    trial = open_trial_of(synthetic, **tables)
    rng = chance(seed)
    wanted = secrets or _sensitive(policy, tables["source"], trial.names) or trial.names
    findings = [infer(trial, name, rng=rng, guesses=guesses, within=within) for name in wanted]
    finish(findings, tolerance=tolerated, as_json=as_json, report=report)


def _sensitive(policy: Path | None, label: str, names: Sequence[str]) -> list[str]:
    """Return the sensitive columns of the policy that the tables share."""
    if policy is None:
        return []
    from discreet.measure.subject import select_table
    from discreet.policy.load import load_policy
    from discreet.policy.model import Role

    table = select_table(load_policy(policy), label=label)
    sensitive = [column.name for column in table.columns if column.role is Role.SENSITIVE]
    return [name for name in sensitive if name in names]
