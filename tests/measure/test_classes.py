"""Classes as the engine groups them: what belongs together, what stands alone, what is no class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.measure.classes import _whole_classes, histogram, sizes_query
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.measure.classes import Cells, ClassHistograms


def sizes_of(cells: Cells) -> list[int]:
    return sorted(cells.subject.table.engine.run(sizes_query(cells))["size"].to_pylist())


def test_a_row_that_misses_every_value_stays_a_class_beside_suppressed_rows(cells_of):
    table = pa.table({"a": ["*", "*", None, None, "x"], "b": ["*", None, None, None, "y"]})
    cells = cells_of(table, ["a", "b"])
    assert cells.suppressed == 1  # a gap beside a `*` is a value
    assert sizes_of(cells) == [1, 1, 2]


@pytest.mark.parametrize("name", ["value", "code", "rows", "t", "d0", "k0", "s0", "size", "unit"])
def test_a_column_may_have_any_name_the_queries_use_themselves(cells_of, name):
    table = pa.table({name: ["*", "x", "x"], "other": ["*", "y", "y"], "ill": ["a", "b", "b"]})
    cells = cells_of(table, [name, "other"], ["ill"])
    assert (cells.suppressed, sizes_of(cells)) == (1, [2])
    assert [groups.counts.tolist() for groups in histogram(cells, 0)] == [[2]]


@pytest.mark.parametrize("name", ["value", "code", "rows", "t", "d0", "k0", "s0", "size", "unit"])
def test_a_sensitive_column_and_a_unit_may_have_any_name_the_queries_use_themselves(cells_of, name):
    table = pa.table({"a": ["x", "x", "x"], name: ["p", "p", "q"], "who": [1, 1, 2]})
    assert [g.counts.tolist() for g in histogram(cells_of(table, ["a"], [name], "who"), 0)] == [
        [1, 1]
    ]
    assert sizes_of(cells_of(table, ["a"], ["who"], name)) == [2]


def test_missing_values_are_one_class(cells_of):
    assert sizes_of(cells_of(pa.table({"a": [None, None, "", "x"]}), ["a"])) == [1, 1, 2]


def test_a_star_beside_a_value_is_a_value(cells_of):
    table = pa.table({"a": ["*", "*", "x"], "b": ["y", "y", "*"]})
    cells = cells_of(table, ["a", "b"])
    assert (cells.suppressed, sizes_of(cells)) == (0, [1, 2])


def test_zero_has_no_sign_and_not_a_number_equals_itself(cells_of):
    nan = float("nan")
    table = pa.table({"a": [0.0, -0.0, nan, nan, nan, None]})
    assert sizes_of(cells_of(table, ["a"])) == [1, 2, 3]


def test_whole_numbers_at_the_edge_of_64_bits_stay_apart(cells_of):
    low, high = -(2**63), 2**63 - 1
    table = pa.table({"a": [low, low, low + 1, high, high - 1], "b": [1, 1, 1, 2, 2]})
    cells = cells_of(table, ["a", "b"])
    assert sizes_of(cells) == [1, 1, 1, 2]


def test_more_columns_than_one_key_holds_share_several_keys(cells_of):
    wide = 2**30
    table = pa.table({f"c{i}": [0, wide, wide, 7] for i in range(5)})
    cells = cells_of(table, list(table.column_names))
    assert len(cells.packing.keys) == 3
    assert sizes_of(cells) == [1, 1, 2]
    keys = np.array(
        [list(row.values()) for row in _kept(cells).select(list(cells.packing.keys)).to_pylist()]
    )
    assert sorted(map(tuple, cells.packing.decode(keys).tolist())) == [
        (0,) * 5,
        (7,) * 5,
        (wide,) * 5,
    ]


def _kept(cells: Cells) -> pa.Table:
    names = [build.column(name) for name in (*cells.packing.keys, "rows")]
    return cells.subject.table.engine.run(build.select(*names, source=cells.relation))


def test_with_a_unit_people_count_and_missing_units_are_one_person(cells_of):
    table = pa.table(
        {
            "who": [1, 1, 2, None, None, 3],
            "a": ["x", "x", "x", "x", "x", "y"],
            "ill": ["p", "q", "p", "p", "p", "q"],
        }
    )
    cells = cells_of(table, ["a"], ["ill"], "who")
    assert sizes_of(cells) == [1, 3]
    (x, y) = classes_of(histogram(cells, 0))
    assert x == (3, {0: 3, 1: 1})  # person 1 has both values
    assert y == (1, {1: 1})


class Cut:
    """An engine that hands out one ordered result in pieces of chosen lengths."""

    def __init__(self, table: pa.Table, lengths: list[int]) -> None:
        self._table, self._lengths = table, lengths

    def stream(self, _: object) -> Iterator[pa.RecordBatch]:
        start = 0
        for length in [*self._lengths, self._table.num_rows]:
            part = self._table.slice(start, length).combine_chunks()
            start += part.num_rows
            yield from part.to_batches() or [pa.RecordBatch.from_pylist([], schema=part.schema)]


def classes_of(batches: Iterator[ClassHistograms]) -> list[tuple[int, dict[int, int]]]:
    found: list[tuple[int, dict[int, int]]] = []
    for groups in batches:
        ends = groups.starts[1:]
        for first, end, size in zip(groups.first, ends, groups.sizes, strict=True):
            codes, counts = groups.codes[first:end].tolist(), groups.counts[first:end].tolist()
            found.append((int(size), dict(zip(codes, counts, strict=True))))
    return found


rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=30
)


@settings(max_examples=40)
@given(rows, st.lists(st.integers(0, 6), max_size=12), st.booleans())
def test_classes_are_whole_wherever_the_stream_is_cut(cells_of, data, lengths, with_unit):
    a, b, ill = zip(*data, strict=True)
    columns = {"a": a, "b": b, "ill": ill, "who": [n % 4 for n in range(len(data))]}
    cells = cells_of(pa.table(columns), ["a", "b"], ["ill"], "who" if with_unit else None)
    whole = classes_of(histogram(cells, 0))
    cut = Cut(ordered_histogram(cells), lengths)
    elsewhere = replace(cells.subject, table=replace(cells.subject.table, engine=cut))
    query = build.select(source=cells.relation)
    assert classes_of(_whole_classes(replace(cells, subject=elsewhere), query)) == whole


def ordered_histogram(cells: Cells) -> pa.Table:
    """Return what the histogram's stream holds, as one table."""
    has_sizes = cells.subject.unit is not None
    rows = [
        [*key, code, count, *([size] if has_sizes else [])]
        for groups in histogram(cells, 0)
        for key, code, count, size in zip(
            groups.keys[groups.owners].tolist(),
            groups.codes.tolist(),
            groups.counts.tolist(),
            groups.sizes[groups.owners].tolist(),
            strict=True,
        )
    ]
    return pa.table({str(n): column for n, column in enumerate(zip(*rows, strict=True))})
