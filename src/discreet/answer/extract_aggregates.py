"""Expressions over aggregates: aggregates are released, and the rest is computed from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, log2

from sqlglot import exp

from discreet.answer import derive
from discreet.answer.aggregates import Aggregate, begins_private_aggregate, read_aggregate
from discreet.answer.catalog import require_unit
from discreet.answer.derive import Selection, SelectionItem
from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.translate import translate_condition, translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.grouping import Grouping
from discreet.answer.question import PrivateQuery, aggregate_name, key_name
from discreet.answer.rows import DECLARE_BOUNDS, Rows, number_constant
from discreet.engines.engine import Kind
from discreet.errors import InvalidQuestion, NoBounds, QuestionRefused, UndeclaredKind
from discreet.sql import build

PER_UNIT = "discreet_person"
_STEPS = 2**20
_SUMMED = 2**31


def list_projections(select: exp.Select, rows: Rows) -> list[tuple[str, exp.Expr]]:
    """Return name and expression of each column that a SELECT lists, with `*` written out."""
    found: list[tuple[str, exp.Expr]] = []
    for item in select.expressions:
        bare = item.this if isinstance(item, exp.Alias) else item
        if isinstance(bare, exp.Star) or (
            isinstance(bare, exp.Column) and isinstance(bare.this, exp.Star)
        ):
            found += _expand_star(bare, rows)
        else:
            found.append((_column_name(item, rows), rows.qualified(bare)))
    return found


def _expand_star(star: exp.Expr, rows: Rows) -> list[tuple[str, exp.Expr]]:
    inner = star.this if isinstance(star, exp.Column) else star
    if any(inner.args.values()):
        raise QuestionRefused("* EXCLUDE and * REPLACE are not supported. List the columns.")
    wanted = star.table.casefold() if isinstance(star, exp.Column) else None
    return [
        (name, build.column(name, of=alias))
        for alias, columns in rows.scope.items()
        if wanted is None or alias.casefold() == wanted
        for name in columns
        if wanted is not None or (alias, name) not in rows.hidden
    ]


def _column_name(item: exp.Expr, rows: Rows) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    if isinstance(item, exp.Column):
        return rows.place(item)[1]
    # PostgreSQL's dialect keeps the text as written: percentile_cont(…) WITHIN GROUP (…).
    return item.sql(dialect="postgres" if item.find(exp.WithinGroup) else "duckdb").lower()


@dataclass
class _AggregateExtractor:
    """Aggregates found so far; equal ones are listed once."""

    rows: Rows
    grouping: Grouping
    table: str
    read: Callable[[exp.Expr], Aggregate | exp.Expr]
    nested: Callable[[exp.Expr], exp.Expr] | None = None
    aliases: frozenset[str] = frozenset()
    found: list[Aggregate | exp.Expr] = field(default_factory=list["Aggregate | exp.Expr"])

    def extract(self, node: exp.Expr) -> exp.Expr:
        """Return `node` with aggregates and keys replaced by columns of the released table."""
        if isinstance(node, exp.Window):
            raise QuestionRefused(
                "Window functions over people's rows are refused: they look at other people. "
                "Aggregate in a subquery first, and use the window on its result."
            )
        if isinstance(node, (exp.Subquery, exp.Query)):
            return self._nest_subquery(node)
        if begins_private_aggregate(node):
            return self._extract_aggregate(node)
        place = self._find_key(node)
        if place is not None:
            return build.column(key_name(place), of=self.table)
        if isinstance(node, exp.Column):
            return self._resolve_alias(node)
        copied = node.copy()
        for key, child in list(node.args.items()):
            if isinstance(child, exp.Expr):
                copied.set(key, self.extract(child))
            elif isinstance(child, list):
                copied.set(key, [self.extract(c) if isinstance(c, exp.Expr) else c for c in child])
        return copied

    def _nest_subquery(self, node: exp.Expr) -> exp.Expr:
        if self.nested is None:
            raise QuestionRefused("A subquery is not supported here. Use a JOIN on the unit.")
        inner = node.this if isinstance(node, exp.Subquery) else node
        return exp.Subquery(this=self.nested(inner))

    def _extract_aggregate(self, node: exp.Expr) -> exp.Expr:
        inner = [child for child in node.walk() if child is not node and _is_nested(child, node)]
        if inner:
            raise QuestionRefused("An aggregate within an aggregate needs a subquery between them.")
        found = self.read(node)
        if found not in self.found:
            self.found.append(found)
        return build.column(aggregate_name(self.found.index(found)), of=self.table)

    def _find_key(self, node: exp.Expr) -> int | None:
        if not self.grouping.keys:
            return None
        if isinstance(node, (exp.Literal, exp.Identifier, exp.Null, exp.Boolean)):
            return None
        try:
            return self.grouping.find(self.rows.qualified(node))
        except (InvalidQuestion, UndeclaredKind):
            return None

    def _resolve_alias(self, node: exp.Column) -> exp.Expr:
        if not node.table and node.name.casefold() in self.aliases:
            return exp.column(exp.to_identifier(node.name, quoted=True))
        self.rows.place(node)  # an unknown column is reported as such
        raise QuestionRefused(
            f"Column '{node.name}' is neither in GROUP BY nor within an aggregate, so that the answer "
            "would be one person's value. Add it to GROUP BY, or aggregate it."
        )


def _is_nested(child: exp.Expr, root: exp.Expr) -> bool:
    # FILTER and WITHIN GROUP begin an aggregate that has another node for its function.
    wrappers = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls)
    if isinstance(root, wrappers) and child is root.this:
        return False
    if isinstance(child.parent, wrappers) and child is child.parent.this:
        return False
    return begins_private_aggregate(child)


def extract_private_query(
    select: exp.Select,
    rows: Rows,
    grouping: Grouping,
    *,
    table: str,
    nested: Callable[[exp.Expr], exp.Expr],
) -> tuple[PrivateQuery, exp.Select, tuple[str, ...]]:
    """Return the leaf of a SELECT with aggregates, and the SELECT over the leaf's released table."""
    items = _named_items(select, rows)
    lifted = _AggregateExtractor(
        rows, grouping, table, lambda node: read_aggregate(node, rows), nested
    )
    columns = [build.alias_as(lifted.extract(tree), name) for name, tree in items]
    # Only HAVING and ORDER BY may name the columns of the SELECT.
    lifted.aliases = frozenset(name.casefold() for name, _ in items)
    query = build.select(*columns, source=build.table(table))
    having = select.args.get("having")
    if having is not None:
        query = query.where(lifted.extract(having.this))
    _copy_order(query, select, lifted)
    if select.args.get("distinct"):
        query.set("distinct", select.args["distinct"].copy())
    found = tuple(item for item in lifted.found if isinstance(item, Aggregate))
    if not rows.unit:
        for touch in rows.touches:
            require_unit(touch.held)
    leaf = PrivateQuery(
        table, rows, tuple(key.typed for key in grouping.keys), found, grouping.sets
    )
    return leaf, query, tuple(name for name, _ in items)


def _named_items(select: exp.Select, rows: Rows) -> list[tuple[str, exp.Expr]]:
    """Return name and expression of each column, as they are written."""
    found: list[tuple[str, exp.Expr]] = []
    for item in select.expressions:
        bare = item.this if isinstance(item, exp.Alias) else item
        if isinstance(bare, exp.Star) or (
            isinstance(getattr(bare, "this", None), exp.Star) and (isinstance(bare, exp.Column))
        ):
            raise QuestionRefused("SELECT * with aggregates is refused. List keys and aggregates.")
        name = _column_name(item, rows)
        taken = {known for known, _ in found}
        while name in taken:
            name += "_"
        found.append((name, bare))
    return found


def _copy_order(query: exp.Select, select: exp.Select, lifted: _AggregateExtractor) -> None:
    """Give the SELECT over the answers its ORDER BY, LIMIT and OFFSET."""
    order = select.args.get("order")
    if order is not None:
        wanted: list[exp.Expr] = []
        for item in order.expressions:
            inner = item.this
            is_place = isinstance(inner, exp.Literal) and not inner.is_string
            copied = item.copy()
            copied.set("this", inner.copy() if is_place else lifted.extract(inner))
            wanted.append(copied)
        query.set("order", exp.Order(expressions=wanted))
    for name in ("limit", "offset"):
        if select.args.get(name) is not None:
            query.set(name, select.args[name].copy())


def extract_unit_aggregates(select: exp.Select, rows: Rows, grouping: Grouping) -> Selection:
    """Return one row per person and group; what is computed within a person's rows stays exact."""
    for name in ("distinct", "order", "limit", "offset"):
        if select.args.get(name):
            raise QuestionRefused(
                f"{name.upper()} on one row per person is refused: which people it keeps depends on "
                "other people. ORDER BY and LIMIT are for the answer."
            )
    if len(grouping.sets) > 1:
        raise QuestionRefused("ROLLUP and CUBE cannot group by the unit. Group by it plainly.")
    inner: list[SelectionItem] = []
    lifted = _AggregateExtractor(
        rows, grouping, PER_UNIT, lambda node: _unit_aggregate_column(node, rows, inner)
    )
    items = [(name, lifted.extract(tree)) for name, tree in _named_items(select, rows)]
    having = select.args.get("having")
    kept = lifted.extract(having.this) if having is not None else None
    keys = [SelectionItem(key_name(i), key.typed) for i, key in enumerate(grouping.keys)]
    is_alone = all(rows.names_unit(key.written) for key in grouping.keys)
    people = derive.aggregate_per_unit(
        rows, keys=keys, aggregates=inner, has_other_keys=not is_alone
    )
    found = people.as_rows(PER_UNIT)
    # The person is known by the unit, so that the key of the same name still identifies the person.
    if kept is not None:
        found = found.where(translate_condition(kept, found.resolve))
    return derive.select_columns(
        found,
        [
            SelectionItem(
                name, derive.translate_value(tree, found), derive.expression_range(tree, found)
            )
            for name, tree in items
        ],
    )


def _unit_aggregate_column(node: exp.Expr, rows: Rows, inner: list[SelectionItem]) -> exp.Expr:
    """Return an aggregate within a person's rows as a column, added to `inner` when it is new."""
    if not isinstance(node, (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)):
        raise QuestionRefused(
            f"{node.sql(dialect='duckdb')} per person is not supported. Use count, sum, avg, min or max."
        )
    argument: TypedExpression | None = None
    if not isinstance(node.this, exp.Star):
        is_distinct = isinstance(node.this, exp.Distinct)
        written = node.this.expressions[0] if is_distinct else node.this
        if is_distinct and not isinstance(node, exp.Count):
            raise QuestionRefused("DISTINCT per person goes with count only.")
        argument = translate_expression(written, rows.resolve_clamped)
    tree, limits = derive.unit_aggregate(_compute_aggregate(node, argument), argument, rows)
    is_count = isinstance(node, exp.Count)
    typed = TypedExpression(
        tree=tree,
        kind=Kind.INTEGER if is_count else Kind.REAL,
        low=derive.Fraction(0) if is_count else None,
        step=derive.Fraction(1) if is_count else None,
    )
    known = next((item for item in inner if item.typed.tree == tree), None)
    if known is None:
        inner.append(SelectionItem(aggregate_name(len(inner)), typed, limits))
    return tree


def _compute_aggregate(node: exp.Expr, argument: TypedExpression | None) -> exp.Expr:
    if isinstance(node, exp.Count):
        if argument is None:
            return build.count_star()
        inner: exp.Expr = argument.tree.copy()
        if isinstance(node.this, exp.Distinct):
            inner = exp.Distinct(expressions=[inner])
        return exp.Count(this=inner)
    if argument is None or not argument.kind.is_number:
        raise QuestionRefused("Within a person, only numbers can be aggregated.")
    if not isinstance(node, (exp.Sum, exp.Avg)):
        # A decimal of PostgreSQL may be too large for a double, which would be an error.
        return type(node)(this=exp.cast(to_real(argument).tree.copy(), exp.DataType.Type.DOUBLE))
    value = _exactly_summable(node, argument)
    total = exp.Sum(this=value)
    if isinstance(node, exp.Sum):
        return total
    number = exp.Nullif(this=exp.Count(this=value.copy()), expression=build.number(0))
    return exp.Div(this=total, expression=exp.cast(number, exp.DataType.Type.DOUBLE), typed=True)


def _exactly_summable(node: exp.Expr, argument: TypedExpression) -> exp.Expr:
    """Return a number as a double of which sums are exact, and so the same in any order.

    Engines add up in an order that other people's rows can change. Where sums are rounded, many
    people's would change a little, and with them who passes a HAVING.
    """
    if argument.low is None or argument.high is None:
        raise NoBounds(
            f"{node.sql(dialect='duckdb')} per person is refused: the policy has no bounds for its "
            f"argument. {DECLARE_BOUNDS} Or clamp it in the question with least and greatest."
        )
    far = max(abs(argument.low), abs(argument.high))
    number = exp.cast(argument.tree.copy(), exp.DataType.Type.DOUBLE)
    if argument.kind is Kind.INTEGER and far <= _SUMMED:
        return number
    # 2^31 steps of a power of two each: doubles hold the sum of 2^22 of them.
    step = max((argument.high - argument.low) / _STEPS, far / _SUMMED, derive.Fraction(1, 2**1000))
    power = derive.Fraction(2) ** ceil(log2(step))
    scaled = exp.Mul(this=number, expression=number_constant(1 / power))
    half = exp.Add(this=scaled, expression=number_constant(derive.Fraction(1, 2)))
    return exp.Mul(this=exp.Floor(this=half), expression=number_constant(power))
