"""The allow-list of nodes: every class of node, with its clauses, is listed or refused."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.functions import FUNCTIONS, NAMED, REFUSED
from discreet.sql.limits import check_size
from discreet.sql.walk import AllowList, given_clauses

_BINARY = frozenset({"this", "expression"})
_THIS = frozenset({"this"})
_LIST = frozenset({"expressions"})
_NONE = frozenset[str]()
_SET_OPERATION = frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"})
_MATCH = frozenset({"this", "expression", "negate"})

_CLAUSES: Mapping[type[exp.Expr], frozenset[str]] = {
    # Queries
    exp.Select: frozenset(
        {
            *("expressions", "from_", "joins", "where", "group", "having", "order", "limit"),
            *("offset", "with_", "distinct", "windows", "locks"),
        }
    ),
    **dict.fromkeys((exp.Union, exp.Intersect, exp.Except), _SET_OPERATION),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Values: frozenset({"expressions", "alias"}),
    exp.Table: frozenset({"this", "db", "alias", "joins", "only"}),
    exp.TableAlias: frozenset({"this", "columns"}),
    exp.From: _THIS,
    exp.Join: frozenset({"this", "on", "using", "side", "kind", "method"}),
    exp.Lateral: frozenset({"this", "alias"}),
    exp.Unnest: frozenset({"expressions", "alias", "offset"}),
    exp.Explode: _THIS,
    exp.ExplodingGenerateSeries: frozenset({"start", "end", "step"}),
    exp.With: _LIST,
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.Where: _THIS,
    exp.Having: _THIS,
    exp.Group: _LIST,
    exp.Rollup: _LIST,
    exp.Cube: _LIST,
    exp.GroupingSets: _LIST,
    exp.Order: frozenset({"this", "expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Lock: frozenset({"update", "expressions", "wait", "key"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Fetch: frozenset({"direction", "count", "limit_options"}),
    exp.LimitOptions: frozenset({"rows"}),
    exp.Distinct: frozenset({"expressions", "on"}),
    # Names and values
    exp.Column: frozenset({"this", "table", "db"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: _NONE,
    exp.Alias: frozenset({"this", "alias"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.ByteString: _THIS,
    exp.RawString: _THIS,
    exp.Boolean: _THIS,
    exp.Null: _NONE,
    exp.Parameter: _THIS,
    exp.Var: _THIS,
    exp.Tuple: _LIST,
    exp.Paren: _THIS,
    exp.Interval: frozenset({"this", "unit"}),
    # Conditions
    **dict.fromkeys(
        (
            *(exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
            *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Escape),
        ),
        _BINARY,
    ),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike, exp.Is), _MATCH),
    exp.Not: _THIS,
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query"}),
    exp.Exists: _THIS,
    exp.Any: _THIS,
    exp.All: _THIS,
    exp.Array: frozenset({"expressions", "value_constructor"}),
    **dict.fromkeys(
        (exp.JSONExtract, exp.JSONExtractScalar),
        frozenset({"this", "expression", "only_json_types"}),
    ),
    exp.Bracket: frozenset({"this", "expressions"}),
    **dict.fromkeys((exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps), _BINARY),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true"}),
    # Values made of values
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), _BINARY),
    exp.Div: frozenset({"this", "expression", "typed"}),
    exp.DPipe: frozenset({"this", "expression", "safe"}),
    exp.Neg: _THIS,
    exp.Cast: frozenset({"this", "to"}),
    exp.DataType: frozenset({"this", "expressions", "nested"}),
    exp.DataTypeParam: _THIS,
    exp.Extract: _BINARY,
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.AtTimeZone: frozenset({"this", "zone"}),
    # Calls
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "alias", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Filter: _BINARY,
    exp.WithinGroup: _BINARY,
    exp.Grouping: _LIST,
    exp.CurrentUser: _NONE,
    exp.SessionUser: _NONE,
    exp.CurrentSchema: _NONE,
    **dict.fromkeys((exp.CurrentCatalog, exp.CurrentDatabase), _NONE),
    exp.CurrentDate: _NONE,
    exp.CurrentTimestamp: _NONE,
    exp.Localtimestamp: _NONE,
}
# What some functions have besides their arguments; none of it changes what they read.
_MARKS: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Count: frozenset({"big_int"}),
    exp.Trim: frozenset({"position"}),
    exp.Pad: frozenset({"is_left"}),
    exp.Concat: frozenset({"safe", "coalesce"}),
    exp.ConcatWs: frozenset({"safe", "coalesce"}),
    exp.Greatest: frozenset({"ignore_nulls"}),
    exp.Least: frozenset({"ignore_nulls"}),
    exp.ArrayAppend: frozenset({"null_propagation"}),
    exp.ArrayConcat: frozenset({"null_propagation"}),
    exp.RegexpReplace: frozenset({"single_replace"}),
}
# Words that are parsed as calls: beside a comparison, they are ANY and ALL of an array.
QUANTIFIERS: Mapping[str, type[exp.Expr]] = {"any": exp.Any, "some": exp.Any, "all": exp.All}
# Functions that are replaced by a literal of the session before anything runs.
SESSION = frozenset({"current_setting", "pg_has_role", "current_database"})

_CALLED = {
    "locks": "FOR UPDATE",
    "into": "SELECT INTO",
    "sample": "TABLESAMPLE",
    "recursive": "WITH RECURSIVE",
    "catalog": "A name of another database",
    "rows_from": "ROWS FROM",
    "pivots": "PIVOT",
    "qualify": "QUALIFY",
    "ordinality": "WITH ORDINALITY",
    "except_": "* EXCEPT",
    "replace": "* REPLACE",
    "rename": "* RENAME",
    "all": "GROUP BY ALL",
}


def unsupported_feature(what: str, hint: str | None = None) -> StatementFailed:
    """Return the error for an unsupported part."""
    return StatementFailed("0A000", f"{what} is not supported here", hint=hint)


def check_allowed(tree: exp.Expr) -> None:
    """Refuse a tree with any part that is not on the allow-list.

    Raises:
        StatementFailed: 0A000 for a part or function that is not on the list, 42883 for a function
            that does not exist, 54000 or 54001 for a tree that is too large or too deep.

    >>> from sqlglot import parse_one
    >>> check_allowed(parse_one("SELECT lower(a) FROM t", dialect="postgres"))
    >>> check_allowed(parse_one("SELECT pg_read_file('x')", dialect="postgres"))
    Traceback (most recent call last):
    discreet.errors.StatementFailed: function pg_read_file does not exist
    """
    check_size(tree)
    _ALLOWED.check(tree)


def _refuse_clauses(_node: exp.Expr, extra: list[str]) -> StatementFailed:
    first = min(extra)
    return unsupported_feature(_CALLED.get(first, first.strip("_").replace("_", " ").upper()))


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, exp.Anonymous):
        _check_name(node)
    near = _misplaced_keyword(node)
    if near is not None:
        raise StatementFailed("42601", f'syntax error at or near "{near}"')
    if isinstance(node, exp.DataTypeParam) and not isinstance(node.this, exp.Literal):
        raise StatementFailed("22023", "type modifiers must be numbers")
    if isinstance(node, exp.Table) and not isinstance(node.this, (exp.Identifier, exp.Func)):
        raise unsupported_feature("This in FROM", "Select from tables and views.")


_ENDS = ("order", "limit", "offset")  # a clause after these would need parentheses


_COMPARED: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}


def _misplaced_keyword(node: exp.Expr) -> str | None:
    """Return a word that PostgreSQL would not accept in its place, though sqlglot does."""
    if isinstance(node, exp.SetOperation) and set(_ENDS) & set(given_clauses(node.this)):
        return node.key.upper()
    if (
        isinstance(node, exp.Select)
        and "joins" in given_clauses(node)
        and "from_" not in given_clauses(node)
    ):
        return "JOIN"
    if isinstance(node, exp.Group) and not given_clauses(node):
        return "GROUP BY"
    if type(node) in _COMPARED and {type(node.this), type(node.expression)} & set(_COMPARED):
        return _COMPARED[type(node)]
    return None


def _check_name(node: exp.Anonymous) -> None:
    name = node.this.lower() if isinstance(node.this, str) else None
    if name is None:
        raise unsupported_feature("A quoted function")
    if name in NAMED or name in SESSION:
        return
    if name in QUANTIFIERS and len(node.expressions) == 1 and _is_compared(node):
        return
    if name in REFUSED:
        raise unsupported_feature(f"function {name}", REFUSED[name])
    raise StatementFailed("42883", f"function {name} does not exist")


def _is_compared(node: exp.Expr) -> bool:
    return type(node.parent) in _COMPARED and node.arg_key == "expression"


def _unknown_node(node: exp.Expr) -> StatementFailed:
    """Return why a node is refused, in the user's own words as far as they are known."""
    if isinstance(node, exp.Func):
        name = node.sql_name().lower()
        known = {
            "exploding_generate_series": "generate_series",
            "group_concat": "string_agg",
            "rand": "random",
            "time_to_str": "to_char",
        }
        name = known.get(name, name)
        return unsupported_feature(f"function {name}", REFUSED.get(name))
    words: dict[type[exp.Expr], str] = {
        exp.Dot: "A field of a row",
        exp.Command: "This statement",
        exp.Collate: "COLLATE",
        exp.SimilarTo: "SIMILAR TO",
    }
    return unsupported_feature(words.get(type(node), f"{type(node).__name__.upper()}"))


_ALLOWED = AllowList(
    {
        **{
            kind: {*function.places, *_MARKS.get(kind, _NONE)}
            for kind, function in FUNCTIONS.items()
        },
        **_CLAUSES,
    },
    _unknown_node,
    _refuse_clauses,
    _check_node,
)
