"""The attack background: what classes reveal to an adversary who knows a little already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import PERSON
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Find the people in RELEASE whose value is revealed once some values are ruled out.

A colleague has no heart disease; a man has no ovarian cyst. What is ruled out leaves fewer values
in a class, in the worst case one. With --knows the attack is on the people
for whom that holds.
"""

EXAMPLES = (
    "discreet attack background release.csv --quasi age,zip --sensitive diagnosis --rules-out 2",
    """discreet attack background release.csv --policy policy.yaml --knows "diagnosis <> 'heart disease'\"""",
    """discreet attack background release.csv --policy policy.yaml \\
    --knows "sex = 'M' implies diagnosis <> 'ovarian cyst'\"""",
    """discreet attack background release.csv --policy policy.yaml --person age=36,zip=47673 \\
    --knows "diagnosis <> 'heart disease'\"""",
    "discreet attack background release.csv --quasi race,zip --sensitive hiv,disease --knows disease",
)


def _run(
    given: AttackInput,
    *,
    rules_out: int | None,
    knows: tuple[str, ...],
    sure: float,
    person: dict[str, str] | None,
) -> Sequence[Finding]:
    from discreet.attacks.classes.background import find_all, find_one

    if person is not None:
        return find_one(given.release, person, knows=knows, sure=sure)
    depth = rules_out if rules_out is not None else int(not knows)
    return find_all(given.release, knows=knows, rules_out=depth, sure=sure)


SPEC = AttackSpec(
    name="background",
    summary="what classes reveal to an adversary who can rule out some values",
    description=DESCRIPTION,
    target="release",
    needs=("sensitive",),
    options=(
        OptionSpec(
            "rules_out",
            "integer",
            "How many values the adversary can rule out for a person, the most helpful ones.",
            minimum=0,
            metavar="M",
            default_text="1, with --knows 0",
        ),
        OptionSpec(
            "knows",
            "text",
            "What it knows of a person: the value of a column, or a condition. May be repeated.",
            metavar="COLUMN|CONDITION",
            repeated=True,
        ),
        OptionSpec(
            "sure",
            "share",
            "How sure the adversary must be of the truth for a person to count.",
            default="90%",
        ),
        PERSON,
    ),
    run=_run,
    run_all=True,
    by_column=True,
    examples=EXAMPLES,
    position=40,
)
