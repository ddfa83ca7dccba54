"""Names in statements: how they fold, what they refer to, and how columns of a result are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import TypeVar

from sqlglot import exp

Item = TypeVar("Item")
NAMELESS = "?column?"
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_WRAPPERS = (exp.Paren, exp.Bracket, exp.Collate, exp.Filter, exp.Window, exp.WithinGroup)
_WEAK: Mapping[type[exp.Expr], str] = {
    exp.Boolean: "bool",
    exp.Interval: "interval",
    exp.Case: "case",
}
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}


def fold_name(name: str) -> str:
    """Return an unquoted name as PostgreSQL folds it: of letters, only those of ASCII.

    >>> fold_name("ÉCOLE")
    'École'
    """
    return name.translate(_LOWER)


def fold_identifier(name: exp.Expr | None) -> str:
    """Return a name as PostgreSQL folds it: lower case, unless it was quoted."""
    if not isinstance(name, exp.Identifier):
        return ""
    return str(name.this) if name.args.get("quoted") else fold_name(str(name.this))


def find_in_scopes(
    levels: Iterable[Iterable[Item]],
    is_meant: Callable[[Item], bool],
    ambiguous: Callable[[Sequence[Item]], Exception],
) -> Item | None:
    """Return the one item that is meant, of the nearest level that has one; None if none has.

    Raises:
        Exception: What `ambiguous` returns of several that are meant on one level.

    >>> find_in_scopes([[1, 2], [3, 4]], lambda item: item > 2 and item % 2 == 0, ValueError)
    4
    """
    for level in levels:
        found = [item for item in level if is_meant(item)]
        if len(found) > 1:
            raise ambiguous(found)
        if found:
            return found[0]
    return None


def common_table(table: exp.Table) -> exp.CTE | None:
    """Return the common table expression that a table of a query names, or None.

    >>> from sqlglot import parse_one
    >>> tree = parse_one("WITH a AS (SELECT 1), b AS (SELECT * FROM a, b) SELECT * FROM B")
    >>> [common_table(table) is not None for table in tree.find_all(exp.Table)]
    [True, True, False]
    """
    if table.args.get("db") or not isinstance(table.this, exp.Identifier):
        return None
    name = fold_identifier(table.this)
    node, inside = table.parent, None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        clause = node.args.get("with_")
        for common in _visible_tables(clause, inside) if clause is not None else ():
            if fold_identifier(common.args["alias"].this) == name:
                return common
        node = node.parent
    return None


def _visible_tables(clause: exp.Expr, inside: exp.CTE | None) -> list[exp.CTE]:
    """Return those that one of them may name: the ones before it, or all if they are recursive."""
    tables = list(clause.expressions)
    place = next((at for at, table in enumerate(tables) if table is inside), None)
    return tables if place is None or clause.args.get("recursive") else tables[:place]


def from_items(select: exp.Select) -> list[exp.Expr]:
    """Return what a SELECT reads: the tables, subqueries and functions in FROM and its joins."""
    clause = select.args.get("from_")
    found = [clause.this] if clause is not None else []
    found += [join.this for join in select.args.get("joins") or ()]
    return found


@dataclass(frozen=True)
class ResultNames:
    """PostgreSQL's names of the columns of a result.

    `type_name` names the type of a cast; `call_name` the function or keyword that a node calls, and
    returns None for an operator.
    """

    type_name: Callable[[exp.Expr], str]
    call_name: Callable[[exp.Expr], str | None]

    def name(self, node: exp.Expr) -> str:
        """Return the name of an expression in a SELECT."""
        return self._figure_name(node)[0]

    def _figure_name(self, node: exp.Expr) -> tuple[str, bool]:
        """Return a name, and whether it is a strong one that a cast or CASE does not replace."""
        match node:
            case exp.Alias():
                return fold_identifier(node.args["alias"]), True
            case exp.Column():
                return fold_identifier(node.this), True
            case exp.Cast():
                name, is_strong = self._figure_name(node.this)
                return (name, True) if is_strong else (self.type_name(node.to), False)
            case exp.Case() if node.args.get("default"):
                name, is_strong = self._figure_name(node.args["default"])
                return (name, True) if is_strong else ("case", False)
            case exp.SetOperation() | exp.Subquery():
                return self._figure_name(node.this)
            case exp.Select() if node.expressions:
                return self._figure_name(node.expressions[0])[0], True
            case _ if isinstance(node, _WRAPPERS):
                return self._figure_name(node.this)
            case _:
                return self._name_call(node)

    def _name_call(self, node: exp.Expr) -> tuple[str, bool]:
        if isinstance(node, exp.Dot):
            last = node.expression
            return (
                (last.name, True) if isinstance(last, exp.Identifier) else self._figure_name(last)
            )
        if type(node) in _WEAK:
            return _WEAK[type(node)], False
        if isinstance(node, exp.Trim):
            return _TRIMS.get(str(node.args.get("position")).upper(), "btrim"), True
        if isinstance(node, exp.Anonymous):
            return node.name.lower(), True
        name = self.call_name(node)
        return (name, True) if name else (NAMELESS, False)
