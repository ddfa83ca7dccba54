"""A draft of a write: the visible rows and their new values in a temporary table.

Users' expressions are evaluated once, on what their clearance sees, into a temporary table. Checks,
write itself and RETURNING all work on that table, so that none of them can see more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection
from discreet.engines.render import drop_table
from discreet.guard.access.authority import RelationColumn
from discreet.guard.integrity.create import engine_column_type, engine_default
from discreet.guard.levels.physical import (
    KEY_LABEL,
    attributes,
    label_column,
    system_columns,
)
from discreet.guard.levels.read import ABSENT, ClearanceView, read_with_marks, with_labels
from discreet.guard.levels.trees import (
    alias_in_place,
    case_when,
    conjunction,
    equality,
    quoted_identifier,
    select_where,
)
from discreet.sql import build
from discreet.sql.types import LETTERS

Verb = Literal["INSERT", "UPDATE", "DELETE"]
FIRST = "first"  # whether a row of a draft is the first one of its entity
_NAME = "_mls_draft"  # one per connection, dropped before the next draft


@dataclass(frozen=True)
class WriteDraft:
    """A temporary table of rows to write; `changed` are the columns that get a new value.

    Its columns are named by the place of a column in the relation: `v0` is what was seen, `m0` its
    mark, `n0` the new value for this row, `w0` the new value for the entity, `t0` the highest mark
    among the rows of the entity that are changed.
    """

    sight: ClearanceView
    verb: Verb
    changed: tuple[str, ...]
    name: str = _NAME

    def cell(self, letter: str, name: str, *, of: str | None = None) -> exp.Column:
        """Return the column of the draft that holds `letter` of a column."""
        return build.column(f"{letter}{_column_index(self.sight, name)}", of=of)

    def new(self, name: str, *, of: str | None = None) -> exp.Column:
        """Return the column of the draft that holds a column's new value."""
        return self.cell("w" if name in self.changed else "v", name, of=of)

    def table(self, alias: str | None = None) -> exp.Table:
        """Return the temporary table."""
        return build.table(self.name, alias=alias)

    def same_entity(self, physical: str, draft: str) -> exp.Expr:
        """Return the condition that a physical tuple is of the entity of a row of the draft."""
        label = equality(build.column(KEY_LABEL, of=physical), build.column(KEY_LABEL, of=draft))
        return conjunction([self.same_key(physical, draft), label])

    def same_key(self, physical: str, draft: str) -> exp.Expr:
        """Return the condition that a physical tuple has the key of a row of the draft."""
        return conjunction(
            equality(build.column(name, of=physical), self.new(name, of=draft))
            for name in self.sight.relation.primary_key
        )


def draft_insert(
    connection: DatabaseConnection,
    sight: ClearanceView,
    names: Sequence[str],
    rows: exp.Query,
    *,
    settings: Mapping[str, str],
) -> WriteDraft:
    """Draft `rows`, whose columns are those called `names`, in this order.

    `settings` are the session's, for defaults.
    """
    relation = sight.relation
    given = {name: f"g{i}" for i, name in enumerate(names)}
    alias = exp.TableAlias(
        this=quoted_identifier("given"),
        columns=[quoted_identifier(name) for name in given.values()],
    )
    source = exp.Subquery(this=rows.copy(), alias=alias)
    values: list[exp.Expr] = []
    for i, column in enumerate(relation.columns):
        if column.name in given:
            value: exp.Expr = build.column(given[column.name])
        else:
            value = engine_default(column, connection.traits, settings) or exp.Null()
        values.append(
            alias_in_place(exp.Cast(this=value, to=_cast_type(connection, column)), f"w{i}")
        )
    values.append(alias_in_place(exp.cast(build.number(sight.code), "BIGINT"), KEY_LABEL))
    draft = WriteDraft(sight, "INSERT", tuple(column.name for column in relation.columns))
    return _set_aside(connection, draft, select_where(values, source))


def draft_update(
    connection: DatabaseConnection,
    sight: ClearanceView,
    assignments: Mapping[str, exp.Expr],
    condition: exp.Expr | None,
    *,
    alias: str,
) -> WriteDraft:
    """Draft the visible rows that meet `condition`, with their new values.

    Expressions call the row `alias`.
    """
    columns = sight.relation.columns
    places = {name: _column_index(sight, name) for name in assignments}
    new = [
        alias_in_place(
            exp.Cast(this=exp.paren(value), to=_cast_type(connection, columns[i])), f"n{i}"
        )
        for i, value in zip(places.values(), assignments.values(), strict=True)
    ]
    found = _visible_rows(sight, condition, new, alias=alias)
    extra: list[exp.Expr] = []
    for i in places.values():
        # An entity has one value of a column at a label: the row with the most cells decides.
        by_mark = exp.Ordered(this=build.column(f"m{i}"), desc=True, nulls_first=False)
        value = exp.FirstValue(this=build.column(f"n{i}"))
        top = exp.Max(this=build.column(f"m{i}"))
        extra += [
            alias_in_place(_key_window(sight, value, by_mark), f"w{i}"),
            alias_in_place(_key_window(sight, top), f"t{i}"),
        ]
    draft = WriteDraft(sight, "UPDATE", tuple(assignments))
    return _set_aside(connection, draft, _number_rows(sight, found, extra))


def draft_delete(
    connection: DatabaseConnection, sight: ClearanceView, condition: exp.Expr | None, *, alias: str
) -> WriteDraft:
    """Draft the visible rows that meet `condition`, which calls the row `alias`."""
    found = _visible_rows(sight, condition, (), alias=alias)
    return _set_aside(connection, WriteDraft(sight, "DELETE", ()), _number_rows(sight, found, ()))


def discard_draft(connection: DatabaseConnection, draft: WriteDraft) -> None:
    """Drop the draft."""
    connection.execute(drop_table(draft.table()), touches=[(draft.name,)])


def old_rows(draft: WriteDraft) -> exp.Select:
    """Return the rows as they were seen, with physical names and marks."""
    return _new_values(WriteDraft(draft.sight, draft.verb, (), draft.name))


def new_rows(draft: WriteDraft) -> exp.Select:
    """Return the rows as they will be seen, with physical names and marks."""
    return _new_values(draft)


def select_labeled(draft: WriteDraft, rows: exp.Query) -> exp.Select:
    """Return `rows` as users see them: columns, their labels, and `tc`."""
    relation = draft.sight.relation
    names = [column.name for column in relation.columns]
    return with_labels(draft.sight, rows, names, system_columns(relation))


def old_and_new_rows(draft: WriteDraft) -> exp.Select:
    """Return each row's values before, `old_<column>`, and after, `new_<column>`."""
    values: list[exp.Expr] = []
    for column in draft.sight.relation.columns:
        if draft.verb != "INSERT":
            values.append(alias_in_place(draft.cell("v", column.name), f"old_{column.name}"))
        if draft.verb != "DELETE":
            values.append(alias_in_place(draft.new(column.name), f"new_{column.name}"))
    return select_where(values, draft.table())


def new_mark(draft: WriteDraft, name: str) -> exp.Expr:
    """Return the mark that a column of a new row has."""
    if name not in draft.changed:
        return draft.cell("m", name)
    gone = build.is_null(draft.cell("w", name))
    return case_when(gone, build.number(ABSENT), build.number(draft.sight.code))


def _new_values(draft: WriteDraft) -> exp.Select:
    relation = draft.sight.relation
    values: list[exp.Expr] = [build.column(KEY_LABEL)]
    values += [alias_in_place(draft.new(column.name), column.name) for column in relation.columns]
    for column in attributes(relation):
        values.append(alias_in_place(new_mark(draft, column.name), label_column(column.name)))
    return select_where(values, draft.table())


def _visible_rows(
    sight: ClearanceView, condition: exp.Expr | None, new: Sequence[exp.Expr], *, alias: str
) -> exp.Select:
    """Return the visible rows that meet `condition`, and what is new beside them."""
    relation = sight.relation
    values: list[exp.Expr] = [build.column(KEY_LABEL, of=alias)]
    for i, column in enumerate(relation.columns):
        values.append(alias_in_place(build.column(column.name, of=alias), f"v{i}"))
        if column.name not in relation.primary_key:
            values.append(
                alias_in_place(build.column(label_column(column.name), of=alias), f"m{i}")
            )
    wanted = [exp.paren(condition)] if condition is not None else []
    # Texts of labels are the most expensive part: only the requested ones are computed.
    asked = {column.name for tree in (*new, *wanted) for column in tree.find_all(exp.Column)}
    rows = read_with_marks(sight, asked & set(system_columns(relation)))
    return select_where([*values, *new], build.subquery(rows, alias), *wanted)


def _number_rows(sight: ClearanceView, found: exp.Query, extra: Sequence[exp.Expr]) -> exp.Select:
    first = alias_in_place(_key_window(sight, exp.RowNumber()), FIRST)
    return select_where([exp.Star(), *extra, first], build.subquery(found, "found"))


def _key_window(
    sight: ClearanceView, function: exp.Expr, order: exp.Expr | None = None
) -> exp.Window:
    keys = [build.column(f"v{_column_index(sight, name)}") for name in sight.relation.primary_key]
    by = exp.Order(expressions=[order]) if order is not None else None
    return exp.Window(this=function, partition_by=[*keys, build.column(KEY_LABEL)], order=by)


def _cast_type(connection: DatabaseConnection, column: RelationColumn) -> exp.DataType:
    """Return the type that values of a column are cast to: texts are not cut, but refused later."""
    kind = engine_column_type(column, connection.traits)
    return exp.DataType.build("TEXT") if kind.this in LETTERS else kind


def _column_index(sight: ClearanceView, name: str) -> int:
    return [column.name for column in sight.relation.columns].index(name)


def _set_aside(connection: DatabaseConnection, draft: WriteDraft, query: exp.Query) -> WriteDraft:
    temporary = exp.Properties(expressions=[exp.TemporaryProperty()])
    connection.execute(
        exp.Create(this=draft.table(), kind="TABLE", properties=temporary, expression=query),
        touches=[(draft.name,)],
    )
    return draft
