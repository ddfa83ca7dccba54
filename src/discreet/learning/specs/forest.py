"""A forest: trees drawn by chance, or grown on features drawn by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.dp.spending import divide_budget
from discreet.learning.leaf_chances import NoisyCounts
from discreet.learning.random_trees import SplitTables, draw_tree
from discreet.learning.training import Training
from discreet.learning.tree_growth import GrowthPlan, grow_tree
from discreet.learning.tree_model import LeafTree, TreeModel, read_tree_model
from discreet.registry import LearnerSpec, OptionSpec

Splits = Literal["informed", "random", "greedy"]
SPLITS = ("informed", "random", "greedy")
_TABLES = 0.2  # the share of the price for the tables by which splits are drawn
_TREES = 10
_DEPTH, _EXACT_DEPTH = 5, 8
_EXACT = 5_000  # of epsilon times rows: then noise hides little of deeper trees
_CONTRAST = 2.0
_SPREADING = Fraction(
    1, 5
)  # the share of what is left for counts by which two classes are separated
_BUCKETS = 16  # of the mean chance
_WHOLE = 1 << 16  # a chance of 1 as a whole number
_NOTICEABLE = 2  # standard errors that another threshold must be better by
_MOST_SPREAD = 5.0

Floats = NDArray[np.float64]


def fit_forest(
    training: Training,
    *,
    splits: Splits = "informed",
    trees: int = _TREES,
    depth: int | None = None,
) -> TreeModel:
    """Return trees whose chances are averaged.

    Guarantee: that of `training.spending`. Splits that are drawn follow from public facts and, where they are
    informed, from noisy counts of each feature with the class, in each of which a row is in one cell. A row is
    in one leaf of each tree, whose class counts are measured once, for an equal share of what is left. Of two
    classes a part is kept for one more vector, of counts by the mean chance and the class. Greedy trees are grown as `grow_tree` does, each for an equal share.

    Args:
        training: Counts, features, and what may be spent.
        splits: How splits come about: `informed` by noisy counts, `random` by public facts alone, `greedy` as
            those of a tree.
        trees: How many trees there are.
        depth: How many splits lie above a leaf at most; by default from epsilon times rows.
    """
    if splits == "greedy":
        return _grow_forest(training, trees, depth or _DEPTH)
    features, chance = training.space.features, training.chance
    tables = SplitTables.uniform(features, len(training.space.classes))
    if splits == "informed":
        tables, is_exact = _measure_tables(training)
        depth = depth or (_EXACT_DEPTH if is_exact else _DEPTH)
    drawn = [
        draw_tree(features, tables, depth=depth or _DEPTH, chance=chance) for _ in range(trees)
    ]
    target = training.target_place
    exact = training.counts.count_by_leaf([(tree, (target,)) for tree in drawn])
    is_spread = len(training.space.classes) == 2 and trees > 1
    kept = training.spending.left * _SPREADING if is_spread else Fraction(0)
    prices = divide_budget(training.spending.left - kept, [1.0] * trees)
    made: list[LeafTree] = []
    for tree, counts, price in zip(drawn, exact, prices, strict=True):
        wanted = counts[:, :-1]
        noisy = training.spending.measure(wanted.ravel(), price).reshape(wanted.shape)
        variance = training.spending.scale(price) ** 2
        known = [NoisyCounts.none(wanted.shape[1]) for _ in tree.splits]
        for leaf, one in zip(tree.leaves, noisy, strict=True):
            known[leaf] = NoisyCounts(one, variance)
        made.append(LeafTree.from_counts(tree, known))
    return TreeModel(training.space, _spread_chances(training, made) if is_spread else tuple(made))


def _spread_chances(training: Training, trees: Sequence[LeafTree]) -> tuple[LeafTree, ...]:
    """Return trees whose mean chance of the second class crosses one half where most rows are predicted right.

    The mean of many trees lies near the share of a class, and may cross one half nowhere, though it orders rows
    well. So chances are spread around that share, by a factor for all leaves, where counts of rows by the mean
    and the class say so in spite of their noise. These cost all that is left; a row is in one cell.
    """
    spending = training.spending
    weights = [np.rint(one.chances[:, 1:] * _WHOLE).astype(np.int64) for one in trees]
    cuts = [place * _WHOLE * len(trees) // _BUCKETS for place in range(1, _BUCKETS)]
    shapes = [one.tree for one in trees]
    looked = training.counts.count_by_forest(shapes, weights, cuts, [(training.target_place,)])
    exact, price = looked[0][:, :-1], spending.left
    noisy = spending.measure(exact.ravel(), price).reshape(exact.shape)
    factor, share = _choose_factor(noisy, spending.scale(price))
    found: list[LeafTree] = []
    for one in trees:
        second = np.clip(share + factor * (one.chances[:, 1] - share), 0.0, 1.0)
        found.append(replace(one, chances=np.stack([1 - second, second], axis=1)))
    return tuple(found)


def _choose_factor(counts: Floats, scale: float) -> tuple[float, float]:
    """Return the factor by which chances are spread, and the share of the second class that they are spread around.

    Args:
        counts: Noisy counts of rows by bucket of the mean chance and by class.
        scale: Their standard error.
    """
    share = float(np.clip(counts[:, 1].sum() / max(1.0, float(counts.sum())), 0.01, 0.99))
    right = np.array(
        [counts[:cut, 0].sum() + counts[cut:, 1].sum() for cut in range(1, len(counts))]
    )
    middle = len(counts) // 2 - 1
    best = int(right.argmax())
    noise = scale * math.sqrt(2 * abs(best - middle))
    reach = (best + 1) / len(counts) - share
    is_better = right[best] - right[middle] > _NOTICEABLE * noise
    if not is_better or reach * (0.5 - share) <= 0:
        return 1.0, share
    return min(_MOST_SPREAD, (0.5 - share) / reach), share


def _measure_tables(training: Training) -> tuple[SplitTables, bool]:
    """Return noisy counts of each feature with the class, and whether noise hides little of the rows."""
    spending = training.spending
    pairs = training.count_pairs()
    prices = divide_budget(spending.left * Fraction(_TABLES), [1.0] * len(pairs))
    noisy = [
        spending.measure(one.ravel(), price).reshape(one.shape)
        for one, price in zip(pairs, prices, strict=True)
    ]
    rows = float(np.median([one.sum() for one in noisy]))
    is_exact = float(training.epsilon) * rows >= _EXACT
    tables = tuple(np.maximum(one, 0) for one in noisy)
    return SplitTables(tables, _CONTRAST if is_exact else 1.0), is_exact


def _grow_forest(training: Training, trees: int, depth: int) -> TreeModel:
    """Return grown trees, each with half of the features or more."""
    features, chance = training.target_place, training.chance
    count = math.ceil(features / 2) if features > 2 else features
    made: list[LeafTree] = []
    for price in divide_budget(training.spending.left, [1.0] * trees):
        chosen = tuple(sorted(chance.choice(features, count, replace=False).tolist()))
        grown = grow_tree(training, GrowthPlan(chosen, "gini", "exponential", depth), price)
        made.append(LeafTree.from_counts(grown.tree, grown.counts))
    return TreeModel(training.space, tuple(made))


SPEC = LearnerSpec(
    name="forest",
    summary="Many trees whose chances are averaged; each leaf is counted once.",
    description="A forest: trees with splits drawn by chance, whose leaves are counted privately.",
    tasks=("classification",),
    fit=fit_forest,
    read=read_tree_model,
    options=(
        OptionSpec(
            "splits",
            "choice",
            "How splits come about: informed by noisy counts, random, or greedy.",
            default="informed",
            choices=SPLITS,
        ),
        OptionSpec(
            "trees", "integer", "How many trees there are.", default=_TREES, minimum=1, maximum=100
        ),
        OptionSpec(
            "depth", "integer", "How many splits lie above a leaf at most.", minimum=1, maximum=8
        ),
    ),
    model="trees",
    position=50,
)
