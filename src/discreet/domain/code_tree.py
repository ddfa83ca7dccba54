"""Decision trees over codes: which leaf a row falls into, in Python and as an expression of every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.sql import build
from discreet.sql.search import search_cases

MOST_NODES = 1 << 13
DEEPEST = 12  # levels: deeper expressions would exceed what parsers of engines nest


@dataclass(frozen=True)
class CodeSplit:
    """How a node sends rows on by the code of one column.

    Attributes:
        column: The place of the column.
        starts: The first code of each run of codes that go to one node; the first is 0.
        children: The node that each run goes to.
    """

    column: int
    starts: tuple[int, ...]
    children: tuple[int, ...]

    @staticmethod
    def by_code(column: int, children: NDArray[np.integer[Any]]) -> CodeSplit:
        """Return the split that sends each code to the node that `children` has for it.

        >>> CodeSplit.by_code(3, np.array([1, 1, 2]))
        CodeSplit(column=3, starts=(0, 2), children=(1, 2))
        """
        starts = [0, *(np.flatnonzero(np.diff(children)) + 1).tolist()]
        return CodeSplit(column, tuple(starts), tuple(int(children[one]) for one in starts))

    def spread(self, size: int) -> NDArray[np.int32]:
        """Return the node that each of `size` codes goes to."""
        places = np.searchsorted(self.starts, np.arange(size), side="right") - 1
        return np.array(self.children, np.int32)[places]


@dataclass(frozen=True)
class CodeTree:
    """A tree whose nodes stand in an order in which no child precedes its parent; the root is the first.

    Attributes:
        splits: How each node sends rows on, None for a leaf.
    """

    splits: tuple[CodeSplit | None, ...]

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are leaves; the number of a leaf is its place here."""
        return tuple(node for node, split in enumerate(self.splits) if split is None)

    @cached_property
    def depth(self) -> int:
        """How many splits lie above the deepest leaf."""
        levels = [0] * len(self.splits)
        for node, split in enumerate(self.splits):
            for child in () if split is None else split.children:
                levels[child] = levels[node] + 1
        return max(levels)

    def find_leaves(self, codes: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """Return the number of the leaf that each row of codes falls into."""
        numbers = np.full(len(self.splits), -1, np.int32)
        numbers[list(self.leaves)] = np.arange(len(self.leaves))
        inner = [(node, split) for node, split in enumerate(self.splits) if split is not None]
        if not inner:
            return np.zeros(len(codes), np.int32)
        size = int(codes.max()) + 1 if codes.size else 1
        columns = np.zeros(len(self.splits), np.intp)
        table = np.tile(np.arange(len(self.splits), dtype=np.int32)[:, None], (1, size))
        for node, split in inner:
            columns[node] = split.column
            table[node] = split.spread(size)
        rows, found = np.arange(len(codes)), np.zeros(len(codes), np.int32)
        for _ in range(self.depth):
            found = table[found, codes[rows, columns[found]]]
        return numbers[found]

    def leaf_expression(self, codes: Sequence[exp.Expr]) -> exp.Expr:
        """Return the number of a row's leaf, from the expressions of its codes."""
        numbers = {node: number for number, node in enumerate(self.leaves)}
        built: dict[int, exp.Expr] = {}
        for node in reversed(range(len(self.splits))):  # children first
            split = self.splits[node]
            if split is None:
                built[node] = build.number(numbers[node])
                continue
            ends = {child: built[child] for child in dict.fromkeys(split.children)}
            built[node] = _choose_child(codes[split.column], split, ends)
        return built[0]

    def to_content(self) -> list[Any]:
        """Return the tree in plain values: for each node its column, starts and children, None for a leaf."""
        return [
            None if one is None else [one.column, list(one.starts), list(one.children)]
            for one in self.splits
        ]

    @staticmethod
    def from_content(content: Sequence[Any], sizes: Sequence[int]) -> CodeTree:
        """Return what `to_content` wrote for columns of so many codes.

        Raises:
            ValueError: It is no tree: a node is its own ancestor, has two parents or none, splits by a column or
                a code that is not there, or there are too many nodes or levels.
            TypeError: It holds values of another kind.
        """
        if not 1 <= len(content) <= MOST_NODES:
            raise ValueError("a tree has no nodes, or too many")
        splits = tuple(None if one is None else _read_split(one, sizes) for one in content)
        parents = [0] * len(splits)
        for node, split in enumerate(splits):
            for child in set(split.children) if split is not None else ():
                if not node < child < len(splits):
                    raise ValueError("a child does not follow its parent")
                parents[child] += 1
        if parents[0] != 0 or any(one != 1 for one in parents[1:]):
            raise ValueError("a node has several parents, or none")
        tree = CodeTree(splits)
        if tree.depth > DEEPEST:
            raise ValueError("a tree is too deep")
        return tree


def _choose_child(code: exp.Expr, split: CodeSplit, ends: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return the expression of the child that a code leads to; each of them is there once."""
    starts = [build.number(one) for one in split.starts[1:]]
    if len(ends) == len(split.children):
        return search_cases(code, starts, list(ends.values()))
    numbers = {child: number for number, child in enumerate(ends)}
    chosen = search_cases(code, starts, [build.number(numbers[one]) for one in split.children])
    cuts = [build.number(one) for one in range(1, len(ends))]
    return search_cases(chosen, cuts, list(ends.values()))


def _read_split(content: Any, sizes: Sequence[int]) -> CodeSplit:
    column, starts, children = content
    numbers = [column, *starts, *children]
    if not all(type(one) is int for one in numbers):
        raise TypeError("a split holds something else than whole numbers")
    is_sorted = bool(starts) and starts[0] == 0 and all(a < b for a, b in pairwise(starts))
    if not (0 <= column < len(sizes) and is_sorted and starts[-1] < sizes[column]):
        raise ValueError("a split does not fit its column")
    if len(starts) != len(children) or len(set(children)) < 2:
        raise ValueError("a split does not lead to several nodes")
    return CodeSplit(column, tuple(starts), tuple(children))
