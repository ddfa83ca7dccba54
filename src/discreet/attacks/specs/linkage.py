"""The attack linkage: names put to rows by a list of known people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Put names to rows of RELEASE by columns that a list of known people shares.

A person is linked when a row fits no other person of the list and is likely theirs. Labels count
for all they may stand for: [30, 40), 476**, 1970s, *, and group names of the policy's hierarchies.
People of the list who are not in the release belong to the test: they show how often a link is
wrong.
"""


def _run(
    given: AttackInput,
    *,
    within: Sequence[str],
    sensitive: Sequence[str] | None,
    truth: str | None,
    unit: str | None,
    name: str | None,
    fuzzy: bool,
    threshold: float,
) -> Sequence[Finding]:
    from discreet.attacks.linkage.link import link_people
    from discreet.attacks.linkage.spec import make_linkage_spec
    from discreet.attacks.manifest import hierarchies_of
    from discreet.errors import WrongUsage

    if given.known is None:
        return ()
    on = given.on
    if given.binding is not None:  # one of all attacks: the roles say what is joined and learned
        shared = [column for column in given.quasi if given.known.column(column)]
        on = on or (shared if given.described is None else None)
        sensitive = given.sensitive or None
    joined = make_linkage_spec(
        given.table,
        given.known,
        policy=given.described,
        on=on,
        sensitive=sensitive,
        truth=truth,
        unit=unit,
        name=name,
        within=within or (),
    )
    if not fuzzy:
        return [
            link_people(
                given.table,
                given.known,
                on=joined.on,
                identity=joined.identity,
                sensitive=joined.sensitive,
                unit=joined.unit,
                name=joined.name,
                within=joined.within,
                hierarchies=hierarchies_of(given.described),
            )
        ]
    if joined.within:
        raise WrongUsage("--fuzzy has its own tolerance. Leave --within out.")
    from discreet.attacks.linkage.fuzzy import link_fuzzily

    return [
        link_fuzzily(given.table, given.known, joined=joined, threshold=threshold, rng=given.rng)
    ]


SPEC = AttackSpec(
    name="linkage",
    summary="names put to rows by a list of known people",
    description=DESCRIPTION,
    target="table",
    argument="RELEASE",
    needs=("known",),
    options=(
        OptionSpec(
            "known",
            "source",
            "What the adversary has: a list of people, a row each.",
            required=True,
        ),
        OptionSpec(
            "on",
            "names",
            "Columns of the list to join by; KNOWN=RELEASED where names differ.",
        ),
        OptionSpec(
            "within",
            "names",
            "How far values may be off: age=1, admitted=3d.",
            metavar="COLUMN=SIZE,…",
        ),
        OptionSpec("sensitive", "names", "Released columns to learn; else as the policy says."),
        OptionSpec(
            "truth",
            "text",
            "Says who is who on both sides, to distinguish right links from wrong ones.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "unit",
            "text",
            "Says which rows are of one person, such as a pseudonym.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "name_column",
            "text",
            "The list's column of names.",
            metavar="COLUMN",
            parameter="name",
        ),
        OptionSpec("fuzzy", "flag", "Allow typos and missing values (Splink)."),
        OptionSpec(
            "threshold",
            "number",
            "With --fuzzy: how likely a link must be to be claimed.",
            default=0.9,
            minimum=0,
            maximum=1,
            metavar="CHANCE",
        ),
        OptionSpec("seed", "integer", "With --fuzzy: repeat the same run.", minimum=0),
        OptionSpec(
            "manifest",
            "path",
            "The release's OUT.release.json: roles, and what group names mean. Found beside it.",
        ),
    ),
    run=_run,
    run_all=True,
    # k-anonymity leaves nothing or nearly nothing of it.
    tolerance=0.05,
    examples=(
        "discreet attack linkage released.csv --known voters.csv --on birth_date,sex,zip",
        "discreet attack linkage released.csv --known voters.csv --on dob=birth_date,zip --truth name",
        "discreet attack linkage visits.csv --known diary.csv --on admitted,ward --within admitted=3d",
        "discreet attack linkage patients.csv --known staff.csv --on name,birth_date,zip --fuzzy",
    ),
    position=10,
)
