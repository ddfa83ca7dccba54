"""`discreet attack homogeneity`: who shares one sensitive value with all of their class?"""

from __future__ import annotations

from typing import Any

import click

from discreet.cli.attacks.classes import attack_classes, class_options

EXAMPLES = """\b
Examples:
  discreet attack homogeneity release.csv --quasi age,zip --sensitive diagnosis
  discreet attack homogeneity release.csv --policy policy.yaml --tolerance 1%
"""


@click.command(epilog=EXAMPLES)
@class_options
def command(release: str, **choices: Any) -> None:
    """Find the people in RELEASE whose class has one sensitive value.

    Rows that agree on the quasi-identifiers are a class. Where all of them share one value, whoever
    knows somebody in the class knows the value, however large the class is.
    """
    from discreet.attack.classes.homogeneity import find_homogeneity

    attack_classes(
        release, lambda classes: [find_homogeneity(told) for told in classes.columns], **choices
    )
