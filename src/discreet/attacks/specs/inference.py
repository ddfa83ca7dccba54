"""The attack inference: how often is the best guess from a class right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import PERSON
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Guess the most frequent sensitive value of each class of RELEASE.

Reports how many people are guessed right by an adversary that claims only what it is sure of, and
how often guessing about all people is right. Several sensitive columns are guessed alone and together.
"""


def _run(given: AttackInput, *, sure: float, person: dict[str, str] | None) -> Sequence[Finding]:
    from discreet.attacks.classes.inference import find_inference
    from discreet.attacks.classes.person import find_person

    if person is not None:
        return find_person(given.release, person, sure=sure)
    return [find_inference(columns, sure=sure) for columns in given.classes.all]


SPEC = AttackSpec(
    name="inference",
    summary="how often the best guess from a class is right",
    description=DESCRIPTION,
    target="classes",
    needs=("sensitive",),
    options=(
        OptionSpec(
            "sure",
            "share",
            "How sure the adversary must be before it says anything.",
            default="90%",
        ),
        PERSON,
    ),
    run=_run,
    run_all=True,
    gated=True,
    # A frequent value is guessed anyway.
    tolerance=0.5,
    by_column=True,
    examples=(
        "discreet attack inference release.csv --quasi age,zip --sensitive diagnosis",
        "discreet attack inference release.csv --policy policy.yaml --sure 75%",
        "discreet attack inference release.csv --policy policy.yaml --person age=27,zip=47678",
    ),
    position=70,
)
