"""The check of one lattice node: its classes, what must be suppressed, what follows for others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.criteria.criterion import TOLERANCE
from discreet.criteria.histograms import ClassHistograms
from discreet.errors import Bug
from discreet.release.anonymize.frequencies import (
    Frequencies,
    Histogram,
    renumber_keys,
    sum_by_label,
)
from discreet.release.anonymize.problem import Population, Problem

Node = tuple[int, ...]

# Keys below this are 32 bits wide.
_NARROW = 2**31
# A table of counts may have this many slots per entry.
_WIDEST = 8
# Merged tables kept for rolling up, in groups and combinations: some 100 MB.
_KEPT = 2**24


@dataclass(frozen=True)
class NodeTable:
    """The table at a node: `codes[j]` are those of one member of each group.

    `labels` is the group of each member of `parent`, the table it was merged from; the bottom has
    none. `table` is None where rows are all that is asked for.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    table: Frequencies | None
    parent: NodeTable | None = None
    labels: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def home(self) -> NDArray[np.int64] | None:
        """The group of each combination of the bottom."""
        if self.parent is None or self.labels is None or self.parent.home is None:
            return self.labels
        return self.labels[self.parent.home]


@dataclass(frozen=True)
class NodeCheck:
    """The result of a node: `held[g]` is whether group g may be published.

    `sure[g]` means that no part of a failing group can be published on any lower level either. Of
    the other failing groups, `missing[g]` rows at least must go before what is left can be.
    `is_whole` is false when the people of the population who fit no class make the node fail.
    """

    node: Node
    parent: NodeTable
    labels: NDArray[np.int64]
    rows: NDArray[np.int64]
    held: NDArray[np.bool_]
    sure: NDArray[np.bool_]
    missing: NDArray[np.float64] | None = None
    is_whole: bool = True
    values: dict[int, ClassHistograms] = field(default_factory=dict[int, "ClassHistograms"])

    @cached_property
    def home(self) -> NDArray[np.int64]:
        """The group of each combination."""
        home = self.parent.home
        return self.labels if home is None else self.labels[home]

    @cached_property
    def lost(self) -> NDArray[np.int64]:
        """The combinations that are suppressed."""
        return _group_members(~self.held, self.home)

    @cached_property
    def surely_lost(self) -> NDArray[np.int64]:
        """The combinations that are suppressed on this node and on every lower one."""
        if np.array_equal(self.sure, ~self.held):
            return self.lost
        return _group_members(self.sure, self.home)

    @cached_property
    def lost_rows(self) -> int:
        """The number of rows that are suppressed."""
        return int(self.rows[~self.held].sum())

    @cached_property
    def least_lost(self) -> float:
        """A number of rows that every lower node suppresses at least."""
        surely = float(self.rows[self.sure].sum())
        return surely if self.missing is None else surely + float(self.missing.sum())

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """A member of each group among those of the parent."""
        first = np.empty(len(self.rows), dtype=np.int64)
        first[self.labels[::-1]] = np.arange(len(self.labels))[::-1]
        return first


class NodeChecker:
    """Checks nodes of a problem; each is rolled up from the smallest table below it."""

    def __init__(self, problem: Problem, *, needs_values: bool = False) -> None:
        self.problem = problem
        self.checked = 0
        judge = problem.judge
        self._is_simple = not judge.trials and not judge.has_units and not needs_values
        self._bottom = NodeTable(
            codes=np.ascontiguousarray(problem.table.codes.T),
            rows=problem.table.rows,
            table=None if self._is_simple else problem.table,
        )
        self._columns: dict[tuple[int, int], NDArray[np.int32]] = {}
        self._kept: list[NodeTable] = [self._bottom]
        self._nodes = np.zeros((1, len(problem.attributes)), dtype=np.int16)
        self._lengths = np.array([len(self._bottom)])
        self._room = _KEPT

    def check(self, node: Node) -> NodeCheck:
        """Return what happens at `node`."""
        self.checked += 1
        parent = self._nearest_table(node)
        labels, rows = _label_keys(*self._group_keys(parent.codes, node), parent.rows)
        if self._is_simple:
            held = rows >= self.problem.judge.k
            check = NodeCheck(node, parent, labels, rows, held, ~held)
        else:
            check = self._judge_node(node, parent, labels, rows)
        if self.problem.population is not None:
            check = self._check_population(check, self.problem.population)
        self._cache_table(check)
        return check

    def holds(self, check: NodeCheck) -> bool:
        """Return whether the node is a solution: within the limit, and no one left out in vain."""
        return check.is_whole and check.lost_rows <= self.problem.limit

    def excludes_lower(self, check: NodeCheck) -> bool:
        """Return whether no lower node can be a solution, given this one.

        Without suppression that is monotonicity; with it, rows that are lost on every lower node.
        """
        judge = self.problem.judge
        if check.least_lost > self.problem.limit + TOLERANCE:
            return True
        if judge.is_monotone and not check.is_whole:
            return True
        return judge.is_monotone and self.problem.limit == 0 and not self.holds(check)

    def _nearest_table(self, node: Node) -> NodeTable:
        below = (self._nodes <= node).all(axis=1)
        return self._kept[int(np.argmin(np.where(below, self._lengths, 2**62)))]

    def _group_keys(self, codes: NDArray[np.int32], node: Node) -> tuple[NDArray[np.integer], int]:
        """Return a key for the group of each member of a table, and a bound on them.

        Columns with many groups come first, and keys are renumbered before they spread too wide:
        then a table of counts can be filled, which is quicker than to sort.
        """
        attributes = self.problem.attributes
        wide = sorted(
            ((attributes[j].cardinalities[level], j, level) for j, level in enumerate(node)),
            reverse=True,
        )
        keys: NDArray[np.integer] = np.zeros(codes.shape[1], dtype=np.int32)
        bound, most = 1, _WIDEST * codes.shape[1] + 1024
        for cardinality, j, level in wide:
            if cardinality <= 1:
                break
            if bound > 1 and bound * cardinality > most:
                keys, bound = renumber_keys(keys.astype(np.int64, copy=False), bound)
            if bound * cardinality >= _NARROW and keys.dtype != np.int64:
                keys = keys.astype(np.int64)
            own = self._group_column(codes, j, level)
            keys = keys * cardinality + own if bound > 1 else own
            bound *= cardinality
        return keys, bound

    def _group_column(self, codes: NDArray[np.int32], j: int, level: int) -> NDArray[np.int32]:
        """Return the group of each member on a level of attribute j; remembered for the bottom."""
        if level == 0:
            return codes[j]
        if codes is not self._bottom.codes:
            return self._level_groups[j][level].take(codes[j])
        if (j, level) not in self._columns:
            self._columns[j, level] = self._level_groups[j][level].take(codes[j])
        return self._columns[j, level]

    @cached_property
    def _level_groups(self) -> list[list[NDArray[np.int32]]]:
        return [
            [groups.astype(np.int32) for groups in attribute.groups]
            for attribute in self.problem.attributes
        ]

    def _judge_node(
        self, node: Node, parent: NodeTable, labels: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NodeCheck:
        judge, table, count = self.problem.judge, _require_table(parent), len(rows)
        sizes = rows if table.people is None else table.sizes(labels, count)
        held = sizes >= judge.k
        sure, missing = ~held, np.zeros(count)
        values: dict[int, ClassHistograms] = {}
        for index, criterion in judge.trials:
            if not held.any():
                break
            if index not in values:
                values[index] = table.groups(index, labels, count, sizes=sizes)
            scores = criterion.measure.score(values[index], judge.overalls[index])
            failed = held & ~criterion.holds(values[index], scores)
            held &= ~failed
            if criterion.is_absorbing:
                sure |= failed
            # Where values are missing, shares are among the known ones, which implies less for
            # rows: there no row must go.
            elif not judge.has_units and judge.overalls[index].missing is None:
                share = np.where(failed, criterion.lost_share(scores), 0.0)
                missing = np.maximum(missing, share * rows)
        return NodeCheck(node, parent, labels, rows, held, sure, missing, values=values)

    def _check_population(self, check: NodeCheck, population: Population) -> NodeCheck:
        """Return the check with the criteria about the population tested as well."""
        problem = self.problem
        codes = np.concatenate([check.parent.codes[:, check.first], population.codes.T], axis=1)
        keys, bound = self._group_keys(codes, check.node)
        labels, count = renumber_keys(keys.astype(np.int64, copy=False), bound)
        groups, members = labels[: len(check.rows)], labels[len(check.rows) :]
        around = sum_by_label(members, population.people, count)
        among = around[groups]
        table = problem.table if check.parent.table is None else check.parent.table
        people = check.rows
        if table.people is not None:
            people = table.sizes(check.labels, len(check.rows))
        held, sure = check.held.copy(), check.sure.copy()
        missing = np.zeros(len(held)) if check.missing is None else check.missing.copy()
        is_whole = True
        for criterion in problem.judge.population:
            held &= ~criterion.fails(people, among)
            sure |= criterion.fails_in_parts(among)
            if not problem.judge.has_units:
                missing = np.maximum(missing, criterion.surplus(people, among))
        missing[held | sure] = 0.0
        if any(criterion.covers_everyone for criterion in problem.judge.population):
            covered = np.zeros(count, dtype=np.bool_)
            covered[groups] = held
            is_whole = bool(covered[around > 0].all())
        return replace(check, held=held, sure=sure, missing=missing, is_whole=is_whole)

    def _cache_table(self, check: NodeCheck) -> None:
        """Remember a table that is much smaller than what it came from."""
        size = len(check.rows)
        if size * 2 > len(check.parent):
            return
        price = len(check.labels) + size * len(check.node)
        if self._room < price:
            self._kept, self._room = [self._bottom], _KEPT
            self._nodes, self._lengths = self._nodes[:1], self._lengths[:1]
        self._room -= price
        merged = NodeTable(
            codes=np.ascontiguousarray(check.parent.codes[:, check.first]),
            rows=check.rows,
            table=None if self._is_simple else _merge(check),
            parent=check.parent,
            labels=check.labels,
        )
        self._kept.append(merged)
        self._nodes = np.concatenate([self._nodes, np.array([check.node], dtype=np.int16)])
        self._lengths = np.append(self._lengths, size)


def _label_keys(
    keys: NDArray[np.integer], bound: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the label of each key and the rows of each label."""
    if bound > _WIDEST * len(keys) + 1024:
        labels, count = renumber_keys(keys.astype(np.int64, copy=False), bound)
        return labels, sum_by_label(labels, rows, count)
    sums = np.bincount(keys, weights=rows, minlength=bound)
    held = np.flatnonzero(sums > 0)
    labels = np.empty(bound, dtype=np.int64)
    labels[held] = np.arange(len(held))
    return labels[keys], sums[held].astype(np.int64)


def _group_members(groups: NDArray[np.bool_], home: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(groups[home]) if groups.any() else np.empty(0, dtype=np.int64)


def _require_table(merged: NodeTable) -> Frequencies:
    if merged.table is None:
        raise Bug("A table without values was asked for them.")
    return merged.table


def _merge(check: NodeCheck) -> Frequencies:
    """Return the table at a checked node; histograms that were counted are not counted again."""
    table = _require_table(check.parent)
    if table.people is not None or len(check.values) < len(table.histograms):
        return table.merge(check.labels, len(check.rows))
    return Frequencies(
        codes=table.codes[:0],  # a merged table has its own
        rows=check.rows,
        histograms=tuple(
            Histogram(groups.owners, groups.codes, groups.counts)
            for _, groups in sorted(check.values.items())
        ),
    )
