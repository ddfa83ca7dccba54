"""Counts of coded rows: bounded and coded once inside the engine, then counted as often as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.answer.bounded_queries import keep_ranked_rows, weigh_rows
from discreet.answer.contribution import Contribution, contribution_limits
from discreet.domain.code_lookup import find_bucket, find_smallest, look_up_code, look_up_line
from discreet.domain.code_tree import CodeTree
from discreet.engines.scratch import ScratchEngine
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.rows import Rows
    from discreet.engines.engine import Engine

# A column, by its name or as one of several tables has it; what gives each of its cells a code from 0 on; and
# how many codes there are.
ColumnCode = tuple[str | exp.Column, Callable[[exp.Expr], exp.Expr], int]
Counts = NDArray[np.int64]
Codes = NDArray[Any]
Columns = tuple[int, ...]

# Marginals are counted together in blocks of at most so many cells, which stay in a processor's cache.
_BLOCK_CELLS = 1 << 12
# Up to so many codes of a column, or so many for each coarse one, are counted as they are, and added up afterwards.
_FINE_CODES = 64
_FINE_FOR_COARSE = 16
_SERVER_BLOCKS = 16  # that one query of a server counts
_LATE_WEIGHTS = 3  # columns whose weights are added to a kept score; more of them make another one
_FACTOR, _KEY, _COUNT, _ROWS = "discreet_f", "discreet_k", "discreet_n", "discreet_coded"
_SCORE, _BUCKET = "discreet_score", "discreet_bucket"
_LEAF, _DISTANCE = "discreet_leaf", "discreet_distance"


@dataclass(frozen=True)
class _Group:
    """A whole number from 0 to below `size` that rows are counted by."""

    number: exp.Expr
    size: int


@dataclass(frozen=True)
class _KeptScores:
    """A table of coded rows with the score that some weights give them."""

    source: exp.Table
    weights: list[NDArray[np.int64]]
    relation: exp.Table


class CodedCounter:
    """Counts the coded rows of one table; each unit counts no more than the policy allows.

    Guarantee: the rows of one unit change the counts of each marginal by at most `sensitivity` in
    all (in the L1 norm, and so in the L2 norm). A row counts `one`, or less if its unit has more rows
    than may count: then each of its t rows counts the R/t-th part, rounded down to a whole number.
    Rows are bounded before they are coded, so that all marginals are of the same rows.

    Rows stay in the engine, where `close` drops them; only counts of cells leave it. `lock` is the engine's, which
    `hold` takes for each look, if nothing has stopped it.
    """

    def __init__(
        self,
        rows: Rows,
        columns: Sequence[ColumnCode],
        engine: Engine,
        *,
        lock: AbstractContextManager[Any] | None = None,
        hold: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self._lock = lock or nullcontext()
        self._hold = hold or (lambda: self._lock)
        self.limit = counting_limit(rows)
        self._names = [f"c{place}" for place in range(len(columns))]
        self._sizes = [size for _, _, size in columns]
        self._query = coded_query(rows, columns, self.limit)
        self._engine = ScratchEngine(engine)
        self._relation: exp.Table | None = None
        self._coarse: tuple[tuple[bytes, ...], exp.Table] | None = None
        self._weighed: dict[str, tuple[bytes, exp.Expr]] = {}
        self._scored: _KeptScores | None = None
        self._last_weights: list[NDArray[np.int64]] = []
        self.has_counted = False

    @property
    def one(self) -> int:
        """What a row counts whose unit has no more rows than may count."""
        return self.limit.one

    @property
    def sensitivity(self) -> int:
        """The most that one unit changes the counts of one marginal, in units of which a row has `one`."""
        return self.limit.rows * self.limit.one * self.limit.change

    def count(self, columns: Sequence[Columns], maps: Sequence[Codes] | None) -> list[Counts]:
        """Return the counts of each of `columns`, of codes or of the coarser ones that `maps` gives them."""
        wanted = [tuple(sorted(some)) for some in columns]
        coarse = _coarsen_in_engine(maps, self._sizes)
        with self._hold():
            blocks, sizes, found = self._count_in_blocks(wanted, coarse)
        self.has_counted = True
        holder = {some: _smallest_block(some, blocks, sizes) for some in set(wanted)}
        return [
            _sum_codes(_sum_block(found[holder[some]], holder[some], order), order, maps, coarse)
            for some, order in zip(wanted, columns, strict=True)
        ]

    def count_scored(
        self,
        weights: Sequence[NDArray[np.int64]],
        cuts: Sequence[int],
        columns: Sequence[Columns],
        maps: Sequence[Codes] | None = None,
    ) -> list[Counts]:
        """Return the counts of each of `columns` by how many of `cuts` a row's score reaches, the first axis.

        A row's score is the sum of the weights of its codes, or of the coarser ones that `maps` gives them. As
        in any marginal, each row counts once.
        """
        with self._hold():
            relation, sizes = self._coarsen_rows(maps)
            used = tuple(sorted({one for some in columns for one in some}))
            scored = self._score_rows(relation, weights, used)
            bucket = build.cast_tree(
                find_bucket(build.column(_SCORE), cuts), exp.DataType.Type.BIGINT
            )
            # The bucket is found once for a row, though it is part of each key.
            found_bucket = self._select_coded(
                {_BUCKET: bucket}, build.subquery(scored, _ROWS), used
            )
            rows = build.subquery(found_bucket, _ROWS)
            group = _Group(build.column(_BUCKET), len(cuts) + 1)
            found = self._count_groups(rows, [(group, some) for some in columns], sizes)
        self.has_counted = True
        return found

    def count_by_leaf(self, looks: Sequence[tuple[CodeTree, Columns]]) -> list[Counts]:
        """Return the counts of some columns by the leaf of a tree that a row falls into, the first axis.

        All looks are one query. As in any marginal, each row counts once.
        """
        trees = {id(tree): tree for tree, _ in looks}
        names = {key: f"{_LEAF}{number}" for number, key in enumerate(trees)}
        codes = [build.column(name) for name in self._names]
        leaves = {names[key]: tree.leaf_expression(codes) for key, tree in trees.items()}
        groups = {
            key: _Group(build.column(names[key]), len(tree.leaves)) for key, tree in trees.items()
        }
        with self._hold():
            rows = self._select_coded(leaves, self.store_rows())
            wanted = [(groups[id(tree)], columns) for tree, columns in looks]
            found = self._count_groups(build.computed_once(rows, _ROWS), wanted, self._sizes)
        self.has_counted = True
        return found

    def count_by_center(
        self, distances: Sequence[NDArray[np.int64] | None], columns: Sequence[Columns]
    ) -> list[Counts]:
        """Return the counts of each of `columns` by the center that a row is nearest to, the first axis.

        A row's distance to a center is the sum of what `distances` has for its codes: an array of codes by
        centers for each column, None for one that adds nothing. Of equally near centers the first counts.
        """
        count = next(one.shape[1] for one in distances if one is not None)
        named = {
            f"{_DISTANCE}{center}": self._add_distances(distances, center)
            for center in range(count)
        }
        with self._hold():
            far = self._select_coded(named, self.store_rows())
            nearest = find_smallest([build.column(name) for name in named])
            found = self._count_places(_Group(nearest, count), far, columns)
        self.has_counted = True
        return found

    def count_by_forest(
        self,
        trees: Sequence[CodeTree],
        weights: Sequence[NDArray[np.int64]],
        cuts: Sequence[int],
        columns: Sequence[Columns],
    ) -> list[Counts]:
        """Return the counts of each of `columns` by what the leaves that a row falls into weigh in all, the first axis.

        `weights` has for each tree an array of leaves by scores. Of one score it counts how many of `cuts` the sum
        reaches; of several the place of the largest sum, of equal ones the first.
        """
        codes = [build.column(name) for name in self._names]
        leaves = {
            f"{_LEAF}{number}": tree.leaf_expression(codes) for number, tree in enumerate(trees)
        }
        count = weights[0].shape[1]
        sums = {
            f"{_DISTANCE}{place}": _add_up(
                build.cast_tree(
                    look_up_code(build.column(name), -one[:, place]), exp.DataType.Type.BIGINT
                )
                for name, one in zip(leaves, weights, strict=True)
            )
            for place in range(count)
        }
        below = [build.column(name) for name in sums]  # what is weighed, with the sign changed
        group = _Group(find_smallest(below), count)
        if count == 1:
            group = _Group(find_bucket(exp.Neg(this=below[0]), cuts), len(cuts) + 1)
        with self._hold():
            fallen = build.computed_once(self._select_coded(leaves, self.store_rows()), _ROWS)
            found = self._count_places(group, self._select_coded(sums, fallen), columns)
        self.has_counted = True
        return found

    def _count_places(
        self, place: _Group, rows: exp.Select, columns: Sequence[Columns]
    ) -> list[Counts]:
        """Return the counts of each of `columns` by a number that is found once for each row."""
        named = {_LEAF: place.number}
        placed = self._select_coded(named, build.computed_once(rows, _ROWS))
        group = _Group(build.column(_LEAF), place.size)
        source = build.computed_once(placed, _ROWS)
        return self._count_groups(source, [(group, some) for some in columns], self._sizes)

    def _score_rows(
        self, relation: exp.Table, weights: Sequence[NDArray[np.int64]], used: Columns
    ) -> exp.Select:
        """Return the coded rows with their scores and the columns that are used.

        Where few weights change from look to look, as in boosting, scores are kept in the engine, and the weights
        that changed since are added to them: the sum of whole numbers is the same.
        """
        is_local = self._engine.file_engine is not None
        moved = len(_list_changes(self._last_weights, weights))
        self._last_weights = list(weights)
        if not is_local or moved > _LATE_WEIGHTS:
            return self._select_coded({_SCORE: self._add_weights(weights)}, relation, used)
        kept = self._scored
        if kept is None or kept.source != relation:
            kept = _KeptScores(relation, [np.zeros_like(one) for one in weights], relation)
        late = _list_changes(kept.weights, weights)
        terms = [self._change_weight(place, kept.weights, weights) for place in late]
        if kept.relation != kept.source:
            terms.insert(0, build.column(_SCORE))
        named = {_SCORE: _add_up(terms)}
        if len(late) <= _LATE_WEIGHTS:
            return self._select_coded(named, kept.relation, used)
        before = self._scored
        stored = self._engine.keep(self._select_coded(named, kept.relation))
        self._scored = _KeptScores(relation, list(weights), stored)
        if before is not None:
            self._engine.drop(before.relation)
        return self._select_coded({_SCORE: build.column(_SCORE)}, stored, used)

    def _change_weight(
        self, place: int, before: Sequence[NDArray[np.int64]], after: Sequence[NDArray[np.int64]]
    ) -> exp.Expr:
        """Return by how much a column's code weighs more than before."""
        found = look_up_code(build.column(self._names[place]), after[place] - before[place])
        return build.cast_tree(found, exp.DataType.Type.BIGINT)

    def _select_coded(
        self, named: Mapping[str, exp.Expr], relation: exp.Expr, used: Columns | None = None
    ) -> exp.Select:
        """Return the coded rows with further columns; of their own those that are used, by default all."""
        places = range(len(self._names)) if used is None else used
        names = [self._names[place] for place in places] + ([_FACTOR] if self.one > 1 else [])
        kept = {name: build.column(name) for name in names}
        return build.select_named({**named, **kept}, source=_copy_table(relation))

    def _count_groups(
        self, rows: exp.Expr, looks: Sequence[tuple[_Group, Columns]], sizes: Sequence[int]
    ) -> list[Counts]:
        """Return the counts of some columns of `rows` by a group, which is the first axis."""
        packed: list[exp.Expr] = []
        for group, some in looks:
            cells = math.prod(sizes[one] for one in some)
            scaled = exp.Mul(
                this=exp.Paren(this=group.number.copy()), expression=build.number(cells)
            )
            code = build.cast_tree(self._pack_codes(some, sizes), exp.DataType.Type.BIGINT)
            packed.append(exp.Add(this=scaled, expression=code) if some else group.number.copy())
        shapes = [(group.size, *(sizes[one] for one in some)) for group, some in looks]
        return self._count_keys(rows, packed, shapes)

    def _add_weights(self, weights: Sequence[NDArray[np.int64]]) -> exp.Expr:
        """Return the sum of the weights of a row's codes."""
        terms = [
            self._weigh_code(name, codes)
            for name, codes in zip(self._names, weights, strict=True)
            if np.any(codes)
        ]
        return _add_up(terms)

    def _add_distances(
        self, distances: Sequence[NDArray[np.int64] | None], center: int
    ) -> exp.Expr:
        """Return the distance of a row to one center."""
        return _add_up(
            build.cast_tree(
                look_up_line(build.column(name), one[:, center]), exp.DataType.Type.BIGINT
            )
            for name, one in zip(self._names, distances, strict=True)
            if one is not None
        )

    def _weigh_code(self, name: str, weights: NDArray[np.int64]) -> exp.Expr:
        """Return the weight of a column's code; the last ones are kept, as most stay for the next query."""
        key = weights.tobytes()
        if name not in self._weighed or self._weighed[name][0] != key:
            found = look_up_code(build.column(name), weights)
            self._weighed[name] = key, build.cast_tree(found, exp.DataType.Type.BIGINT)
        return self._weighed[name][1]

    def close(self) -> None:
        """Drop the coded rows."""
        with self._lock:
            self._engine.close()

    def store_rows(self) -> exp.Table:
        """Code and bound the rows inside the engine, if that was not done yet, and return their table."""
        if self._relation is None:
            self._relation = self._engine.keep(self._query)
        return self._relation

    def _count_in_blocks(
        self, wanted: Sequence[Columns], maps: Sequence[Codes] | None
    ) -> tuple[list[Columns], list[int], dict[Columns, Counts]]:
        """Return the blocks that hold all of `wanted`, the sizes of columns, and the counts of each block."""
        relation, sizes = self._coarsen_rows(maps)
        is_local = self._engine.file_engine is not None
        blocks = cover_marginals(wanted, sizes, most_cells=_BLOCK_CELLS)
        step = 1 if is_local else _SERVER_BLOCKS
        found: dict[Columns, Counts] = {}
        for first in range(0, len(blocks), step):
            some = blocks[first : first + step]
            found |= zip(some, self._count_blocks(relation, some, sizes), strict=True)
        return blocks, sizes, found

    def _coarsen_rows(self, maps: Sequence[Codes] | None) -> tuple[exp.Table, list[int]]:
        """Return the table of coarser codes, and how many each column has."""
        relation = self.store_rows()
        if maps is None:
            return relation, self._sizes
        sizes = [_count_codes(codes) for codes in maps]
        key = tuple(np.asarray(codes, np.int64).tobytes() for codes in maps)
        if self._coarse is None or self._coarse[0] != key:
            if self._coarse is not None:
                self._engine.drop(self._coarse[1])
                self._coarse = None
            named: dict[str, exp.Expr] = {
                name: build.cast_tree(look_up_code(build.column(name), codes), _integer_type(size))
                for name, codes, size in zip(self._names, maps, sizes, strict=True)
            }
            if self.one > 1:
                named[_FACTOR] = build.column(_FACTOR)
            query = build.select_named(named, source=relation.copy())
            self._coarse = key, self._engine.keep(query)
        return self._coarse[1], sizes

    def _count_blocks(
        self, relation: exp.Table, blocks: Sequence[Columns], sizes: Sequence[int]
    ) -> list[Counts]:
        """Return the dense counts of each block; those of one query are its grouping sets."""
        packed = [self._pack_codes(some, sizes) for some in blocks]
        return self._count_keys(relation, packed, [[sizes[one] for one in some] for some in blocks])

    def _count_keys(
        self, source: exp.Expr, packed: Sequence[exp.Expr], shapes: Sequence[Sequence[int]]
    ) -> list[Counts]:
        """Return the dense counts of rows by each of some whole numbers, which pack the codes of a shape."""
        keys = [f"{_KEY}{number}" for number in range(len(packed))]
        named = dict(zip(keys, packed, strict=True))
        if self.one > 1:
            named[_FACTOR] = build.column(_FACTOR)
        inner = build.subquery(build.select_named(named, source=_copy_table(source)), _ROWS)
        total = build.sum_integers(build.column(_FACTOR)) if self.one > 1 else build.count_star()
        columns = [build.column(key) for key in keys]
        wanted = {key: column.copy() for key, column in zip(keys, columns, strict=True)}
        query = build.select_named({**wanted, _COUNT: total}, source=inner)
        sets = [exp.Tuple(expressions=[column.copy()]) for column in columns]
        if len(packed) == 1:
            query = query.group_by(columns[0].copy(), copy=False)
        else:
            query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        table = self._engine.run(query)
        numbers = _read_integers(table, _COUNT)
        return [
            _spread_counts(table, key, numbers, list(shape))
            for key, shape in zip(keys, shapes, strict=True)
        ]

    def _pack_codes(self, columns: Columns, sizes: Sequence[int]) -> exp.Expr:
        """Return one whole number for the codes of `columns`, whose last one varies quickest."""
        cells = math.prod(sizes[one] for one in columns)
        kind = exp.DataType.Type.INT if cells < 1 << 31 else exp.DataType.Type.BIGINT
        packed: exp.Expr = build.cast_tree(build.number(0), kind)
        for place, one in enumerate(columns):
            code = build.cast_tree(build.column(self._names[one]), kind)
            if place == 0:
                packed = code
                continue
            scaled = exp.Mul(this=packed, expression=build.number(sizes[one]))
            packed = exp.Paren(this=exp.Add(this=scaled, expression=code))
        return packed


def _copy_table(source: exp.Expr) -> exp.Expr:
    """Return a table's name for one more query; a subquery has been made for it."""
    return source.copy() if isinstance(source, exp.Table) else source


def _list_changes(
    before: Sequence[NDArray[np.int64]], after: Sequence[NDArray[np.int64]]
) -> list[int]:
    """Return the columns whose weights are not what they were; before the first look all were 0."""
    if not before:
        return [place for place, one in enumerate(after) if np.any(one)]
    pairs = enumerate(zip(before, after, strict=True))
    return [place for place, (old, new) in pairs if not np.array_equal(old, new)]


def counting_limit(rows: Rows) -> Contribution:
    """Return what bounds a unit's contribution to every marginal of `rows`.

    Raises:
        QuestionRefused: The unit may have any number of rows, and the policy sets no limit.
    """
    return contribution_limits(rows, has_keys=True, needs_groups=False)


def coded_query(rows: Rows, columns: Sequence[ColumnCode], limit: Contribution) -> exp.Select:
    """Return the query for the coded rows that count, each with the factor it counts with, if it has one."""
    rows, factor = weigh_rows(keep_ranked_rows(rows, limit), limit)
    wanted = [
        build.alias_as(
            build.cast_tree(
                code(rows.resolve(_named_column(column)).tree.copy()), _integer_type(size)
            ),
            f"c{place}",
        )
        for place, (column, code, size) in enumerate(columns)
    ]
    if factor is not None:
        wanted.append(build.alias_as(build.cast_tree(factor, exp.DataType.Type.INT), _FACTOR))
    return rows.frame.copy().select(*wanted, copy=False)


def _named_column(column: str | exp.Column) -> exp.Column:
    return build.column(column) if isinstance(column, str) else column


def cover_marginals(
    wanted: Iterable[Columns], sizes: Sequence[int], *, most_cells: int
) -> list[Columns]:
    """Return sets of columns of which every one of `wanted` is part of one.

    A look at all rows costs more than some cells, so that several marginals are counted as one table of
    at most `most_cells`; a marginal that is larger is counted alone.

    >>> cover_marginals([(0, 1), (0, 2), (1, 2), (3,)], [4, 4, 4, 99], most_cells=64)
    [(3,), (0, 1, 2)]
    """
    left = dict.fromkeys(sorted(set(wanted), key=lambda some: -_count_cells(some, sizes)))
    blocks: list[Columns] = []
    while left:
        block = set(next(iter(left)))
        cells = _count_cells(block, sizes)
        while True:
            gains: dict[int, int] = {}
            for some in left:
                missing = [one for one in some if one not in block]
                if len(missing) == 1 and cells * sizes[missing[0]] <= most_cells:
                    gains[missing[0]] = gains.get(missing[0], 0) + 1
            if not gains:
                break
            # The most marginals for the fewest cells.
            best = max(sorted(gains), key=lambda one: gains[one] / math.log(1 + sizes[one]))
            block.add(best)
            cells *= sizes[best]
        blocks.append(tuple(sorted(block)))
        left = {some: None for some in left if not block.issuperset(some)}
    return blocks


def _count_cells(columns: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[one] for one in columns)


def _smallest_block(columns: Columns, blocks: Sequence[Columns], sizes: Sequence[int]) -> Columns:
    holders = [block for block in blocks if set(block).issuperset(columns)]
    return min(holders, key=lambda block: _count_cells(block, sizes))


def _sum_block(counts: Counts, block: Columns, order: Columns) -> Counts:
    """Return the counts of some columns of a block, in their order."""
    kept = [one for one in block if one in order]
    dropped = tuple(place for place, one in enumerate(block) if one not in order)
    found = counts.sum(axis=dropped) if dropped else counts
    return np.ascontiguousarray(np.transpose(found, [kept.index(one) for one in order]))


def _spread_counts(table: Any, key: str, numbers: Counts, shape: list[int]) -> Counts:
    """Return the counts of all cells, also of those without a row."""
    places, cells = _read_integers(table, key), math.prod(shape)
    is_cell = ~np.asarray(table.column(key).is_null()) & (places >= 0) & (places < cells)
    counts = np.zeros(cells, np.int64)
    counts[places[is_cell]] = numbers[is_cell]
    return counts.reshape(shape)


def _read_integers(table: Any, name: str) -> Counts:
    column = table.column(name).combine_chunks().fill_null(0)
    return column.cast("int64").to_numpy(zero_copy_only=False)


def _integer_type(size: int) -> exp.DataType:
    """Return the narrowest type that holds codes below `size`."""
    kind = exp.DataType.Type
    if size <= 1 << 7:
        return exp.DataType.build(kind.TINYINT)
    return exp.DataType.build(kind.SMALLINT if size <= 1 << 15 else kind.INT)


def _coarsen_in_engine(
    maps: Sequence[Codes] | None, sizes: Sequence[int]
) -> Sequence[Codes] | None:
    """Return the coarser codes that the engine gives the rows; those of columns with few codes stay fine.

    To give each row another code costs more than to count some more cells and to add them up.
    """
    if maps is None:
        return None
    is_fine = [
        size <= min(_FINE_CODES, _FINE_FOR_COARSE * _count_codes(codes))
        for size, codes in zip(sizes, maps, strict=True)
    ]
    if all(is_fine):
        return None
    return [
        np.arange(size) if fine else codes
        for fine, size, codes in zip(is_fine, sizes, maps, strict=True)
    ]


def _sum_codes(
    counts: Counts, columns: Columns, maps: Sequence[Codes] | None, done: Sequence[Codes] | None
) -> Counts:
    """Return the counts of coarser codes, for the columns that the engine counted by fine ones."""
    if maps is None:
        return counts
    for axis, one in enumerate(columns):
        if done is not None and done[one] is maps[one]:
            continue
        codes = np.asarray(maps[one])
        summed = np.zeros((_count_codes(codes), *np.delete(counts.shape, axis)), np.int64)
        np.add.at(summed, codes, np.moveaxis(counts, axis, 0))
        counts = np.moveaxis(summed, 0, axis)
    return np.ascontiguousarray(counts)


def _count_codes(codes: Codes) -> int:
    return int(np.max(codes)) + 1


def _add_up(terms: Iterable[exp.Expr]) -> exp.Expr:
    """Return a sum of whole numbers of 64 bits."""
    total: exp.Expr = build.cast_tree(build.number(0), exp.DataType.Type.BIGINT)
    for term in terms:
        # In brackets, so that rendering has none to add: it would copy all terms so far for each term.
        total = exp.Paren(this=exp.Add(this=total, expression=term))
    return total
