"""`discreet attack inference`: how often is the best guess from a class right?"""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.attacks.classes import attack_classes, class_options
from discreet.cli.attacks.findings import Share

EXAMPLES = """\b
Examples:
  discreet attack inference release.csv --quasi age,zip --sensitive diagnosis
  discreet attack inference release.csv --policy policy.yaml --sure 75%
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--sure",
    type=Share(),
    metavar="SHARE",
    default=0.9,
    show_default="90%",
    help="How sure the adversary must be before it says anything.",
)
@class_options
def command(release: str, sure: float, **choices: Any) -> None:
    """Guess the most frequent sensitive value of each class of RELEASE.

    Tells how many people are guessed right by an adversary that speaks only when sure, and how often
    guessing about everybody is right. Several sensitive columns are guessed alone and together.
    """
    from discreet.attack.inference import find_inference

    attack_classes(
        release,
        lambda classes: [find_inference(told, sure=sure) for told in classes.all],
        **choices,
    )
