"""A recoding applied by the engine: each row gets the labels of its class, whatever the row count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.measure.encode import comparable
from discreet.policy.hierarchies.arrow import ArrowArray, pc
from discreet.policy.hierarchies.values import text_of
from discreet.policy.hierarchy import TOP
from discreet.release.anonymize.recoding import SUPPRESSED
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from discreet.engines.engine import Column
    from discreet.release.anonymize.read import Reading
    from discreet.release.anonymize.recoding import Recoding

CLASS = "discreet class"  # a column to sort by; a table's own column of that name would be refused


@dataclass(frozen=True)
class Recoded:
    """The query of the released rows, which has the column `CLASS` besides the released ones.

    `settled` are columns that are equal within a class: sorting need not look at them.
    """

    query: exp.Select
    settled: tuple[str, ...]


def recode(
    reading: Reading, recoding: Recoding, *, leave_out: Collection[str], drop_suppressed: bool
) -> Recoded:
    """Return the rows of the table with the labels of their classes, in the old order of columns.

    Rows that match no combination are suppressed: whatever went wrong, nobody is exposed. What the
    query reads is kept on the table's engine.

    Args:
        reading: The problem, and how its codes are written on the engine.
        recoding: What a method decided.
        leave_out: Columns that are not released: identifiers and the unit.
        drop_suppressed: Leave suppressed rows out instead of writing `*` for them.
    """
    subject = reading.cells.subject
    engine = subject.table.engine
    classes = recoding.classes
    labels = [_labels(reading, recoding, j) for j in range(len(subject.quasi))]
    is_written = (recoding.levels.max(axis=0, initial=0) > 0) | (
        recoding.lows != recoding.highs
    ).any(axis=0)
    hides = reading.cells.suppressed > 0 or bool((classes == SUPPRESSED).any())
    changed = {
        column.name: j
        for j, column in enumerate(subject.quasi)
        if is_written[j] or (hides and not drop_suppressed)
    }
    query = _joined(reading, recoding)
    named = engine.load(
        pa.table(
            {"class": np.arange(len(recoding)), **{f"l{j}": labels[j] for j in changed.values()}}
        ).to_reader()
    )
    query = query.join(
        exp.Join(
            this=build.aliased_table(named, "l"),
            side="LEFT",
            on=exp.EQ(this=build.column("class", of="c"), expression=build.column("class", of="l")),
        )
    )
    hidden = build.is_null(build.column("class", of="c"))
    wanted: list[exp.Expr] = []
    for column in subject.table.columns:
        if column.name in leave_out:
            continue
        tree: exp.Expr = build.column(column.name, of="t")
        if column.name in changed:
            label = build.column(f"l{changed[column.name]}", of="l")
            tree = exp.case().when(hidden.copy(), build.text(TOP)).else_(label)
        wanted.append(build.named(tree, column.name))
    query = query.select(*wanted, build.named(build.column("class", of="c"), CLASS))
    if drop_suppressed:
        query = query.where(exp.not_(hidden.copy()))
    return Recoded(query, tuple(changed))


def _joined(reading: Reading, recoding: Recoding) -> exp.Select:
    """Return `FROM table AS t` joined with `c`, the class of each combination of values."""
    subject = reading.cells.subject
    engine = subject.table.engine
    kept = recoding.classes != SUPPRESSED
    codes = reading.problem.table.codes[kept]
    columns = {
        f"v{j}": values.take(pa.array(codes[:, j])) for j, values in enumerate(reading.values)
    }
    combinations = engine.load(pa.table({**columns, "class": recoding.classes[kept]}).to_reader())
    conditions = [
        condition
        for j, column in enumerate(subject.quasi)
        for condition in _agree(column, j, has_missing=reading.values[j].null_count > 0)
    ]
    return (
        exp.Select()
        .from_(build.aliased_table(subject.table.relation, "t"))
        .join(
            exp.Join(
                this=build.aliased_table(combinations, "c"),
                side="LEFT",
                on=build.all_of(conditions),
            )
        )
    )


def _agree(column: Column, j: int, *, has_missing: bool) -> list[exp.Expr]:
    """Return conditions that a row and a combination agree; equalities only, which are hashed."""
    mine, theirs = comparable(column, of="t"), build.column(f"v{j}", of="c")
    if not has_missing:
        return [exp.EQ(this=mine, expression=theirs)]
    texts = [
        exp.Coalesce(this=exp.cast(side.copy(), "text"), expressions=[build.text("")])
        for side in (mine, theirs)
    ]
    missing = [exp.paren(build.is_null(side.copy())) for side in (mine, theirs)]
    return [
        exp.EQ(this=texts[0], expression=texts[1]),
        exp.EQ(this=missing[0], expression=missing[1]),
    ]


def _labels(reading: Reading, recoding: Recoding, j: int) -> ArrowArray:
    """Return the text of each class's label on attribute j."""
    attribute = reading.problem.attributes[j]
    levels, lows, highs = recoding.levels[:, j], recoding.lows[:, j], recoding.highs[:, j]
    if attribute.is_range or attribute.labels is None:
        spans = span_texts(reading.values[j], lows, highs)
        return pc.if_else(pa.array(levels == attribute.height), TOP, spans)
    result = np.empty(len(recoding), dtype=object)
    for level in np.unique(levels):
        on = levels == level
        result[on] = attribute.labels(int(level)).take(pa.array(lows[on])).to_pylist()
    return pa.array(result, pa.string())


def span_texts(values: ArrowArray, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> ArrowArray:
    """Return `[low, high]` for pairs of codes of `values`, the value itself where both are one."""
    texts = text_of(values)
    low, high = texts.take(pa.array(lows)), texts.take(pa.array(highs))
    opened = pc.binary_join_element_wise("[", low, "")
    closed = pc.binary_join_element_wise(high, "]", "")
    spans = pc.binary_join_element_wise(opened, closed, ", ")
    return pc.if_else(pa.array(lows == highs), low, spans)
