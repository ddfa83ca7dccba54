"""The table of greatest entropy that agrees with noisy marginals, within their noise.

Minimizes, over all distributions p of N rows, the misfit to each noisy marginal minus the entropy. Its
dual is smooth and without constraints: for multipliers m of the noisy counts y with standard errors s, it
is N log Z(m) - m y + weight / 2 (sum of s m²). Z adds up e^(sum of m) over all cells: the table itself,
which a junction tree holds and L-BFGS finds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
TOLERANCE = 1e-7
# How many steps L-BFGS remembers, how many points it tries along a line, and its Wolfe conditions.
_MEMORY = 12
_MOST_TRIALS = 30
_DECREASE = 1e-4
_CURVATURE = 0.9


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
    found = minimize_smooth(
        problem.evaluate, np.zeros(len(problem.steps)), iterations=iterations, tolerance=tolerance
    )
    beliefs, _ = tree.normalize(problem.potentials(found * problem.steps))
    return FittedTable(tree, beliefs)


def minimize_smooth(
    evaluate: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    iterations: int,
    tolerance: float,
) -> Floats:
    """Return where a smooth convex function is least, by L-BFGS (Nocedal & Wright 2006, algorithm 7.5).

    SciPy's does the same with threads of a BLAS library, which here take longer to meet than to compute.

    Args:
        evaluate: Returns the value and the gradient.
        start: Where to begin.
        iterations: How many steps to take at most.
        tolerance: The relative gain of a step at which the search ends.
    """
    place = start
    value, gradient = evaluate(place)
    changes: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(iterations):
        direction = _descent_direction(gradient, changes)
        found = _search_line(evaluate, place, value, gradient, direction, is_first=not changes)
        if found is None:
            break
        new_place, new_value, new_gradient = found
        change, bend = new_place - place, new_gradient - gradient
        curvature = float(change @ bend)
        if curvature > 0:
            changes.append((change, bend, curvature))
        gain = value - new_value
        place, value, gradient = new_place, new_value, new_gradient
        if gain <= tolerance * max(abs(value), 1.0):
            break
    return place


def _descent_direction(gradient: Floats, changes: Sequence[tuple[Floats, Floats, float]]) -> Floats:
    """Return the direction that the last steps suggest (algorithm 7.4)."""
    direction = -gradient
    shares: list[float] = []
    for change, bend, curvature in reversed(changes):
        shares.append(float(change @ direction) / curvature)
        direction = direction - shares[-1] * bend
    if changes:
        _, bend, curvature = changes[-1]
        direction = direction * (curvature / float(bend @ bend))
    for (change, bend, curvature), share in zip(changes, reversed(shares), strict=True):
        direction = direction + (share - float(bend @ direction) / curvature) * change
    return direction


def _search_line(
    evaluate: Callable[[Floats], tuple[float, Floats]],
    place: Floats,
    value: float,
    gradient: Floats,
    direction: Floats,
    *,
    is_first: bool,
) -> tuple[Floats, float, Floats] | None:
    """Return a point that meets the weak Wolfe conditions, found by bisection; nothing if there is none."""
    slope = float(gradient @ direction)
    if not slope < 0:
        return None
    low, high = 0.0, np.inf
    length = min(1.0, 1 / float(np.sqrt(gradient @ gradient))) if is_first else 1.0
    for _ in range(_MOST_TRIALS):
        trial = place + length * direction
        new_value, new_gradient = evaluate(trial)
        if not new_value <= value + _DECREASE * length * slope:
            high = length
        elif float(new_gradient @ direction) < _CURVATURE * slope:
            low = length
        else:
            return trial, new_value, new_gradient
        length = (low + high) / 2 if high < np.inf else 2 * low
    return None


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
        # For each combination of working values of a marginal, the place of its count.
        self._places = [
            np.ravel_multi_index(np.ix_(*one.maps), one.counts.shape) for one in marginals
        ]
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
        """Return the multipliers of each marginal, as one line."""
        return np.split(multipliers, np.cumsum([one.counts.size for one in self.marginals])[:-1])

    def potentials(self, multipliers: Floats) -> Potentials:
        """Return the log-potential of each clique."""
        made = [floor.copy() for floor in self._floor]
        for part, one, place, cells in zip(
            self._split_multipliers(multipliers),
            self.marginals,
            self._homes,
            self._places,
            strict=True,
        ):
            made[place] += part[cells].reshape(self.tree.broadcast_shape(place, one.columns))
        return made

    def evaluate(self, scaled: Floats) -> tuple[float, Floats]:
        """Return the dual function and its gradient."""
        multipliers = scaled * self.steps
        beliefs, logarithm = self.tree.normalize(self.potentials(multipliers))
        expected = np.concatenate(
            [
                np.bincount(
                    cells.ravel(),
                    beliefs[place].sum(axis=self.tree.other_axes(place, one.columns)).ravel(),
                    minlength=one.counts.size,
                )
                for one, place, cells in zip(self.marginals, self._homes, self._places, strict=True)
            ]
        )
        pulled = self._pull * multipliers
        value = self.total * logarithm - multipliers @ self._counts + 0.5 * multipliers @ pulled
        gradient = self.total * expected - self._counts + pulled
        return float(value), gradient * self.steps
