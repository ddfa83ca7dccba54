"""The attack skewness: how far do classes move the adversary's belief?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Compare the sensitive values of each class of RELEASE with those of the whole.

Before, the adversary believes in a value as often as the whole table has it; after, as often as
the person's class has it. Several sensitive columns are compared alone and together: each may be
as the whole table, and all as one not.
"""


def _run(given: AttackInput, *, shift: float) -> Sequence[Finding]:
    from discreet.attacks.classes.skewness import find_skewness

    return [find_skewness(columns, shift=shift) for columns in given.classes.all]


SPEC = AttackSpec(
    name="skewness",
    summary="how far classes move the belief in a value",
    description=DESCRIPTION,
    target="classes",
    needs=("sensitive",),
    options=(
        OptionSpec(
            "shift",
            "share",
            "How much the belief in a person's true value must rise to count.",
            default="30%",
        ),
    ),
    run=_run,
    run_all=True,
    gated=True,
    # Classes of a few people move beliefs by chance.
    tolerance=0.25,
    by_column=True,
    examples=(
        "discreet attack skewness release.csv --quasi age,zip --sensitive diagnosis",
        "discreet attack skewness release.csv --policy policy.yaml --shift 50%",
    ),
    position=50,
)
