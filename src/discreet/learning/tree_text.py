"""A decision tree as indented lines that people read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.domain.coded_column import CodedColumn, Codes
from discreet.learning.tree_model import LeafTree, TreeModel

_FEW = 6  # values that a condition lists
_INDENT = "  "


def describe_trees(model: TreeModel) -> str:
    """Return the trees as text, a line for each condition; leaves with the most likely class and its chance.

    Nodes beside each other whose leaves all predict the same class stand in one line, with their rows together.
    """
    parts: list[str] = []
    for number, one in enumerate(model.trees, start=1):
        lines = _TreeWriter(model, one).write(0, 0, {})
        heading = [f"tree {number}:"] if len(model.trees) > 1 else []
        parts += [*heading, *lines]
    return "\n".join(parts)


class _TreeWriter:
    """Writes one tree."""

    def __init__(self, model: TreeModel, one: LeafTree) -> None:
        self._space, self._one = model.space, one
        self._numbers = {node: number for number, node in enumerate(one.tree.leaves)}

    def write(self, node: int, level: int, reached: Mapping[int, Codes]) -> list[str]:
        """Return the lines of a node and of all below it, whose rows have one of `reached` codes of some columns."""
        split = self._one.tree.splits[node]
        leaves = self._list_leaves(node)
        if split is None or len({self._find_class(leaf) for leaf in leaves}) == 1:
            return [_INDENT * level + self._word_leaves(leaves)]
        column = self._space.features[split.column]
        here = reached.get(split.column, np.arange(column.size))
        sides = split.spread(column.size)[here]
        lines: list[str] = []
        for children in self._merge_alike(list(dict.fromkeys(sides.tolist()))):
            codes = here[np.isin(sides, children)]
            condition = f"{_INDENT * level}{word_codes(column, codes.tolist())}:"
            below = [leaf for child in children for leaf in self._list_leaves(child)]
            if len({self._find_class(leaf) for leaf in below}) == 1:
                lines.append(f"{condition} {self._word_leaves(below)}")
                continue
            inner = self.write(children[0], level + 1, {**reached, split.column: codes})
            lines += [condition, *inner]
        return lines

    def _list_leaves(self, node: int) -> list[int]:
        split = self._one.tree.splits[node]
        if split is None:
            return [node]
        return [
            leaf for child in dict.fromkeys(split.children) for leaf in self._list_leaves(child)
        ]

    def _merge_alike(self, children: Sequence[int]) -> list[list[int]]:
        """Return the children; those below which all leaves predict one class stand together."""
        groups: dict[Any, list[int]] = {}
        for child in children:
            classes = {self._find_class(leaf) for leaf in self._list_leaves(child)}
            key = ("node", child) if len(classes) > 1 else classes.pop()
            groups.setdefault(key, []).append(child)
        return list(groups.values())

    def _find_class(self, leaf: int) -> int:
        return int(self._one.chances[self._numbers[leaf]].argmax())

    def _word_leaves(self, leaves: Sequence[int]) -> str:
        numbers = [self._numbers[leaf] for leaf in leaves]
        rows = np.maximum(self._one.rows[numbers], 0)
        weights = rows if rows.sum() > 0 else np.ones(len(numbers))
        best = self._find_class(leaves[0])
        chance = float(weights @ self._one.chances[numbers, best] / weights.sum())
        word = self._space.classes[best]
        return f"{word} ({chance:.0%} of about {round(float(rows.sum())):,} rows)"


def word_codes(column: CodedColumn, codes: Sequence[int]) -> str:
    """Return the condition that a column has one of some codes, in words."""
    known = [code for code in codes if code != column.missing]
    rest = ["is missing"] if len(known) < len(codes) else []
    if not known:
        return f"{column.name} is missing"
    firsts = column.coding.representatives()[0].to_pylist()
    if column.is_ordered and known == list(range(known[0], known[-1] + 1)):
        parts = [f">= {firsts[known[0]]}"] if known[0] > 0 else []
        parts += [f"< {firsts[known[-1] + 1]}"] if known[-1] + 1 < len(firsts) else []
        words = " and ".join(parts) or "is there"
    else:
        named = ["other" if firsts[code] is None else str(firsts[code]) for code in known]
        listed = [*named[:_FEW], f"{len(named) - _FEW} more"] if len(named) > _FEW + 1 else named
        *first, last = listed
        words = f"= {', '.join(first)} or {last}" if first else f"= {last}"
    return f"{column.name} {' or '.join([words, *rest])}"
