"""`discreet attack membership`: was this person among those behind what was published?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.attacks.targets import OpenTarget, open_attack_target
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.policy.hierarchy import Hierarchy

EXAMPLES = """\b
Examples:
\b
Frequencies (a row per allele, or per attribute and value), people whose values are known, and a
population without the pool:
  discreet attack membership frequencies.csv --known genotypes.csv --reference population.csv
  discreet attack membership marginals.csv --value answer --known people.csv \\
    --reference census.csv --truth in_pool
\b
A release, a row per person, and everybody who may be in it:
  discreet attack membership released.csv --population voters.csv --on birth_date,sex,zip
  discreet attack membership released.csv --population voters.csv --on age,zip \\
    --source patients.csv --person national_id
"""


@click.command(epilog=EXAMPLES)
@click.argument("target", metavar="TARGET", callback=options.require_name)
@click.option(
    "--known", metavar="SOURCE", help="For frequencies: people whose values the adversary has."
)
@click.option(
    "--reference", metavar="SOURCE", help="For frequencies: those of a population without the pool."
)
@click.option("--item", metavar="COLUMN", help="Names the allele or attribute. Default: the first.")
@click.option("--value", metavar="COLUMN", help="The attribute's value, for tables of marginals.")
@click.option(
    "--frequency", metavar="COLUMN", help="The share from 0 to 1. Default: the last with numbers."
)
@click.option("--count", metavar="COLUMN", help="In --known, with --person: the genotype of a row.")
@click.option("--pool", type=click.IntRange(1), metavar="N", help="How many people the pool has.")
@click.option(
    "--reference-people", type=click.IntRange(1), metavar="N", help="How many the reference has."
)
@click.option("--population", metavar="SOURCE", help="For a release: everybody who may be in it.")
@click.option("--on", type=options.NAMES, help="For a release: columns that the population shares.")
@click.option(
    "--source", "origin", metavar="SOURCE", help="For a release: what it was made of, as the truth."
)
@click.option(
    "--person",
    metavar="COLUMN",
    help="Says whose row it is, in --source and --population, or --known.",
)
@click.option(
    "--truth", metavar="COLUMN", help="In --known or --population: 1 for those who are in, else 0."
)
@click.option(
    "--sure",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.9,
    show_default=True,
    metavar="CHANCE",
    help="For a release: from which chance on somebody is claimed to be in it.",
)
@options.reading_options
@finding_options
def command(
    target: str,
    as_json: bool,
    report: Path | None,
    tolerance: float | None,
    policy: Path | None,
    **choices: Any,
) -> None:
    """Tell who is among the people behind TARGET: published frequencies, or a release.

    Being in the pool of a study, or in a clinic's table, can be the secret itself. Everybody in a pool
    pulls its frequencies a little towards themselves; and where all who look alike are in a release,
    nobody of them can deny it. Keep people in --known or --population who are not in: they show how
    often a claim is wrong.
    """
    _require_shape(choices)
    with open_attack_target(target, choices, report=report) as opened:
        label = opened.table.label
        allowed = tolerance_of(policy, tolerance=tolerance, table=choices["table"], label=label)
        if choices["population"] is None:
            found = _from_frequencies(opened, choices)
        else:
            meanings = _release_hierarchies(target, policy, choices["table"], label)
            found = _from_release(opened, choices, meanings)
    judge_and_print([found], tolerance=allowed, as_json=as_json, report=report)


def _require_shape(choices: dict[str, Any]) -> None:
    if choices["population"] is not None:
        if choices["known"] is not None or choices["reference"] is not None:
            raise WrongUsage("--population is for a release, --known for frequencies. Give one.")
        if (choices["origin"] is None) != (choices["person"] is None):
            raise WrongUsage("--source needs --person, the column that says who is who, and back.")
        if choices["on"] is None:
            raise WrongUsage("Say which columns the population shares with the release: --on a,b.")
    elif choices["known"] is None or choices["reference"] is None:
        raise WrongUsage(
            "Give --known and --reference for published frequencies, or --population and --on for a "
            "release."
        )


def _from_frequencies(opened: OpenTarget, choices: dict[str, Any]) -> Finding:
    from discreet.attacks.membership.marginals import FrequencyColumns
    from discreet.attacks.membership.membership import MembershipAttackOptions, find_membership

    return find_membership(
        opened.table,
        opened.open_other(choices["known"]),
        opened.open_other(choices["reference"]),
        columns=FrequencyColumns(choices["item"], choices["value"], choices["frequency"]),
        people=MembershipAttackOptions(
            person=choices["person"],
            count=choices["count"],
            truth=choices["truth"],
            pool=choices["pool"],
            reference=choices["reference_people"],
        ),
    )


def _from_release(
    opened: OpenTarget, choices: dict[str, Any], hierarchies: Mapping[str, Hierarchy]
) -> Finding:
    from discreet.attacks.membership.presence import MEMBER, find_presence, mark_members

    population = opened.open_beside(choices["population"])
    truth = choices["truth"]
    if choices["origin"] is not None:
        source = opened.open_beside(choices["origin"])
        population = mark_members(population, source, person=choices["person"])
        truth = MEMBER
    return find_presence(
        opened.table,
        population,
        on=choices["on"],
        truth=truth,
        hierarchies=hierarchies,
        sure=choices["sure"],
    )


def _release_hierarchies(
    target: str, policy: Path | None, name: str | None, label: str
) -> Mapping[str, Hierarchy]:
    """Return what group names mean: as the policy says, else the manifest beside the release."""
    from discreet.attacks.manifest import describe_release, hierarchies_of

    return hierarchies_of(describe_release(target, policy=policy, label=label, table=name))
