"""PostgreSQL's names for columns of a result without an alias."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.guard.rewrite.functions import function_of
from discreet.guard.rewrite.kinds import kind_of_cast
from discreet.guard.rewrite.scope import fold_identifier

NAMELESS = "?column?"
_WORDS: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentSchema: "current_schema",
    exp.CurrentCatalog: "current_catalog",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "now",
    exp.Localtimestamp: "localtimestamp",
    exp.Extract: "extract",
    exp.TimestampTrunc: "date_trunc",
    exp.AtTimeZone: "timezone",
    exp.Grouping: "grouping",
    exp.Exists: "exists",
}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def result_column_name(node: exp.Expr) -> str:
    """Return the name of an expression in a result.

    >>> from sqlglot import parse_one
    >>> [result_column_name(parse_one(text, dialect="postgres")) for text in ("a + 1", "e.a", "count(*)", "'5'::int")]
    ['?column?', 'a', 'count', 'int4']
    """
    return _figure_name(node)[0]


def _figure_name(node: exp.Expr) -> tuple[str, bool]:
    """Return a name, and whether it is a strong one that a cast does not replace."""
    if isinstance(node, exp.Alias):
        return fold_identifier(node.args["alias"]), True
    if isinstance(node, exp.Column):
        return fold_identifier(node.this), True
    if isinstance(node, (exp.Paren, exp.Filter, exp.Window, exp.WithinGroup)):
        return _figure_name(node.this)
    if isinstance(node, exp.Cast):
        name, is_strong = _figure_name(node.this)
        return (name, True) if is_strong else (kind_of_cast(node.args["to"]), False)
    return _constructed_name(node)


def _constructed_name(node: exp.Expr) -> tuple[str, bool]:
    if isinstance(node, exp.Case):
        name, is_strong = (
            _figure_name(node.args["default"]) if node.args.get("default") else ("", False)
        )
        return (name, True) if is_strong else ("case", False)
    if isinstance(node, exp.Subquery):
        first = node.this
        while isinstance(first, (exp.SetOperation, exp.Subquery)):
            first = first.this
        return (
            (_figure_name(first.expressions[0])[0], True)
            if first.expressions
            else (NAMELESS, False)
        )
    if isinstance(node, exp.Trim):
        return _TRIMS.get(str(node.args.get("position")), "btrim"), True
    if isinstance(node, exp.Pad):
        return "lpad" if node.args.get("is_left") else "rpad", True
    if isinstance(node, exp.Boolean):
        return "bool", False
    if isinstance(node, exp.Interval):
        return "interval", False
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), True
    function = function_of(node)
    name = _WORDS.get(type(node)) or (function.name if function else None)
    return (name, True) if name and not isinstance(node, exp.Pow) else (NAMELESS, False)
