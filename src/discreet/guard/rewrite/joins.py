"""How FROM is read: tables, queries in brackets, VALUES and joins, with their merged columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.names import find_relation
from discreet.guard.rewrite.allowed import refused
from discreet.guard.rewrite.expressions import condition, matched
from discreet.guard.rewrite.kinds import Typed, kind_named
from discreet.guard.rewrite.operators import compare
from discreet.guard.rewrite.reading import Place, Reading, typed
from discreet.guard.rewrite.scope import (
    Entry,
    Field,
    Scope,
    Visible,
    distinct_keys,
    folded,
    visible_fields,
)
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.guard.access.authority import Relation

ENTRY = "entry"  # meta of a table that permitted rows take the place of: the handle of its entry
COMMON = "common"  # meta of a reference to a common table expression

LABEL = "_label"  # what the name of a column's label ends with
TUPLE_CLASS = "tc"


@dataclass
class Item:
    """A part of FROM: what it brings into sight."""

    entries: list[Entry] = field(default_factory=list[Entry])
    columns: list[Visible] = field(default_factory=list[Visible])


def relation_fields(relation: Relation) -> list[Field]:
    """Return the columns of a relation; labels of cells can be named, but are not part of `*`."""
    fields = [
        Field(item.name, item.name, kind_named(item.type), origin=(*relation.key, place))
        for place, item in enumerate(relation.columns, start=1)
    ]
    if not relation.multilevel:
        return fields
    names = {item.name for item in fields}
    labels = [*(f"{item.name}{LABEL}" for item in relation.columns), TUPLE_CLASS]
    return fields + [
        Field(name, name, "text", in_star=False) for name in labels if name not in names
    ]


def read_from(reading: Reading, select: exp.Select, scope: Scope) -> None:
    """Read FROM and bring what it names into sight of `scope`."""
    start = select.args.get("from_")
    if start is None:
        return
    done = Item()
    current = _item(reading, start.this, scope, done)
    for join in select.args.get("joins") or []:
        if _is_comma(join):
            done = _beside(done, current)
            current = _item(reading, join.this, scope, done)
        else:
            current = _joined(reading, join, scope, done, current)
    done = _beside(done, current)
    scope.entries, scope.columns = done.entries, done.columns


def _is_comma(join: exp.Expr) -> bool:
    return not any(join.args.get(name) for name in ("side", "kind", "method", "on", "using"))


def _beside(left: Item, right: Item) -> Item:
    """Return two parts of FROM together; their names must differ."""
    names = {(entry.name, entry.schema) for entry in left.entries if entry.name}
    for entry in right.entries:
        if (entry.name, entry.schema) in names:
            raise StatementFailed("42712", f'table name "{entry.name}" specified more than once')
    return Item(left.entries + right.entries, left.columns + right.columns)


def _item(reading: Reading, node: exp.Expr, scope: Scope, before: Item) -> Item:
    """Read one part of FROM; `before` is what stands left of it, which LATERAL may see."""
    if isinstance(node, exp.Table):
        entry = _table(reading, node, scope)
    elif isinstance(node, exp.Values):
        entry = _values(reading, node, scope)
    elif isinstance(node, exp.Lateral):
        around = Scope(scope.parent, scope.commons, before.entries, before.columns)
        if not isinstance(node.this, exp.Subquery):
            raise refused("LATERAL of anything but a query")
        entry = _derived(reading, node, node.this.this, around)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)):
        return _brackets(reading, node, scope, before)
    elif isinstance(node, exp.Subquery):
        entry = _derived(reading, node, node.this, scope)
    else:
        raise refused("This in FROM")
    return Item([entry], visible_fields(entry))


def _brackets(reading: Reading, node: exp.Subquery, scope: Scope, before: Item) -> Item:
    """Read joins in brackets; or a query in more brackets than one."""
    if isinstance(node.this, exp.Subquery):
        if node.this.args.get("alias"):
            raise refused("An alias in brackets")
        node.set("this", node.this.this)
        return _item(reading, node, scope, before)
    if node.args.get("alias"):
        raise refused("An alias of a join")
    joins = node.this.args.get("joins") or []
    current = _item(reading, node.this, scope, before)
    for join in joins:
        current = _joined(reading, join, scope, before, current)
    return current


def _named(node: exp.Expr, fields: Sequence[Field], default: str) -> tuple[str, list[Field]]:
    """Return the name of a part of FROM and its columns, renamed by its alias."""
    alias = node.args.get("alias")
    if alias is None:
        return default, list(fields)
    name = folded(alias.this) or default
    names = [folded(column) for column in alias.args.get("columns") or []]
    shown = [item for item in fields if item.in_star]
    if len(names) > len(shown):
        raise StatementFailed(
            "42P10",
            f'table "{name}" has {len(shown)} columns available but {len(names)} columns specified',
        )
    renamed = [
        replace(item, name=new, in_star=True) for new, item in zip(names, shown, strict=False)
    ]
    return name, renamed + list(fields[len(names) :])


def _table(reading: Reading, node: exp.Table, scope: Scope) -> Entry:
    written = folded(node.args.get("db")) or None, folded(node.this)
    common = scope.common(written[1]) if written[0] is None else None
    relation = None if common else find(reading, *written)
    fields = common.fields if common else relation_fields(relation) if relation else []
    name, fields = _named(node, fields, written[1])
    handle = reading.handles.new(name)
    schema = relation.schema if relation and not node.args.get("alias") else None
    entry = Entry(name, handle, fields, relation, schema)
    node.set("db", None)
    node.set("only", None)
    node.set("this", exp.to_identifier(common.handle if common else handle, quoted=True))
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True)))
    node.meta[COMMON if common else ENTRY] = handle
    if relation is not None:
        reading.entries.append(entry)
    reading.work.relation()
    return entry


def find(reading: Reading, schema: str | None, name: str) -> Relation:
    """Return the relation that a name stands for, or fail with 42P01."""
    if schema is not None and schema not in reading.authority.schemas:
        raise StatementFailed("42P01", f'relation "{schema}.{name}" does not exist')
    role = None if reading.is_stored else reading.role
    return find_relation(reading.authority, role, (schema, name))


def _derived(reading: Reading, node: exp.Expr, query: exp.Expr, around: Scope) -> Entry:
    from discreet.guard.rewrite.queries import read_finished

    fields = read_finished(reading, query, Scope(parent=around))
    name, fields = _named(node, fields, "")
    handle = reading.handles.new(name or "query")
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True)))
    return Entry(name, handle, fields)


def _values(reading: Reading, node: exp.Expr, scope: Scope) -> Entry:
    place = Place(Scope(parent=scope), "VALUES")
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise StatementFailed("42601", "VALUES lists must all be the same length")
    fields: list[Field] = []
    for number, column in enumerate(zip(*rows, strict=True), start=1):
        # Cells are read one column at a time: what they have in common is the column's kind.
        found = matched(reading, column, [typed(reading, cell, place) for cell in column], "VALUES")
        fields.append(Field(f"column{number}", f"column{number}", found.kind, found.weight))
    name, fields = _named(node, fields, "")
    handle = reading.handles.new(name or "values")
    columns = [exp.to_identifier(item.key, quoted=True) for item in fields]
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True), columns=columns))
    return Entry(name, handle, fields)


def _joined(reading: Reading, join: exp.Expr, scope: Scope, before: Item, left: Item) -> Item:
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
        raise refused(f"{side or kind} JOIN")
    if join.args.get("method") not in (None, "", "NATURAL"):
        raise refused("This kind of join")
    right = _item(reading, join.this, scope, _beside(before, left))
    both = _beside(left, right)
    names = _merged_names(join, left, right)
    join.set("using", None)
    join.set("method", None)
    if names is not None:
        return _merged(reading, join, left, right, names)
    if join.args.get("on") is not None:
        inner = Scope(scope.parent, scope.commons, both.entries, both.columns)
        condition(reading, join.args["on"], Place(inner, "JOIN conditions"), "JOIN/ON")
    return both


def _merged_names(join: exp.Expr, left: Item, right: Item) -> list[str] | None:
    """Return the columns that USING or NATURAL merges, None for neither."""
    if join.args.get("using"):
        return [
            folded(name.this if isinstance(name, exp.Column) else name)
            for name in join.args["using"]
        ]
    if not join.args.get("method"):
        return None
    theirs = {column.name for column in right.columns if column.in_star}
    return [column.name for column in left.columns if column.in_star and column.name in theirs]


def _side(item: Item, name: str, side: str) -> Visible:
    found = [column for column in item.columns if column.name == name]
    if not found:
        raise StatementFailed(
            "42703", f'column "{name}" specified in USING clause does not exist in {side} table'
        )
    if len(found) > 1:
        raise StatementFailed(
            "42702", f'common column name "{name}" appears more than once in {side} table'
        )
    return found[0]


def _merged(
    reading: Reading, join: exp.Expr, left: Item, right: Item, names: Sequence[str]
) -> Item:
    """Return both sides with the named columns merged; the join compares them."""
    merged: list[Visible] = []
    conditions: list[exp.Expr] = []
    taken: set[int] = set()
    for name in names:
        mine, theirs = _side(left, name, "left"), _side(right, name, "right")
        equal = exp.EQ(this=mine.reference(), expression=theirs.reference())
        kinds = Typed(mine.item.kind), Typed(theirs.item.kind)
        compare(reading, "=", (equal.this, kinds[0]), (equal.expression, kinds[1]))
        conditions.append(equal)
        taken |= {id(mine), id(theirs)}
        shown = {"RIGHT": theirs.shown, "FULL": mine.shown + theirs.shown}
        merged.append(
            Visible(
                name,
                shown.get(str(join.args.get("side") or ""), mine.shown),
                mine.parts + theirs.parts,
            )
        )
    if conditions:
        join.set("on", build.all_of(conditions))
    elif not join.args.get("side"):
        join.set("kind", "CROSS")
    else:
        join.set("on", exp.true())
    rest = [column for column in left.columns + right.columns if id(column) not in taken]
    return Item(left.entries + right.entries, merged + rest)


def key_names(names: Sequence[str], *, is_top: bool) -> list[str]:
    """Return what columns are called in the tree: at the top as the user named them."""
    return list(names) if is_top else distinct_keys(names)
