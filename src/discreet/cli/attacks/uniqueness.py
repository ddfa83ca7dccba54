"""`discreet attack uniqueness`: who is alone on all that is published, whatever the roles?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from discreet.attack.finding import Finding
from discreet.cli.attacks.classes import attack_bound, class_options

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

EXAMPLES = """\b
Examples:
  discreet attack uniqueness release.csv --quasi age,zip --sensitive diagnosis
  discreet attack uniqueness release.csv --policy policy.yaml --tolerance 5%
"""


@click.command(epilog=EXAMPLES)
@class_options
def command(release: str, **choices: Any) -> None:
    """Count the people who are alone on the columns of RELEASE, whatever their roles are.

    Classes are made of quasi-identifiers. Whoever knows a few other columns of somebody, insensitive or
    sensitive ones, may find the one row that has them, in a class of any size, and learns the rest.
    """
    from discreet.attack.classes.uniqueness import find_uniqueness
    from discreet.measure.joint import measure_joint

    def attack(bound: RoleBinding) -> Sequence[Finding]:
        return [find_uniqueness(measure_joint(bound), target=bound.subject.table.label)]

    attack_bound(release, attack, **choices)
