"""Trees that predict: a row's chances are the mean of those of the leaves that it falls into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeTree
from discreet.learning.features import FeatureSpace
from discreet.learning.leaf_chances import NoisyCounts, estimate_chances

Floats = NDArray[np.float64]
MOST_TREES = 100


@dataclass(frozen=True)
class LeafTree:
    """A tree with the chance of each class at its leaves.

    Attributes:
        tree: Which leaf a row falls into.
        chances: The chance of each class at each leaf.
        rows: The noisy number of rows of each leaf.
    """

    tree: CodeTree
    chances: Floats
    rows: Floats

    @staticmethod
    def from_counts(tree: CodeTree, counts: Sequence[NoisyCounts]) -> LeafTree:
        """Return a tree whose chances follow from noisy counts of its nodes."""
        leaves = list(tree.leaves)
        chances = np.array(estimate_chances(tree, counts))[leaves]
        return LeafTree(tree, chances, np.array([counts[leaf].rows for leaf in leaves]))


@dataclass(frozen=True)
class TreeModel:
    """One tree or several.

    Attributes:
        space: The features and the target.
        trees: The trees, each with its leaves.
    """

    space: FeatureSpace
    trees: tuple[LeafTree, ...]

    def predict(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """Return the chance of each class, a row for each row of codes."""
        total = np.zeros((len(codes), len(self.space.classes)))
        for one in self.trees:
            total += one.chances[one.tree.find_leaves(codes)]
        return total / total.sum(axis=1, keepdims=True)

    def list_groups(self) -> list[NDArray[np.intp]]:
        """Return for each feature the first code of each group of codes that all splits send the same way."""
        found: list[set[int]] = [{0} for _ in self.space.features]
        for one in self.trees:
            for split in one.tree.splits:
                if split is not None:
                    found[split.column].update(split.starts)
        return [np.array(sorted(starts)) for starts in found]

    def to_content(self) -> dict[str, Any]:
        """Return the model in plain values."""
        return {
            "kind": "trees",
            "trees": [
                {
                    "nodes": one.tree.to_content(),
                    "chances": one.chances.tolist(),
                    "rows": one.rows.tolist(),
                }
                for one in self.trees
            ],
        }


def read_tree_model(space: FeatureSpace, content: Mapping[str, Any]) -> TreeModel:
    """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    trees = content["trees"]
    if content["kind"] != "trees" or not 1 <= len(trees) <= MOST_TREES:
        raise ValueError("it is no model of trees")
    return TreeModel(space, tuple(_read_leaf_tree(space, one) for one in trees))


def _read_leaf_tree(space: FeatureSpace, content: Mapping[str, Any]) -> LeafTree:
    tree = CodeTree.from_content(content["nodes"], [column.size for column in space.features])
    chances, rows = np.array(content["chances"], float), np.array(content["rows"], float)
    leaves = len(tree.leaves)
    if chances.shape != (leaves, len(space.classes)) or rows.shape != (leaves,):
        raise ValueError("the leaves do not fit the tree")
    is_sound = np.isfinite(chances).all() and np.isfinite(rows).all() and chances.min() >= 0
    if not (is_sound and np.allclose(chances.sum(axis=1), 1)):
        raise ValueError("the chances of a leaf are none")
    return LeafTree(tree, chances, rows)
