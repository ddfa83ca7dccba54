"""`discreet attack background`: what do classes tell somebody who knows a little already?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.attack.finding import Finding
from discreet.cli.attacks.classes import attack_bound, class_options, person_option, sure_option

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

EXAMPLES = """\b
Examples:
  discreet attack background release.csv --quasi age,zip --sensitive diagnosis --rules-out 2
  discreet attack background release.csv --policy policy.yaml --knows "diagnosis <> 'heart disease'"
  discreet attack background release.csv --policy policy.yaml \\
      --knows "sex = 'M' implies diagnosis <> 'ovarian cyst'"
  discreet attack background release.csv --policy policy.yaml --person age=36,zip=47673 \\
      --knows "diagnosis <> 'heart disease'"
  discreet attack background release.csv --quasi race,zip --sensitive hiv,disease --knows disease
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--rules-out",
    type=click.IntRange(0),
    metavar="M",
    help="How many values the adversary can rule out for a person, the most helpful ones.  "
    "[default: 1, with --knows 0]",
)
@click.option(
    "--knows",
    multiple=True,
    metavar="COLUMN|CONDITION",
    help="What it knows of a person: the value of a column, or a condition. May be repeated.",
)
@sure_option("How sure the adversary must be of the truth for a person to count.")
@person_option
@class_options
def command(
    release: str,
    rules_out: int | None,
    knows: tuple[str, ...],
    sure: float,
    person: dict[str, str] | None,
    **choices: Any,
) -> None:
    """Find the people in RELEASE who are told once some values are ruled out.

    The person at the next desk has no heart trouble; a man has no ovarian cyst. What is ruled out
    leaves fewer values in a class, in the worst case one. With --knows the attack is on the people
    for whom that holds.
    """
    from discreet.attack.classes.background import find_all, find_one

    depth = rules_out if rules_out is not None else int(not knows)

    def attack(bound: RoleBinding) -> tuple[Finding, ...]:
        if person is not None:
            return find_one(bound, person, knows=knows, sure=sure)
        return find_all(bound, knows=knows, rules_out=depth, sure=sure)

    attack_bound(release, attack, **choices)
