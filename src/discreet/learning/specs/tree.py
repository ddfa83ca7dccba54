"""A decision tree whose splits are chosen privately."""

from __future__ import annotations

from discreet.learning.split_scores import CRITERIA, Criterion
from discreet.learning.training import Training
from discreet.learning.tree_growth import SELECTIONS, GrowthPlan, Selection, grow_tree
from discreet.learning.tree_model import LeafTree, TreeModel, read_tree_model
from discreet.registry import LearnerSpec, OptionSpec

DEEPEST_GROWN = 10


def fit_tree(
    training: Training,
    *,
    criterion: Criterion = "gini",
    selection: Selection = "exponential",
    depth: int = 3,
) -> TreeModel:
    """Return a decision tree that is grown from the root on (Friedman & Schuster 2010).

    Guarantee: that of `training.spending`, as `grow_tree` says.

    Args:
        training: Counts, features, and what may be spent.
        criterion: What makes a split good.
        selection: How a split is chosen among noisy candidates.
        depth: How many splits lie above a leaf at most.
    """
    features = tuple(range(training.target_place))
    plan = GrowthPlan(features, criterion, selection, depth)
    grown = grow_tree(training, plan, training.spending.left)
    return TreeModel(training.space, (LeafTree.from_counts(grown.tree, grown.counts),))


SPEC = LearnerSpec(
    name="tree",
    summary="A decision tree that people can read; splits chosen by the exponential mechanism.",
    description="A decision tree: questions about one feature after the other, down to a leaf with its chances.",
    tasks=("classification",),
    fit=fit_tree,
    read=read_tree_model,
    options=(
        OptionSpec(
            "criterion",
            "choice",
            "What makes a split good: information-gain, gini or max.",
            default="gini",
            choices=CRITERIA,
        ),
        OptionSpec(
            "selection",
            "choice",
            "How a split is chosen: exponential, or laplace, noisy counts of every feature.",
            default="exponential",
            choices=SELECTIONS,
        ),
        OptionSpec(
            "depth",
            "integer",
            "How many splits lie above a leaf at most.",
            default=3,
            minimum=1,
            maximum=DEEPEST_GROWN,
        ),
    ),
    model="trees",
    position=40,
)
