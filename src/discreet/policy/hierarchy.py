"""What every hierarchy promises: labels that get coarser, cover the values, and nest."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.errors import Bug, InvalidHierarchy
from discreet.policy.hierarchies.values import text_of

TOP = "*"
"""The label without information: every hierarchy ends with it."""


class Hierarchy(Protocol):
    """A chain of ever coarser labels for the values of one column.

    Level 0 is the value itself, level `height` is `*`. Two values that share a label on one level
    share it on every level above: the levels nest.
    """

    @property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        ...

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the label of each value as text.

        NULL stays NULL below the top level and is `*` there. A value that the hierarchy misses
        raises `InvalidHierarchy` on the levels between.
        """
        ...

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that the hierarchy does not cover; NULL is always covered."""
        ...

    def to_yaml_value(self) -> dict[str, Any]:
        """Return the hierarchy as the policy file writes it, in plain dicts, lists and numbers."""
        ...


def listed_domain(hierarchy: Hierarchy) -> ArrowArray | None:
    """Return the values that a hierarchy lists one by one, None for a rule such as intervals."""
    return getattr(hierarchy, "domain", None)


def edge_labels(values: ArrowArray, level: int, *, height: int) -> ArrowArray | None:
    """Return the labels of level 0 and of the top, which all kinds share; None in between."""
    if not 0 <= level <= height:
        raise Bug(f"Level {level} was asked of a hierarchy with levels 0 to {height}.")
    if level == 0:
        return text_of(values)
    if level == height:
        return pa.array(np.full(len(values), TOP, dtype=object), pa.string())
    return None


def require_covers(hierarchy: Hierarchy, values: ArrowArray, *, column: str) -> None:
    """Raise `InvalidHierarchy` if `hierarchy` misses some of `column`'s distinct `values`.

    The message counts them; the values themselves are data and only in the error's `missing`.
    """
    missed = hierarchy.misses(values)
    if len(missed):
        raise missing_values(missed, of=values, where=f"The hierarchy of column '{column}'")


def missing_values(missed: ArrowArray, *, of: ArrowArray, where: str) -> InvalidHierarchy:
    """Return the error for values that a hierarchy misses."""
    total = len(of) - of.null_count
    return InvalidHierarchy(
        f"{where} misses {len(missed):,} of {total:,} distinct values. "
        "Add them to the hierarchy, or correct them in the data.",
        missing=tuple(text_of(missed).to_pylist()),
    )


def codes(hierarchy: Hierarchy, values: ArrowArray) -> tuple[NDArray[np.int64], ...]:
    """Return, for each level from 0 to the top, the group of each value as a number from 0.

    NULL is a group of its own below the top.
    """
    levels = (hierarchy.generalize(values, level) for level in range(hierarchy.height + 1))
    return tuple(_encode_labels(labels) for labels in levels)


def _encode_labels(labels: ArrowArray) -> NDArray[np.int64]:
    encoded = pc.dictionary_encode(labels, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def find_nesting_fault(levels: tuple[NDArray[np.int64], ...]) -> tuple[int, int] | None:
    """Return (level, row) of the first value whose group splits on the next level, or None.

    `levels` are group numbers as `codes` returns them.
    """
    for level, (fine, coarse) in enumerate(pairwise(levels)):
        _, first, inverse = np.unique(fine, return_index=True, return_inverse=True)
        split = np.flatnonzero(coarse != coarse[first][inverse])
        if len(split):
            return level, int(split[0])
    return None
