"""`discreet attack similarity`: whose class has values that mean nearly the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.attack.finding import Finding
from discreet.cli.attacks.classes import attack_classes, class_options

if TYPE_CHECKING:
    from discreet.attack.classes.histograms import Classes

EXAMPLES = """\b
Examples:
  discreet attack similarity release.csv --quasi age,zip --sensitive salary --within 20%
  discreet attack similarity release.csv --quasi age,zip --sensitive salary --within 5000
  discreet attack similarity release.csv --policy policy.yaml --level 2
"""


class ReachType(click.ParamType[tuple[float | None, float | None]]):
    """A share of the span such as 20%, or a width such as 5000: (share, width)."""

    name = "reach"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float | None, float | None]:
        """Return the share or the width; the other is None."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf") or (text.endswith("%") and number > 100):
            self.fail(f"'{value}' is no distance. Write 20% or 5000.", param, ctx)
        return (number / 100, None) if text.endswith("%") else (None, number)


@click.command(epilog=EXAMPLES)
@click.option(
    "--within",
    type=ReachType(),
    metavar="DISTANCE",
    help="How close numbers, dates (in days) or ordered values count as alike: a width, or a share "
    "of the span of the middle 90 % of people.  [default: 25%]",
)
@click.option(
    "--level",
    type=click.IntRange(1),
    metavar="N",
    default=1,
    show_default=True,
    help="Which groups of the policy's hierarchy count as alike: 1 is the first above the values.",
)
@class_options
def command(
    release: str, within: tuple[float | None, float | None] | None, level: int, **choices: Any
) -> None:
    """Find the people in RELEASE whose class has values that mean nearly the same.

    Three kinds of stomach trouble are three values and one secret; three salaries close together as
    well. Groups come from the hierarchy of the column in the policy, order from its type or from the
    policy's `values:`.
    """
    from discreet.attack.classes.similarity import Within, find_similarity
    from discreet.errors import WrongUsage

    reach = Within(*within) if within is not None else None

    def attack(classes: Classes) -> list[Finding]:
        found: list[Finding] = []
        for told in classes.columns:
            policy = classes.bound.policy
            found += find_similarity(told, policy=policy, level=level, within=reach)
        if not found:
            raise WrongUsage(
                "No sensitive column has an order or a hierarchy, so that none of its values are "
                "closer than others. Add `hierarchy:` or `values:` to its policy."
            )
        return found

    attack_classes(release, attack, **choices)
