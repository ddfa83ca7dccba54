"""Checks of FROM: tables, subqueries, VALUES and joins, with their merged columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.guard.access.names import find_relation
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    StatementAnalysis,
    infer_type,
    read_subquery,
)
from discreet.guard.rewrite.expressions import check_condition, match_kinds
from discreet.guard.rewrite.kinds import InferredType, kind_named
from discreet.guard.rewrite.operators import check_comparison
from discreet.guard.rewrite.scope import (
    RangeTableEntry,
    Scope,
    ScopeField,
    VisibleColumn,
    distinct_keys,
    visible_fields,
)
from discreet.guard.rewrite.set_functions import is_function, read_function
from discreet.sql import build
from discreet.sql.names import common_table, fold_identifier

ENTRY = "entry"  # meta of a table to be replaced by permitted rows: the handle of its entry
COMMON = "common"  # meta of a reference to a common table expression

LABEL = "_label"  # suffix of the name of a column's label
TUPLE_CLASS = "tc"


@dataclass
class FromItem:
    """A part of FROM and the names that it makes visible."""

    entries: list[RangeTableEntry] = field(default_factory=list[RangeTableEntry])
    columns: list[VisibleColumn] = field(default_factory=list[VisibleColumn])


def relation_fields(relation: Relation) -> list[ScopeField]:
    """Return the columns of a relation; labels of cells can be named, but are not part of `*`."""
    fields = [
        ScopeField(item.name, item.name, kind_named(item.type), origin=(*relation.key, place))
        for place, item in enumerate(relation.columns, start=1)
    ]
    if not relation.multilevel:
        return fields
    names = {item.name for item in fields}
    labels = [*(f"{item.name}{LABEL}" for item in relation.columns), TUPLE_CLASS]
    return fields + [
        ScopeField(name, name, "text", in_star=False) for name in labels if name not in names
    ]


def read_from_clause(reading: StatementAnalysis, select: exp.Select, scope: Scope) -> None:
    """Check FROM and add its names to `scope`."""
    start = select.args.get("from_")
    if start is None:
        return
    done = FromItem()
    current = _read_item(reading, start.this, scope, done)
    for join in select.args.get("joins") or []:
        if _is_comma(join):
            done = _combine_items(done, current)
            current = _read_item(reading, join.this, scope, done)
        else:
            current = _read_join(reading, join, scope, done, current)
    done = _combine_items(done, current)
    scope.entries, scope.columns = done.entries, done.columns


def _is_comma(join: exp.Expr) -> bool:
    return not any(join.args.get(name) for name in ("side", "kind", "method", "on", "using"))


def _combine_items(left: FromItem, right: FromItem) -> FromItem:
    """Return two parts of FROM together; their names must differ."""
    names = {(entry.name, entry.schema) for entry in left.entries if entry.name}
    for entry in right.entries:
        if (entry.name, entry.schema) in names:
            raise StatementFailed("42712", f'table name "{entry.name}" specified more than once')
    return FromItem(left.entries + right.entries, left.columns + right.columns)


def _read_item(
    reading: StatementAnalysis, node: exp.Expr, scope: Scope, before: FromItem
) -> FromItem:
    """Check one part of FROM; LATERAL may refer to `before`, the parts to its left."""
    if isinstance(node, exp.Table) and not is_function(node):
        entry = _read_table(reading, node, scope)
    elif is_function(node):
        around = Scope(scope.parent, scope.commons, before.entries, before.columns)
        is_lateral = bool(before.entries)
        entry = read_function(reading, node, around, is_lateral=is_lateral)
        reading.work.relation()
    elif isinstance(node, exp.Values):
        entry = _read_values(reading, node, scope)
    elif isinstance(node, exp.Lateral):
        around = Scope(scope.parent, scope.commons, before.entries, before.columns)
        if not isinstance(node.this, exp.Subquery):
            raise unsupported_feature("LATERAL of anything but a query")
        entry = _read_derived(reading, node, node.this.this, around)
    elif isinstance(node, exp.Subquery) and isinstance(node.this, (exp.Table, exp.Subquery)):
        return _read_brackets(reading, node, scope, before)
    elif isinstance(node, exp.Subquery):
        entry = _read_derived(reading, node, node.this, scope)
    else:
        raise unsupported_feature("This in FROM")
    return FromItem([entry], visible_fields(entry))


def _read_brackets(
    reading: StatementAnalysis, node: exp.Subquery, scope: Scope, before: FromItem
) -> FromItem:
    """Check joins in brackets, or a query in several brackets."""
    if isinstance(node.this, exp.Subquery):
        if node.this.args.get("alias"):
            raise unsupported_feature("An alias in brackets")
        node.set("this", node.this.this)
        return _read_item(reading, node, scope, before)
    if node.args.get("alias"):
        raise unsupported_feature("An alias of a join")
    joins = node.this.args.get("joins") or []
    current = _read_item(reading, node.this, scope, before)
    for join in joins:
        current = _read_join(reading, join, scope, before, current)
    return current


def _apply_alias(
    node: exp.Expr, fields: Sequence[ScopeField], default: str
) -> tuple[str, list[ScopeField]]:
    """Return the name of a part of FROM and its columns, renamed by its alias."""
    alias = node.args.get("alias")
    if alias is None:
        return default, list(fields)
    name = fold_identifier(alias.this) or default
    names = [fold_identifier(column) for column in alias.args.get("columns") or []]
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


def _read_table(reading: StatementAnalysis, node: exp.Table, scope: Scope) -> RangeTableEntry:
    written = fold_identifier(node.args.get("db")) or None, fold_identifier(node.this)
    common = scope.common(written[1]) if written[0] is None else None
    relation = None if common else resolve_relation(reading, *written)
    fields = common.fields if common else relation_fields(relation) if relation else []
    name, fields = _apply_alias(node, fields, written[1])
    handle = reading.handles.new(name)
    schema = relation.schema if relation and not node.args.get("alias") else None
    entry = RangeTableEntry(name, handle, fields, relation, schema)
    node.set("db", None)
    node.set("only", None)
    node.set("this", exp.to_identifier(common.handle if common else handle, quoted=True))
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True)))
    node.meta[COMMON if common else ENTRY] = handle
    if relation is not None:
        reading.entries.append(entry)
    reading.work.relation()
    return entry


def resolve_relation(reading: StatementAnalysis, schema: str | None, name: str) -> Relation:
    """Return the relation that a name stands for, or fail with 42P01."""
    if schema is not None and schema not in reading.authority.schemas:
        raise StatementFailed("42P01", f'relation "{schema}.{name}" does not exist')
    role = None if reading.is_stored else reading.role
    return find_relation(reading.authority, role, (schema, name))


def _read_derived(
    reading: StatementAnalysis, node: exp.Expr, query: exp.Expr, around: Scope
) -> RangeTableEntry:
    fields = read_subquery(reading, query, Scope(parent=around))
    name, fields = _apply_alias(node, fields, "")
    handle = reading.handles.new(name or "query")
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True)))
    return RangeTableEntry(name, handle, fields)


def _read_values(reading: StatementAnalysis, node: exp.Expr, scope: Scope) -> RangeTableEntry:
    place = ExpressionContext(Scope(parent=scope), "VALUES")
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise StatementFailed("42601", "VALUES lists must all be the same length")
    fields: list[ScopeField] = []
    for number, column in enumerate(zip(*rows, strict=True), start=1):
        # Cells are checked one column at a time: their common type is the column's.
        found = match_kinds(
            reading, column, [infer_type(reading, cell, place) for cell in column], "VALUES"
        )
        fields.append(ScopeField(f"column{number}", f"column{number}", found.kind, found.weight))
    name, fields = _apply_alias(node, fields, "")
    handle = reading.handles.new(name or "values")
    columns = [exp.to_identifier(item.key, quoted=True) for item in fields]
    node.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True), columns=columns))
    return RangeTableEntry(name, handle, fields)


def _read_join(
    reading: StatementAnalysis, join: exp.Expr, scope: Scope, before: FromItem, left: FromItem
) -> FromItem:
    side, kind = str(join.args.get("side") or ""), str(join.args.get("kind") or "")
    if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
        raise unsupported_feature(f"{side or kind} JOIN")
    if join.args.get("method") not in (None, "", "NATURAL"):
        raise unsupported_feature("This kind of join")
    right = _read_item(reading, join.this, scope, _combine_items(before, left))
    both = _combine_items(left, right)
    names = _merged_names(join, left, right)
    join.set("using", None)
    join.set("method", None)
    if names is not None:
        return _merge_columns(reading, join, left, right, names)
    if join.args.get("on") is not None:
        inner = Scope(scope.parent, scope.commons, both.entries, both.columns)
        check_condition(
            reading, join.args["on"], ExpressionContext(inner, "JOIN conditions"), "JOIN/ON"
        )
    return both


def _merged_names(join: exp.Expr, left: FromItem, right: FromItem) -> list[str] | None:
    """Return the columns that USING or NATURAL merges, None for neither."""
    if join.args.get("using"):
        return [
            fold_identifier(name.this if isinstance(name, exp.Column) else name)
            for name in join.args["using"]
        ]
    if not join.args.get("method"):
        return None
    theirs = {column.name for column in right.columns if column.in_star}
    return [column.name for column in left.columns if column.in_star and column.name in theirs]


def _using_column(item: FromItem, name: str, side: str) -> VisibleColumn:
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


def _merge_columns(
    reading: StatementAnalysis,
    join: exp.Expr,
    left: FromItem,
    right: FromItem,
    names: Sequence[str],
) -> FromItem:
    """Return both sides with the named columns merged; the join compares them."""
    merged: list[VisibleColumn] = []
    conditions: list[exp.Expr] = []
    taken: set[int] = set()
    for name in names:
        mine, theirs = _using_column(left, name, "left"), _using_column(right, name, "right")
        equal = exp.EQ(this=mine.reference(), expression=theirs.reference())
        kinds = InferredType(mine.item.kind), InferredType(theirs.item.kind)
        check_comparison(reading, "=", (equal.this, kinds[0]), (equal.expression, kinds[1]))
        conditions.append(equal)
        taken |= {id(mine), id(theirs)}
        shown = {"RIGHT": theirs.shown, "FULL": mine.shown + theirs.shown}
        merged.append(
            VisibleColumn(
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
    return FromItem(left.entries + right.entries, merged + rest)


def key_names(names: Sequence[str], *, is_top: bool) -> list[str]:
    """Return the column names in the tree: at the top those of the user."""
    return list(names) if is_top else distinct_keys(names)


def relations_named(reading: StatementAnalysis, tree: exp.Expr) -> list[Relation]:
    """Return the relations that a tree names, common table expressions aside."""
    found: dict[tuple[str, str], Relation] = {}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or common_table(table):
            continue
        relation = resolve_relation(
            reading, fold_identifier(table.args.get("db")) or None, fold_identifier(table.this)
        )
        found[relation.key] = relation
    return list(found.values())
