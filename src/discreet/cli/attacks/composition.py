"""`discreet attack composition`: what do several releases tell together?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from discreet.cli.attacks.classes import sure_option
from discreet.cli.attacks.findings import finish
from discreet.cli.attacks.releases import opened, release_options

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = """\b
Examples:
  discreet attack composition north.csv south.csv --known people.csv --on age,sex,zip \\
      --sensitive diagnosis
  discreet attack composition a.csv b.csv c.csv --known people.csv --policy policy.yaml \\
      --control others.csv
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--known",
    required=True,
    metavar="FILE",
    help="People believed to be in every release. A column called as the sensitive one is the truth, "
    "by which claims are judged.",
)
@sure_option("How sure the adversary must be for a partial breach.")
@release_options
def command(
    releases: tuple[str, ...],
    known: str,
    sure: float,
    report: Path | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Intersect what several RELEASES of overlapping people leave.

    Two hospitals publish their patients, each with k people in every class. Whoever was in both has
    a class in each, and only the values that both classes have come into question.
    """
    from discreet.attack.releases.composition import find_composition
    from discreet.writing import require_writable

    if report is not None:
        require_writable(report)
    with opened(releases, known=[known], **choices) as tables:
        found = find_composition(
            tables.known[0],
            tables.releases,
            on=tables.on,
            sensitive=tables.sensitive,
            control=tables.control,
            hierarchies=tables.hierarchies,
            sure=sure,
        )
        tolerance = tables.tolerance
    finish(found, tolerance=tolerance, as_json=as_json, report=report)
