"""A source opened for the length of one release, with what its policy says of it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.engines.connect import holds_tables, opened_table
from discreet.engines.scratch import Scratch
from discreet.errors import EmptySource
from discreet.measure.assess import load
from discreet.measure.subject import refuse_stray_name, select_table
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from discreet.engines.engine import Table
    from discreet.policy import model


@dataclass(frozen=True)
class Reading:
    """How a source is read: which table, and what a CSV file or a new DuckDB must be told."""

    table: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    memory_limit: str | None = None


@dataclass(frozen=True)
class Opened:
    """A table on an engine that forgets what was kept, its rows, and the policy's view of it."""

    table: Table
    rows: int
    policy: model.Table | None
    path: str | None


@contextmanager
def opened(
    source: object, policy: model.Policy | str | Path | None, reading: Reading
) -> Generator[Opened]:
    """Open `source` with its policy; refuse a table without rows."""
    loaded = load(policy)
    refuse_stray_name(reading.table, source, loaded)
    with (
        opened_table(
            source,
            table=reading.table if holds_tables(source) else None,
            delimiter=reading.delimiter,
            encoding=reading.encoding,
            memory_limit=reading.memory_limit,
        ) as table,
        Scratch(table.engine) as scratch,
    ):
        rows = _count_rows(table)
        if rows == 0:
            raise EmptySource(f"{table.label} has a header but no rows: there is nobody in it.")
        stated = select_table(loaded, label=table.label, name=reading.table) if loaded else None
        path = str(loaded.path) if loaded and loaded.path else None
        yield Opened(replace(table, engine=scratch), rows, stated, path)


def _count_rows(table: Table) -> int:
    counted = build.named(build.count_rows(), "rows")
    found = table.engine.run(build.select(counted, source=table.relation.copy()))
    return int(found["rows"][0].as_py())
