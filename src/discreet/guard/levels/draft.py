"""A write before it is written: the rows that are seen and what shall become of them, set aside.

What users wrote is evaluated once, on what their clearance sees, into a temporary table. Checks, the
write itself and RETURNING all work on that table, so that none of them can see more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from discreet.engines.render import drop_table
from discreet.guard.integrity.create import column_type, default_of
from discreet.guard.levels.physical import (
    KEY_LABEL,
    attributes,
    label_column,
    system_columns,
)
from discreet.guard.levels.read import ABSENT, Sight, read_with_marks, with_labels
from discreet.guard.levels.trees import equal, every, named, part, select, when
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from discreet.engines.databases.database import Connection
    from discreet.guard.access.authority import Column

Verb = Literal["INSERT", "UPDATE", "DELETE"]
FIRST = "first"  # whether a row of a draft is the first one of its entity
LETTERS = (exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR, exp.DataType.Type.BPCHAR)
_NAME = "_mls_draft"  # a connection's own, and gone before it sets aside the next one


@dataclass(frozen=True)
class Draft:
    """A temporary table of rows to write; `changed` are the columns that get a new value.

    Its columns are named by the place of a column in the relation: `v0` is what was seen, `m0` its
    mark, `n0` the new value for this row, `w0` the new value for the entity, `t0` the highest mark
    among the rows of the entity that are changed.
    """

    sight: Sight
    verb: Verb
    changed: tuple[str, ...]
    name: str = _NAME

    def cell(self, letter: str, name: str, *, of: str | None = None) -> exp.Column:
        """Return the column of the draft that holds `letter` of a column."""
        return build.column(f"{letter}{_place(self.sight, name)}", of=of)

    def new(self, name: str, *, of: str | None = None) -> exp.Column:
        """Return the column of the draft that holds what a column shall be."""
        return self.cell("w" if name in self.changed else "v", name, of=of)

    def table(self, alias: str | None = None) -> exp.Table:
        """Return the temporary table."""
        return build.table(self.name, alias=alias)

    def same_entity(self, physical: str, draft: str) -> exp.Expr:
        """Return the condition that a physical tuple is of the entity of a row of the draft."""
        label = equal(build.column(KEY_LABEL, of=physical), build.column(KEY_LABEL, of=draft))
        return every([self.same_key(physical, draft), label])

    def same_key(self, physical: str, draft: str) -> exp.Expr:
        """Return the condition that a physical tuple has the key of a row of the draft."""
        return every(
            equal(build.column(name, of=physical), self.new(name, of=draft))
            for name in self.sight.relation.primary_key
        )


def draft_insert(
    connection: Connection,
    sight: Sight,
    names: Sequence[str],
    rows: exp.Query,
    *,
    settings: Mapping[str, str],
) -> Draft:
    """Set aside `rows`, whose columns are those called `names`, in this order.

    `settings` are the session's, for defaults.
    """
    relation = sight.relation
    given = {name: f"g{i}" for i, name in enumerate(names)}
    alias = exp.TableAlias(this=part("given"), columns=[part(name) for name in given.values()])
    source = exp.Subquery(this=rows.copy(), alias=alias)
    values: list[exp.Expr] = []
    for i, column in enumerate(relation.columns):
        if column.name in given:
            value: exp.Expr = build.column(given[column.name])
        else:
            value = default_of(column, connection.dialect, settings) or exp.Null()
        values.append(named(exp.Cast(this=value, to=_kind(connection, column)), f"w{i}"))
    values.append(named(exp.cast(build.number(sight.code), "BIGINT"), KEY_LABEL))
    draft = Draft(sight, "INSERT", tuple(column.name for column in relation.columns))
    return _set_aside(connection, draft, select(values, source))


def draft_update(
    connection: Connection,
    sight: Sight,
    assignments: Mapping[str, exp.Expr],
    condition: exp.Expr | None,
    *,
    alias: str,
) -> Draft:
    """Set aside the visible rows that meet `condition`, with their new values.

    Expressions call the row `alias`.
    """
    columns = sight.relation.columns
    places = {name: _place(sight, name) for name in assignments}
    new = [
        named(exp.Cast(this=exp.paren(value), to=_kind(connection, columns[i])), f"n{i}")
        for i, value in zip(places.values(), assignments.values(), strict=True)
    ]
    found = _seen(sight, condition, new, alias=alias)
    extra: list[exp.Expr] = []
    for i in places.values():
        # An entity has one value of a column at a label: the row that says most of it decides.
        by_mark = exp.Ordered(this=build.column(f"m{i}"), desc=True, nulls_first=False)
        value = exp.FirstValue(this=build.column(f"n{i}"))
        top = exp.Max(this=build.column(f"m{i}"))
        extra += [named(_over(sight, value, by_mark), f"w{i}"), named(_over(sight, top), f"t{i}")]
    draft = Draft(sight, "UPDATE", tuple(assignments))
    return _set_aside(connection, draft, _numbered(sight, found, extra))


def draft_delete(
    connection: Connection, sight: Sight, condition: exp.Expr | None, *, alias: str
) -> Draft:
    """Set aside the visible rows that meet `condition`, which calls the row `alias`."""
    found = _seen(sight, condition, (), alias=alias)
    return _set_aside(connection, Draft(sight, "DELETE", ()), _numbered(sight, found, ()))


def discard(connection: Connection, draft: Draft) -> None:
    """Forget what was set aside."""
    connection.execute(drop_table(draft.table()), touches=[(draft.name,)])


def old_rows(draft: Draft) -> exp.Select:
    """Return the rows as they were seen, with physical names and marks."""
    return _rows(Draft(draft.sight, draft.verb, (), draft.name))


def new_rows(draft: Draft) -> exp.Select:
    """Return the rows as they shall be seen, with physical names and marks."""
    return _rows(draft)


def labeled(draft: Draft, rows: exp.Query) -> exp.Select:
    """Return `rows` as users see them: columns, their labels, and `tc`."""
    relation = draft.sight.relation
    names = [column.name for column in relation.columns]
    return with_labels(draft.sight, rows, names, system_columns(relation))


def pairs(draft: Draft) -> exp.Select:
    """Return what each row was, `old_<column>`, and what it will be, `new_<column>`."""
    values: list[exp.Expr] = []
    for column in draft.sight.relation.columns:
        if draft.verb != "INSERT":
            values.append(named(draft.cell("v", column.name), f"old_{column.name}"))
        if draft.verb != "DELETE":
            values.append(named(draft.new(column.name), f"new_{column.name}"))
    return select(values, draft.table())


def new_mark(draft: Draft, name: str) -> exp.Expr:
    """Return the mark that a column of a new row has."""
    if name not in draft.changed:
        return draft.cell("m", name)
    gone = build.is_null(draft.cell("w", name))
    return when(gone, build.number(ABSENT), build.number(draft.sight.code))


def _rows(draft: Draft) -> exp.Select:
    relation = draft.sight.relation
    values: list[exp.Expr] = [build.column(KEY_LABEL)]
    values += [named(draft.new(column.name), column.name) for column in relation.columns]
    for column in attributes(relation):
        values.append(named(new_mark(draft, column.name), label_column(column.name)))
    return select(values, draft.table())


def _seen(
    sight: Sight, condition: exp.Expr | None, new: Sequence[exp.Expr], *, alias: str
) -> exp.Select:
    """Return the visible rows that meet `condition`, and what is new beside them."""
    relation = sight.relation
    values: list[exp.Expr] = [build.column(KEY_LABEL, of=alias)]
    for i, column in enumerate(relation.columns):
        values.append(named(build.column(column.name, of=alias), f"v{i}"))
        if column.name not in relation.primary_key:
            values.append(named(build.column(label_column(column.name), of=alias), f"m{i}"))
    wanted = [exp.paren(condition)] if condition is not None else []
    # Texts of labels cost more than all else: only those that were asked for are made.
    asked = {column.name for tree in (*new, *wanted) for column in tree.find_all(exp.Column)}
    rows = read_with_marks(sight, asked & set(system_columns(relation)))
    return select([*values, *new], build.subquery(rows, alias), *wanted)


def _numbered(sight: Sight, found: exp.Query, extra: Sequence[exp.Expr]) -> exp.Select:
    first = named(_over(sight, exp.RowNumber()), FIRST)
    return select([exp.Star(), *extra, first], build.subquery(found, "found"))


def _over(sight: Sight, function: exp.Expr, order: exp.Expr | None = None) -> exp.Window:
    keys = [build.column(f"v{_place(sight, name)}") for name in sight.relation.primary_key]
    by = exp.Order(expressions=[order]) if order is not None else None
    return exp.Window(this=function, partition_by=[*keys, build.column(KEY_LABEL)], order=by)


def _kind(connection: Connection, column: Column) -> exp.DataType:
    """Return the type that values of a column are cast to: texts are not cut, but refused later."""
    kind = column_type(column, connection.dialect)
    return exp.DataType.build("TEXT") if kind.this in LETTERS else kind


def _place(sight: Sight, name: str) -> int:
    return [column.name for column in sight.relation.columns].index(name)


def _set_aside(connection: Connection, draft: Draft, query: exp.Query) -> Draft:
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    connection.execute(
        exp.Create(this=draft.table(), kind="TABLE", properties=temporary, expression=query),
        touches=[(draft.name,)],
    )
    return draft
