"""`discreet attack composition`: what do several releases tell together?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import ToleranceType, judge_and_print
from discreet.cli.attacks.releases import open_releases, release_options

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
@click.option(
    "--joined-by",
    type=options.NAMES,
    help="Columns by which rows of the releases are joined, beside the sensitive ones. Default: all "
    "that two releases publish.",
)
@click.option(
    "--sure",
    type=ToleranceType(),
    metavar="SHARE",
    default=0.9,
    show_default="90%",
    help="How sure the adversary must be for a partial breach.",
)
@release_options
def command(
    releases: tuple[str, ...],
    known: str,
    joined_by: tuple[str, ...] | None,
    sure: float,
    report: Path | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Join several RELEASES of overlapping people by all columns that they share.

    Two hospitals publish their patients, each with k people in every class. A patient of both has a
    class in each, and only rows that agree in every column that both publish can be the patient's.
    This is the attack by which `anonymize` and `deidentify` try earlier releases.
    """
    from discreet.attacks.releases.composition import Thresholds, find_composition, list_shared
    from discreet.writing import require_writable_path

    if report is not None:
        require_writable_path(report)
    with open_releases(releases, known=[known], **choices) as tables:
        found = find_composition(
            tables.known[0],
            tables.releases,
            on=tables.on,
            sensitive=tables.sensitive,
            kept=joined_by
            or [name for name in list_shared(tables.releases) if name not in tables.quasi],
            thresholds=Thresholds(k=tables.k, sure=sure),
            control=tables.control,
            hierarchies=tables.hierarchies,
        )
        tolerance = tables.tolerance
    judge_and_print(found, tolerance=tolerance, as_json=as_json, report=report)
