"""How types and names are written in trees of PostgreSQL's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from discreet.sql.names import ResultNames, fold_identifier
from discreet.sql.types import parse_known_type

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


def type_name(to: exp.Expr) -> str:
    """Return pg_type's name for the type of a cast; arrays have a `_` before it.

    >>> import sqlglot
    >>> text = 'SELECT a::pg_catalog.int2[], b::regclass, c::varchar(3), d::"char"'
    >>> casts = sqlglot.parse_one(text, dialect="postgres")
    >>> [type_name(each.to) for each in casts.expressions]
    ['_int2', 'regclass', 'varchar', 'char']
    """
    text = to.sql(dialect="postgres")
    if text.strip('"') == "char" and text != "CHAR":
        return "char"
    bare = re.sub(r'^"?pg_catalog"?\.', "", text, flags=re.IGNORECASE).lower()
    known = parse_known_type(bare)
    return known.name if known else bare


def is_array(name: str) -> bool:
    """Whether pg_type's name is that of an array."""
    return name.startswith("_")


def fold_identifiers(tree: exp.Query) -> exp.Query:
    """Return a copy with unquoted names in lower case, as PostgreSQL folds them."""
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        if isinstance(name.this, str):
            name.set("this", fold_identifier(name))
    return copy


def output_name(node: exp.Expr) -> str:
    """Return the name of a column of a result.

    >>> import sqlglot
    >>> text = "SELECT 1, 'a'::text, count(*), c.relname, (SELECT 2 AS x), '1'::text::int4"
    >>> tree = sqlglot.parse_one(text, dialect="postgres")
    >>> [output_name(each) for each in tree.expressions]
    ['?column?', 'text', 'count', 'relname', 'x', 'int4']
    """
    return _NAMES.name(node)


def _call_name(node: exp.Expr) -> str | None:
    for kind, name in _CLASSES.items():
        if isinstance(node, kind):
            return name
    if not isinstance(node, exp.Func) or isinstance(node, exp.Connector):
        return None
    return node.sql_name().lower()


_NAMES = ResultNames(type_name, _call_name)
