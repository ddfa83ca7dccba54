"""How much each attack may learn: what a policy states, else what the attack itself states."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.policy.model import TablePolicy
from discreet.registry import ATTACKS

DEFAULT = "default"


def release_tolerance(policy: TablePolicy | None) -> Mapping[str, float]:
    """Return what is tolerated of a release: what its policy states, else what attacks state.

    It is the share of people, as the advantage over what is known without the release. A stated
    `default` is for every attack that is not stated by name. An attack without a tolerance is
    reported, and refuses nothing. A public table has no protected people.
    """
    stated = policy.tolerance if policy else {}
    if policy is not None and policy.public:
        return {DEFAULT: 1.0, **stated}
    return stated if DEFAULT in stated else {**default_tolerance(), **stated}


def default_tolerance() -> Mapping[str, float]:
    """Return what a release may expose where its policy does not say, by attack.

    >>> default_tolerance()["linkage"]
    0.05
    """
    return {spec.name: spec.tolerance for spec in ATTACKS.all() if spec.tolerance is not None}


def tolerance_of_attack(tolerance: Mapping[str, float], attack: str) -> float | None:
    """Return the share of people that `attack` may expose, or None when none is stated.

    >>> tolerance_of_attack({"default": 0.05, "linkage": 0.0}, "linkage")
    0.0
    >>> tolerance_of_attack({"default": 0.05, "linkage": 0.0}, "tracker")
    0.05
    """
    return tolerance.get(attack, tolerance.get(DEFAULT))
