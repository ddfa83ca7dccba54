"""The attack republication: what successive releases of a changing table reveal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import RELEASE_CONTROL, RELEASE_ON, RELEASE_SENSITIVE
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Follow people through successive RELEASES of a table, the earliest first.

After each release only the values remain possible that were possible before and still are.
A birthday moves a person into another class, a patient who leaves takes a value along: each release
reveals more. Also checks m-invariance, which keeps the values around people who stay.
"""


def _run(
    given: AttackInput,
    *,
    known: Sequence[object],
    name: str | None,
    on: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    control: object,
) -> Sequence[Finding]:
    from discreet.attacks.manifest import hierarchies_of
    from discreet.attacks.releases.republication import find_republication

    people = [given.open_beside(each) for each in known]
    learned = given.choose_sensitive(sensitive)
    return find_republication(
        people,
        (given.table, *given.earlier),
        on=given.choose_join_columns(people[0], on, hidden=(*learned, name or "")),
        sensitive=learned,
        name=name,
        control=given.open_beside(control) if control is not None else None,
        hierarchies=hierarchies_of(given.described),
    )


SPEC = AttackSpec(
    name="republication",
    summary="what successive releases of a changing table reveal",
    description=DESCRIPTION,
    target="releases",
    options=(
        OptionSpec(
            "known",
            "source",
            "People with their values: once for all releases, or once for each, in the same order. A "
            "column called as the sensitive one is the truth.",
            required=True,
            repeated=True,
        ),
        OptionSpec(
            "name",
            "text",
            "Who is who, where --known is given for each release.",
            metavar="COLUMN",
        ),
        RELEASE_ON,
        RELEASE_SENSITIVE,
        RELEASE_CONTROL,
    ),
    run=_run,
    examples=(
        """discreet attack republication january.csv june.csv --known people.csv --on age,zip \\
    --sensitive diagnosis""",
        """discreet attack republication january.csv june.csv --known then.csv --known now.csv \\
    --name name --on age,zip --sensitive diagnosis""",
    ),
    position=90,
)
