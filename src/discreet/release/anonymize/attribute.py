"""A quasi-identifier as a search sees it: codes, levels of groups, and what each group costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from discreet.arrow import ArrowArray


@dataclass(frozen=True)
class CodedAttribute:
    """One quasi-identifier: its values are the codes 0 … n - 1, and each level groups them.

    `groups[level][code]` is the group of a value; level 0 keeps values apart, the last level puts
    them all into one group, and levels nest. `shares[level][group]` is the part of the domain that
    the group covers, `leaf` that of a single value.

    A range attribute is ordered and has no hierarchy of its custodian's: its levels only guide
    searches, and a class is called by the range `[low, high]` of its members. Its domain is its
    distinct values, a missing one among them, which has the last code and is in no range.
    """

    name: str
    groups: tuple[NDArray[np.int64], ...]
    shares: tuple[NDArray[np.float64], ...]
    leaf: float
    weight: float = 1.0
    is_range: bool = False
    has_missing: bool = False
    labels: Callable[[int], ArrowArray] | None = None  # level -> label of each group

    @property
    def height(self) -> int:
        """The number of levels above the values themselves."""
        return len(self.groups) - 1

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.groups[0])

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """The number of groups on each level."""
        return tuple(len(shares) for shares in self.shares)

    @cached_property
    def losses(self) -> tuple[NDArray[np.float64], ...]:
        """What a row loses on each level, by its value's code: 0 for the value, 1 for `*`.

        The share of the domain that a label covers, scaled so that a single value costs nothing
        (Loss of ARX, from Iyengar 2002; called NCP by Xu et al. 2006).
        """
        return tuple(
            self.loss_of(shares)[groups]
            for shares, groups in zip(self.shares, self.groups, strict=True)
        )

    def loss_of(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the loss of labels that cover these shares of the domain."""
        if self.leaf >= 1:  # one value only: hiding it loses nothing
            return np.zeros(len(shares))
        return np.maximum(shares - self.leaf, 0.0) / (1 - self.leaf)
