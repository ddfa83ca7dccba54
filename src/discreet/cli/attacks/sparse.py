"""`discreet attack sparse`: histories found by a few things known of somebody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.targets import OpenTarget, open_attack_target
from discreet.errors import WrongUsage

EXAMPLES = """\b
Examples:
  discreet attack sparse ratings.csv --known blog.csv --person user --item movie \\
    --value rating --date day
  discreet attack sparse visits.csv --person patient_id --item ward --date admitted --points 1,2,4
\b
RELEASE has a row for each thing that somebody did; --known has the same columns, a few rows for each
target, some of them wrong. Keep people in it who are not in RELEASE: with --truth COLUMN, which holds
the pseudonym in RELEASE or nothing, false claims are counted.
"""


class CountsType(click.ParamType[tuple[int, ...]]):
    """Numbers of points, separated by commas."""

    name = "n,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Return the numbers."""
        if isinstance(value, tuple):
            return tuple(map(int, value))
        parts = str(value).split(",")
        if not all(part.strip().isdigit() and 0 < int(part) <= 1_000 for part in parts):
            self.fail("Write how many points are known, such as 1,2,4.", param, ctx)
        return tuple(int(part) for part in parts)


@click.command(epilog=EXAMPLES)
@click.argument("source", metavar="RELEASE", callback=options.require_name)
@click.option("--known", metavar="SOURCE", help="What the adversary knows of some people.")
@click.option("--person", required=True, metavar="COLUMN", help="Says whose row it is.")
@click.option("--item", required=True, metavar="COLUMN", help="What was rated, bought or visited.")
@click.option("--value", metavar="COLUMN", help="A rating or an amount; may be wrong a little.")
@click.option("--date", metavar="COLUMN", help="The day; may be wrong by some days.")
@click.option(
    "--known-person", metavar="COLUMN", help="Names the targets in --known. Default: as --person."
)
@click.option(
    "--truth", metavar="COLUMN", help="In --known: the target's pseudonym, empty when absent."
)
@click.option(
    "--eccentricity",
    type=click.FloatRange(0),
    default=1.5,
    show_default=True,
    metavar="PHI",
    help="Claim a record that is so many standard deviations ahead.",
)
@click.option(
    "--value-tolerance",
    type=click.FloatRange(0, min_open=True),
    default=1.5,
    show_default=True,
    metavar="X",
    help="How wrong values usually are.",
)
@click.option(
    "--date-tolerance",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="DAYS",
    help="How wrong days usually are.",
)
@click.option(
    "--points",
    type=CountsType(),
    metavar="N,…",
    help="Also tell how many people are alone with N of their rows, picked at random.",
)
@click.option("--seed", type=int, metavar="N", help="Repeat the same draws.")
@options.reading_options
@finding_options
def command(
    source: str,
    as_json: bool,
    report: Path | None,
    tolerance: float | None,
    policy: Path | None,
    **choices: Any,
) -> None:
    """Find people in RELEASE by a few things known of them, such as eight ratings.

    Every record is scored by what it shares with a target: rare items count most, values and dates
    may be a little wrong, a few things may be all wrong. The best record is claimed only if it stands
    out from the second best.
    """
    if choices["known"] is None and choices["points"] is None:
        raise WrongUsage("Say what the adversary knows: --known SOURCE, or --points 1,2,4.")
    with open_attack_target(source, choices, report=report) as opened:
        label = opened.table.label
        allowed = tolerance_of(policy, tolerance=tolerance, table=choices["table"], label=label)
        findings = _find_histories(opened, choices)
    judge_and_print(findings, tolerance=allowed, as_json=as_json, report=report)


def _find_histories(opened: OpenTarget, choices: dict[str, Any]) -> list[Finding]:
    import numpy as np

    from discreet.attacks.sparse.sparse import SparseOptions, find_sparse, find_unicity
    from discreet.attacks.sparse.transactions import TransactionColumns

    chance = np.random.default_rng(choices["seed"])
    parts = TransactionColumns(
        choices["person"], choices["item"], choices["value"], choices["date"]
    )
    findings: list[Finding] = []
    if choices["known"] is not None:
        terms = SparseOptions(
            choices["eccentricity"], choices["value_tolerance"], choices["date_tolerance"]
        )
        findings.append(
            find_sparse(
                opened.table,
                opened.open_other(choices["known"]),
                parts,
                chance=chance,
                terms=terms,
                known_person=choices["known_person"],
                truth=choices["truth"],
            )
        )
    if choices["points"] is not None:
        findings.append(find_unicity(opened.table, parts, points=choices["points"], chance=chance))
    return findings
