"""The attack membership: who is among the people behind frequencies or a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Infer who is among the people behind TARGET: published frequencies, or a release.

Being in the pool of a study, or in a clinic's table, can be the secret itself. Each person in a
pool pulls its frequencies a little towards their own values; and where all people who look alike
are in a release, none of them can deny it. Keep people in --known or --population who are not in:
they show how often a claim is wrong.
"""


def _run(given: AttackInput, **options: Any) -> Sequence[Finding]:
    _require_shape(options)
    if options["population"] is None:
        return [_from_frequencies(given, options)]
    return [_from_release(given, options)]


def _require_shape(options: Mapping[str, Any]) -> None:
    if options["population"] is not None:
        if options["known"] is not None or options["reference"] is not None:
            raise WrongUsage("--population is for a release, --known for frequencies. Give one.")
        if (options["source"] is None) != (options["person"] is None):
            raise WrongUsage("--source needs --person, the column that says who is who, and back.")
        if options["on"] is None:
            raise WrongUsage("Say which columns the population shares with the release: --on a,b.")
    elif options["known"] is None or options["reference"] is None:
        raise WrongUsage(
            "Give --known and --reference for published frequencies, or --population and --on for a "
            "release."
        )


def _from_frequencies(given: AttackInput, options: Mapping[str, Any]) -> Finding:
    from discreet.attacks.membership.marginals import FrequencyColumns
    from discreet.attacks.membership.membership import MembershipAttackOptions, find_membership

    return find_membership(
        given.table,
        given.open_other(options["known"]),
        given.open_other(options["reference"]),
        columns=FrequencyColumns(options["item"], options["value"], options["frequency"]),
        people=MembershipAttackOptions(
            person=options["person"],
            count=options["count"],
            truth=options["truth"],
            pool=options["pool"],
            reference=options["reference_people"],
        ),
    )


def _from_release(given: AttackInput, options: Mapping[str, Any]) -> Finding:
    from discreet.attacks.manifest import hierarchies_of
    from discreet.attacks.membership.presence import MEMBER, find_presence, mark_members

    population = given.open_beside(options["population"])
    truth = options["truth"]
    if options["source"] is not None:
        source = given.open_beside(options["source"])
        population = mark_members(population, source, person=options["person"])
        truth = MEMBER
    return find_presence(
        given.table,
        population,
        on=options["on"],
        truth=truth,
        hierarchies=hierarchies_of(given.described),
        sure=options["sure"],
    )


SPEC = AttackSpec(
    name="membership",
    summary="who is among the people behind frequencies or a release",
    description=DESCRIPTION,
    target="table",
    argument="TARGET",
    options=(
        OptionSpec("known", "source", "For frequencies: people whose values the adversary has."),
        OptionSpec(
            "reference", "source", "For frequencies: those of a population without the pool."
        ),
        OptionSpec(
            "item", "text", "Names the allele or attribute. Default: the first.", metavar="COLUMN"
        ),
        OptionSpec(
            "value", "text", "The attribute's value, for tables of marginals.", metavar="COLUMN"
        ),
        OptionSpec(
            "frequency",
            "text",
            "The share from 0 to 1. Default: the last with numbers.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "count",
            "text",
            "In --known, with --person: the genotype of a row.",
            metavar="COLUMN",
        ),
        OptionSpec("pool", "integer", "How many people the pool has.", minimum=1),
        OptionSpec("reference_people", "integer", "How many the reference has.", minimum=1),
        OptionSpec("population", "source", "For a release: all people who may be in it."),
        OptionSpec("on", "names", "For a release: columns that the population shares."),
        OptionSpec("source", "source", "For a release: what it was made of, as the truth."),
        OptionSpec(
            "person",
            "text",
            "Says whose row it is, in --source and --population, or --known.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "truth",
            "text",
            "In --known or --population: 1 for those who are in, else 0.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "sure",
            "number",
            "For a release: the chance from which a person is claimed to be in it.",
            default=0.9,
            above=0,
            maximum=1,
            metavar="CHANCE",
        ),
    ),
    run=_run,
    examples=(
        "discreet attack membership frequencies.csv --known genotypes.csv --reference population.csv",
        """discreet attack membership marginals.csv --value answer --known people.csv \\
    --reference census.csv --truth in_pool""",
        "discreet attack membership released.csv --population voters.csv --on birth_date,sex,zip",
        """discreet attack membership released.csv --population voters.csv --on age,zip \\
    --source patients.csv --person national_id""",
    ),
    notes="""Frequencies have a row per allele, or per attribute and value; --known are people whose values
are known, --reference is a population without the pool. A release has a row per person;
--population are all people who may be in it.""",
    position=120,
)
