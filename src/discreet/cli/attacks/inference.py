"""`discreet attack inference`: how often is the best guess from a class right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from discreet.attack.finding import Finding
from discreet.cli.attacks.classes import attack_bound, class_options, person_option, sure_option

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

EXAMPLES = """\b
Examples:
  discreet attack inference release.csv --quasi age,zip --sensitive diagnosis
  discreet attack inference release.csv --policy policy.yaml --sure 75%
  discreet attack inference release.csv --policy policy.yaml --person age=27,zip=47678
"""


@click.command(epilog=EXAMPLES)
@sure_option("How sure the adversary must be before it says anything.")
@person_option
@class_options
def command(release: str, sure: float, person: dict[str, str] | None, **choices: Any) -> None:
    """Guess the most frequent sensitive value of each class of RELEASE.

    Tells how many people are guessed right by an adversary that speaks only when sure, and how often
    guessing about everybody is right. Several sensitive columns are guessed alone and together.
    """
    from discreet.attack.classes.histograms import read_classes
    from discreet.attack.classes.inference import find_inference
    from discreet.attack.classes.person import find_person

    def attack(bound: RoleBinding) -> Sequence[Finding]:
        if person is not None:
            return find_person(bound, person, sure=sure)
        return [find_inference(told, sure=sure) for told in read_classes(bound).all]

    attack_bound(release, attack, **choices)
