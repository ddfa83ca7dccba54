"""How encrypted columns are stored: each cell and its blind index as bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb.served import ServedDuckDB
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.kinds import kind_named
from discreet.sql.types import arrow_type

INDEX = "__index"  # suffix of the name of a column's blind index
TRAITS = ServedDuckDB.traits  # of where cells are decrypted


def has_cells(relation: Relation) -> bool:
    """Whether columns of a relation are encrypted."""
    return any(column.key is not None for column in relation.columns)


def stored_relation(relation: Relation) -> Relation:
    """Return a relation as the engine stores it: cells and blind indexes are bytes."""
    columns: list[RelationColumn] = []
    for column in relation.columns:
        if column.key is None:
            columns.append(column)
        else:
            columns.append(replace(column, type="bytea"))
            index = replace(column, name=column.name + INDEX, type="bytea", not_null=False)
            columns.append(index)
    return replace(relation, columns=tuple(columns))


def encrypted_value_type(column: RelationColumn) -> Any:
    """Return the Arrow type of an encrypted column's values.

    Raises:
        StatementFailed: 0A000, values of this type cannot be encrypted.
    """
    kind = kind_named(column.type)
    if kind == "numeric":
        size = engine_column_type(column, TRAITS).expressions
        numbers = [int(item.name) for item in size]
        return pa.decimal128(numbers[0], numbers[1] if len(numbers) > 1 else 0)
    found = arrow_type(kind) if kind is not None else None
    if found is None:
        raise StatementFailed("0A000", f"values of type {column.type} cannot be encrypted")
    return found
