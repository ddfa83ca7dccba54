"""The attack families: how a guarantee weakens for people who share a secret."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.attacks.options import TRIALS
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Guess whether a family has the secret that its members share, from one noisy count.

Noise that hides one person hides a family of N only like N times the epsilon: for a contagious
disease, the household is what must be protected.
"""


def _run(given: AttackInput, *, epsilon: str, size: int, trials: int) -> Sequence[Finding]:
    from discreet.attacks.audit.families import attack_family

    return [attack_family(epsilon=Fraction(epsilon), size=size, trials=trials, chance=given.rng)]


SPEC = AttackSpec(
    name="families",
    summary="how a guarantee weakens for people who share a secret",
    description=DESCRIPTION,
    target="mechanism",
    source="none",
    options=(
        OptionSpec("epsilon", "amount", "That of one person.", required=True, metavar="NUMBER"),
        OptionSpec(
            "size", "integer", "How many people share the secret.", required=True, minimum=1
        ),
        *TRIALS,
    ),
    run=_run,
    examples=(
        "discreet attack families --epsilon 0.1 --size 10",
        "discreet attack families --epsilon 1 --size 4 --json",
    ),
    position=260,
)
