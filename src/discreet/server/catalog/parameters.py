"""Parameters of queries on the catalog: their types, and their values as literals."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from uuid import UUID

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.server.catalog.sources import type_of
from discreet.server.catalog.standard import REGISTERED
from discreet.server.catalog.syntax import fold_identifiers, is_array, type_name
from discreet.sql.types import TYPES

_MOST = 65535
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def catalog_parameter_types(
    query: exp.Query, declared: Sequence[str | None] = ()
) -> tuple[str, ...]:
    """Return the types of `$1`, `$2` …: as declared, as cast, as compared, or texts.

    >>> import sqlglot
    >>> text = "SELECT $1::oid FROM pg_class WHERE oid = ANY($2) AND relname = $3 LIMIT $4"
    >>> catalog_parameter_types(sqlglot.parse_one(text, dialect="postgres"))
    ('oid', 'oid[]', 'name', 'int8')

    Raises:
        StatementFailed: 42P02, a number is too large.
    """
    found = dict(enumerate(declared, start=1))
    for node in fold_identifiers(query).find_all(exp.Parameter):
        place = int(node.name) if node.name.isdecimal() else 0
        if not 1 <= place <= _MOST:
            raise StatementFailed("42P02", "there is no such parameter")
        found[place] = found.get(place) or _by_place(node)
    return tuple(found.get(place) or "text" for place in range(1, max(found, default=0) + 1))


def _by_place(node: exp.Expr) -> str | None:
    parent = node.parent
    if isinstance(parent, exp.Paren):
        return _by_place(parent)
    if isinstance(parent, (exp.Limit, exp.Offset)):
        return "int8"
    if isinstance(parent, exp.Cast):
        return _client_type(type_name(parent.to))
    if isinstance(parent, exp.Any) and isinstance(parent.parent, _COMPARED):
        kind = _client_type(type_of(parent.parent.this))
        return f"{kind}[]" if kind else None
    if isinstance(parent, exp.In):
        return _client_type(type_of(parent.this))
    if isinstance(parent, _COMPARED):
        other = parent.expression if node is parent.this else parent.this
        return _client_type(type_of(other))
    return None


def _client_type(kind: str | None) -> str | None:
    """Return a type as reported to clients: OID alias types are given by name."""
    if kind is None or kind not in TYPES:
        return None
    if is_array(kind):
        element = _client_type(kind[1:])
        return f"{element}[]" if element else None
    return "text" if kind in REGISTERED or kind in ("int2vector", "oidvector") else kind


def bind_catalog_query(
    query: exp.Query, kinds: Sequence[str], values: Sequence[object]
) -> exp.Query:
    """Return a query with a typed literal in place of every parameter.

    Raises:
        StatementFailed: 08P01 for too few values, 0A000 for a value of an unsupported type.
    """
    tree = query.copy()
    for node in list(tree.find_all(exp.Parameter)):
        place = int(node.name) if node.name.isdecimal() else 0
        if not 1 <= place <= min(len(values), len(kinds)):
            raise StatementFailed("08P01", f"bind message supplies {len(values)} parameters")
        node.replace(_typed_literal(values[place - 1], kinds[place - 1]))
    return tree


def _typed_literal(value: object, kind: str) -> exp.Expr:
    if isinstance(value, (list, tuple)):
        element = kind.removesuffix("[]")
        cells = [_typed_literal(each, element) for each in value]
        return exp.Cast(this=exp.Array(expressions=cells), to=_data_type(kind))
    if value is None:
        return exp.Cast(this=exp.null(), to=_data_type(kind))
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if not isinstance(value, (str, int, float, Decimal, UUID, date, time)):
        raise StatementFailed("0A000", "a parameter of this type is not supported here")
    text = str(value)
    if "\0" in text:
        raise StatementFailed("22021", "a text cannot hold a zero byte")
    return exp.Cast(this=exp.Literal.string(text), to=_data_type(kind))


def _data_type(kind: str) -> exp.DataType:
    if kind.endswith("[]"):
        return exp.DataType(
            this=exp.DType.ARRAY, expressions=[_data_type(kind.removesuffix("[]"))], nested=True
        )
    # Quoted, `char` is PostgreSQL's type of one byte, and not a text of one letter.
    name = exp.to_identifier(kind, quoted=kind == "char")
    return exp.DataType(this=exp.DType.USERDEFINED, kind=name)
