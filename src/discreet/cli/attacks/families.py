"""`discreet attack families`: how a guarantee weakens for people who share a secret."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.games import game_options
from discreet.cli.curator_options import AMOUNT

EXAMPLES = """\b
Examples:
  discreet attack families --epsilon 0.1 --size 10
  discreet attack families --epsilon 1 --size 4 --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--epsilon", type=AMOUNT, required=True, metavar="NUMBER", help="That of one person.")
@click.option(
    "--size",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many people share the secret.",
)
@game_options
@finding_options
def command(
    *,
    epsilon: str,
    size: int,
    trials: int,
    seed: int | None,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
) -> None:
    """Guess whether a family has the secret that its members share, from one noisy count.

    Noise that hides one person hides a family of N only like N times the epsilon: for a contagious
    disease, the household is what must be protected.
    """
    from fractions import Fraction

    import numpy as np

    from discreet.attacks.audit.families import attack_family

    chance = np.random.default_rng(seed)
    found = attack_family(epsilon=Fraction(epsilon), size=size, trials=trials, chance=chance)
    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label="answers")
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)
