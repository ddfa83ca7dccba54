"""Casts to and from the OID alias types: `'patients'::regclass`, `oid::regtype`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.server.catalog.calls import (
    as_texts,
    call_function,
    cast_to,
    number_literal,
    string_literal,
)
from discreet.server.catalog.lookups import require_registered_oid
from discreet.server.catalog.sources import type_of
from discreet.server.catalog.standard import NUMBERED, REGISTERED
from discreet.server.catalog.syntax import is_array, type_name
from discreet.sql.decode import array_items
from discreet.sql.types import TYPES

if TYPE_CHECKING:
    from discreet.server.catalog.calls import CallRewriter
    from discreet.server.catalog.snapshot import CatalogSnapshot

_TEXTS = frozenset(
    {"text", "varchar", "bpchar", "name", "char", "cstring", "unknown", "pg_node_tree", "aclitem"}
)
_NUMERIC = "DECIMAL(38, 6)"


def duck_type(name: str) -> str:
    """Return DuckDB's type for one of pg_type's.

    Raises:
        StatementFailed: 42704, there is no such type.
    """
    if is_array(name):
        return f"{duck_type(name[1:])}[]"
    if name not in TYPES:
        raise StatementFailed("42704", f'type "{name}" does not exist')
    return _NUMERIC if name == "numeric" else next(iter(TYPES[name].elsewhere.duckdb), "VARCHAR")


@dataclass
class CastRewriter:
    """Rewrites casts; which OIDs are shown as names is determined before the rewriting."""

    snapshot: CatalogSnapshot
    calls: CallRewriter
    _shown: set[int] = field(default_factory=set[int])

    def find_shown(self, tree: exp.Query) -> None:
        """Record which OIDs are shown as names: in the result, and as texts."""
        for select in _select_branches(tree):
            for each in select.expressions:
                self._mark_shown(each.unalias())
        for node in tree.find_all(exp.Cast):
            if type_name(node.to) in _TEXTS:
                self._mark_shown(node.this)
        for node in tree.find_all(exp.DPipe):
            self._mark_shown(node.this)
            self._mark_shown(node.expression)
        # Of a cast, what is cast.
        self._kinds = {id(node): type_of(node) for node in tree.find_all(exp.Column, exp.Anonymous)}
        self._kinds |= {id(node): type_of(node.this) for node in tree.find_all(exp.Cast)}

    def _mark_shown(self, node: exp.Expr) -> None:
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, (exp.Column, exp.Cast, exp.Anonymous)) and type_of(node) in REGISTERED:
            self._shown.add(id(node))

    def column(self, node: exp.Column) -> exp.Expr:
        """Return a column; the OID of a function as its name where it is shown."""
        return self.shown(node, node)

    def shown(self, node: exp.Expr, new: exp.Expr) -> exp.Expr:
        """Return the rewritten `node`: an OID as its name where it is shown."""
        if id(node) not in self._shown:
            return new
        return self.calls.own(f"_show_{self._kinds[id(node)]}", new)

    def cast(self, node: exp.Cast) -> exp.Expr:
        """Return a cast to a type that DuckDB has."""
        kind = type_name(node.to)
        if kind in REGISTERED:
            return self._cast_registered(node, kind)
        literal = _literal_text(node.this)
        if literal is not None and (is_array(kind) or kind in ("int2vector", "oidvector")):
            return array_of(literal, kind)
        source = self._kinds.get(id(node))
        if kind in _TEXTS and source is not None and _is_list(source):
            return _list_text(node.this, source)
        if kind == "char" or (kind == "bpchar" and not node.to.expressions):
            return call_function("left", cast_to(node.this, "VARCHAR"), number_literal(1))
        if kind == "numeric":
            return cast_to(node.this, _decimal_type(node.to))
        return cast_to(node.this, duck_type(kind))

    def _cast_registered(self, node: exp.Cast, kind: str) -> exp.Expr:
        literal = _literal_text(node.this)
        if literal is not None:
            oid = require_registered_oid(self.snapshot, kind, literal, self.calls.session.path)
            found = cast_to(number_literal(oid), "UINTEGER")
        elif self._kinds.get(id(node)) in NUMBERED:
            found = cast_to(node.this, "UINTEGER")
        else:
            found = self.calls.own(f"_read_{kind}", node.this)
        return self.calls.own(f"_show_{kind}", found) if id(node) in self._shown else found


def _select_branches(tree: exp.Query) -> list[exp.Select]:
    match tree:
        case exp.Select():
            return [tree]
        case exp.SetOperation():
            return [*_select_branches(tree.left), *_select_branches(tree.right)]
        case exp.Subquery() if isinstance(tree.this, exp.Query):
            return _select_branches(tree.this)
        case _:
            return []


def _literal_text(node: exp.Expr) -> str | None:
    """Return the value of a text literal, also with an explicit cast to text."""
    while isinstance(node, exp.Paren) or (
        isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal)
    ):
        node = node.this
    is_text = isinstance(node, exp.Literal) and node.is_string
    return node.name if is_text or isinstance(node, exp.ByteString) else None


def _is_list(kind: str) -> bool:
    return is_array(kind) or kind in ("int2vector", "oidvector")


def _list_text(node: exp.Expr, kind: str) -> exp.Expr:
    if not is_array(kind):
        return call_function("array_to_string", as_texts(node), string_literal(" "))
    return call_function("pgm_array_text", as_texts(node))


def array_of(literal: str, kind: str) -> exp.Expr:
    """Return an array given by an array literal."""
    items = array_items(literal) if is_array(kind) else literal.split()
    cells = [exp.null() if item is None else string_literal(item) for item in items]
    return cast_to(exp.Array(expressions=cells), duck_type(kind))


def _decimal_type(to: exp.Expr) -> str:
    digits = [each.name for each in to.expressions]
    return f"DECIMAL({', '.join(digits)})" if digits else _NUMERIC
