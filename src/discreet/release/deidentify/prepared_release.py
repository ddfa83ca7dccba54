"""A release that is ready to be written: its rows on the engine, and what was done."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.engine import Table
from discreet.measure.roles import require_column
from discreet.release.deidentify.record import Deidentified
from discreet.sql import build

UNIT = "discreet unit"
"""The column that identifies the person while a release is measured; it is never written."""


@dataclass(frozen=True)
class PreparedRelease:
    """The rows, the columns of them that may be written, and what was done."""

    relation: exp.Table
    columns: tuple[str, ...]
    found: Deidentified


def keep_rows(table: Table, query: exp.Select, *, unit: str | None) -> Table:
    """Keep the rows of `query`, made by `replace_values` of `table`, with the unit beside them."""
    if unit is not None:
        person = build.column(require_column(table, unit).name, of="t")
        query = query.select(build.alias_as(person, UNIT))
    elif not query.expressions:  # rows without a column are no table
        query = query.select(build.alias_as(build.number(1), UNIT))
    relation = table.engine.keep(query)
    return Table(table.engine, relation, table.engine.columns(relation), table.label)
