"""Results as clients expect them: columns with PostgreSQL's types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.server.catalog.syntax import is_array
from discreet.sql.types import FROM_DUCKDB

if TYPE_CHECKING:
    from discreet.server.catalog.translate import TranslatedQuery

_TYPES = {**FROM_DUCKDB, "UINTEGER": "oid", "HUGEINT": "int8"}
# Types of texts and numbers that are the same type in DuckDB.
_OWN = {"VARCHAR": {"name", "char", "varchar"}, "UINTEGER": {"xid"}}
_VECTORS = ("int2vector", "oidvector")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def fields_of(cursor: Any, translated: TranslatedQuery) -> tuple[ResultField, ...]:
    """Return the columns of a result without running the query."""
    described = cursor.execute(f"DESCRIBE {translated.sql}").fetchall()
    known = translated.columns
    if len(known) != len(described):  # a star whose columns only DuckDB knows
        known = [(row[0], None) for row in described]
    return tuple(
        _result_field(name, row[1], kind)
        for row, (name, kind) in zip(described, known, strict=True)
    )


def _known_types(translated: TranslatedQuery, count: int) -> Sequence[str | None]:
    kinds = [kind for _, kind in translated.columns]
    return kinds if len(kinds) == count else [None] * count


def _result_field(name: str, kept: str, known: str | None) -> ResultField:
    decimal = _DECIMAL.fullmatch(kept)
    if decimal:
        return ResultField(name, "numeric", int(decimal[1]), int(decimal[2]))
    return ResultField(name, _result_type(kept, known))


def _result_type(kept: str, known: str | None) -> str:
    if known in _VECTORS:
        return "text"
    if kept.endswith("[]"):
        element = known.removeprefix("_") if known is not None and is_array(known) else None
        return f"{_result_type(kept.removesuffix('[]'), element)}[]"
    if known in _OWN.get(kept, ()):
        return str(known)
    return _TYPES.get(kept, "text")


def arrange_result(
    table: Any, fields: Sequence[ResultField], translated: TranslatedQuery
) -> ArrowTable:
    """Return a result with the names of `fields` and values of their types."""
    import pyarrow as pa

    known = _known_types(translated, len(fields))
    columns = [
        _convert_column(table.column(place).combine_chunks(), field.type, known[place])
        for place, field in enumerate(fields)
    ]
    schema = [
        pa.field(field.name, column.type) for field, column in zip(fields, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(schema))


def _convert_column(column: Any, kind: str, known: str | None) -> Any:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if known in _VECTORS:
        cells = [None if cell is None else " ".join(map(str, cell)) for cell in column.to_pylist()]
        return pa.array(cells, pa.string())
    if kind == "int8":
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            raise StatementFailed("22003", "bigint out of range") from None
    if kind == "text" and not pa.types.is_string(column.type):
        cells = [None if cell is None else _cell_text(cell) for cell in column.to_pylist()]
        return pa.array(cells, pa.string())
    return column


def _cell_text(cell: object) -> str:
    if isinstance(cell, dict):
        return f"({','.join('' if part is None else str(part) for part in cell.values())})"
    return str(cell)
