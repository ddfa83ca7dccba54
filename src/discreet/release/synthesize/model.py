"""A fitted table, rows from it, and its content for a file: all of it is post-processing of noisy counts."""

from __future__ import annotations

import base64
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.random import Generator as Chance
from numpy.typing import NDArray

from discreet.errors import UnreadableSource
from discreet.release.synthesize.candidates import MEAN_ERROR, Candidate
from discreet.release.synthesize.fit import FittedTable, sum_coarse
from discreet.release.synthesize.junction_tree import Codes, Floats, JunctionTree
from discreet.release.synthesize.refine import refine_rows
from discreet.release.synthesize.resolutions import Resolutions
from discreet.release.synthesize.rules import (
    DependencyRule,
    ImpossibleRule,
    Rows,
    RuleSystem,
    find_possible_row,
    has_impossible,
)
from discreet.release.synthesize.sample import sample_rows
from discreet.release.synthesize.sample_given import sample_rows_given

# The version of the content; it changes when older programs could not read it.
VERSION = 1
_FEW = 32
# How often rows that break a rule are drawn again, before possible ones take their place.
_MOST_DRAWS = 50

Content = Mapping[str, Any]


@dataclass(frozen=True)
class FittedColumns:
    """The fitted columns one by one.

    Attributes:
        total: The number of rows, from noisy counts.
        counts: The noisy count of each value.
        scales: The standard error of these counts.
        frequencies: The share of each value.
        resolutions: How coarsely each column can be seen.
    """

    total: float
    counts: tuple[Floats, ...]
    scales: tuple[float, ...]
    frequencies: tuple[Floats, ...]
    resolutions: tuple[Resolutions, ...]

    @cached_property
    def finest_frequencies(self) -> tuple[Floats, ...]:
        """The share of each finest code."""
        return tuple(
            sum_coarse(shares, [one.finest], [one.sizes[-1]])
            for shares, one in zip(self.frequencies, self.resolutions, strict=True)
        )

    @property
    def expected_error(self) -> float:
        """The share of rows that noise puts at a wrong value of a column, on average over columns.

        A column of many values counts as one of few, of which each has several: that much of it is used.
        """
        errors = [
            scale * math.sqrt(len(one) * min(len(one), _FEW))
            for scale, one in zip(self.scales, self.counts, strict=True)
        ]
        return MEAN_ERROR * sum(errors) / (2 * self.total * len(errors))


@dataclass(frozen=True)
class SyntheticModel:
    """A fitted table, from which rows are drawn.

    Columns that follow from others are not fitted: `columns`, `table`, `levels` and `chosen` know the
    fitted ones only, and `rules.places` says which columns of the table these are.

    Attributes:
        columns: The fitted columns one by one.
        table: The distribution of their working values.
        levels: The level of resolution that each column is fitted at.
        chosen: The marginals that were measured.
        scales: The standard error of the counts of each of them, in rows.
        rules: What holds in every row, and how columns that are not fitted follow.
    """

    columns: FittedColumns
    table: FittedTable
    levels: tuple[int, ...]
    chosen: tuple[Candidate, ...]
    scales: tuple[float, ...]
    rules: RuleSystem

    @property
    def measured_columns(self) -> list[tuple[int, ...]]:
        """The columns of each measured marginal, as places in the table."""
        places = self.rules.places
        return [tuple(places[column] for column in one.columns) for one in self.chosen]

    def sample(self, count: int, chance: Chance | None = None) -> Rows:
        """Return `count` rows of all columns, each value as its place in its column's domain.

        Guarantee: every rule holds in every row.

        Args:
            count: How many rows.
            chance: Where randomness comes from; without it, from the operating system.
        """
        chance = np.random.default_rng() if chance is None else chance
        return self._sample_possible(np.zeros((count, 0), np.int32), chance)

    def sample_given(self, known: Rows, chance: Chance) -> Rows:
        """Return one row for each of `known`, which has the first columns; the others are drawn given these.

        Guarantee: the first columns are those of `known`, and every rule of other columns holds in every
        row. No rule may be about the first columns.
        """
        return self._sample_possible(np.asarray(known, np.int32), chance)

    def _sample_possible(self, known: Rows, chance: Chance) -> Rows:
        zeros = self.rules.fitted_zeros
        rows = self._sample_fine(known, zeros, chance)
        broken = np.nonzero(has_impossible(rows, zeros))[0]
        for _ in range(_MOST_DRAWS):
            if not len(broken):
                break
            rows[broken] = self._sample_fine(known[broken], zeros, chance)
            broken = broken[has_impossible(rows[broken], zeros)]
        if len(broken):
            rows[broken] = self._replace_rows(rows, broken, zeros, chance)
            rows[broken, : known.shape[1]] = known[broken]
        return self.rules.derive(rows)

    def sample_finest(self, count: int, chance: Chance) -> Rows:
        """Return `count` rows of finest codes of the fitted columns, to compare with counts of them."""
        columns = self.columns
        coarse = [
            one.levels[level] for one, level in zip(columns.resolutions, self.levels, strict=True)
        ]
        rows = sample_rows(self.table, count, chance)
        return refine_rows(rows, coarse, columns.finest_frequencies, (), chance)

    def to_content(self) -> dict[str, Any]:
        """Return what a file needs to hold, as JSON can write it; see `from_content`.

        An array is written as its `type` (`float64`, `int64` or `bool`), its `shape` and its `data`: the
        bytes of its numbers in C order, little-endian, in base64; truth values are packed, eight to a
        byte. The content has noisy counts, public codes and rules, and nothing else.
        """
        found, tree = self.columns, self.table.tree
        return {
            "version": VERSION,
            "total": found.total,
            "columns": [
                {
                    "counts": array_content(counts),
                    "scale": scale,
                    "frequencies": array_content(shares),
                    "finest": array_content(one.finest),
                    "levels": [array_content(codes) for codes in one.levels],
                }
                for counts, scale, shares, one in zip(
                    found.counts, found.scales, found.frequencies, found.resolutions, strict=True
                )
            ],
            "cliques": [
                {"columns": list(columns), "parent": parent, "beliefs": array_content(beliefs)}
                for columns, parent, beliefs in zip(
                    tree.cliques, tree.parents, self.table.beliefs, strict=True
                )
            ],
            "order": list(tree.order),
            "levels": list(self.levels),
            "measured": [
                {"columns": list(one.columns), "level": one.level, "scale": scale}
                for one, scale in zip(self.chosen, self.scales, strict=True)
            ],
            "rules": _rules_content(self.rules),
        }

    @classmethod
    def from_content(cls, content: Content) -> SyntheticModel:
        """Return the model that `to_content` wrote; rows from it have the same distribution.

        Raises:
            UnreadableSource: The content is of another version, or contradicts itself.
        """
        with _reading_content():
            if content["version"] != VERSION:
                raise ValueError("version")
            columns = _columns_from_content(content)
            levels = tuple(int(one) for one in content["levels"])
            sizes = [
                one.sizes[level] for one, level in zip(columns.resolutions, levels, strict=True)
            ]
            chosen = tuple(
                _candidate_from_content(one, columns.resolutions) for one in content["measured"]
            )
            return cls(
                columns,
                _table_from_content(content, sizes),
                levels,
                chosen,
                tuple(float(one["scale"]) for one in content["measured"]),
                _rules_from_content(content["rules"], columns),
            )

    def _sample_fine(self, known: Rows, zeros: Sequence[ImpossibleRule], chance: Chance) -> Rows:
        columns, (count, given) = self.columns, known.shape
        coarse = [
            one.of_values(level)
            for one, level in zip(columns.resolutions, self.levels, strict=True)
        ]
        if not given:
            rows = sample_rows(self.table, count, chance)
            return refine_rows(rows, coarse, columns.frequencies, zeros, chance)
        working = {place: coarse[place][known[:, place]].astype(np.int32) for place in range(given)}
        rows = sample_rows_given(self.table, working, count, chance)
        rows = refine_rows(rows, coarse, columns.frequencies, zeros, chance)
        rows[:, :given] = known
        return rows

    def _replace_rows(
        self,
        rows: Rows,
        broken: NDArray[np.intp],
        zeros: Sequence[ImpossibleRule],
        chance: Chance,
    ) -> Rows:
        """Return possible rows: others of `rows` or, if none is possible, the first one that is."""
        possible = np.setdiff1d(np.arange(len(rows)), broken)
        if len(possible):
            return rows[chance.choice(possible, len(broken))]
        sizes = [len(one) for one in self.columns.frequencies]
        return np.repeat(find_possible_row(zeros, sizes)[None], len(broken), axis=0)


def array_content(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of numbers or truth values, as JSON can write it.

    >>> import numpy as np
    >>> array_content(np.array([1, 2]))
    {'type': 'int64', 'shape': [2], 'data': 'AQAAAAAAAAACAAAAAAAAAA=='}
    """
    if array.dtype == np.bool_:
        kind, raw = "bool", np.packbits(array.ravel()).tobytes()
    else:
        kind = "float64" if np.issubdtype(array.dtype, np.floating) else "int64"
        raw = np.ascontiguousarray(array, np.dtype(kind).newbyteorder("<")).tobytes()
    return {"type": kind, "shape": list(array.shape), "data": base64.b64encode(raw).decode("ascii")}


def array_from_content(content: Content, kind: str) -> NDArray[Any]:
    """Return the array that `array_content` wrote.

    Raises:
        ValueError: It is of another kind than `kind`, or has another number of values than it says.

    >>> import numpy as np
    >>> array_from_content(array_content(np.array([True, False])), "bool")
    array([ True, False])
    """
    if content["type"] != kind:
        raise ValueError(kind)
    raw = base64.b64decode(content["data"], validate=True)
    shape = [int(one) for one in content["shape"]]
    if kind == "bool":
        count = prod(shape)
        if min(shape, default=1) < 0 or len(raw) != (count + 7) // 8:
            raise ValueError("size")  # `unpackbits` would pad as many values as are asked for
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=count)
        return bits.astype(bool).reshape(shape)
    native = {"float64": np.float64, "int64": np.intp}[kind]
    return np.frombuffer(raw, np.dtype(kind).newbyteorder("<")).astype(native).reshape(shape)


@contextmanager
def _reading_content() -> Generator[None]:
    """Translate what wrong content leads to."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        raise UnreadableSource(
            "The model of the synthetic table cannot be read: its content is damaged or was written "
            "by another version. Synthesize the table again, or use the version that wrote it."
        ) from None


def _read_chances(content: Content, shape: Sequence[int]) -> Floats:
    chances = array_from_content(content, "float64")
    if list(chances.shape) != list(shape) or not (np.isfinite(chances) & (chances >= 0)).all():
        raise ValueError("chances")
    return chances


def _read_codes(content: Content, shape: Sequence[int], below: int | None = None) -> Codes:
    codes = array_from_content(content, "int64")
    if list(codes.shape) != list(shape) or not codes.size or codes.min() < 0:
        raise ValueError("codes")
    if below is not None and codes.max() >= below:
        raise ValueError("codes")
    return codes


def _columns_from_content(content: Content) -> FittedColumns:
    counts: list[Floats] = []
    shares: list[Floats] = []
    resolutions: list[Resolutions] = []
    for one in content["columns"]:
        noisy = array_from_content(one["counts"], "float64")
        finest = _read_codes(one["finest"], noisy.shape)
        size = int(finest.max()) + 1
        levels = tuple(_read_codes(each, [size], below=size) for each in one["levels"])
        counts.append(noisy)
        shares.append(_read_chances(one["frequencies"], noisy.shape))
        sizes = tuple(int(each.max()) + 1 for each in levels)
        resolutions.append(Resolutions(finest, levels, sizes))
    scales = tuple(float(one["scale"]) for one in content["columns"])
    return FittedColumns(
        float(content["total"]), tuple(counts), scales, tuple(shares), tuple(resolutions)
    )


def _candidate_from_content(content: Content, resolutions: Sequence[Resolutions]) -> Candidate:
    columns = tuple(int(one) for one in content["columns"])
    level = int(content["level"])
    return Candidate(columns, level, tuple(resolutions[one].sizes[level] for one in columns))


def _table_from_content(content: Content, sizes: Sequence[int]) -> FittedTable:
    cliques = content["cliques"]
    columns = tuple(tuple(int(column) for column in one["columns"]) for one in cliques)
    parents = tuple(int(one["parent"]) for one in cliques)
    order = tuple(int(one) for one in content["order"])
    ranks = {place: rank for rank, place in enumerate(order)}
    is_tree = sorted(order) == list(range(len(cliques))) and all(
        ranks[parent] < ranks[place] if place != order[0] else parent == -1
        for place, parent in enumerate(parents)
    )
    if not is_tree or {one for some in columns for one in some} != set(range(len(sizes))):
        raise ValueError("cliques")
    tree = JunctionTree(tuple(sizes), columns, parents, order)
    beliefs = [
        _read_chances(one["beliefs"], shape)
        for one, shape in zip(cliques, tree.shapes, strict=True)
    ]
    return FittedTable(tree, beliefs)


def _rules_content(rules: RuleSystem) -> dict[str, Any]:
    return {
        "sizes": list(rules.sizes),
        "places": list(rules.places),
        "derived": [
            {
                "column": one.column,
                "determinants": list(one.determinants),
                "codes": array_content(one.codes),
            }
            for one in rules.derivations
        ],
        "impossible": [
            {"columns": list(one.columns), "cells": array_content(one.cells)} for one in rules.zeros
        ],
    }


def _rules_from_content(content: Content, columns: FittedColumns) -> RuleSystem:
    sizes = tuple(int(one) for one in content["sizes"])
    places = tuple(int(one) for one in content["places"])
    derivations: list[DependencyRule] = []
    for one in content["derived"]:
        column = int(one["column"])
        determinants = tuple(int(each) for each in one["determinants"])
        shape = [sizes[each] for each in determinants]
        codes = _read_codes(one["codes"], shape, below=sizes[column])
        derivations.append(DependencyRule(column, determinants, codes))
    zeros: list[ImpossibleRule] = []
    for one in content["impossible"]:
        some = tuple(int(each) for each in one["columns"])
        cells = array_from_content(one["cells"], "bool")
        if list(cells.shape) != [sizes[each] for each in some] or not set(some) <= set(places):
            raise ValueError("impossible")
        zeros.append(ImpossibleRule(some, cells))
    everywhere = sorted([*places, *(one.column for one in derivations)])
    fitted = [len(one) for one in columns.frequencies]
    if everywhere != list(range(len(sizes))) or [sizes[one] for one in places] != fitted:
        raise ValueError("places")
    return RuleSystem(sizes, places, tuple(derivations), tuple(zeros))
