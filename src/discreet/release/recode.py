"""A recoding applied by the engine, for any number of rows: each row gets the labels of its class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Column, Kind
from discreet.errors import Bug
from discreet.measure.encode import comparable_value
from discreet.policy.hierarchies.values import span_texts
from discreet.policy.hierarchy import TOP
from discreet.release.anonymize.frequencies import label_rows
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding
from discreet.sql import build

# Columns to sort by and to repeat rows by, unless the table has columns of these names.
CLASS = "discreet class"
COPIES = "discreet copies"

# Types that values lose on their way to groups and codes.
_NARROW = {
    pa.int8(): exp.DataType(this=exp.DataType.Type.TINYINT),
    pa.int16(): exp.DataType(this=exp.DataType.Type.SMALLINT),
    pa.int32(): exp.DataType(this=exp.DataType.Type.INT),
    pa.uint8(): exp.DataType(this=exp.DataType.Type.UTINYINT),
    pa.uint16(): exp.DataType(this=exp.DataType.Type.USMALLINT),
    pa.uint32(): exp.DataType(this=exp.DataType.Type.UINT),
    pa.uint64(): exp.DataType(this=exp.DataType.Type.UBIGINT),
    pa.float32(): exp.DataType(this=exp.DataType.Type.FLOAT),
}


@dataclass(frozen=True)
class RecodedQuery:
    """The query of the released rows, which has the column `order` besides the released ones.

    `order` holds the place of the class. `labeled` are columns of labels, all others have the values
    of the source. `settled` are columns that are equal within a class:
    sorting need not look at them. `repeat` is a column too, where each row of the query stands for
    that many.
    """

    query: exp.Select
    order: str
    labeled: frozenset[str]
    settled: tuple[str, ...]
    repeat: str | None = None


def recode_table(
    reading: EncodedProblem,
    recoding: Recoding,
    *,
    leave_out: Collection[str],
    drop_suppressed: bool,
    may_count: bool = False,
) -> RecodedQuery:
    """Return the rows of the table with the labels of their classes, in the old order of columns.

    Rows that match no combination are suppressed, so that an error exposes no one. What the
    query reads is kept on the table's engine. Where classes and sensitive values are all that is
    released, the table itself is not read again: its distinct rows and their numbers say it all.

    Args:
        reading: The problem, and how its codes are written on the engine.
        recoding: What a method decided.
        leave_out: Columns that are not released: identifiers and the unit.
        drop_suppressed: Leave suppressed rows out instead of writing `*` for them.
        may_count: Whether rows may be given as distinct ones with their numbers.
    """
    subject = reading.cells.subject
    released = [column for column in subject.table.columns if column.name not in leave_out]
    hides = reading.cells.suppressed > 0 or bool((recoding.classes == SUPPRESSED).any())
    is_general = (recoding.levels.max(axis=0, initial=0) > 0) | (
        recoding.lows != recoding.highs
    ).any(axis=0)
    changed = {
        column.name
        for j, column in enumerate(subject.quasi)
        if is_general[j] or (hides and not drop_suppressed)
    }
    from_groups = may_count and _says_it_all(reading, released)
    query, others = (
        _from_groups(reading, recoding) if from_groups else _from_table(reading, recoding)
    )
    query = query.join(_join_labels(reading, recoding, changed))
    hidden = build.is_null(build.column("class", of="c"))
    types = _narrow_types(reading) if from_groups else {}
    places = {column.name: j for j, column in enumerate(subject.quasi)}
    for column in released:
        tree = others[column.name]
        if column.name in places and (column.name in changed or from_groups):
            tree = build.column(f"l{places[column.name]}", of="l")
        if column.name in changed:
            tree = exp.case().when(hidden.copy(), build.text(TOP)).else_(tree)
        elif column.name in types:
            tree = exp.cast(tree, types[column.name])
        query = query.select(build.alias_as(tree, column.name))
    order, copies = (_unused_name(name, subject.table.columns) for name in (CLASS, COPIES))
    query = query.select(build.alias_as(build.column("place", of="l"), order))
    if from_groups:
        query = query.select(build.alias_as(build.column("rows", of="c"), copies))
    if drop_suppressed:
        query = query.where(exp.not_(hidden.copy()))
    settled = places if from_groups else changed
    return RecodedQuery(
        query,
        order,
        frozenset(changed),
        tuple(column.name for column in released if column.name in settled),
        copies if from_groups else None,
    )


def _narrow_types(reading: EncodedProblem) -> dict[str, exp.DataType]:
    """Return the types of the table's columns of narrow numbers, which a release keeps."""
    table = reading.cells.subject.table
    columns = [build.column(column.name) for column in table.columns]
    schema = table.engine.run(build.select(*columns, source=table.relation.copy()).limit(0)).schema
    return {field.name: _NARROW[field.type] for field in schema if field.type in _NARROW}


def _unused_name(name: str, columns: Sequence[Column]) -> str:
    """Return `name`, longer where a column is called so: one of the two would be lost."""
    taken = {column.name.casefold() for column in columns}
    while name in taken:
        name += "_"
    return name


def _says_it_all(reading: EncodedProblem, released: Sequence[Column]) -> bool:
    """Return whether the distinct rows are kept, hold all that is released, and are far fewer."""
    cells = reading.cells
    subject = cells.subject
    known = {column.name for column in (*subject.quasi, *subject.sensitive)}
    return (
        cells.groups is not None
        and subject.unit is None
        and cells.groups.count <= cells.rows // 2
        and all(column.name in known and column.kind is not Kind.OTHER for column in released)
    )


def _join_labels(reading: EncodedProblem, recoding: Recoding, changed: Collection[str]) -> exp.Join:
    """Return the join with `l`, the label of each class: a text, or the value where none changed."""
    subject = reading.cells.subject
    labels = {
        f"l{j}": _label_texts(reading, recoding, j)
        if column.name in changed
        else reading.values[j].take(pa.array(recoding.lows[:, j]))
        for j, column in enumerate(subject.quasi)
    }
    table = pa.table(
        {"class": np.arange(len(recoding)), "place": _class_places(list(labels.values())), **labels}
    )
    return exp.Join(
        this=build.aliased_table(subject.table.engine.load(table.to_reader()), "l"),
        side="LEFT",
        on=exp.EQ(this=build.column("class", of="c"), expression=build.column("class", of="l")),
    )


def _class_places(labels: Sequence[ArrowArray]) -> ArrowArray:
    """Return the places of classes in the order of rows: those that are called alike share one.

    A group may have the name of a value, a value may be the text `*`, and a class may be as hidden as
    suppressed rows, which have no place: the order must not reveal what the labels do not.
    """
    if not len(labels[0]):
        return pa.array([], pa.int64())
    encoded = [pc.dictionary_encode(texts, null_encoding="encode") for texts in labels]
    numbers, count = label_rows(
        [(one.indices.to_numpy(zero_copy_only=False), len(one.dictionary)) for one in encoded]
    )
    first = np.full(count, len(numbers), dtype=np.int64)
    np.minimum.at(first, numbers, np.arange(len(numbers)))
    hidden = [
        pc.fill_null(pc.equal(texts, TOP), False).to_numpy(zero_copy_only=False)
        if pa.types.is_string(texts.type)
        else np.zeros(len(texts), dtype=np.bool_)
        for texts in labels
    ]
    return pa.array(first[numbers], mask=np.all(hidden, axis=0))


def _from_table(
    reading: EncodedProblem, recoding: Recoding
) -> tuple[exp.Select, dict[str, exp.Expr]]:
    """Return `FROM table AS t` joined with `c`, the class of each row, and the table's columns."""
    table = reading.cells.subject.table
    quasi = [comparable_value(column, of="t") for column in reading.cells.subject.quasi]
    source = exp.Select().from_(build.aliased_table(table.relation, "t"))
    others: dict[str, exp.Expr] = {
        column.name: build.column(column.name, of="t") for column in table.columns
    }
    return source.join(_join_classes(reading, recoding, quasi)), others


def _from_groups(
    reading: EncodedProblem, recoding: Recoding
) -> tuple[exp.Select, dict[str, exp.Expr]]:
    """Return `FROM` the distinct rows of each class as `c`, with their number `rows`."""
    groups = reading.cells.groups
    if groups is None:
        raise Bug("The distinct rows of the table were not kept.")
    subject = reading.cells.subject
    quasi: list[exp.Expr] = [build.column(f"q{j}", of="t") for j in range(len(subject.quasi))]
    sensitive = [f"s{index}" for index in range(len(subject.sensitive))]
    keys = [build.column("class", of="c"), *(build.column(name, of="t") for name in sensitive)]
    counted = (
        build.select(
            *(build.alias_as(key, key.name) for key in keys),
            build.alias_as(build.sum_integers(build.column("rows", of="t")), "rows"),
            source=build.aliased_table(groups.relation, "t"),
        )
        .join(_join_classes(reading, recoding, quasi))
        .group_by(*(key.copy() for key in keys))
    )
    others: dict[str, exp.Expr] = {column.name: exp.null() for column in subject.quasi}
    others |= {
        column.name: build.column(name, of="c")
        for name, column in zip(sensitive, subject.sensitive, strict=True)
    }
    return exp.Select().from_(build.subquery(counted, "c")), others


def _join_classes(
    reading: EncodedProblem, recoding: Recoding, quasi: Sequence[exp.Expr]
) -> exp.Join:
    """Return the join with `c`, the class of each combination of the values `quasi`."""
    kept = recoding.classes != SUPPRESSED
    codes = reading.problem.table.codes[kept]
    columns = {
        f"v{j}": values.take(pa.array(codes[:, j])) for j, values in enumerate(reading.values)
    }
    table = pa.table({**columns, "class": recoding.classes[kept]})
    conditions = [
        condition
        for j, value in enumerate(quasi)
        for condition in build.same_or_missing(
            value,
            build.column(f"v{j}", of="c"),
            has_missing=reading.values[j].null_count > 0,
        )
    ]
    relation = reading.cells.subject.table.engine.load(table.to_reader())
    return exp.Join(
        this=build.aliased_table(relation, "c"), side="LEFT", on=build.all_of(conditions)
    )


def _label_texts(reading: EncodedProblem, recoding: Recoding, j: int) -> ArrowArray:
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
