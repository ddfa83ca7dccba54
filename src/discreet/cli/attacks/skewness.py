"""`discreet attack skewness`: how far do classes move the adversary's belief?"""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.attacks.classes import attack_classes, class_options
from discreet.cli.attacks.findings import ToleranceType

EXAMPLES = """\b
Examples:
  discreet attack skewness release.csv --quasi age,zip --sensitive diagnosis
  discreet attack skewness release.csv --policy policy.yaml --shift 50%
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--shift",
    type=ToleranceType(),
    metavar="SHARE",
    default=0.3,
    show_default="30%",
    help="How much the belief in a person's true value must rise to count.",
)
@class_options
def command(release: str, shift: float, **choices: Any) -> None:
    """Compare the sensitive values of each class of RELEASE with those of the whole.

    Before, the adversary believes in a value as often as the whole table has it; after, as often as
    the person's class has it. Several sensitive columns are compared alone and together: each may be
    as the whole table, and all as one not.
    """
    from discreet.attack.classes.skewness import find_skewness

    attack_classes(
        release,
        lambda classes: [find_skewness(told, shift=shift) for told in classes.all],
        **choices,
    )
