"""PostgreSQL's names for columns of a result without an alias."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.guard.rewrite.functions import function_of
from discreet.guard.rewrite.kinds import ARRAY, kind_of_cast
from discreet.sql.names import ResultNames

_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDatabase: "current_database",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "now",
    exp.Localtimestamp: "localtimestamp",
    exp.Extract: "extract",
    exp.TimestampTrunc: "date_trunc",
    exp.AtTimeZone: "timezone",
    exp.Grouping: "grouping",
    exp.Exists: "exists",
    exp.Array: "array",
    exp.Explode: "unnest",
    exp.ExplodingGenerateSeries: "generate_series",
}


def select_column_name(node: exp.Expr) -> str:
    """Return the name of an expression in a result.

    >>> from sqlglot import parse_one
    >>> [select_column_name(parse_one(text, dialect="postgres")) for text in ("a + 1", "e.a", "count(*)", "'5'::int")]
    ['?column?', 'a', 'count', 'int4']
    """
    return _NAMES.name(node)


def _call_name(node: exp.Expr) -> str | None:
    if isinstance(node, exp.Pad):
        return "lpad" if node.args.get("is_left") else "rpad"
    function = function_of(node)
    name = _WORDS.get(type(node)) or (function.name if function else None)
    return None if isinstance(node, exp.Pow) else name  # also an operator


def _type_name(data_type: exp.Expr) -> str:
    return kind_of_cast(data_type).removesuffix(ARRAY)


_NAMES = ResultNames(_type_name, _call_name)
