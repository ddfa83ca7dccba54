"""The types of parameters of queries that are not rewritten here, such as catalog queries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.kinds import kind_named, kind_of_cast


def infer_parameter_types(tree: exp.Expr, declared: Sequence[str | None] = ()) -> tuple[str, ...]:
    """Return the types of `$1`, `$2` …: as declared, as cast, or texts.

    >>> from sqlglot import parse_one
    >>> infer_parameter_types(parse_one("SELECT $1::int LIMIT $3", dialect="postgres"), [None, "date"])
    ('int4', 'date', 'int8')
    """
    kinds = {number: kind for number, kind in enumerate(declared, start=1) if kind}
    kinds = {number: kind_named(kind) or kind for number, kind in kinds.items()}
    count = len(declared)
    for node in tree.find_all(exp.Parameter):
        if not node.name.isdecimal():
            raise StatementFailed("42601", "syntax error at a parameter")
        number = int(node.name)
        if not 1 <= number <= 65535:
            raise StatementFailed("42P02", f"there is no parameter ${number}")
        count = max(count, number)
        kind = _kind_by_place(node)
        if kind is not None:
            kinds.setdefault(number, kind)
    return tuple(kinds.get(number, "text") for number in range(1, count + 1))


def _kind_by_place(node: exp.Expr) -> str | None:
    parent = node.parent
    if isinstance(parent, (exp.Limit, exp.Offset)):
        return "int8"
    if not isinstance(parent, exp.Cast):
        return None
    try:
        return kind_of_cast(parent.args["to"])
    except StatementFailed:  # such as a cast to a name of the catalog
        return None
