"""Queries over encrypted columns: locked ones are refused, unused ones are not decrypted."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Relation, RelationColumn
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.rewrite.permitted import TouchedRelation
from discreet.guard.vault.columns import ColumnLocation, blind_indexes
from discreet.server.gateway.ciphers import SessionCiphers
from discreet.server.gateway.encrypted_columns import INDEX, encrypted_value_type, has_cells
from discreet.sql import build

_TEXTS = ("text", "varchar")
_WHOLES = ("int2", "int4", "int8")
_MOST_DIGITS = 18
_SIMPLE = ("expressions", "from_", "joins", "where", "kind", "hint")
_NOTHING = "one"  # the column of a query of which only the number of rows matters
_T = exp.DataType.Type
_TEXT_TYPES = (_T.TEXT, _T.VARCHAR)
_NUMBER_TYPES = (_T.SMALLINT, _T.INT, _T.BIGINT, _T.DECIMAL)


@dataclass(frozen=True)
class _Source:
    """A place where a tree reads an encrypted table: `SELECT … FROM physical`, and its alias."""

    relation: Relation
    select: exp.Select
    subquery: exp.Subquery


def require_unlocked(tree: exp.Query, authority: Authority, ciphers: SessionCiphers) -> None:
    """Refuse a query that uses a locked column, and remove unused columns from `tree`.

    Raises:
        StatementFailed: 42501, with a hint how to unlock it.
    """
    sources = list(_encrypted_sources(tree, authority))
    if not sources:
        return
    _drop_unused(tree)
    used = _used_columns(tree)
    for source in sources:
        names = used[source.subquery.alias]
        unused: set[str] = set()
        for column in source.relation.columns:
            if column.key is None:
                continue
            if column.name in names:
                ciphers.require_open(source.relation, column)
            else:
                unused.add(column.name)
        _keep_columns(source.select, lambda name, unused=unused: name not in unused)


def reads_cells(reads: Iterable[TouchedRelation], authority: Authority) -> bool:
    """Whether a statement touches a table with encrypted columns."""
    found = (authority.relations.get(touched.relation) for touched in reads)
    return any(relation is not None and has_cells(relation) for relation in found)


def uses_cells(tree: exp.Expr, authority: Authority) -> bool:
    """Whether a tree reads an encrypted column of a table; unused columns are removed."""
    sources = list(_encrypted_sources(tree, authority))
    if not sources:
        return False
    _drop_unused(tree)
    used = _used_columns(tree)
    return any(
        column.key is not None and column.name in used[source.subquery.alias]
        for source in sources
        for column in source.relation.columns
    )


def _drop_unused(tree: exp.Expr) -> None:
    """Remove columns of views and subqueries that are not named outside them."""
    changed = not _has_silent_uses(tree)
    while changed:
        changed, used = False, _used_columns(tree)
        for subquery in tree.find_all(exp.Subquery):
            select, names = subquery.this, used[subquery.alias]
            if subquery.alias and _is_simple(select) and not subquery.alias_column_names:
                changed |= _keep_columns(select, lambda name, names=names: name in names)


def _has_silent_uses(tree: exp.Expr) -> bool:
    """Whether unnamed columns may be used: by `*` or USING."""
    if any(join.args.get("using") for join in tree.find_all(exp.Join)):
        return True
    return any(
        isinstance(star.parent, (exp.Select, exp.Column)) for star in tree.find_all(exp.Star)
    )


def _is_simple(select: exp.Expr) -> bool:
    """Whether removing a column leaves the rows the same."""
    if not isinstance(select, exp.Select) or select.find(exp.Star, exp.AggFunc, exp.Window):
        return False
    return not any(
        value for name, value in select.args.items() if name not in _SIMPLE and value is not None
    )


def _keep_columns(select: exp.Select, is_wanted: Callable[[str], bool]) -> bool:
    kept = [item for item in select.expressions if is_wanted(item.alias_or_name)]
    if len(kept) == len(select.expressions) or (not kept and _is_nothing(select)):
        return False
    select.set("expressions", kept or [build.alias_as(build.number(1), _NOTHING)])
    return True


def _is_nothing(select: exp.Select) -> bool:
    return [item.alias_or_name for item in select.expressions] == [_NOTHING]


def _used_columns(tree: exp.Expr) -> dict[str, set[str]]:
    """Return the columns that are named of each alias."""
    used: dict[str, set[str]] = defaultdict(set)
    for column in tree.find_all(exp.Column):
        used[column.table].add(column.name)
    return used


def add_index_lookups(tree: exp.Query, authority: Authority, ciphers: SessionCiphers) -> None:
    """Make a query with literals find values of encrypted columns by their blind index.

    Rows with another index cannot be equal, so the result stays the same, and fewer cells are
    decrypted.
    """
    for source in list(_encrypted_sources(tree, authority)):
        shown_names = {item.alias_or_name for item in source.select.expressions}
        for column in source.relation.columns:
            if column.key is not None and column.name in shown_names:
                ciphers.require_open(source.relation, column)
        wrapper = source.subquery.parent_select
        shown = wrapper.parent if wrapper is not None else None
        if not isinstance(wrapper, exp.Select) or not isinstance(shown, exp.Subquery):
            continue
        outer = shown.parent_select
        where = outer.args.get("where") if outer is not None else None
        if where is None or wrapper.args.get("where") is not None:
            continue
        columns = {
            item.alias_or_name: found
            for item in wrapper.expressions
            if (found := _shown_column(item, source)) is not None
        }
        for condition in _index_lookups(where.this, shown.alias, source.relation, columns, ciphers):
            source.select.where(condition, copy=False)


def narrow_write_condition(
    condition: exp.Expr | None, relation: Relation, handle: str, ciphers: SessionCiphers
) -> exp.Expr | None:
    """Return the condition of a write, with lookups by blind index."""
    if condition is None:
        return None
    columns = {column.name: column for column in relation.columns if column.key is not None}
    found = list(_index_lookups(condition, handle, relation, columns, ciphers, of=handle))
    return exp.and_(*found, exp.Paren(this=condition)) if found else condition


def _encrypted_sources(tree: exp.Expr, authority: Authority) -> Iterator[_Source]:
    relations = {
        relation.physical: relation
        for relation in authority.relations.values()
        if relation.physical and has_cells(relation)
    }
    if not relations:
        return
    for table in tree.find_all(exp.Table):
        relation = relations.get(tuple(part.name for part in table.parts))
        select = table.parent_select
        if relation is None or not isinstance(select, exp.Select):
            continue
        subquery = select.parent
        if not isinstance(subquery, exp.Subquery) or not subquery.alias:
            raise StatementFailed("XX000", "internal error: an encrypted table was read by itself")
        yield _Source(relation, select, subquery)


def _shown_column(item: exp.Expr, source: _Source) -> RelationColumn | None:
    """Return the encrypted column that an expression shows unchanged: no mask, no policy."""
    value = item.unalias()
    if not isinstance(value, exp.Column) or value.table != source.subquery.alias:
        return None
    column = source.relation.column(value.name)
    return column if column is not None and column.key is not None else None


def _index_lookups(
    where: exp.Expr,
    handle: str,
    relation: Relation,
    columns: dict[str, RelationColumn],
    ciphers: SessionCiphers,
    *,
    of: str | None = None,
) -> Iterator[exp.Expr]:
    """Return conditions on blind indexes that follow from a condition."""
    for part in _split_conjuncts(where):
        name, literals = _split_equality(part, handle)
        column = columns.get(name) if name else None
        if column is None:
            continue
        values = [_literal_value(literal, column) for literal in literals]
        if None in values:
            continue
        key = ciphers.require_open(relation, column)
        place = ColumnLocation(".".join(relation.key), column.name)
        array: Any = pa.array(values, _index_kind(column))
        found = {
            cell
            for indexes in blind_indexes(array, key=key, place=place)
            for cell in indexes.to_pylist()
        }
        yield exp.In(
            this=build.column(column.name + INDEX, of=of),
            expressions=[exp.Unhex(this=build.text(cell.hex())) for cell in sorted(found)],
        )


def _split_conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from _split_conjuncts(tree.left)
        yield from _split_conjuncts(tree.right)
    else:
        yield tree


def _split_equality(part: exp.Expr, handle: str) -> tuple[str | None, list[exp.Expr]]:
    """Return the column and the values of `column = value` or `column IN (values)`."""

    def own(side: exp.Expr) -> str | None:
        side = side.unnest()
        return side.name if isinstance(side, exp.Column) and side.table == handle else None

    if isinstance(part, exp.EQ):
        for column, value in ((part.left, part.right), (part.right, part.left)):
            name = own(column)
            if name is not None:
                return name, [value]
    elif isinstance(part, exp.In) and part.expressions and not part.args.get("query"):
        return own(part.this), part.expressions
    return None, []


def _literal_value(tree: exp.Expr, column: RelationColumn) -> object | None:
    """Return a literal as a value of the column; None if it is not one, or is ambiguous."""
    kind = kind_named(column.type)
    tree = tree.unnest()
    cast = None
    if isinstance(tree, exp.Cast):
        cast, tree = tree.to, tree.this.unnest()
        if cast.expressions and cast.this != _T.DECIMAL:
            return None
    sign = ""
    if isinstance(tree, exp.Neg):
        sign, tree = "-", tree.this
    if not isinstance(tree, exp.Literal):
        return None
    to = cast.this if cast is not None else None
    if kind in _TEXTS:
        return str(tree.this) if tree.is_string and to in (None, *_TEXT_TYPES) else None
    if kind in (*_WHOLES, "numeric"):
        is_number = to in _NUMBER_TYPES if tree.is_string else to in (None, *_NUMBER_TYPES)
        return _exact_number(sign + str(tree.this), cast, column) if is_number else None
    if kind == "date" and tree.is_string and to == _T.DATE:
        try:
            return dt.date.fromisoformat(str(tree.this))
        except ValueError:
            return None
    return None


def _exact_number(text: str, cast: exp.DataType | None, column: RelationColumn) -> object | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    _, digits, exponent = value.as_tuple()
    after = -exponent if isinstance(exponent, int) else _MOST_DIGITS
    if len(digits) > _MOST_DIGITS or not 0 <= after <= min(
        _column_scale(column), _cast_scale(cast)
    ):
        return None  # a cast may round
    return int(value) if kind_named(column.type) in _WHOLES else value


def _column_scale(column: RelationColumn) -> int:
    kind = encrypted_value_type(column)
    return min(kind.scale, _MOST_DIGITS) if pa.types.is_decimal(kind) else 0


def _cast_scale(cast: exp.DataType | None) -> int:
    if cast is None:
        return _MOST_DIGITS
    if cast.this != _T.DECIMAL:
        return 0
    return int(cast.expressions[1].name) if len(cast.expressions) > 1 else 0


def _index_kind(column: RelationColumn) -> Any:
    kind = encrypted_value_type(column)
    if pa.types.is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, _column_scale(column)) if pa.types.is_decimal(kind) else kind
