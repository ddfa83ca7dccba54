"""PostgreSQL's names for columns of a result without an alias."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.serve.catalog.syntax import type_name

_UNNAMED = "?column?"
# Functions that sqlglot parses under another name.
_CLASSES: Mapping[type[exp.Expr], str] = {
    exp.Exists: "exists",
    exp.Array: "array",
    exp.ArrayAgg: "array_agg",
    exp.ArraySize: "array_length",
    exp.GroupConcat: "string_agg",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.CurrentVersion: "version",
    exp.CurrentTimestamp: "now",
    exp.CurrentSchemas: "current_schemas",
    exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series",
    exp.StrPosition: "position",
    exp.RegexpReplace: "regexp_replace",
    exp.Length: "length",
}


def output_name(node: exp.Expr) -> str:
    """Return the name of a column of a result.

    >>> import sqlglot
    >>> text = "SELECT 1, 'a'::text, count(*), c.relname, (SELECT 2 AS x), '1'::text::int4"
    >>> tree = sqlglot.parse_one(text, dialect="postgres")
    >>> [output_name(each) for each in tree.expressions]
    ['?column?', 'text', 'count', 'relname', 'x', 'int4']
    """
    return _name_expression(node)[0]


def _name_expression(node: exp.Expr) -> tuple[str, bool]:
    """Return a name, and whether it takes precedence over that of a cast or CASE around it."""
    match node:
        case exp.Alias():
            return node.alias, True
        case exp.Column() | exp.Anonymous():
            return node.name if isinstance(node, exp.Column) else node.name.lower(), True
        case exp.Dot():
            last = node.expression
            return (last.name, True) if isinstance(last, exp.Identifier) else _name_expression(last)
        case exp.Cast():
            return _name_wrapper(node.this, type_name(node.to))
        case exp.Case():
            return _name_wrapper(node.args.get("default"), "case")
        case exp.Subquery():
            query = node.unnest()
            first = query.selects if isinstance(query, exp.Query) else ()
            return _name_expression(first[0]) if first else (_UNNAMED, False)
        case exp.Paren() | exp.Bracket() | exp.Collate() | exp.Filter() | exp.Window():
            return _name_expression(node.this)
        case _:
            return _name_of_class(node)


def _name_wrapper(inner: exp.Expr | None, name: str) -> tuple[str, bool]:
    found, is_better = _name_expression(inner) if inner is not None else (name, False)
    return (found, True) if is_better else (name, False)


def _name_of_class(node: exp.Expr) -> tuple[str, bool]:
    if isinstance(node, exp.Trim):
        place = str(node.args.get("position") or "").upper()
        return {"TRAILING": "rtrim", "LEADING": "ltrim"}.get(place, "btrim"), True
    for kind, name in _CLASSES.items():
        if isinstance(node, kind):
            return name, True
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return node.sql_name().lower(), True
    return _UNNAMED, False
