"""A policy's tolerance of attacks: their names, and how much each may learn."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.policy.model import TablePolicy

# The attacks by the names that findings, policies and the command line give them.
ATTACKS = (
    # against a published table
    "linkage",
    "homogeneity",
    "background",
    "skewness",
    "similarity",
    "inference",
    "uniqueness",
    "composition",
    "republication",
    "sparse",
    "dictionary",
    "membership",
    "singling-out",
    "linkability",
    "attribute",
    "closest",
    # against whatever answers questions
    "differencing",
    "tracker",
    "counting",
    "averaging",
    "small-groups",
    "reconstruction",
    "census",
    "audit",
    "distinguishing",
    "families",
)
DEFAULT = "default"

# The tolerance of a release by default: the share of people exposed, as the advantage over what is
# known without it. An attack that is not listed is reported, and blocks no release.
RELEASE_TOLERANCE: Mapping[str, float] = {
    # A pseudonym that is undone names its person.
    "dictionary": 0.0,
    # k-anonymity, and criteria about sensitive columns, leave nothing or nearly nothing of these.
    "linkage": 0.05,
    "uniqueness": 0.05,
    "homogeneity": 0.05,
    "composition": 0.05,
    # Classes of a few people move beliefs by chance, and a frequent value is guessed anyway.
    "skewness": 0.25,
    "inference": 0.5,
}


def release_tolerance(policy: TablePolicy | None) -> Mapping[str, float]:
    """Return the tolerance of a release: the one its policy states, else `RELEASE_TOLERANCE`.

    A stated `default` is for every attack that is not stated by name. A public table has no
    protected people.
    """
    stated = policy.tolerance if policy else {}
    if policy is not None and policy.public:
        return {DEFAULT: 1.0, **stated}
    return stated if DEFAULT in stated else {**RELEASE_TOLERANCE, **stated}


def tolerance_of_attack(tolerance: Mapping[str, float], attack: str) -> float | None:
    """Return the share of people that `attack` may expose, or None when none is stated.

    >>> tolerance_of_attack({"default": 0.05, "linkage": 0.0}, "linkage")
    0.0
    >>> tolerance_of_attack({"default": 0.05, "linkage": 0.0}, "tracker")
    0.05
    """
    return tolerance.get(attack, tolerance.get(DEFAULT))
