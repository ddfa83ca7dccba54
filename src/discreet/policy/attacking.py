"""What a policy says about attacks: which there are, and how much each may learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# The attacks by the names that findings, policies and the command line give them.
ATTACKS = (
    # against a published table
    "linkage",
    "homogeneity",
    "background",
    "skewness",
    "similarity",
    "inference",
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


def tolerated(tolerance: Mapping[str, float], attack: str) -> float | None:
    """Return the share of people that `attack` may expose, or None when nobody said.

    >>> tolerated({"default": 0.05, "linkage": 0.0}, "linkage")
    0.0
    >>> tolerated({"default": 0.05, "linkage": 0.0}, "tracker")
    0.05
    """
    return tolerance.get(attack, tolerance.get(DEFAULT))
