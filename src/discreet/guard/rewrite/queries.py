"""Checks of queries: SELECT with all its clauses, and UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import (
    ExpressionContext,
    SelectLevel,
    StatementAnalysis,
    infer_type,
    mark_resolved,
    query_rule,
    settle_literal,
)
from discreet.guard.rewrite.calls import window_parts
from discreet.guard.rewrite.expressions import check_condition
from discreet.guard.rewrite.grouping import check_grouped, read_group, read_position
from discreet.guard.rewrite.joins import key_names, read_from_clause
from discreet.guard.rewrite.kinds import UNKNOWN, common, long_name
from discreet.guard.rewrite.locks import lock_entries
from discreet.guard.rewrite.naming import select_column_name
from discreet.guard.rewrite.normalize import limits
from discreet.guard.rewrite.scope import CommonTableExpression, Scope, ScopeField
from discreet.guard.rewrite.set_functions import SETS
from discreet.sql import build
from discreet.sql.limits import COLUMNS
from discreet.sql.names import fold_identifier
from discreet.sql.positions import named_positions

if TYPE_CHECKING:
    from discreet.guard.rewrite.scope import Origin


@query_rule(exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Subquery)
def read_finished(
    reading: StatementAnalysis, tree: exp.Expr, scope: Scope, *, is_top: bool = False
) -> list[ScopeField]:
    """Check a top-level query: columns without a type become text."""
    fields = read_query(reading, tree, scope, is_top=is_top)
    kinds = ["text" if item.kind == UNKNOWN else item.kind for item in fields]
    settle_columns(reading, tree, kinds)
    return [replace(item, kind=kind) for item, kind in zip(fields, kinds, strict=True)]


def settle_columns(reading: StatementAnalysis, tree: exp.Expr, kinds: Sequence[str | None]) -> None:
    """Give untyped literals and parameters among result columns their required kinds."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        settle_columns(reading, tree.this, kinds)
        settle_columns(reading, tree.expression, kinds)
        return
    for column, kind in zip(tree.expressions, kinds, strict=False):
        settle_literal(reading, column.this if isinstance(column, exp.Alias) else column, kind)


def read_query(
    reading: StatementAnalysis, tree: exp.Expr, scope: Scope, *, is_top: bool = False
) -> list[ScopeField]:
    """Check a query and return its columns; `scope` is new, inside the enclosing scopes."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    read_commons(reading, tree, scope)
    if isinstance(tree, exp.SetOperation):
        fields = _read_set_operation(reading, tree, scope, is_top=is_top)
    elif isinstance(tree, exp.Select):
        fields = _SelectReader(reading, tree, scope, is_top=is_top).read()
    else:
        raise unsupported_feature("This query")
    limits(tree)
    for name in ("limit", "offset"):
        if tree.args.get(name) is not None:
            value = tree.args[name].expression
            infer_type(reading, value, ExpressionContext(scope, name.upper()))
            settle_literal(reading, value, "int8")
    return fields


def read_commons(reading: StatementAnalysis, tree: exp.Expr, scope: Scope) -> None:
    """Check WITH, and add its names to `scope`."""
    clause = tree.args.get("with_")
    for common_table in clause.expressions if clause is not None else []:
        alias = common_table.args["alias"]
        name = fold_identifier(alias.this)
        if name in scope.commons:
            raise StatementFailed("42712", f'WITH query name "{name}" specified more than once')
        fields = read_finished(reading, common_table.this, Scope(parent=scope))
        names = [fold_identifier(column) for column in alias.args.get("columns") or []]
        if len(names) > len(fields):
            raise StatementFailed(
                "42P10", f'WITH query "{name}" has {len(fields)} columns available'
            )
        renamed = [replace(item, name=new) for new, item in zip(names, fields, strict=False)]
        handle = reading.handles.new(name)
        common_table.set("alias", exp.TableAlias(this=exp.to_identifier(handle, quoted=True)))
        scope.commons[name] = CommonTableExpression(handle, renamed + fields[len(names) :])


def _read_set_operation(
    reading: StatementAnalysis, tree: exp.SetOperation, scope: Scope, *, is_top: bool
) -> list[ScopeField]:
    left = read_query(reading, tree.this, Scope(parent=scope), is_top=is_top)
    right = read_query(reading, tree.expression, Scope(parent=scope))
    word = type(tree).__name__.upper()
    if len(left) != len(right):
        raise StatementFailed("42601", f"each {word} query must have the same number of columns")
    fields: list[ScopeField] = []
    for mine, theirs in zip(left, right, strict=True):
        kind = common(mine.kind, theirs.kind)
        if kind is None and mine.kind is not None and theirs.kind is not None:
            raise StatementFailed(
                "42804",
                f"{word} types {long_name(mine.kind)} and {long_name(theirs.kind)} cannot be matched",
            )
        fields.append(ScopeField(mine.name, mine.key, kind, max(mine.weight, theirs.weight)))
    settle_columns(reading, tree, [item.kind for item in fields])
    _order_by_columns(tree, fields)
    return fields


def _order_by_columns(tree: exp.SetOperation, fields: Sequence[ScopeField]) -> None:
    order = tree.args.get("order")
    for term in order.expressions if order is not None else []:
        value = term.this
        if isinstance(value, exp.Column) and not value.args.get("table"):
            term.set("this", build.number(position_named(fields, fold_identifier(value.this))))
        elif read_position(value, len(fields), "ORDER BY") is None:
            raise StatementFailed(
                "0A000", "only result column names can be used in ORDER BY of UNION"
            )


def position_named(fields: Sequence[ScopeField], name: str) -> int:
    """Return the position of the one column of a result that has a name."""
    found = named_positions((item.name for item in fields), name)
    if not found:
        raise StatementFailed("42703", f'column "{name}" does not exist')
    if len(found) > 1:
        raise StatementFailed("42702", f'ORDER BY "{name}" is ambiguous')
    return found[0]


@dataclass
class _SelectReader:
    """One SELECT, checked clause by clause in the order in which names become visible."""

    reading: StatementAnalysis
    select: exp.Select
    scope: Scope
    is_top: bool

    def read(self) -> list[ScopeField]:
        """Check all of it and return its columns."""
        read_from_clause(self.reading, self.select, self.scope)
        lock_entries(self.select, self.scope, is_top=self.is_top)
        level = SelectLevel()
        place = ExpressionContext(self.scope, "SELECT", level, aggregates=True, windows=True)
        names = self._expand_stars()
        found = [infer_type(self.reading, column.this, place) for column in self.select.expressions]
        keys = key_names(names, is_top=self.is_top)
        for column, key in zip(self.select.expressions, keys, strict=True):
            column.set("alias", exp.to_identifier(key, quoted=True))
        origins = [self._column_origin(column.this) for column in self.select.expressions]
        fields = [
            ScopeField(name, key, one.kind, one.weight, origin=origin)
            for name, key, one, origin in zip(names, keys, found, origins, strict=True)
        ]
        self._read_clauses(place, fields)
        if not self.select.expressions:
            self.select.set(
                "expressions",
                [exp.Alias(this=build.number(1), alias=exp.to_identifier("one", quoted=True))],
            )
        return fields

    def _column_origin(self, node: exp.Expr) -> Origin | None:
        """Return the relation and column that an expression refers to, None if it is no column."""
        if not isinstance(node, exp.Column):
            return None
        items = (
            item
            for entry in self.scope.entries
            if entry.handle == node.table
            for item in entry.fields
            if item.key == node.name
        )
        return next((item.origin for item in items), None)

    def _expand_stars(self) -> list[str]:
        """Expand `*`, give each column an alias, and return their names."""
        columns: list[tuple[str, exp.Expr]] = []
        for node in self.select.expressions:
            if isinstance(node, exp.Star):
                columns += self._star_columns()
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                columns += self._star_of(node)
            else:
                inner = node.this if isinstance(node, exp.Alias) else node
                columns.append((select_column_name(node), inner))
            if len(columns) > COLUMNS:
                raise StatementFailed("54011", f"target lists can have at most {COLUMNS} entries")
        if not columns and self.is_top:
            raise unsupported_feature("A SELECT without columns")
        aliased = [exp.Alias(this=node, alias=exp.to_identifier("x")) for _, node in columns]
        self.select.set("expressions", aliased)
        return [name for name, _ in columns]

    def _star_columns(self) -> list[tuple[str, exp.Expr]]:
        if not self.scope.entries:
            raise StatementFailed("42601", "SELECT * with no tables specified is not valid")
        return [
            (column.name, mark_resolved(column.reference(), column.item))
            for column in self.scope.columns
            if column.in_star
        ]

    def _star_of(self, node: exp.Column) -> list[tuple[str, exp.Expr]]:
        table, schema = (
            fold_identifier(node.args.get("table")),
            fold_identifier(node.args.get("db")) or None,
        )
        entry = self.scope.entry(table, schema)
        if entry is None:
            raise StatementFailed("42P01", f'missing FROM-clause entry for table "{table}"')
        return [
            (item.name, mark_resolved(entry.reference(item), item))
            for item in entry.fields
            if item.in_star
        ]

    def _read_clauses(self, place: ExpressionContext, fields: Sequence[ScopeField]) -> None:
        select, reading, scope = self.select, self.reading, self.scope
        if select.args.get("where") is not None:
            check_condition(
                reading, select.args["where"].this, ExpressionContext(scope, "WHERE"), "WHERE"
            )
        for window in select.args.get("windows") or []:
            window.set("this", exp.to_identifier(fold_identifier(window.this), quoted=True))
            window_parts(
                reading, window, ExpressionContext(scope, "WINDOW", place.level, aggregates=True)
            )
        groups = read_group(reading, select, scope, fields)
        if select.args.get("having") is not None:
            having = ExpressionContext(scope, "HAVING", place.level, aggregates=True)
            check_condition(reading, select.args["having"].this, having, "HAVING")
        self._read_distinct(place, fields)
        self._read_order(place, fields)
        is_grouped = groups is not None or select.args.get("having") is not None
        is_more = is_grouped or bool({"aggregate", "window"} & place.level.seen)
        if SETS in place.level.seen and (is_more or select.args.get("distinct") is not None):
            raise unsupported_feature(
                "A function that returns rows beside groups, windows or DISTINCT", "Use it in FROM."
            )
        if is_grouped or "aggregate" in place.level.seen:
            check_grouped(select, scope, groups or [])

    def _read_distinct(self, place: ExpressionContext, fields: Sequence[ScopeField]) -> None:
        distinct = self.select.args.get("distinct")
        on = distinct.args.get("on") if distinct is not None else None
        terms = on.expressions if isinstance(on, exp.Tuple) else [on] if on is not None else []
        for term in terms:
            position = self._find_position(term, fields, "DISTINCT ON")
            if position is None:
                infer_type(self.reading, term, place)
            else:
                term.replace(self.select.expressions[position - 1].this.copy())

    def _read_order(self, place: ExpressionContext, fields: Sequence[ScopeField]) -> None:
        order = self.select.args.get("order")
        distinct = self.select.args.get("distinct")
        is_distinct = distinct is not None and not distinct.args.get("on")
        for term in order.expressions if order is not None else []:
            position = self._find_position(term.this, fields, "ORDER BY")
            if position is None:
                infer_type(self.reading, term.this, place)
                position = self._same_as(term.this)
                if position is None and is_distinct:
                    raise StatementFailed(
                        "42P10",
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    )
            if position is not None:
                term.set("this", build.number(position))

    def _find_position(
        self, node: exp.Expr, fields: Sequence[ScopeField], clause: str
    ) -> int | None:
        """Return the position of the result column that a number or a bare name refers to."""
        position = read_position(node, len(fields), clause)
        if position is not None or not isinstance(node, exp.Column) or node.args.get("table"):
            return position
        name = fold_identifier(node.this)
        found = named_positions((item.name for item in fields), name)
        columns = {self.select.expressions[number - 1].this for number in found}
        if len(columns) > 1:
            raise StatementFailed("42702", f'{clause} "{name}" is ambiguous')
        return found[0] if found else None

    def _same_as(self, node: exp.Expr) -> int | None:
        columns = [column.this for column in self.select.expressions]
        return columns.index(node) + 1 if node in columns else None
