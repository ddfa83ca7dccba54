"""How columns are read: each type of an engine as one of few, on which no expression can fail.

Types are schema, which is public; no rule here looks at a row. A type of which several values are
read as one cannot identify people: two people whose ids became one would be protected as one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.dates import null_outside
from discreet.engines.engine import Column, Kind
from discreet.errors import QuestionRefused
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable

_FIRST, _LAST = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"
_UNSIGNED = "UHUGEINT"
# Moments that DuckDB holds in a range or a fineness of their own, or that its casts fail on.
_CLOCKS = ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE")
_IDENTIFIERS = (Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.BOOLEAN)
_DECIMAL = re.compile(r"decimal\(\d+, ?(\d+)\)", re.IGNORECASE)


def read_columns_safely(held: CatalogTable, alias: str) -> exp.Expr:
    """Return the table called `alias`, its columns read so that no value makes a question fail."""
    relation, columns = held.table.relation, held.table.columns
    is_duckdb = held.table.engine.file_engine is not None
    forms = {
        column.name: _as_planned(column, planned) or (_read(column) if is_duckdb else None)
        for column, planned in zip(columns, held.planned_columns, strict=True)
    }
    if not any(forms.values()):
        return build.aliased_table(relation, alias)
    wanted = [
        build.alias_as(forms[column.name] or build.column(column.name), column.name)
        for column in columns
    ]
    return build.subquery(build.select(*wanted, source=relation.copy()), alias)


def _as_planned(column: Column, planned: Column) -> exp.Expr | None:
    """Return a whole number as the real that the policy declares, None where it declares none."""
    if column.kind is planned.kind:
        return None
    return exp.cast(build.column(column.name), exp.DataType.Type.DOUBLE)


def _read(column: Column) -> exp.Expr | None:
    """Return what stands for a column of DuckDB, None where it may stay as it is."""
    value, name = build.column(column.name), column.type
    if name == _UNSIGNED:
        # No signed number is as wide, so that DuckDB cannot compare it with any.
        last = exp.cast(build.text(str(2**127 - 1)), _UNSIGNED)
        above = exp.If(this=exp.GT(this=value, expression=last), true=last.copy())
        return exp.cast(exp.Case(ifs=[above], default=value.copy()), exp.DataType.Type.INT128)
    if name == "TIMESTAMP_NS":
        return exp.cast(value, exp.DataType.Type.TIMESTAMPNTZ)
    if name in _CLOCKS:
        # Clamped before it is cast: what lies beyond the years of people cannot be converted.
        kind = exp.DataType.build(name, dialect="duckdb")
        ends = [exp.cast(build.text(end), kind.copy()) for end in (_FIRST, _LAST)]
        return exp.cast(null_outside(value, *ends), exp.DataType.Type.TIMESTAMPNTZ)
    is_odd = column.kind in (Kind.OTHER, Kind.TEXT) and name not in ("VARCHAR", "TEXT", "")
    return exp.cast(value, "TEXT") if is_odd else None


def identifier_form(held: CatalogTable, name: str) -> str | None:
    """Return the form in which a column identifies people exactly, None if it does not.

    Values of one form are equal on an engine only where they are one, for all widths:
    doubles, and what would be compared by way of doubles, have none.
    """
    column = held.column(name)
    if column is None or column.kind not in _IDENTIFIERS or column.type == _UNSIGNED:
        return None
    if column.kind is not Kind.DECIMAL or held.table.engine.compares_decimals_exactly:
        return column.kind.value
    # Decimals of one scale have a type that holds both; of several, digits would be cut off.
    sized = _DECIMAL.fullmatch(column.type)
    return f"{column.kind.value} with {sized[1]} digits after the point" if sized else None


def require_identifier(held: CatalogTable, name: str) -> str:
    """Return the form of the column that identifies people, or refuse it by its type alone."""
    form = identifier_form(held, name)
    if form is not None:
        return form
    column = held.column(name)
    what = column.kind.value if column else "missing"
    written = f" ({column.type})" if column and column.type else ""
    raise QuestionRefused(
        f"The unit '{name}' of '{held.name}' is of kind {what}{written}, in which different people "
        "can have equal ids. Store it as a whole number, a decimal, a text or a date."
    )
