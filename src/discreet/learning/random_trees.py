"""Trees drawn by chance: from public facts alone, or from noisy counts that were paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.domain.code_tree import CodeSplit, CodeTree
from discreet.domain.coded_column import CodedColumn

Floats = NDArray[np.float64]
_MARGIN = 0.1  # a cut leaves at least this share of the expected rows on either side, where codes allow it
_LEAST = 1e-6


@dataclass(frozen=True)
class SplitTables:
    """What splits are drawn by: for each feature a table of its codes by class, of numbers that are not negative."""

    tables: tuple[Floats, ...]
    contrast: float  # how much likelier a feature is that separates classes better

    @staticmethod
    def uniform(columns: Sequence[CodedColumn], classes: int) -> SplitTables:
        """Return tables that know nothing: each code is as likely as another, and of each class."""
        return SplitTables(tuple(np.ones((one.size, classes)) for one in columns), 0.0)


def draw_tree(
    columns: Sequence[CodedColumn], tables: SplitTables, *, depth: int, chance: Generator
) -> CodeTree:
    """Return a tree of two-way splits, each by a feature and a cut that are drawn by `tables`.

    A feature is drawn in proportion to how much its table says that it separates the classes. Codes are cut in the
    order of their scale, or of how often they have one class, so that both sides are expected to have rows.
    """
    splits: list[CodeSplit | None] = [None]
    allowed = [[np.arange(column.size) for column in columns]]
    level = [0]
    for _ in range(depth):
        below: list[int] = []
        for node in level:
            feature = _draw_feature(allowed[node], tables, chance)
            if feature is None:
                continue
            left = _draw_side(
                columns[feature], allowed[node][feature], tables.tables[feature], chance
            )
            right = np.setdiff1d(allowed[node][feature], left)
            side = _spread_side(columns[feature], right)
            splits[node] = CodeSplit.by_code(feature, len(splits) + side)
            for codes in (left, right):
                below.append(len(splits))
                splits.append(None)
                allowed.append([*allowed[node]])
                allowed[-1][feature] = codes
        level = below
    return CodeTree(tuple(splits))


def _spread_side(column: CodedColumn, right: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the side of each code; on a scale also those that no row of the node has lie on one side of the cut."""
    codes = np.arange(column.size)
    return (codes >= right.min() if column.is_ordered else np.isin(codes, right)).astype(np.intp)


def _draw_feature(
    allowed: Sequence[NDArray[np.intp]], tables: SplitTables, chance: Generator
) -> int | None:
    weights = np.array(
        [
            _find_separation(table[codes]) ** tables.contrast if len(codes) > 1 else 0.0
            for table, codes in zip(tables.tables, allowed, strict=True)
        ]
    )
    if weights.sum() <= 0:
        return None
    return int(chance.choice(len(weights), p=weights / weights.sum()))


def _find_separation(table: Floats) -> float:
    """Return how much purer, by Gini's measure, the classes are at each code than over all of them."""
    rows = table.sum(axis=1)
    if rows.sum() <= 0:
        return _LEAST
    shares = table.sum(axis=0) / rows.sum()
    within = ((table**2).sum(axis=1) / np.maximum(rows, _LEAST)).sum() / rows.sum()
    return max(float(within - (shares**2).sum()), _LEAST)


def _draw_side(
    column: CodedColumn, codes: NDArray[np.intp], table: Floats, chance: Generator
) -> NDArray[np.intp]:
    """Return the codes on the left side: some, not all."""
    order = codes
    if not column.is_ordered:
        chosen = int(chance.integers(table.shape[1]))
        rows = table[codes]
        shares = (rows[:, chosen] + 1) / (rows.sum(axis=1) + table.shape[1])
        order = chance.permutation(codes)
        order = order[np.argsort(shares[np.searchsorted(codes, order)], kind="stable")]
    weights = np.cumsum(table[order].sum(axis=1) + _LEAST)
    reached = chance.uniform(_MARGIN, 1 - _MARGIN) * weights[-1]
    cut = int(np.clip(np.searchsorted(weights, reached) + 1, 1, len(order) - 1))
    return np.sort(order[:cut])
