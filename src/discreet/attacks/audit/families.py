"""Families: people who share a secret are less hidden than each of them alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.attacks.audit.game import TRIALS, play
from discreet.attacks.finding import Finding, make_finding
from discreet.dp.calculate.distinguish import describe_lowest_error, protect_group

KNOWLEDGE = (
    "that the members of a family have the same secret, such as a contagious disease, or none."
)
REMEDY = (
    "A family as the protected unit (`unit: family_id` in the policy), or an epsilon that is so many "
    "times smaller."
)


def attack_family(
    *, epsilon: Fraction, size: int, trials: int = TRIALS, chance: np.random.Generator
) -> Finding:
    """Return how well one noisy count reveals whether a family of `size` has the secret they share.

    The noise is made for one person. The guarantee for all of them is size · epsilon (group privacy;
    Dwork & Roth 2014, theorem 2.2), and the best guess comes near to it.
    """
    loss = protect_group(epsilon, size=size)
    family = play("laplace", epsilon=epsilon, size=size, trials=trials, chance=chance)
    alone = play("laplace", epsilon=epsilon, trials=trials, chance=chance)
    return make_finding(
        "families",
        target=f"a count with epsilon {float(epsilon):g}, families of {size}",
        verdict=(
            f"A count with epsilon {float(epsilon):g} protects a family of {size} who share a secret "
            f"like epsilon {loss.epsilon:g}: whether they have it is guessed wrong {family.error:.3f} "
            f"of the time (at least {describe_lowest_error(loss.epsilon)}), for one person {alone.error:.3f}."
        ),
        targets=family.played,
        exposed=family.right,
        claimed=family.played,
        correct=family.right,
        knowledge=KNOWLEDGE,
        remedy=REMEDY,
        baseline=0.5,
        certainty=1 - family.expected,
        details={
            "epsilon_of_one": loss.epsilon_of_one,
            "epsilon": loss.epsilon,
            "size": size,
            "error": family.error,
            "expected": family.expected,
            "bound": loss.lowest_error,
            "error_of_one": alone.error,
            "expected_of_one": alone.expected,
            "bound_of_one": loss.lowest_error_of_one,
        },
    )
