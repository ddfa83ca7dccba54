"""Groups of people as centered equations, prepared once for any number of answers and estimators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Equations:
    """Who was in which group: signs of +1 for those in it and -1 for those not, a row per question.

    Bits b are written as y = 2b - 1. An answer R = Σ b over the group then says that
    4R - Σ signs - n = Σ signs·y + c, where c = Σ y is one number for all answers. It is fitted as
    an unknown: the direction in which all bits move together has so large an eigenvalue that
    gradient steps would be ten times slower with it.
    """

    signs: NDArray[np.float32]

    @property
    def questions(self) -> int:
        """How many groups there are."""
        return self.signs.shape[0]

    @property
    def people(self) -> int:
        """How many people there are."""
        return self.signs.shape[1]

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The sum of each question's signs."""
        return self.signs.sum(axis=1, dtype=np.float64)

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean sign of each person."""
        return self.signs.mean(axis=0, dtype=np.float64)

    @cached_property
    def gram(self) -> NDArray[np.float32]:
        """The products of each two people's signs; whole numbers, which single precision holds."""
        return self.signs.T @ self.signs

    def sides(self, answers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the left sides of the equations: their noise is four times that of answers."""
        answered = np.asarray(answers, np.float64)
        if answered.shape != (self.questions,):
            raise WrongUsage(
                f"There are {self.questions} groups and {answered.size} answers: give one for each."
            )
        return 4 * answered - self.sums - self.people

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the equations say of `values`, without their common number."""
        return product(self.signs, values)

    def gather(self, sides: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each person the sum of `sides` with that person's signs."""
        return np.einsum("ij,i->j", self.signs, sides.astype(np.float32)).astype(np.float64)


def product(matrix: NDArray[np.float32], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `matrix` times `vector`, on one core.

    The threads of a BLAS wait for each other in every step; where other work keeps the cores busy,
    that took thirty times as long as the product itself.
    """
    return np.einsum("ij,j->i", matrix, vector.astype(np.float32)).astype(np.float64)


def center_equations(groups: NDArray[np.bool_]) -> Equations:
    """Return the equations of `groups`, a row of people per question.

    >>> system = center_equations(np.array([[True, False], [True, True]]))
    >>> system.sides(np.array([1, 2])).tolist()
    [2.0, 4.0]
    """
    if groups.ndim != 2 or not groups.size:
        raise WrongUsage(
            "Groups are a table of yes and no: a row per question, a column per person."
        )
    signs = np.empty(groups.shape, np.float32)
    # In parts, so that no second matrix of this size is made on the way.
    for start in range(0, groups.shape[0], _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        signs[part] = np.where(groups[part], np.float32(1), np.float32(-1))
    return Equations(signs)
