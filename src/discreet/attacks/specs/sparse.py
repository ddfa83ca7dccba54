"""The attack sparse: histories found by a few ratings, purchases or places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Find people in RELEASE by a few things known of them, such as eight ratings.

Every record is scored by what it shares with a target: rare items count most, values and dates
may be a little wrong, a few things may be all wrong. The best record is claimed only if it stands
out from the second best.
"""


def _read_counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and 0 < int(part) <= 1_000 for part in parts):
        raise ValueError("Write how many points are known, such as 1,2,4.")
    return tuple(int(part) for part in parts)


def _run(given: AttackInput, **options: Any) -> Sequence[Finding]:
    from discreet.attacks.sparse.sparse import SparseOptions, find_sparse, find_unicity
    from discreet.attacks.sparse.transactions import TransactionColumns

    if options["known"] is None and options["points"] is None:
        raise WrongUsage("Say what the adversary knows: --known SOURCE, or --points 1,2,4.")
    columns = TransactionColumns(
        options["person"], options["item"], options["value"], options["date"]
    )
    findings: list[Finding] = []
    if options["known"] is not None:
        findings.append(
            find_sparse(
                given.table,
                given.open_other(options["known"]),
                columns,
                chance=given.rng,
                terms=SparseOptions(
                    options["eccentricity"], options["value_tolerance"], options["date_tolerance"]
                ),
                known_person=options["known_person"],
                truth=options["truth"],
            )
        )
    if options["points"] is not None:
        findings.append(
            find_unicity(given.table, columns, points=options["points"], chance=given.rng)
        )
    return findings


SPEC = AttackSpec(
    name="sparse",
    summary="histories found by a few ratings, purchases or places",
    description=DESCRIPTION,
    target="table",
    argument="RELEASE",
    options=(
        OptionSpec("known", "source", "What the adversary knows of some people."),
        OptionSpec("person", "text", "Says whose row it is.", required=True, metavar="COLUMN"),
        OptionSpec(
            "item", "text", "What was rated, bought or visited.", required=True, metavar="COLUMN"
        ),
        OptionSpec(
            "value", "text", "A rating or an amount; may be wrong a little.", metavar="COLUMN"
        ),
        OptionSpec("date", "text", "The day; may be wrong by some days.", metavar="COLUMN"),
        OptionSpec(
            "known_person",
            "text",
            "Names the targets in --known. Default: as --person.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "truth",
            "text",
            "In --known: the target's pseudonym, empty when absent.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "eccentricity",
            "number",
            "Claim a record that is so many standard deviations ahead.",
            default=1.5,
            minimum=0,
            metavar="PHI",
        ),
        OptionSpec(
            "value_tolerance",
            "number",
            "How wrong values usually are.",
            default=1.5,
            above=0,
            metavar="X",
        ),
        OptionSpec(
            "date_tolerance",
            "number",
            "How wrong days usually are.",
            default=30.0,
            above=0,
            metavar="DAYS",
        ),
        OptionSpec(
            "points",
            "text",
            "Also report how many people are alone with N of their rows, picked at random.",
            metavar="N,…",
            parse=_read_counts,
        ),
        OptionSpec("seed", "integer", "Repeat the same draws.", minimum=0),
    ),
    run=_run,
    examples=(
        """discreet attack sparse ratings.csv --known blog.csv --person user --item movie \\
    --value rating --date day""",
        (
            "discreet attack sparse visits.csv --person patient_id --item ward --date admitted "
            "--points 1,2,4"
        ),
    ),
    notes="""RELEASE has a row for each action of a person; --known has the same columns, a few rows for each
target, some of them wrong. Keep people in it who are not in RELEASE: with --truth COLUMN, which holds
the pseudonym in RELEASE or nothing, false claims are counted.""",
    position=100,
)
