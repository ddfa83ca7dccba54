"""The attack distinguishing: how often the best guess between two neighbors is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.attacks.options import TRIALS
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Guess which of two neighboring tables an output came from, as well as is possible.

No guess errs less than 1/(1 + e^epsilon). Randomized response and the geometric mechanism leave
exactly that; Laplace noise leaves e^(-epsilon/2)/2, which is more.
"""


def _run(given: AttackInput, *, epsilon: str, trials: int) -> Sequence[Finding]:
    from discreet.attacks.audit.game import distinguish_neighbors

    return distinguish_neighbors(epsilon=Fraction(epsilon), trials=trials, chance=given.rng)


SPEC = AttackSpec(
    name="distinguishing",
    summary="how often the best guess between two neighbors is wrong",
    description=DESCRIPTION,
    target="mechanism",
    source="none",
    options=(
        OptionSpec("epsilon", "amount", "The epsilon.", required=True, metavar="NUMBER"),
        *TRIALS,
    ),
    run=_run,
    examples=(
        "discreet attack distinguishing --epsilon 1",
        "discreet attack distinguishing --epsilon 0.1 --trials 1000000 --json",
    ),
    position=250,
)
