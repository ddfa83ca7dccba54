"""Translation of a catalog query from PostgreSQL's SQL to DuckDB's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import AccessDenied, StatementFailed
from discreet.server.catalog.calls import (
    TABLES,
    CallRewriter,
    call_function,
    cast_to,
    generate_series,
    is_catalog_function,
    no_function,
    number_literal,
    string_literal,
)
from discreet.server.catalog.casts import CastRewriter, array_of
from discreet.server.catalog.rows.produce import DENIED, catalog_columns
from discreet.server.catalog.sources import (
    Output,
    cache_outputs,
    output,
    relation_key,
    source_of,
    type_of,
)
from discreet.server.catalog.standard import INFORMATION, REGISTERED, SYSTEM, system_relations
from discreet.server.catalog.store import PLACES, UNSUPPORTED
from discreet.server.catalog.syntax import fold_identifiers, is_array, output_name
from discreet.server.catalog.tables import function_table, settings_table
from discreet.sql.names import common_table
from discreet.sql.walk import AllowList

if TYPE_CHECKING:
    from discreet.server.catalog.session import CatalogSession
    from discreet.server.catalog.snapshot import CatalogSnapshot

# The allow-list: parts of queries, conditions and expressions; anything else is refused before DuckDB sees it.
PARTS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Tuple, exp.Subquery),
        *(exp.With, exp.CTE, exp.From, exp.Join, exp.Lateral, exp.Table, exp.TableAlias),
        *(exp.Unnest, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit),
        *(exp.Offset, exp.Fetch, exp.Distinct, exp.Alias, exp.Column, exp.Identifier, exp.Star),
        *(exp.Literal, exp.ByteString, exp.Null, exp.Boolean, exp.Paren, exp.Dot, exp.Bracket),
        *(exp.Slice, exp.DataType, exp.DataTypeParam, exp.ObjectIdentifier, exp.PseudoType),
        *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
        *(exp.In, exp.Between, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape, exp.RegexpLike),
        *(exp.RegexpILike, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Any, exp.All, exp.Exists),
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseAnd),
        *(exp.BitwiseOr, exp.Operator, exp.Collate, exp.Case, exp.If, exp.Cast, exp.Array),
        *(exp.Window, exp.WindowSpec, exp.Filter, exp.Anonymous, exp.Var, exp.WithinGroup),
        *(exp.ArrayOverlaps, exp.ArrayContainsAll),
    }
)
# Functions that sqlglot has a class for, and that mean the same in DuckDB or are rewritten.
CALLS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(exp.Count, exp.Min, exp.Max, exp.Sum, exp.Avg, exp.ArrayAgg, exp.GroupConcat),
        *(exp.LogicalAnd, exp.LogicalOr, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead),
        *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Lower, exp.Upper, exp.Length),
        *(exp.Substring, exp.Replace, exp.Trim, exp.Concat, exp.ConcatWs, exp.Left, exp.Right),
        *(exp.StrPosition, exp.SplitPart, exp.RegexpReplace, exp.Abs, exp.Round, exp.Floor),
        *(exp.Ceil, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentUser, exp.SessionUser),
        *(exp.CurrentSchema, exp.CurrentSchemas, exp.CurrentDatabase, exp.CurrentCatalog),
        *(exp.CurrentVersion, exp.CurrentRole, exp.Explode, exp.ExplodingGenerateSeries),
        *(exp.GenerateSeries, exp.ArrayToString, exp.ArraySize, exp.ArrayConcat),
        *(exp.ArrayPosition, exp.ArrayRemove, exp.ArrayAppend, exp.ArrayPrepend, exp.JSONObject),
        *(exp.Format,),
    }
)
# Functions that sqlglot has no class for, and that mean the same in DuckDB.
PLAIN = frozenset({"initcap", "lower", "upper", "length", "strpos", "array_to_string", "row"})
_SOURCES = (exp.Table, exp.Unnest, exp.Lateral)
# Functions that are called without parentheses.
WORDS = frozenset(
    {"user", "current_role", "session_user", "current_user", "current_catalog", "current_schema"}
)
_HIDDEN = {"tableoid", "xmin", "xmax", "cmin", "cmax"}  # columns that `*` does not show
_OPERATORS: Mapping[str, Callable[..., exp.Expr]] = {
    "~": lambda this, expression: exp.RegexpLike(this=this, expression=expression),
    "!~": lambda this, expression: exp.Not(this=exp.RegexpLike(this=this, expression=expression)),
    "~*": lambda this, expression: exp.RegexpILike(this=this, expression=expression),
    "!~*": lambda this, expression: exp.Not(this=exp.RegexpILike(this=this, expression=expression)),
    "~~": lambda this, expression: exp.Like(this=this, expression=expression),
    "!~~": lambda this, expression: exp.Not(this=exp.Like(this=this, expression=expression)),
    "=": lambda this, expression: exp.EQ(this=this, expression=expression),
    "<>": lambda this, expression: exp.NEQ(this=this, expression=expression),
    "!=": lambda this, expression: exp.NEQ(this=this, expression=expression),
    "<": lambda this, expression: exp.LT(this=this, expression=expression),
    ">": lambda this, expression: exp.GT(this=this, expression=expression),
    "<=": lambda this, expression: exp.LTE(this=this, expression=expression),
    ">=": lambda this, expression: exp.GTE(this=this, expression=expression),
    "||": lambda this, expression: exp.DPipe(this=this, expression=expression),
    "+": lambda this, expression: exp.Add(this=this, expression=expression),
}
_BY_CLASS: Mapping[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.CurrentDatabase: "current_database",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentUser: "current_user",
    exp.CurrentRole: "current_role",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
}


# Nodes that only catalog queries may have.
CLASSES = frozenset({*_BY_CLASS, exp.CurrentSchemas})


@dataclass
class TranslatedQuery:
    """A query for DuckDB, the objects it needs, and the types that only we know."""

    sql: str
    columns: Output
    relations: set[tuple[str, str]]
    functions: set[tuple[str, int]]


@dataclass
class _Translation:
    snapshot: CatalogSnapshot
    session: CatalogSession
    relations: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def __post_init__(self) -> None:
        self.calls = CallRewriter(self.session)
        self.casts = CastRewriter(self.snapshot, self.calls)

    def run(self, query: exp.Query) -> TranslatedQuery:
        tree = _without_prefixes(fold_identifiers(query))
        _ALLOWED.check(tree)
        columns = output(tree)
        _name_columns(tree)
        self.casts.find_shown(tree)
        # Inner parts first, so that outer ones see them rewritten; tables last: they decide columns.
        for node in reversed(list(tree.walk(bfs=True))):
            if not isinstance(node, _SOURCES):
                _replace_node(node, self._rewrite)
        for node in reversed(list(tree.find_all(*_SOURCES))):
            _replace_node(node, self._rewrite)
        sql = tree.sql(dialect="duckdb", identify=True, comments=False, copy=False)
        return TranslatedQuery(sql, columns, self.relations, self.calls.needed)

    def _rewrite(self, node: exp.Expr) -> exp.Expr:
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        name = _BY_CLASS.get(type(node))
        return self.calls.rewrite(name, []) if name else node

    def table(self, node: exp.Table) -> exp.Expr:
        """Return a relation of the catalog by its stored name."""
        if not isinstance(node.this, exp.Identifier):
            return function_table(node, self.calls, self.relations)
        if common_table(node) is not None:
            return node
        key = relation_key(node)
        if key is None or catalog_columns(key) is None:
            written = f"{node.db}.{node.name}" if node.db else node.name
            raise StatementFailed("42P01", f'relation "{written}" does not exist')
        schema, name = key
        if name in DENIED:
            raise AccessDenied(f"permission denied for table {name}")
        if key == (SYSTEM, "pg_settings"):
            return settings_table(node, self.session.all_settings())
        self.relations.add(key)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
        return exp.Table(
            this=exp.to_identifier(name),
            db=exp.to_identifier(PLACES[schema]),
            alias=alias,
            joins=node.args.get("joins"),
        )

    def column(self, node: exp.Column) -> exp.Expr:
        """Return a column without its schema; a function call without parentheses as a call."""
        if node.args.get("db"):
            node.set("db", None)
        kind = type_of(node)
        if kind is not None:
            return self.casts.column(node)
        if node.name in WORDS and not node.table and not node.this.args.get("quoted"):
            return self.calls.rewrite(node.name, [])
        return self._system_column(node) if node.name in _HIDDEN else node

    def _system_column(self, node: exp.Column) -> exp.Expr:
        source = source_of(node)
        key = relation_key(source) if source is not None else None
        known = system_relations().get(key) if key else None
        if known is None:
            return node
        return cast_to(number_literal(known.oid if node.name == "tableoid" else 1), "UINTEGER")

    def function(self, node: exp.Anonymous) -> exp.Expr:
        """Return a call by name."""
        name = node.name.lower()
        if name in PLAIN and not is_catalog_function(name):
            return node
        if name in TABLES and not isinstance(node.parent, (exp.Table, exp.Lateral)):
            # Sets that are empty here.
            return call_function("unnest", cast_to(exp.Array(expressions=[]), "UINTEGER[]"))
        return self.casts.shown(node, self.calls.rewrite(name, list(node.expressions)))

    def bracket(self, node: exp.Bracket) -> exp.Expr:
        """Return an element; vectors are indexed from 0."""
        if type_of(node.this) in ("int2vector", "oidvector") and len(node.expressions) == 1:
            place = exp.Add(this=node.expressions[0], expression=number_literal(1))
            node.set("expressions", [exp.Paren(this=place)])
        return node

    def select(self, node: exp.Select) -> exp.Expr:
        """Return a SELECT in which a bare NULL is a text, as in PostgreSQL."""
        if not isinstance(node.parent, exp.SetOperation):
            for each in node.expressions:
                inner = each.unalias()
                if isinstance(inner, exp.Null):
                    inner.replace(cast_to(exp.null(), "VARCHAR"))
        return node


def _replace_node(node: exp.Expr, rewrite: Callable[[exp.Expr], exp.Expr]) -> None:
    """Replace a part by its rewritten form, which may contain it."""
    parent, key, index = node.parent, node.arg_key, node.index
    new = rewrite(node)
    if new is not node and parent is not None and key is not None:
        parent.set(key, new, index)


def _without_prefixes(tree: exp.Query) -> exp.Query:
    """Return functions without `pg_catalog.` before them."""
    for dot in list(tree.find_all(exp.Dot)):
        schema = dot.this
        if isinstance(dot.expression, exp.Func) and isinstance(schema, exp.Identifier):
            if schema.name not in (SYSTEM, INFORMATION):
                raise no_function(f"{schema.name}.{output_name(dot.expression)}")
            dot.replace(dot.expression)
    return tree


def _refuse_node(node: exp.Expr, _extra: object = None) -> StatementFailed:
    if isinstance(node, exp.Func):
        return no_function(output_name(node))
    return StatementFailed("0A000", UNSUPPORTED)


def _check_function(node: exp.Expr) -> None:
    name = node.name.lower() if isinstance(node, exp.Anonymous) else None
    if name is not None and name not in PLAIN and not is_catalog_function(name):
        raise no_function(name)


# DuckDB knows the clauses of each part itself, and has access to nothing but the catalog.
_ALLOWED = AllowList(dict.fromkeys((*PARTS, *CALLS)), _refuse_node, _refuse_node, _check_function)


def _name_columns(tree: exp.Query) -> None:
    """Give columns without an alias PostgreSQL's names."""
    for select in tree.find_all(exp.Select):
        named = [
            each
            if _is_named(each)
            else exp.alias_(each, output_name(each), quoted=True, copy=False)
            for each in select.expressions
        ]
        select.set("expressions", named)


def _is_named(node: exp.Expr) -> bool:
    """Whether a column keeps its name after rewriting."""
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        is_kept = type_of(node) not in REGISTERED
        return is_kept and node.name not in _HIDDEN and node.name not in WORDS
    return isinstance(node, (exp.Alias, exp.Column, exp.Star))


def _translate_like(_: _Translation, node: exp.Like | exp.ILike) -> exp.Expr:
    pattern = node.expression
    escaped = isinstance(node.parent, exp.Escape)
    if isinstance(pattern, exp.Literal) and "\\" in pattern.name and not escaped:
        return exp.Escape(this=node, expression=string_literal("\\"))
    return node


def _translate_operator(_: _Translation, node: exp.Operator) -> exp.Expr:
    word = str(node.args["operator"]).removeprefix("pg_catalog.")
    build = _OPERATORS.get(word)
    if build is None:
        raise StatementFailed("42883", f"operator {word} does not exist")
    return exp.Paren(this=build(this=node.this, expression=node.expression))


def _translate_equality(_: _Translation, node: exp.EQ | exp.NEQ) -> exp.Expr:
    """Return a comparison in which `'{1,2}'` beside an array becomes an array."""
    kind = type_of(node.this) or ""
    right = node.expression
    if is_array(kind) and isinstance(right, exp.Literal) and right.is_string:
        node.set("expression", array_of(right.name, kind))
    return node


def _translate_inequality(translation: _Translation, node: exp.NEQ) -> exp.Expr:
    right = node.expression
    if isinstance(right, exp.Anonymous) and right.name.lower() == "all":
        found = exp.Any(this=exp.Paren(this=right.expressions[0]))
        return exp.Not(this=exp.Paren(this=exp.EQ(this=node.this, expression=found)))
    return _translate_equality(translation, node)


def _translate_concatenation(_: _Translation, node: exp.DPipe) -> exp.Expr:
    sides = (node.this, node.expression)
    if any(isinstance(side, exp.Array) or is_array(type_of(side) or "") for side in sides):
        # Of two arrays, a NULL one counts as empty.
        return call_function("list_concat", *sides)
    return node


def _translate_division(_: _Translation, node: exp.Div) -> exp.Expr:
    whole = ("int2", "int4", "int8")
    if type_of(node.this) in whole and type_of(node.expression) in whole:
        return exp.IntDiv(this=node.this, expression=node.expression)
    return node


def _translate_series(_: _Translation, node: exp.ExplodingGenerateSeries) -> exp.Expr:
    bounds = [node.args[name] for name in ("start", "end", "step") if node.args.get(name)]
    return call_function("unnest", generate_series(*bounds))


def _named_call(name: str) -> Callable[[_Translation, exp.Expr], exp.Expr]:
    return lambda translation, node: translation.calls.rewrite(
        name, [each for each in (node.this, *_other_arguments(node)) if isinstance(each, exp.Expr)]
    )


def _other_arguments(node: exp.Expr) -> list[exp.Expr]:
    return [
        value for key, value in node.args.items() if key != "this" and isinstance(value, exp.Expr)
    ]


def _translate_cardinality(translation: _Translation, node: exp.Expr) -> exp.Expr:
    return exp.Nullif(
        this=translation.calls.rewrite("cardinality", [node.this]), expression=number_literal(0)
    )


def _function_table(translation: _Translation, node: exp.Unnest | exp.Lateral) -> exp.Expr:
    if isinstance(node.parent, exp.Lateral) or isinstance(node.this, exp.Subquery):
        return node
    return function_table(node, translation.calls, translation.relations)


_HANDLERS: Mapping[type[exp.Expr], Callable[..., exp.Expr]] = {
    exp.Table: _Translation.table,
    exp.Column: _Translation.column,
    exp.Anonymous: _Translation.function,
    exp.Bracket: _Translation.bracket,
    exp.Select: _Translation.select,
    exp.Cast: lambda translation, node: translation.casts.cast(node),
    exp.Like: _translate_like,
    exp.ILike: _translate_like,
    exp.Operator: _translate_operator,
    exp.EQ: _translate_equality,
    exp.NEQ: _translate_inequality,
    exp.DPipe: _translate_concatenation,
    exp.Div: _translate_division,
    exp.ExplodingGenerateSeries: _translate_series,
    exp.Collate: lambda _, node: node.this,
    exp.ByteString: lambda _, node: string_literal(node.name),
    exp.ArrayToString: _named_call("array_to_string"),
    exp.ArrayRemove: _named_call("array_remove"),
    exp.Format: lambda translation, node: translation.calls.rewrite(
        "format", [node.this, *node.expressions]
    ),
    exp.ArraySize: _translate_cardinality,
    exp.CurrentSchemas: _named_call("current_schemas"),
    exp.Unnest: _function_table,
    exp.Lateral: _function_table,
}


def translate_catalog_query(
    query: exp.Query, snapshot: CatalogSnapshot, session: CatalogSession
) -> TranslatedQuery:
    """Return a catalog query in DuckDB's SQL.

    Raises:
        StatementFailed: It names a missing object, or has unsupported parts.
    """
    try:
        with cache_outputs():
            return _Translation(snapshot, session).run(query)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError, SqlglotError):
        # A tree of an unexpected shape: reported as not supported.
        raise StatementFailed("0A000", UNSUPPORTED) from None
