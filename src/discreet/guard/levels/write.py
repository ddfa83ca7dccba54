"""INSERT, UPDATE and DELETE at a clearance on a multi-level relation.

After Jajodia, Sandhu & Sibley 1990 and Jajodia & Sandhu 1991. A writer at `c` writes only cells
labeled `c`: a lower cell stays, and a new version of the row is added beside it (visible
polyinstantiation); a higher cell, which the writer cannot see, stays as well (invisible
polyinstantiation).

Guarantee: what a clearance that does not dominate `c` sees is the same before and after; and what
any other one sees after, the count and the error included, depends only on what it saw before
(unwinding conditions; Goguen & Meseguer 1984). The caller serializes writers, and rolls back when
a function here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Name, Relation
from discreet.guard.levels.constraints import enforce_rules, rules_after, rules_before
from discreet.guard.levels.draft import (
    FIRST,
    WriteDraft,
    discard_draft,
    draft_delete,
    draft_insert,
    draft_update,
    new_rows,
    old_and_new_rows,
    old_rows,
    select_labeled,
)
from discreet.guard.levels.lattice import Label, LabelLattice
from discreet.guard.levels.physical import (
    KEY_LABEL,
    TID,
    attributes,
    insert_target,
    label_column,
    physical_table,
    same_entity,
)
from discreet.guard.levels.read import ABSENT, ClearanceView, NullLabel, is_subsumed, mark_of
from discreet.guard.levels.trees import (
    alias_in_place,
    case_when,
    conjunction,
    differs,
    disjunction,
    equality,
    exists,
    is_value,
    join_source,
    negate,
    select_ones,
    select_where,
)
from discreet.sql import build

Moment = Literal["before", "after"]


@dataclass(frozen=True)
class MultilevelWriteResult:
    """How many rows a write changed, as its clearance sees it, and what RETURNING returns."""

    count: int
    table: ArrowTable | None = None


@dataclass(frozen=True)
class WriteTerms:
    """The rules of a write, and what it reports.

    Attributes:
        relations: All relations, for foreign keys from here and to here.
        returning: Expressions over the row, after INSERT and UPDATE, before DELETE.
        watch: Is called before and after the write with a query of what changes, `old_<column>` and
            `new_<column>`, and may raise: for triggers and row policies.
        alias: The row's name in expressions, if not the relation's name.
        null_label: The label that NULLs show, as in `read`.
        settings: The session's settings, for defaults such as the current time.
    """

    relations: Mapping[Name, Relation] = field(default_factory=dict["Name", "Relation"])
    returning: Sequence[exp.Expr] = ()
    watch: Callable[[Moment, exp.Query], None] | None = None
    alias: str | None = None
    null_label: NullLabel = "clearance"
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


_PLAIN = WriteTerms()


def insert(
    connection: DatabaseConnection,
    relation: Relation,
    lattice: LabelLattice,
    clearance: Label,
    columns: Sequence[str],
    rows: exp.Query,
    *,
    terms: WriteTerms = _PLAIN,
) -> MultilevelWriteResult:
    """Insert `rows`, given for `columns`, with every label at the clearance.

    Raises:
        StatementFailed: 23505 if a key is visible already; 23502, 23503, 23514.
    """
    sight = ClearanceView(relation, lattice, clearance, terms.null_label)
    draft = draft_insert(connection, sight, columns, rows, settings=terms.settings)
    with discard_at_end(connection, draft):
        _check_before(connection, draft, terms)
        count = connection.execute(_new_tuples(draft), touches=[relation.physical])
        return _finish_write(connection, draft, terms, count)


def update(
    connection: DatabaseConnection,
    relation: Relation,
    lattice: LabelLattice,
    clearance: Label,
    assignments: Mapping[str, exp.Expr],
    condition: exp.Expr | None,
    *,
    terms: WriteTerms = _PLAIN,
) -> MultilevelWriteResult:
    """Assign new values, labeled with the clearance, in the visible rows that meet `condition`.

    Expressions name columns of what `read` returns, alone or with the relation's name.

    Raises:
        StatementFailed: 0A000 for a column of the key; 21000 if versions of one row disagree on a
            value; 23502, 23503, 23505, 23514.
    """
    for name in assignments:
        if name in relation.primary_key:
            raise StatementFailed(
                "0A000",
                f'cannot update column "{name}": it is part of the key of a multi-level table',
                hint="Delete the row and insert it with its new key.",
            )
    sight = ClearanceView(relation, lattice, clearance, terms.null_label)
    alias = terms.alias or relation.name
    draft = draft_update(connection, sight, assignments, condition, alias=alias)
    with discard_at_end(connection, draft):
        _check_before(connection, draft, terms)
        count = count_draft_rows(connection, draft)
        if count:
            connection.execute(_overwrite_cells(draft), touches=[relation.physical])
            connection.execute(_new_tuples(draft), touches=[relation.physical])
            clean(connection, relation, entities(draft))
        return _finish_write(connection, draft, terms, count)


def delete(
    connection: DatabaseConnection,
    relation: Relation,
    lattice: LabelLattice,
    clearance: Label,
    condition: exp.Expr | None,
    *,
    terms: WriteTerms = _PLAIN,
) -> MultilevelWriteResult:
    """Delete what the clearance wrote of the visible rows that meet `condition`.

    A row whose key is labeled with the clearance is deleted in all its versions. Of a row with a
    lower key, only cells labeled with the clearance are deleted: others own the rest, and the row
    is not counted when nothing of it is ours.

    Raises:
        StatementFailed: 23503 if visible rows reference a deleted key.
    """
    sight = ClearanceView(relation, lattice, clearance, terms.null_label)
    alias = terms.alias or relation.name
    draft = draft_delete(connection, sight, condition, alias=alias)
    with discard_at_end(connection, draft):
        _check_before(connection, draft, terms)
        count = count_draft_rows(connection, draft, _is_ours(draft))
        if count:
            connection.execute(_remove(draft), touches=[relation.physical])
            if attributes(relation):
                connection.execute(_clear_cells(draft), touches=[relation.physical])
            clean(connection, relation, entities(draft))
        return _finish_write(connection, draft, terms, count)


def clean(connection: DatabaseConnection, relation: Relation, touched: exp.Query) -> None:
    """Remove tuples that another one of the same entity subsumes, in the entities of `touched`.

    `touched` has the columns of the key and its label. No clearance sees a difference.
    """
    query = select_where([build.column(TID, of="one")], build.subquery(touched, "entity"))
    one, other = (build.subquery(_stored_tuples(relation), name) for name in ("one", "other"))
    join_source(query, one, same_entity(relation, "one", "entity"))
    join_source(
        query, other, same_entity(relation, "one", "other"), is_subsumed(relation, "one", "other")
    )
    condition = exp.In(this=build.column(TID), query=exp.Subquery(this=query))
    connection.execute(
        exp.Delete(this=physical_table(relation), where=exp.Where(this=condition)),
        touches=[relation.physical],
    )


def entities(draft: WriteDraft) -> exp.Select:
    """Return the keys of a draft's rows and their labels, each once."""
    keys = [alias_in_place(draft.new(name), name) for name in draft.sight.relation.primary_key]
    return select_where([*keys, build.column(KEY_LABEL)], draft.table(), _is_first(None))


def count_draft_rows(
    connection: DatabaseConnection, draft: WriteDraft, *conditions: exp.Expr
) -> int:
    """Return how many rows of a draft meet the conditions."""
    query = select_where([build.count_star()], draft.table(), *conditions)
    return connection.query(query).to_pylist()[0].popitem()[1]


def assign_column(name: str, value: exp.Expr) -> exp.EQ:
    """Return `name = value` as UPDATE has it."""
    return equality(build.column(name), value)


def change_entities(draft: WriteDraft, sets: list[exp.EQ], *conditions: exp.Expr) -> exp.Update:
    """Return an UPDATE of all tuples, `old`, of the entities of a draft, whose first row is `new`."""
    where = conjunction([draft.same_entity("old", "new"), _is_first("new"), *conditions])
    return exp.Update(
        this=physical_table(draft.sight.relation, alias="old"),
        expressions=sets,
        from_=exp.From(this=draft.table("new")),
        where=exp.Where(this=where),
    )


@contextmanager
def discard_at_end(connection: DatabaseConnection, draft: WriteDraft) -> Generator[None]:
    """Drop a draft at the end, also after a failure."""
    try:
        yield
    except StatementFailed:
        # After a failure of the engine the transaction is aborted; the table is dropped with it.
        with suppress(StatementFailed):
            discard_draft(connection, draft)
        raise
    discard_draft(connection, draft)


def _check_before(connection: DatabaseConnection, draft: WriteDraft, terms: WriteTerms) -> None:
    if terms.watch is not None:
        terms.watch("before", old_and_new_rows(draft))
    enforce_rules(connection, rules_before(draft, connection.traits))


def _finish_write(
    connection: DatabaseConnection, draft: WriteDraft, terms: WriteTerms, count: int
) -> MultilevelWriteResult:
    enforce_rules(connection, rules_after(draft, terms.relations))
    if terms.watch is not None:
        terms.watch("after", old_and_new_rows(draft))
    if not terms.returning:
        return MultilevelWriteResult(count)
    rows = new_rows(draft)
    if draft.verb == "DELETE":
        rows = old_rows(draft).where(_is_ours(draft), copy=False)
    alias = terms.alias or draft.sight.relation.name
    source = build.subquery(select_labeled(draft, rows), alias)
    return MultilevelWriteResult(
        count, connection.query(select_where((x.copy() for x in terms.returning), source))
    )


def _new_tuples(draft: WriteDraft) -> exp.Insert:
    """Insert a tuple for each new row; of an update, where a changed cell must stay as it is."""
    relation, key = draft.sight.relation, build.column(KEY_LABEL)
    last = select_where([exp.Max(this=build.column(TID))], physical_table(relation))
    start = exp.Coalesce(this=exp.Subquery(this=last), expressions=[build.number(0)])
    values: list[exp.Expr] = [exp.Add(this=start, expression=exp.Window(this=exp.RowNumber()))]
    values += [*map(draft.new, relation.primary_key), key]
    for attribute in attributes(relation):
        value = draft.new(attribute.name)
        is_changed = attribute.name in draft.changed
        label = build.number(draft.sight.code) if is_changed else draft.cell("m", attribute.name)
        values += [value, case_when(build.is_null(value.copy()), key.copy(), label)]
    own = draft.sight.code
    source = select_where(values, draft.table())
    if draft.verb == "UPDATE":
        kept = (differs(draft.cell("m", name), build.number(own)) for name in draft.changed)
        source = source.where(disjunction(*kept), copy=False)
    return exp.Insert(this=insert_target(relation), expression=source)


def _overwrite_cells(draft: WriteDraft) -> exp.Update:
    """Overwrite cells that have the clearance as their label, in all versions of the changed rows.

    NULL removes a cell only where a changed row showed it; a value must be the only one at its
    label, wherever it was shown.
    """
    sets: list[exp.EQ] = []
    for name in draft.changed:
        value, shown = draft.cell("w", name, of="new"), draft.cell("t", name, of="new")
        cell, label = build.column(name, of="old"), build.column(label_column(name), of="old")
        was_shown = equality(shown, build.number(draft.sight.code))
        hit = conjunction([_is_own(draft, name, "old"), disjunction(is_value(value), was_shown)])
        gone = conjunction([hit.copy(), build.is_null(value.copy())])
        sets += [
            assign_column(name, case_when(hit, value.copy(), cell)),
            assign_column(
                label_column(name), case_when(gone, build.column(KEY_LABEL, of="old"), label)
            ),
        ]
    return change_entities(draft, sets)


def _is_ours(draft: WriteDraft) -> exp.Expr:
    names = [attribute.name for attribute in attributes(draft.sight.relation)]
    labels = [build.column(KEY_LABEL), *(draft.cell("m", name) for name in names)]
    return disjunction(*(equality(label, build.number(draft.sight.code)) for label in labels))


def _remove(draft: WriteDraft) -> exp.Delete:
    """Delete the entities whose key has the clearance as its label."""
    own = equality(build.column(KEY_LABEL, of="old"), build.number(draft.sight.code))
    found = select_ones(draft.table("old"), own, draft.same_entity("tuple", "old"))
    return exp.Delete(
        this=physical_table(draft.sight.relation, alias="tuple"),
        where=exp.Where(this=exists(found)),
    )


def _clear_cells(draft: WriteDraft) -> exp.Update:
    """Make cells with the clearance's label NULL in all tuples that a deleted row subsumes.

    Tuples that look smaller than the row are included: a remaining one would show the deleted
    values again, and thereby that it exists.
    """
    sight = draft.sight
    sets: list[exp.EQ] = []
    within: list[exp.Expr] = []
    for attribute in attributes(sight.relation):
        name = attribute.name
        cell, label = build.column(name, of="tuple"), build.column(label_column(name), of="tuple")
        own = _is_own(draft, name, "tuple")
        key = build.column(KEY_LABEL, of="tuple")
        sets += [
            assign_column(name, case_when(negate(own), cell)),
            assign_column(label_column(name), case_when(own.copy(), key, label)),
        ]
        mark = mark_of(sight, name, of="tuple")
        same = equality(mark.copy(), draft.cell("m", name, of="old"))
        within.append(disjunction(equality(mark, build.number(ABSENT)), same))
    found = select_ones(draft.table("old"), draft.same_entity("tuple", "old"), *within)
    return exp.Update(
        this=physical_table(sight.relation, alias="tuple"),
        expressions=sets,
        where=exp.Where(this=exists(found)),
    )


def _is_own(draft: WriteDraft, name: str, of: str) -> exp.Expr:
    own = equality(build.column(label_column(name), of=of), build.number(draft.sight.code))
    return conjunction([own, is_value(build.column(name, of=of))])


def _is_first(of: str | None) -> exp.Expr:
    return equality(build.column(FIRST, of=of), build.number(1))


def _stored_tuples(relation: Relation) -> exp.Select:
    """Return the tuples of a relation with marks where labels are."""
    values: list[exp.Expr] = list(map(build.column, (TID, *relation.primary_key, KEY_LABEL)))
    for attribute in attributes(relation):
        name, label = attribute.name, label_column(attribute.name)
        missing = build.is_null(build.column(name))
        values.append(
            alias_in_place(case_when(missing, build.number(ABSENT), build.column(label)), label)
        )
    return select_where(values, physical_table(relation))
