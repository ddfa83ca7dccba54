"""Checks of GROUP BY, and of the columns that may be used beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.analysis import ExpressionContext, StatementAnalysis, infer_type
from discreet.guard.rewrite.functions import is_aggregate_call
from discreet.guard.rewrite.scope import RangeTableEntry, Scope, ScopeField
from discreet.sql import build
from discreet.sql.names import fold_identifier
from discreet.sql.positions import (
    SETS,
    count_expressions,
    count_sets,
    named_positions,
    written_position,
)


def read_group(
    reading: StatementAnalysis, select: exp.Select, scope: Scope, fields: Sequence[ScopeField]
) -> list[exp.Expr] | None:
    """Check GROUP BY and return the grouping expressions, None when there is none."""
    group = select.args.get("group")
    if group is None:
        return None
    sets = prod(count_sets(term) for term in group.expressions)
    if sets > 1:
        reading.work.grouping(sets, sum(count_expressions(term) for term in group.expressions))
    found: list[exp.Expr] = []
    for term in list(group.expressions):
        _read_term(reading, term, select, scope, fields, found)
    return found


def _read_term(
    reading: StatementAnalysis,
    term: exp.Expr,
    select: exp.Select,
    scope: Scope,
    fields: Sequence[ScopeField],
    found: list[exp.Expr],
) -> None:
    if isinstance(term, SETS):
        for inner in list(term.iter_expressions()):
            _read_term(reading, inner, select, scope, fields, found)
        return
    position = _find_position(term, scope, fields)
    if position is not None:
        column = select.expressions[position - 1].this
        if any(is_aggregate_call(node) for node in column.walk()):
            raise StatementFailed("42803", "aggregate functions are not allowed in GROUP BY")
        found.append(column)
        # A literal would be taken for a position, or refused, so positions stay positions.
        in_list = isinstance(term.parent, exp.Group)
        term.replace(build.number(position) if in_list else column.copy())
        return
    # Checking may replace the node, which stays in these brackets.
    holder = exp.Paren(this=term.copy())
    infer_type(reading, holder.this, ExpressionContext(scope, "GROUP BY"))
    found.append(holder.this)
    term.replace(holder.this.copy())


def _find_position(term: exp.Expr, scope: Scope, fields: Sequence[ScopeField]) -> int | None:
    """Return the position that a number, or a name that no column in FROM has, stands for."""
    position = read_position(term, len(fields), "GROUP BY")
    if position is not None or not isinstance(term, exp.Column) or term.args.get("table"):
        return position
    name = fold_identifier(term.this)
    if scope.column(name) is not None:
        return None
    found = named_positions((item.name for item in fields), name)
    if len(found) > 1:
        raise StatementFailed("42702", f'GROUP BY "{name}" is ambiguous')
    return found[0] if found else None


def read_position(node: exp.Expr, count: int, clause: str) -> int | None:
    """Return the position that a constant in a clause names; None for anything but a constant."""
    if not isinstance(node, exp.Literal):
        return None
    position = written_position(node)
    if position is None:
        raise StatementFailed("42601", f"non-integer constant in {clause}")
    if not 1 <= position <= count:
        raise StatementFailed("42P10", f"{clause} position {node.name} is not in select list")
    return position


def check_grouped(select: exp.Select, scope: Scope, groups: Sequence[exp.Expr]) -> None:
    """Refuse columns that are neither grouped by nor aggregated.

    Columns of a table whose primary key is grouped by are grouped by, too.
    """
    entries = {entry.handle: entry for entry in scope.entries}
    group = select.args.get("group")
    has_sets = group is not None and any(isinstance(term, SETS) for term in group.expressions)
    order = select.args.get("order")
    having = select.args.get("having")
    parts = [column.this for column in select.expressions]
    parts += [having.this] if having is not None else []
    parts += [term.this for term in order.expressions] if order is not None else []
    known = set(groups)
    for column in list(_ungrouped_columns(parts, known, entries)):
        if has_sets or not _depends_on_key(column, known, entries):
            name = f"{entries[column.table].name}.{column.name}".lstrip(".")
            raise StatementFailed(
                "42803",
                f'column "{name}" must appear in the GROUP BY clause or be used in an aggregate'
                " function",
            )
        if column not in known:
            known.add(column)
            select.args["group"].append("expressions", column.copy())


def _depends_on_key(
    column: exp.Column, known: set[exp.Expr], entries: dict[str, RangeTableEntry]
) -> bool:
    relation = entries[column.table].relation
    if relation is None or not relation.primary_key or relation.kind != "table":
        return False
    keys = {build.column(name, of=column.table) for name in relation.primary_key}
    return keys <= known


def _ungrouped_columns(
    nodes: Iterable[exp.Expr], groups: set[exp.Expr], entries: dict[str, RangeTableEntry]
) -> Iterable[exp.Column]:
    for node in nodes:
        if node in groups or isinstance(node, (exp.WithinGroup, exp.Grouping)):
            continue
        if isinstance(node, exp.Window):
            call = node.this.this if isinstance(node.this, exp.Filter) else node.this
            rest = [part for part in node.iter_expressions() if part is not node.this]
            yield from _ungrouped_columns([*call.iter_expressions(), *rest], groups, entries)
        elif is_aggregate_call(node) or isinstance(node, exp.Filter):
            continue
        elif isinstance(node, exp.Column):
            if node.table in entries:
                yield node
        else:
            yield from _ungrouped_columns(node.iter_expressions(), groups, entries)
