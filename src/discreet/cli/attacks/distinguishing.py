"""`discreet attack distinguishing`: what epsilon means to somebody who guesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from discreet.cli.asking import AMOUNT
from discreet.cli.attacks.findings import finding_options, finish, tolerance_of
from discreet.cli.attacks.games import game_options

if TYPE_CHECKING:
    from pathlib import Path

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

    from discreet.attack.audit.game import distinguish

    chance = np.random.default_rng(seed)
    found = distinguish(epsilon=Fraction(epsilon), trials=trials, chance=chance)
    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label="answers")
    finish(found, tolerance=tolerated, as_json=as_json, report=report)
