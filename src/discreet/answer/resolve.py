"""Resolves a statement: every SELECT is rows, an aggregate of rows, or computed from aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.answer import derive, sources
from discreet.answer.aggregates import begins_private_aggregate
from discreet.answer.catalog import Catalog
from discreet.answer.derive import Selection, SelectionItem, expression_range, translate_value
from discreet.answer.expressions.ranges import predicate_ranges
from discreet.answer.expressions.translate import translate_condition
from discreet.answer.extract_aggregates import (
    extract_private_query,
    extract_unit_aggregates,
    list_projections,
)
from discreet.answer.grouping import read_grouping
from discreet.answer.parts import touched_cells
from discreet.answer.post_processing import check_post_processing, projection_names
from discreet.answer.question import PrivateQuery, Question
from discreet.answer.rows import Place, Rows
from discreet.engines.engine import Kind
from discreet.errors import InvalidQuestion, QuestionRefused
from discreet.sql import build
from discreet.sql.names import from_items

MOST_SELECTS = 100


@dataclass(frozen=True)
class PostProcessing:
    """A query over released tables only: post-processing, which costs nothing."""

    query: exp.Query
    names: tuple[str, ...]
    is_direct: bool = False


Found = Selection | PostProcessing


def resolve_question(statement: exp.Query, catalog: Catalog) -> Question:
    """Return the question of the statement, or refuse it; no data is read."""
    walk = _StatementResolver(catalog)
    found = walk.visit(statement, {})
    if isinstance(found, Selection):
        raise QuestionRefused(
            "The question asks for rows of people. Ask for aggregates: count(*), sum, avg, median …"
        )
    if not walk.leaves:
        raise QuestionRefused("The question asks about no protected table, so there is no answer.")
    check_post_processing(found.query, {leaf.name for leaf in walk.leaves})
    return Question(tuple(walk.leaves), found.query, found.names, found.is_direct)


class _StatementResolver:
    """Visits the SELECTs of one statement, innermost first, and collects its leaves."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.leaves: list[PrivateQuery] = []
        self._aliases = 0

    def visit(self, query: exp.Expr, known: Mapping[str, Found]) -> Found:
        """Return what a query is, with the common table expressions that it may name."""
        if isinstance(query, exp.Subquery):
            return self.visit(query.this, known)
        known = self._with_tables(query, known)
        if isinstance(query, exp.Union):
            return _require_small_query(self._resolve_union(query, known))
        if isinstance(query, exp.Select):
            return _require_small_query(self._resolve_select(query, known))
        raise QuestionRefused("Only SELECT and UNION ALL are answered.")

    def _with_tables(self, query: exp.Expr, known: Mapping[str, Found]) -> Mapping[str, Found]:
        found = dict(known)
        with_ = query.args.get("with_")
        for table in with_.expressions if with_ else []:
            found[table.alias.casefold()] = self.visit(table.this, found)
        return found

    def _resolve_union(self, query: exp.Union, known: Mapping[str, Found]) -> Found:
        left, right = self.visit(query.this, known), self.visit(query.expression, known)
        if isinstance(left, PostProcessing) and isinstance(right, PostProcessing):
            tree = query.copy()
            tree.set("with_", None)
            tree.set("this", left.query.copy())
            tree.set("expression", right.query.copy())
            return PostProcessing(tree, left.names)
        is_plain = not any(query.args.get(name) for name in ("distinct", "order", "limit"))
        if isinstance(left, Selection) and isinstance(right, Selection) and is_plain:
            return derive.union_selections(left, right)
        raise QuestionRefused(
            "UNION of people's rows must be UNION ALL of rows, without ORDER BY or LIMIT, and not "
            "of rows and aggregates."
        )

    def _resolve_select(self, select: exp.Select, known: Mapping[str, Found]) -> Found:
        if select.args.get("from_") is None:
            raise QuestionRefused("A SELECT without FROM names no table. Add FROM.")
        joins: list[exp.Join] = select.args.get("joins") or []
        found = [self._resolve_source(source, known) for source in from_items(select)]
        if any(isinstance(source, PostProcessing) for _, source in found):
            return self._post_process(select, found, known)
        rows = self._join_rows(found, joins)
        rows = self._filter_rows(rows, select)
        names_aggregates = select.args.get("group") or any(
            begins_private_aggregate(node)
            for item in _expression_clauses(select)
            for node in _own_nodes(item)
        )
        if names_aggregates:
            return self._aggregate_rows(select, rows, known)
        return self._select_rows(select, rows)

    def _resolve_source(
        self, source: exp.Expr, known: Mapping[str, Found]
    ) -> tuple[str, Rows | PostProcessing]:
        """Return a table of FROM and what it is called."""
        if isinstance(source, exp.Subquery):
            alias = source.alias or self._fresh_alias()
            found = self.visit(source.this, known)
        elif isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            alias = source.alias or source.name
            found = known.get(source.name.casefold())
            if found is None:
                return alias, sources.scan_table(self.catalog.find(source.name), alias)
        else:
            raise QuestionRefused(
                f"{source.sql(dialect='duckdb')} is no table. Name a table of the policy."
            )
        return alias, found if isinstance(found, PostProcessing) else found.as_rows(alias)

    def _fresh_alias(self) -> str:
        self._aliases += 1
        return f"discreet_q{self._aliases}"

    def _join_rows(
        self, found: list[tuple[str, Rows | PostProcessing]], joins: list[exp.Join]
    ) -> Rows:
        names = [alias.casefold() for alias, _ in found]
        if len(set(names)) != len(names):
            raise QuestionRefused("Two tables share one name. Give each an alias.")
        (_, rows), *others = [
            (alias, source) for alias, source in found if isinstance(source, Rows)
        ]
        for (alias, right), join in zip(others, joins, strict=True):
            if join.args.get("kind") not in (None, "", "INNER", "OUTER"):
                raise QuestionRefused(
                    f"{join.args['kind']} JOIN is not supported. Write JOIN … ON."
                )
            on, side = join.args.get("on"), join.args.get("side") or ""
            pairs = _using_columns(rows, right, alias, join)
            if pairs:
                on = build.all_of(
                    exp.EQ(
                        this=build.column(one[1], of=one[0]),
                        expression=build.column(other[1], of=other[0]),
                    )
                    for one, other in pairs
                )
            joined = sources.join_rows(rows, right, side=side, on=on)
            hidden = {_hidden_column(rows, right, pair, side=side) for pair in pairs}
            rows = replace(joined, hidden=joined.hidden | hidden)
        return rows

    def _filter_rows(self, rows: Rows, select: exp.Select) -> Rows:
        where = select.args.get("where")
        if where is None:
            return rows
        if any(isinstance(node, (exp.Query, exp.Subquery)) for node in where.this.walk()):
            raise QuestionRefused(
                "A subquery in WHERE looks at other people's rows. Use a JOIN on the unit instead."
            )
        if any(begins_private_aggregate(node) for node in where.this.walk()):
            raise QuestionRefused("WHERE cannot hold an aggregate. Use HAVING.")
        predicate = rows.qualified(where.this)
        narrowed = dict(rows.bounds)
        for place, (low, high) in predicate_ranges(predicate, rows.resolve).items():
            alias, name = place
            if alias is not None:
                narrowed[alias, name] = _intersect_range(
                    narrowed.get((alias, name), (None, None)), (low, high)
                )
        rows = replace(rows, bounds=narrowed, touches=_narrow_touches(rows, predicate))
        return rows.where(translate_condition(predicate, rows.resolve))

    def _select_rows(self, select: exp.Select, rows: Rows) -> Selection:
        for name in ("distinct", "order", "limit", "offset", "having"):
            if select.args.get(name):
                raise QuestionRefused(
                    f"{name.upper()} on people's rows is refused: which rows it keeps depends on "
                    "other people. Aggregate first; ORDER BY and LIMIT are for the answer."
                )
        items = [
            SelectionItem(name, translate_value(tree, rows), expression_range(tree, rows))
            for name, tree in list_projections(select, rows)
        ]
        return derive.select_columns(rows, items)

    def _aggregate_rows(self, select: exp.Select, rows: Rows, known: Mapping[str, Found]) -> Found:
        if rows.is_public:
            raise QuestionRefused(
                "The question asks about public tables only. Read them as they are."
            )
        grouping = read_grouping(select, rows)
        if any(rows.names_unit(key.written) for key in grouping.keys):
            return extract_unit_aggregates(select, rows, grouping)
        before = len(self.leaves)
        leaf, query, names = extract_private_query(
            select,
            rows,
            grouping,
            table=self._fresh_alias(),
            nested=lambda tree: self._resolve_nested(tree, known),
        )
        # A subquery in the SELECT has added leaves of its own meanwhile.
        is_direct = before == len(self.leaves)
        self.leaves.append(leaf)
        return PostProcessing(query, names, is_direct)

    def _resolve_nested(self, tree: exp.Expr, known: Mapping[str, Found]) -> exp.Expr:
        found = self.visit(tree, known)
        if isinstance(found, Selection):
            raise QuestionRefused("A subquery in the SELECT must be an aggregate.")
        return found.query

    def _post_process(
        self,
        select: exp.Select,
        found: list[tuple[str, Rows | PostProcessing]],
        known: Mapping[str, Found],
    ) -> PostProcessing:
        """Return a SELECT over released tables: all of it is post-processing."""
        tree = select.copy()
        tree.set("with_", None)
        places = [tree.args["from_"], *(tree.args.get("joins") or [])]
        for (alias, source), place in zip(found, places, strict=True):
            if not isinstance(source, PostProcessing):
                raise QuestionRefused(
                    "Noisy aggregates and people's rows cannot be joined. Aggregate both first."
                )
            place.set("this", build.subquery(source.query.copy(), alias))
        for node in _nested_queries(tree):
            place = node.this if isinstance(node, exp.Subquery) else node
            place.replace(self._resolve_nested(place, known))
        return PostProcessing(tree, projection_names(tree))


def _require_small_query(found: Found) -> Found:
    """Refuse a query that has grown large: tables of WITH are written out wherever they are named."""
    if sum(1 for _ in found.query.find_all(exp.Select)) > MOST_SELECTS:
        raise InvalidQuestion(
            f"The question has more than {MOST_SELECTS} SELECTs, with the tables of WITH written out "
            "wherever they are named. Split it."
        )
    return found


def _expression_clauses(select: exp.Select) -> list[exp.Expr]:
    found = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return [item for item in found if item is not None]


def _own_nodes(item: exp.Expr) -> list[exp.Expr]:
    """Return the nodes of an expression without those of subqueries in it."""
    return list(item.walk(prune=lambda node: isinstance(node, (exp.Subquery, exp.Query))))


def _nested_queries(select: exp.Select) -> list[exp.Expr]:
    """Return the subqueries in the clauses of a SELECT, without those in FROM and those inside others."""

    def is_query(node: exp.Expr) -> bool:
        return node is not select and isinstance(node, (exp.Subquery, exp.Query))

    found = [node for node in select.walk(prune=is_query) if is_query(node)]
    return [node for node in found if not isinstance(node.parent, (exp.From, exp.Join))]


def _using_columns(
    rows: Rows, right: Rows, alias: str, join: exp.Join
) -> list[tuple[Place, Place]]:
    """Return the columns that USING makes one, of what is joined so far and of the next table."""
    names = [item.name for item in join.args.get("using") or []]
    return [
        (rows.place(exp.column(name)), right.place(exp.column(name, table=alias))) for name in names
    ]


def _hidden_column(rows: Rows, right: Rows, pair: tuple[Place, Place], *, side: str) -> Place:
    """Return which of two columns a name alone no longer means.

    SQL takes the first, which is there also where nothing matches. Both hold the same where
    something must: then the one of a public table is better, since its values are public.
    """
    first, second = pair
    typed = rows.scope[first[0]][first[1]]
    is_plain = typed.values is None and first not in rows.bounds and not rows.is_unit(typed.tree)
    is_same = typed.kind is right.scope[second[0]][second[1]].kind
    return first if not side and right.is_public and is_plain and is_same else second


def _narrow_touches(rows: Rows, predicate: exp.Expr) -> tuple[sources.TouchedTable, ...]:
    """Return the tables touched, with the parts of them that the predicate admits."""
    touches: list[sources.TouchedTable] = []
    for touch in rows.touches:
        policy = touch.held.policy
        # The predicate is about the table's columns only where the table itself is read.
        is_read_here = touch.alias is not None and len(rows.touches) == 1
        if policy is None or not policy.partitions or not is_read_here:
            touches.append(touch)
            continue
        # A time zone of the session may move the ends of days.
        is_fixed = touch.held.table.engine.has_fixed_time_zone
        moves = set[Kind]() if is_fixed else {Kind.TIMESTAMP}
        kinds = {
            column.name: Kind.OTHER if column.kind in moves else column.kind
            for column in touch.held.planned_columns
        }
        found = touched_cells(predicate, policy.partitions, kinds, alias=touch.alias)
        touches.append(replace(touch, cells=found))
    return tuple(touches)


def _intersect_range(one: derive.Range, other: derive.Range) -> derive.Range:
    lows = [low for low in (one[0], other[0]) if low is not None]
    highs = [high for high in (one[1], other[1]) if high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    # A condition that no row can meet leaves nothing to clamp.
    return one if low is not None and high is not None and low > high else (low, high)
