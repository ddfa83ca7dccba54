"""What INSERT, UPDATE and DELETE at a clearance do to a multi-level relation.

After Jajodia, Sandhu & Sibley 1990 and Jajodia & Sandhu 1991. Whoever writes at `c` writes cells
labeled `c`, and nothing else: a cell below stays, and a new version of the row stands beside it
(visible polyinstantiation); a cell above, which they cannot know of, stays as well (invisible
polyinstantiation).

Guarantee: what a clearance that does not dominate `c` sees is the same before and after; and what
any other one sees after, the count and the error included, depends only on what it saw before
(unwinding conditions; Goguen & Meseguer 1984). Writers come one after the other: the caller sees to it,
and takes back what was done when a function here raises.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.levels.constraints import hold, rules_after, rules_before
from discreet.guard.levels.draft import (
    FIRST,
    Draft,
    discard,
    draft_delete,
    draft_insert,
    draft_update,
    labeled,
    new_rows,
    old_rows,
    pairs,
)
from discreet.guard.levels.physical import (
    KEY_LABEL,
    TID,
    attributes,
    into,
    label_column,
    same_entity,
    table,
)
from discreet.guard.levels.read import ABSENT, Sight, is_subsumed, mark_of
from discreet.guard.levels.trees import (
    differs,
    either,
    equal,
    every,
    exists,
    is_value,
    joined,
    named,
    negated,
    rows_of,
    select,
    when,
)
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from discreet.engines.databases.database import Connection
    from discreet.engines.engine import ArrowTable
    from discreet.guard.access.authority import Name, Relation
    from discreet.guard.levels.lattice import Label, Lattice
    from discreet.guard.levels.read import NullLabel

Moment = Literal["before", "after"]


@dataclass(frozen=True)
class Written:
    """How many rows a write changed, as its clearance sees it, and what RETURNING returns."""

    count: int
    table: ArrowTable | None = None


@dataclass(frozen=True)
class Terms:
    """What a write is held to, and what it tells.

    Attributes:
        relations: All there are, for foreign keys from here and to here.
        returning: Expressions over the row, after INSERT and UPDATE, before DELETE.
        watch: Is called before and after the write with a query of what changes, `old_<column>` and
            `new_<column>`, and may raise: for triggers and row policies.
        alias: What expressions call the row, when not by the relation's name.
        null_label: Which label NULLs show, as in `read`.
        settings: What the session has SET, for defaults such as the moment.
    """

    relations: Mapping[Name, Relation] = field(default_factory=dict["Name", "Relation"])
    returning: Sequence[exp.Expr] = ()
    watch: Callable[[Moment, exp.Query], None] | None = None
    alias: str | None = None
    null_label: NullLabel = "clearance"
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


_PLAIN = Terms()


def insert(
    connection: Connection,
    relation: Relation,
    lattice: Lattice,
    clearance: Label,
    columns: Sequence[str],
    rows: exp.Query,
    *,
    terms: Terms = _PLAIN,
) -> Written:
    """Insert `rows`, given for `columns`, with every label at the clearance.

    Raises:
        StatementFailed: 23505 if a key is seen already; 23502, 23503, 23514.
    """
    sight = Sight(relation, lattice, clearance, terms.null_label)
    draft = draft_insert(connection, sight, columns, rows, settings=terms.settings)
    with discarded(connection, draft):
        _before(connection, draft, terms)
        count = connection.execute(_new_tuples(draft), touches=[relation.physical])
        return _after(connection, draft, terms, count)


def update(
    connection: Connection,
    relation: Relation,
    lattice: Lattice,
    clearance: Label,
    assignments: Mapping[str, exp.Expr],
    condition: exp.Expr | None,
    *,
    terms: Terms = _PLAIN,
) -> Written:
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
    sight = Sight(relation, lattice, clearance, terms.null_label)
    alias = terms.alias or relation.name
    draft = draft_update(connection, sight, assignments, condition, alias=alias)
    with discarded(connection, draft):
        _before(connection, draft, terms)
        count = count_rows(connection, draft)
        if count:
            connection.execute(_overwrite(draft), touches=[relation.physical])
            connection.execute(_new_tuples(draft), touches=[relation.physical])
            clean(connection, relation, entities(draft))
        return _after(connection, draft, terms, count)


def delete(
    connection: Connection,
    relation: Relation,
    lattice: Lattice,
    clearance: Label,
    condition: exp.Expr | None,
    *,
    terms: Terms = _PLAIN,
) -> Written:
    """Delete what the clearance wrote of the visible rows that meet `condition`.

    A row whose key has the clearance as its label goes, in all its versions. Of a row with a lower
    key, cells that have the clearance as their label go: the rest is others' to delete, and is not
    counted when nothing of it is ours.

    Raises:
        StatementFailed: 23503 if rows that are seen refer to a key that would be gone.
    """
    sight = Sight(relation, lattice, clearance, terms.null_label)
    alias = terms.alias or relation.name
    draft = draft_delete(connection, sight, condition, alias=alias)
    with discarded(connection, draft):
        _before(connection, draft, terms)
        count = count_rows(connection, draft, _is_ours(draft))
        if count:
            connection.execute(_remove(draft), touches=[relation.physical])
            if attributes(relation):
                connection.execute(_unassert(draft), touches=[relation.physical])
            clean(connection, relation, entities(draft))
        return _after(connection, draft, terms, count)


def clean(connection: Connection, relation: Relation, touched: exp.Query) -> None:
    """Remove tuples that another one of the same entity subsumes, in the entities of `touched`.

    `touched` has the columns of the key and its label. No clearance sees a difference.
    """
    query = select([build.column(TID, of="one")], build.subquery(touched, "entity"))
    one, other = (build.subquery(_stored(relation), name) for name in ("one", "other"))
    joined(query, one, same_entity(relation, "one", "entity"))
    joined(
        query, other, same_entity(relation, "one", "other"), is_subsumed(relation, "one", "other")
    )
    condition = exp.In(this=build.column(TID), query=exp.Subquery(this=query))
    connection.execute(
        exp.Delete(this=table(relation), where=exp.Where(this=condition)),
        touches=[relation.physical],
    )


def entities(draft: Draft) -> exp.Select:
    """Return the keys of a draft's rows and their labels, each once."""
    keys = [named(draft.new(name), name) for name in draft.sight.relation.primary_key]
    return select([*keys, build.column(KEY_LABEL)], draft.table(), _is_first(None))


def count_rows(connection: Connection, draft: Draft, *conditions: exp.Expr) -> int:
    """Return how many rows of a draft meet the conditions."""
    query = select([build.count_rows()], draft.table(), *conditions)
    return connection.query(query).to_pylist()[0].popitem()[1]


def assign(name: str, value: exp.Expr) -> exp.EQ:
    """Return `name = value` as UPDATE has it."""
    return equal(build.column(name), value)


def change_entities(draft: Draft, sets: list[exp.EQ], *conditions: exp.Expr) -> exp.Update:
    """Return an UPDATE of all tuples, `old`, of the entities of a draft, whose first row is `new`."""
    where = every([draft.same_entity("old", "new"), _is_first("new"), *conditions])
    return exp.Update(
        this=table(draft.sight.relation, alias="old"),
        expressions=sets,
        from_=exp.From(this=draft.table("new")),
        where=exp.Where(this=where),
    )


@contextmanager
def discarded(connection: Connection, draft: Draft) -> Generator[None]:
    """Forget a draft at the end, however it comes."""
    try:
        yield
    except StatementFailed:
        # After a failure of the engine the transaction takes no more; the table goes with it.
        with suppress(StatementFailed):
            discard(connection, draft)
        raise
    discard(connection, draft)


def _before(connection: Connection, draft: Draft, terms: Terms) -> None:
    if terms.watch is not None:
        terms.watch("before", pairs(draft))
    hold(connection, rules_before(draft, connection.dialect))


def _after(connection: Connection, draft: Draft, terms: Terms, count: int) -> Written:
    hold(connection, rules_after(draft, terms.relations))
    if terms.watch is not None:
        terms.watch("after", pairs(draft))
    if not terms.returning:
        return Written(count)
    rows = new_rows(draft)
    if draft.verb == "DELETE":
        rows = old_rows(draft).where(_is_ours(draft), copy=False)
    alias = terms.alias or draft.sight.relation.name
    source = build.subquery(labeled(draft, rows), alias)
    return Written(count, connection.query(select((x.copy() for x in terms.returning), source)))


def _new_tuples(draft: Draft) -> exp.Insert:
    """Insert a tuple for each new row; of an update, where a changed cell must stay as it is."""
    relation, key = draft.sight.relation, build.column(KEY_LABEL)
    last = select([exp.Max(this=build.column(TID))], table(relation))
    start = exp.Coalesce(this=exp.Subquery(this=last), expressions=[build.number(0)])
    values: list[exp.Expr] = [exp.Add(this=start, expression=exp.Window(this=exp.RowNumber()))]
    values += [*map(draft.new, relation.primary_key), key]
    for attribute in attributes(relation):
        value = draft.new(attribute.name)
        is_changed = attribute.name in draft.changed
        label = build.number(draft.sight.code) if is_changed else draft.cell("m", attribute.name)
        values += [value, when(build.is_null(value.copy()), key.copy(), label)]
    own = draft.sight.code
    source = select(values, draft.table())
    if draft.verb == "UPDATE":
        kept = (differs(draft.cell("m", name), build.number(own)) for name in draft.changed)
        source = source.where(either(*kept), copy=False)
    return exp.Insert(this=into(relation), expression=source)


def _overwrite(draft: Draft) -> exp.Update:
    """Overwrite cells that have the clearance as their label, in all versions of the changed rows.

    NULL takes a cell away only where a changed row showed it; a value must be the only one at
    its label, wherever it was shown.
    """
    sets: list[exp.EQ] = []
    for name in draft.changed:
        value, shown = draft.cell("w", name, of="new"), draft.cell("t", name, of="new")
        cell, label = build.column(name, of="old"), build.column(label_column(name), of="old")
        was_shown = equal(shown, build.number(draft.sight.code))
        hit = every([_is_own(draft, name, "old"), either(is_value(value), was_shown)])
        gone = every([hit.copy(), build.is_null(value.copy())])
        sets += [
            assign(name, when(hit, value.copy(), cell)),
            assign(label_column(name), when(gone, build.column(KEY_LABEL, of="old"), label)),
        ]
    return change_entities(draft, sets)


def _is_ours(draft: Draft) -> exp.Expr:
    names = [attribute.name for attribute in attributes(draft.sight.relation)]
    labels = [build.column(KEY_LABEL), *(draft.cell("m", name) for name in names)]
    return either(*(equal(label, build.number(draft.sight.code)) for label in labels))


def _remove(draft: Draft) -> exp.Delete:
    """Delete the entities whose key has the clearance as its label."""
    own = equal(build.column(KEY_LABEL, of="old"), build.number(draft.sight.code))
    found = rows_of(draft.table("old"), own, draft.same_entity("tuple", "old"))
    return exp.Delete(
        this=table(draft.sight.relation, alias="tuple"), where=exp.Where(this=exists(found))
    )


def _unassert(draft: Draft) -> exp.Update:
    """Make cells with the clearance's label NULL in all tuples that say no more than a deleted row.

    Tuples that look like less than the row are among them: one that was left would show again what
    was deleted, and with it that it is there.
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
            assign(name, when(negated(own), cell)),
            assign(label_column(name), when(own.copy(), key, label)),
        ]
        mark = mark_of(sight, name, of="tuple")
        same = equal(mark.copy(), draft.cell("m", name, of="old"))
        within.append(either(equal(mark, build.number(ABSENT)), same))
    found = rows_of(draft.table("old"), draft.same_entity("tuple", "old"), *within)
    return exp.Update(
        this=table(sight.relation, alias="tuple"),
        expressions=sets,
        where=exp.Where(this=exists(found)),
    )


def _is_own(draft: Draft, name: str, of: str) -> exp.Expr:
    own = equal(build.column(label_column(name), of=of), build.number(draft.sight.code))
    return every([own, is_value(build.column(name, of=of))])


def _is_first(of: str | None) -> exp.Expr:
    return equal(build.column(FIRST, of=of), build.number(1))


def _stored(relation: Relation) -> exp.Select:
    """Return the tuples of a relation with marks where labels are."""
    values: list[exp.Expr] = list(map(build.column, (TID, *relation.primary_key, KEY_LABEL)))
    for attribute in attributes(relation):
        name, label = attribute.name, label_column(attribute.name)
        missing = build.is_null(build.column(name))
        values.append(named(when(missing, build.number(ABSENT), build.column(label)), label))
    return select(values, table(relation))
