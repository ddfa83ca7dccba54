"""Junction trees: a distribution over many columns, kept as beliefs over few of them at a time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Columns = tuple[int, ...]
Codes = NDArray[np.intp]
Floats = NDArray[np.float64]
Potentials = list[Floats]

# Stands for a sum that is too small for a float, where potentials lie far apart.
_LEAST = 1e-300


def triangulate(sizes: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[Columns]:
    """Return the cliques of a chordal graph over columns that has all of `edges`.

    Columns are eliminated one by one, the one whose clique has the fewest cells first.

    >>> triangulate([2, 3, 4], [(0, 1), (1, 2)])
    [(0, 1), (1, 2)]
    """
    neighbors: list[set[int]] = [set() for _ in sizes]
    for first, second in edges:
        neighbors[first].add(second)
        neighbors[second].add(first)
    cells = [_clique_cells(column, neighbors, sizes) for column in range(len(sizes))]
    left = set(range(len(sizes)))
    cliques: list[frozenset[int]] = []
    while left:
        column = min(left, key=lambda one: (cells[one], one))
        around = neighbors[column]
        clique = frozenset({*around, column})
        if not any(clique <= known for known in cliques):
            cliques.append(clique)
        left.remove(column)
        for one in around:
            neighbors[one] |= around - {one}
            neighbors[one].discard(column)
        for one in around:
            cells[one] = _clique_cells(one, neighbors, sizes)
    return [tuple(sorted(clique)) for clique in cliques]


def count_cells(cliques: Iterable[Columns], sizes: Sequence[int]) -> int:
    """Return how many cells the beliefs over `cliques` have.

    >>> count_cells([(0, 1), (1, 2)], [2, 3, 4])
    18
    """
    return sum(math.prod(sizes[column] for column in clique) for clique in cliques)


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of columns in a tree, such that cliques with a common column are connected.

    Attributes:
        sizes: The number of values of each column.
        cliques: The columns of each clique, in order.
        parents: The parent of each clique; -1 for the root.
        order: The cliques, each after its parent.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    order: tuple[int, ...]

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each clique's beliefs."""
        return tuple(tuple(self.sizes[one] for one in clique) for clique in self.cliques)

    @cached_property
    def separators(self) -> tuple[frozenset[int], ...]:
        """The columns that each clique shares with its parent."""
        return tuple(
            frozenset(clique) & frozenset(self.cliques[parent]) if parent >= 0 else frozenset()
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    def home(self, columns: Iterable[int]) -> int:
        """Return the smallest clique that has all of `columns`."""
        wanted = set(columns)
        fitting = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(fitting, key=lambda place: math.prod(self.shapes[place]))

    def other_axes(self, place: int, columns: Iterable[int]) -> Columns:
        """Return the axes of a clique that belong to other columns than `columns`."""
        kept = set(columns)
        return tuple(axis for axis, one in enumerate(self.cliques[place]) if one not in kept)

    def broadcast_shape(self, place: int, columns: Iterable[int]) -> tuple[int, ...]:
        """Return the shape by which an array over `columns` is spread over a clique."""
        kept = set(columns)
        return tuple(self.sizes[one] if one in kept else 1 for one in self.cliques[place])

    def normalize(self, potentials: Potentials) -> tuple[Potentials, float]:
        """Return the beliefs that belong to log-potentials, and the logarithm of their sum.

        Messages go up the tree and down again, so that neighboring beliefs agree.
        """
        beliefs, logarithm = _exponentiate_potentials(potentials)
        messages: dict[int, Floats] = {}
        for place in reversed(self.order[1:]):
            message = beliefs[place].sum(axis=self._axes_dropped[place])
            largest = max(float(message.max()), _LEAST)
            logarithm += float(np.log(largest))
            messages[place] = message / largest
            beliefs[self.parents[place]] *= messages[place].reshape(self._shapes_upward[place])
        root = beliefs[self.order[0]]
        total = max(float(root.sum()), _LEAST)
        root /= total
        for place in self.order[1:]:
            above = beliefs[self.parents[place]].sum(axis=self._axes_dropped_above[place])
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(messages[place] > 0, above / messages[place], 0.0)
            beliefs[place] *= ratio.reshape(self._shapes_downward[place])
            beliefs[place] /= max(float(beliefs[place].sum()), _LEAST)
        return beliefs, logarithm + float(np.log(total))

    @cached_property
    def _axes_dropped(self) -> tuple[Columns, ...]:
        places = range(len(self.cliques))
        return tuple(self.other_axes(place, self.separators[place]) for place in places)

    @cached_property
    def _axes_dropped_above(self) -> tuple[Columns, ...]:
        return tuple(
            self.other_axes(parent, shared) if parent >= 0 else ()
            for parent, shared in zip(self.parents, self.separators, strict=True)
        )

    @cached_property
    def _shapes_upward(self) -> tuple[tuple[int, ...], ...]:
        return tuple(
            self.broadcast_shape(parent, shared) if parent >= 0 else ()
            for parent, shared in zip(self.parents, self.separators, strict=True)
        )

    @cached_property
    def _shapes_downward(self) -> tuple[tuple[int, ...], ...]:
        places = range(len(self.cliques))
        return tuple(self.broadcast_shape(place, self.separators[place]) for place in places)


def build_tree(sizes: Sequence[int], edges: Iterable[tuple[int, int]]) -> JunctionTree:
    """Return a junction tree in which each pair of `edges` lies in one clique.

    Cliques are connected where they share most columns (a maximum spanning tree).
    """
    cliques = [frozenset(clique) for clique in triangulate(sizes, edges)]
    parents, order = [-1] * len(cliques), [0]
    nearest = {place: (len(cliques[place] & cliques[0]), 0) for place in range(1, len(cliques))}
    while nearest:
        place = max(nearest, key=lambda one: (nearest[one][0], -one))
        parents[place] = nearest.pop(place)[1]
        order.append(place)
        for other, (shared, _) in nearest.items():
            common = len(cliques[other] & cliques[place])
            if common > shared:
                nearest[other] = (common, place)
    columns = tuple(tuple(sorted(clique)) for clique in cliques)
    return JunctionTree(tuple(sizes), columns, tuple(parents), tuple(order))


def pairs_of(columns: Iterable[Columns]) -> set[tuple[int, int]]:
    """Return all pairs of columns that stand together in one of `columns`.

    >>> sorted(pairs_of([(0, 1, 2), (1, 2)]))
    [(0, 1), (0, 2), (1, 2)]
    """
    return {pair for some in columns for pair in itertools.combinations(sorted(some), 2)}


def _exponentiate_potentials(potentials: Potentials) -> tuple[Potentials, float]:
    beliefs: Potentials = []
    logarithm = 0.0
    for potential in potentials:
        largest = float(potential.max())
        logarithm += largest
        beliefs.append(np.exp(potential - largest))
    return beliefs, logarithm


def _clique_cells(column: int, neighbors: list[set[int]], sizes: Sequence[int]) -> int:
    return math.prod(sizes[one] for one in {*neighbors[column], column})
