"""What a method decided: the class of each combination, and what each class is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.release.anonymize.attribute import CodedAttribute
from discreet.release.anonymize.frequencies import label_rows, renumber_keys
from discreet.release.anonymize.problem import Problem

SUPPRESSED = -1


@dataclass(frozen=True)
class Recoding:
    """The class of each combination, `SUPPRESSED` for none, and the label of each class.

    On attribute j, class i covers the values in group `lows[i, j]` of level `levels[i, j]`; on a
    range attribute it covers the codes from `lows[i, j]` to `highs[i, j]`, and its level is 0, or
    the top when it is hidden (which a missing value beside others needs). Different classes have
    different labels. `notes` are facts for the manifest: the node, what was searched, how far from
    the optimum it can be.
    """

    classes: NDArray[np.int64]
    levels: NDArray[np.int64]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    notes: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __len__(self) -> int:
        return len(self.levels)


def generalize(problem: Problem, node: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """Return the group of each combination when attribute j is on level `node[j]`, and the count."""
    return label_rows(
        [
            (attribute.groups[level][problem.table.codes[:, j]], attribute.cardinalities[level])
            for j, (attribute, level) in enumerate(zip(problem.attributes, node, strict=True))
        ]
    )


def tighten_labels(
    problem: Problem, classes: NDArray[np.int64], *, notes: Mapping[str, Any] | None = None
) -> Recoding:
    """Return the recoding in which each class is called by what its members have in common.

    `classes` numbers them in any way, `SUPPRESSED` for none. Classes whose labels come out equal are
    one class, and classes are numbered in the order of their labels: neither the method's order nor
    that of rows shows.
    """
    kept = np.flatnonzero(classes != SUPPRESSED)
    numbers, count = renumber_keys(classes[kept], int(classes.max(initial=-1)) + 1)
    order = np.argsort(numbers, kind="stable")
    codes = problem.table.codes[kept[order]]
    first = np.searchsorted(numbers[order], np.arange(count))
    parts = [
        _common_label(attribute, codes[:, j].astype(np.int64), first)
        for j, attribute in enumerate(problem.attributes)
    ]
    levels, lows, highs = (
        np.stack([part[i] for part in parts], axis=1) if count else np.empty((0, len(parts)), int)
        for i in range(3)
    )
    result = np.full(len(classes), SUPPRESSED, dtype=np.int64)
    result[kept] = numbers
    return _canonical_recoding(problem, result, levels, lows, highs, notes or {})


def at_node(
    problem: Problem,
    node: Sequence[int],
    suppressed: NDArray[np.bool_],
    *,
    notes: Mapping[str, Any] | None = None,
) -> Recoding:
    """Return full-domain recoding: attribute j on level `node[j]` for all, some rows suppressed.

    `suppressed` marks each combination. A range attribute on a level between has the range of
    all values of its group.
    """
    labels, _ = generalize(problem, node)
    labels = np.where(suppressed, SUPPRESSED, labels)
    kept, first = np.unique(labels[~suppressed], return_index=True)
    members = np.flatnonzero(~suppressed)[first]
    codes = problem.table.codes[members]
    levels, lows, highs = (np.empty((len(kept), len(node)), dtype=np.int64) for _ in range(3))
    for j, (attribute, level) in enumerate(zip(problem.attributes, node, strict=True)):
        own = attribute.groups[level][codes[:, j]]
        levels[:, j], lows[:, j], highs[:, j] = level, own, own
        if attribute.is_range and level < attribute.height:
            low, high = spans_of(attribute, level)
            levels[:, j], lows[:, j], highs[:, j] = 0, low[own], high[own]
    result = np.full(len(labels), SUPPRESSED, dtype=np.int64)
    result[~suppressed] = np.searchsorted(kept, labels[~suppressed])
    return Recoding(result, levels, lows, highs, notes or {})


def class_losses(problem: Problem, recoding: Recoding) -> NDArray[np.float64]:
    """Return what each class's label loses on each attribute, from 0 to 1."""
    losses = np.empty((len(recoding), len(problem.attributes)))
    for j, attribute in enumerate(problem.attributes):
        losses[:, j] = _label_losses(
            attribute, recoding.levels[:, j], recoding.lows[:, j], recoding.highs[:, j]
        )
    return losses


def attribute_losses(problem: Problem, recoding: Recoding) -> NDArray[np.float64]:
    """Return the loss of each attribute: the mean over all rows; a suppressed row loses all of it."""
    return mean_losses(problem, recoding, problem.table.rows.astype(np.float64))


def mean_losses(
    problem: Problem, recoding: Recoding, counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the loss of each attribute, where each combination counts as often as `counts` says."""
    kept = recoding.classes != SUPPRESSED
    size = len(recoding)
    rows = np.bincount(recoding.classes[kept], weights=counts[kept], minlength=size)
    hidden = counts[~kept].sum()
    lost = (class_losses(problem, recoding) * rows[:, None]).sum(axis=0)
    is_lossy = np.array([attribute.leaf < 1 for attribute in problem.attributes])
    return (lost + hidden * is_lossy) / max(float(counts.sum()), 1e-300)


def combine_losses(problem: Problem, losses: NDArray[np.float64]) -> float:
    """Return the weighted mean of the attributes' losses: ARX's Loss with the arithmetic mean."""
    weights = np.array([attribute.weight for attribute in problem.attributes])
    return float(losses @ weights / max(weights.sum(), 1e-300))


def loss(problem: Problem, recoding: Recoding) -> float:
    """Return the loss of a recoding over all rows."""
    return combine_losses(problem, attribute_losses(problem, recoding))


def suppressed_rows(problem: Problem, recoding: Recoding) -> int:
    """Return how many rows have no class."""
    return int(problem.table.rows[recoding.classes == SUPPRESSED].sum())


def _label_losses(
    attribute: CodedAttribute,
    levels: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
) -> NDArray[np.float64]:
    shares = np.empty(len(levels))
    for level in range(attribute.height + 1):
        on = levels == level
        shares[on] = attribute.shares[level][lows[on]] if not attribute.is_range else 1.0
    if attribute.is_range:
        below = levels < attribute.height
        shares[below] = (highs - lows + 1)[below] * attribute.leaf
    return attribute.loss_of(shares)


def _common_label(
    attribute: CodedAttribute, codes: NDArray[np.int64], first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return level, low and high of the label that runs of `codes`, beginning at `first`, share."""
    if attribute.is_range:
        lows, highs = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
        missing = attribute.size - 1 if attribute.has_missing else attribute.size
        hidden = (highs == missing) & (lows < missing)
        levels = np.where(hidden, attribute.height, 0)
        return levels, np.where(hidden, 0, lows), np.where(hidden, 0, highs)
    levels = np.full(len(first), attribute.height, dtype=np.int64)
    groups = np.zeros(len(first), dtype=np.int64)
    for level in range(attribute.height - 1, -1, -1):
        own = attribute.groups[level][codes]
        same = np.minimum.reduceat(own, first) == np.maximum.reduceat(own, first)
        levels[same], groups[same] = level, own[first[same]]
    return levels, groups, groups.copy()


def spans_of(attribute: CodedAttribute, level: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last code of each group on a level of a range attribute."""
    codes = np.arange(attribute.size)
    low = np.full(attribute.cardinalities[level], attribute.size, dtype=np.int64)
    high = np.full(attribute.cardinalities[level], -1, dtype=np.int64)
    np.minimum.at(low, attribute.groups[level], codes)
    np.maximum.at(high, attribute.groups[level], codes)
    return low, high


def _canonical_recoding(
    problem: Problem,
    classes: NDArray[np.int64],
    levels: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    notes: Mapping[str, Any],
) -> Recoding:
    if not len(levels):
        return Recoding(classes, levels, lows, highs, notes)
    columns: list[tuple[NDArray[np.int64], int]] = []
    for j, attribute in enumerate(problem.attributes):
        columns += [
            (levels[:, j], attribute.height + 1),
            (lows[:, j], max(attribute.size, *attribute.cardinalities)),
            (highs[:, j], max(attribute.size, *attribute.cardinalities)),
        ]
    labels, count = label_rows(columns)
    chosen = np.empty(count, dtype=np.int64)
    chosen[labels[::-1]] = np.arange(len(labels))[::-1]
    renumbered = np.where(classes == SUPPRESSED, SUPPRESSED, labels[classes])
    return Recoding(renumbered, levels[chosen], lows[chosen], highs[chosen], notes)
