"""The attack homogeneity: who shares one sensitive value with all of their class?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Find the people in RELEASE whose class has one sensitive value.

Rows that agree on the quasi-identifiers are a class. Where all of them share one value, anyone
who knows that a person is in the class knows the value, however large the class is.
"""


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.classes.homogeneity import find_homogeneity

    return [find_homogeneity(column) for column in given.classes.columns]


SPEC = AttackSpec(
    name="homogeneity",
    summary="classes in which all share one sensitive value",
    description=DESCRIPTION,
    target="classes",
    needs=("sensitive",),
    run=_run,
    run_all=True,
    gated=True,
    # Criteria about sensitive columns leave nothing or nearly nothing of it.
    tolerance=0.05,
    by_column=True,
    examples=(
        "discreet attack homogeneity release.csv --quasi age,zip --sensitive diagnosis",
        "discreet attack homogeneity release.csv --policy policy.yaml --tolerance 1%",
    ),
    position=30,
)
