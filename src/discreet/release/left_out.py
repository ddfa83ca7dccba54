"""Columns that a policy or a call leaves out of what is published."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from discreet.engines.engine import Table
from discreet.measure.roles import require_column
from discreet.policy import model


def columns_left_out(
    table: Table, policy: model.TablePolicy | None, named: Collection[str]
) -> tuple[str, ...]:
    """Return the columns of `table` that its policy or the call leaves out.

    Raises:
        UnknownColumn: The call names a column that is not in the table.
    """
    wanted = {*(policy.release.leave_out if policy else ())}
    wanted |= {require_column(table, name).name for name in named}
    return tuple(column.name for column in table.columns if column.name in wanted)


def without_columns(table: Table, names: Collection[str], *, unit: str | None) -> Table:
    """Return the table without these columns; its unit stays, which is never published."""
    gone = {name for name in names if name != unit}
    return replace(table, columns=tuple(c for c in table.columns if c.name not in gone))
