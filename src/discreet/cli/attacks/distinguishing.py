"""`discreet attack distinguishing`: what epsilon means to somebody who guesses."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.games import game_options
from discreet.cli.curator_options import AMOUNT

EXAMPLES = """\b
Examples:
  discreet attack distinguishing --epsilon 1
  discreet attack distinguishing --epsilon 0.1 --trials 1000000 --json
"""


@click.command(epilog=EXAMPLES)
@click.option("--epsilon", type=AMOUNT, required=True, metavar="NUMBER", help="The epsilon.")
@game_options
@finding_options
def command(
    *,
    epsilon: str,
    trials: int,
    seed: int | None,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
) -> None:
    """Guess which of two neighboring tables an output came from, as well as anybody can.

    No guess errs less than 1/(1 + e^epsilon). Randomized response and the geometric mechanism leave
    exactly that; Laplace noise leaves e^(-epsilon/2)/2, which is more.
    """
    from fractions import Fraction

    import numpy as np

    from discreet.attacks.audit.game import distinguish_neighbors

    chance = np.random.default_rng(seed)
    found = distinguish_neighbors(epsilon=Fraction(epsilon), trials=trials, chance=chance)
    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label="answers")
    judge_and_print(found, tolerance=tolerated, as_json=as_json, report=report)
