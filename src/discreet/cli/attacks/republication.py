"""`discreet attack republication`: what do successive releases of one table tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import judge_and_print
from discreet.cli.attacks.releases import open_releases, release_options

EXAMPLES = """\b
Examples:
  discreet attack republication january.csv june.csv --known people.csv --on age,zip \\
      --sensitive diagnosis
  discreet attack republication january.csv june.csv --known then.csv --known now.csv --name name \\
      --on age,zip --sensitive diagnosis
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--known",
    required=True,
    multiple=True,
    metavar="FILE",
    callback=options.require_name,
    help="People with their values: once for all releases, or once for each, in the same order. A "
    "column called as the sensitive one is the truth.",
)
@click.option(
    "--name",
    metavar="COLUMN",
    help="Who is who, where --known is given for each release.",
)
@release_options
def command(
    releases: tuple[str, ...],
    known: tuple[str, ...],
    name: str | None,
    report: Path | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Follow people through successive RELEASES of a table, the earliest first.

    After each release only the values come into question that were left before and are left still.
    A birthday moves somebody into another class, a patient who leaves takes a value along: waiting
    tells. Also checks m-invariance, which keeps the values around whoever stays.
    """
    from discreet.attacks.releases.republication import find_republication
    from discreet.writing import require_writable_path

    if report is not None:
        require_writable_path(report)
    with open_releases(releases, known=known, name=name, **choices) as tables:
        found = find_republication(
            tables.known,
            tables.releases,
            on=tables.on,
            sensitive=tables.sensitive,
            name=name,
            control=tables.control,
            hierarchies=tables.hierarchies,
        )
        tolerance = tables.tolerance
    judge_and_print(found, tolerance=tolerance, as_json=as_json, report=report)
