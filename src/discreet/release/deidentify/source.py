"""A source opened for the length of one release, with its policy."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.engines.connect import holds_tables, opened_table
from discreet.engines.engine import Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import EmptySource
from discreet.measure.assess import resolve_policy
from discreet.measure.roles import refuse_stray_name, select_table
from discreet.policy import model
from discreet.release.left_out import columns_left_out, without_columns
from discreet.sql import build


@dataclass(frozen=True)
class SourceOptions:
    """How a source is read: which table, and the settings of a CSV file or a new DuckDB."""

    table: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    memory_limit: str | None = None
    leave_out: Collection[str] = ()
    unit: str | None = None


@dataclass(frozen=True)
class SourceTable:
    """A table on an engine that forgets what was kept, its rows, and the policy's view of it.

    `left_out` are columns of the source that are not in the table: they are not to be published.
    """

    table: Table
    rows: int
    policy: model.TablePolicy | None
    path: str | None
    left_out: tuple[str, ...] = ()


@contextmanager
def open_source(
    source: object, policy: model.Policy | str | Path | None, reading: SourceOptions
) -> Generator[SourceTable]:
    """Open `source` with its policy; refuse a table without rows."""
    loaded = resolve_policy(policy)
    refuse_stray_name(reading.table, source, loaded)
    with (
        opened_table(
            source,
            table=reading.table if holds_tables(source) else None,
            delimiter=reading.delimiter,
            encoding=reading.encoding,
            memory_limit=reading.memory_limit,
        ) as table,
        ScratchEngine(table.engine) as scratch,
    ):
        rows = _count_rows(table)
        if rows == 0:
            raise EmptySource(f"{table.label} has a header but no rows: there are no people in it.")
        stated = select_table(loaded, label=table.label, name=reading.table) if loaded else None
        path = str(loaded.path) if loaded and loaded.path else None
        left_out = columns_left_out(table, stated, reading.leave_out)
        unit = reading.unit or (stated.unit if stated else None)
        stated = stated.without([*left_out, *stated.release.leave_out]) if stated else None
        kept = without_columns(replace(table, engine=scratch), left_out, unit=unit)
        yield SourceTable(kept, rows, stated, path, left_out)


def _count_rows(table: Table) -> int:
    counted = build.alias_as(build.count_star(), "rows")
    found = table.engine.run(build.select(counted, source=table.relation.copy()))
    return int(found["rows"][0].as_py())
