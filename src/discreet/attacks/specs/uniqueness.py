"""The attack uniqueness: who is alone on all that is published, whatever the roles?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Count the people who are alone on the columns of RELEASE, whatever their roles are.

Classes are made of quasi-identifiers. An adversary who knows a few other columns of a person,
insensitive or sensitive ones, may find the one row that has them, in a class of any size, and
learns the rest.
"""


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.classes.uniqueness import find_uniqueness
    from discreet.measure.joint import measure_joint

    release = given.release
    return [find_uniqueness(measure_joint(release), target=release.subject.table.label)]


SPEC = AttackSpec(
    name="uniqueness",
    summary="people alone on all that is published, whatever the roles of columns",
    description=DESCRIPTION,
    target="release",
    run=_run,
    run_all=True,
    tolerance=0.05,
    examples=(
        "discreet attack uniqueness release.csv --quasi age,zip --sensitive diagnosis",
        "discreet attack uniqueness release.csv --policy policy.yaml --tolerance 5%",
    ),
    position=20,
)
