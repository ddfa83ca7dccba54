"""The table of greatest entropy that agrees with noisy marginals, within their noise.

Minimizes, over all distributions p of N rows, the misfit to each noisy marginal minus the entropy. Its
dual is smooth and without constraints: for multipliers m of the noisy counts y with standard errors s, it
is N log Z(m) - m y + weight / 2 (sum of s m²). Z adds up e^(sum of m) over all cells: the table itself,
which a junction tree holds and L-BFGS finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from discreet.release.synthesize.junction_tree import (
    Codes,
    Columns,
    Floats,
    JunctionTree,
    Potentials,
    build_tree,
    pairs_of,
)

# Chosen on public tables: how strongly multipliers of noisy counts are drawn to 0.
WEIGHT = 0.3
ITERATIONS = 250
_MEMORY = 12
TOLERANCE = 1e-7


@dataclass(frozen=True)
class NoisyMarginal:
    """Noisy counts of some columns, each at some resolution.

    Attributes:
        columns: The columns, in order.
        maps: For each column, the coarse value of each of its working values.
        counts: The noisy count of each combination of coarse values.
        scale: The standard error of each count.
    """

    columns: Columns
    maps: tuple[Codes, ...]
    counts: Floats
    scale: float


@dataclass(frozen=True)
class FittedTable:
    """A distribution over rows of working values.

    Attributes:
        tree: The columns that stand together.
        beliefs: The distribution of each clique; neighboring ones agree.
    """

    tree: JunctionTree
    beliefs: Potentials

    def marginal(self, columns: Columns) -> Floats:
        """Return the distribution of `columns`, which must lie in one clique."""
        place = self.tree.home(columns)
        return self.beliefs[place].sum(axis=self.tree.other_axes(place, columns))


def fit_maximum_entropy(
    sizes: Sequence[int],
    marginals: Sequence[NoisyMarginal],
    *,
    total: float,
    impossible: Iterable[tuple[Columns, NDArray[np.bool_]]] = (),
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> FittedTable:
    """Return the table of greatest entropy that fits `marginals`.

    Args:
        sizes: How many working values each column has.
        marginals: What was measured.
        total: The number of rows.
        impossible: Columns in order, and which combinations of their working values cannot occur.
        iterations: How many steps to take at most.
        tolerance: The relative gain of a step at which the fit ends.
    """
    ruled = list(impossible)
    edges = pairs_of([*(one.columns for one in marginals), *(columns for columns, _ in ruled)])
    tree = build_tree(sizes, edges)
    problem = _DualProblem(tree, marginals, total, ruled)
    found = minimize(
        problem.evaluate,
        np.zeros(len(problem.steps)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": _MEMORY, "ftol": tolerance},
    )
    beliefs, _ = tree.normalize(problem.potentials(np.asarray(found.x, float) * problem.steps))
    return FittedTable(tree, beliefs)


def sum_coarse(counts: NDArray[np.generic], maps: Sequence[Codes], shape: Sequence[int]) -> Floats:
    """Return counts of coarse values: for each axis, `maps` has the coarse value of each value.

    >>> import numpy as np
    >>> sum_coarse(np.array([1, 2, 4]), [np.array([0, 0, 1])], [2])
    array([3., 4.])
    """
    result = np.asarray(counts, float)
    for axis, (codes, size) in enumerate(zip(maps, shape, strict=True)):
        if len(codes) == size and np.array_equal(codes, np.arange(size)):
            continue
        onto = np.zeros((len(codes), size))
        onto[np.arange(len(codes)), codes] = 1
        result = np.moveaxis(np.tensordot(result, onto, axes=(axis, 0)), -1, axis)
    return result


class _DualProblem:
    """The dual function of one fit, in multipliers scaled so that one step suits all of them."""

    def __init__(
        self,
        tree: JunctionTree,
        marginals: Sequence[NoisyMarginal],
        total: float,
        impossible: Sequence[tuple[Columns, NDArray[np.bool_]]],
    ) -> None:
        self.tree, self.marginals, self.total = tree, marginals, total
        self._homes = [tree.home(one.columns) for one in marginals]
        self._counts = np.concatenate([one.counts.ravel() for one in marginals])
        self._pull = WEIGHT * np.concatenate(
            [np.full(one.counts.size, one.scale) for one in marginals]
        )
        self.steps = 1 / np.sqrt(np.maximum(self._counts, 0) + self._pull + 1)
        self._floor: Potentials = [np.zeros(shape) for shape in tree.shapes]
        for columns, cells in impossible:
            place = tree.home(columns)
            spread = np.where(cells, -np.inf, 0.0).reshape(tree.broadcast_shape(place, columns))
            self._floor[place] = self._floor[place] + spread

    def _split_multipliers(self, multipliers: Floats) -> list[Floats]:
        """Return the multipliers of each marginal."""
        ends = np.cumsum([one.counts.size for one in self.marginals])[:-1]
        parts = np.split(multipliers, ends)
        return [
            part.reshape(one.counts.shape) for part, one in zip(parts, self.marginals, strict=True)
        ]

    def potentials(self, multipliers: Floats) -> Potentials:
        """Return the log-potential of each clique."""
        made = [floor.copy() for floor in self._floor]
        for part, one, place in zip(
            self._split_multipliers(multipliers), self.marginals, self._homes, strict=True
        ):
            fine = part[np.ix_(*one.maps)]
            made[place] += fine.reshape(self.tree.broadcast_shape(place, one.columns))
        return made

    def evaluate(self, scaled: Floats) -> tuple[float, Floats]:
        """Return the dual function and its gradient."""
        multipliers = scaled * self.steps
        beliefs, logarithm = self.tree.normalize(self.potentials(multipliers))
        expected = np.concatenate(
            [
                sum_coarse(
                    beliefs[place].sum(axis=self.tree.other_axes(place, one.columns)),
                    one.maps,
                    one.counts.shape,
                ).ravel()
                for one, place in zip(self.marginals, self._homes, strict=True)
            ]
        )
        pulled = self._pull * multipliers
        value = self.total * logarithm - multipliers @ self._counts + 0.5 * multipliers @ pulled
        gradient = self.total * expected - self._counts + pulled
        return float(value), gradient * self.steps
