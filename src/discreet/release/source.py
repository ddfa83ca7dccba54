"""A source opened for the length of one release, with its policy and without what is left out."""

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
from discreet.measure.cautions import refuse_misfits
from discreet.measure.roles import reading_hints, refuse_stray_name, require_column, select_table
from discreet.policy import model
from discreet.sql import build


@dataclass(frozen=True)
class SourceOptions:
    """How a source is read: which table, and the settings of a CSV file or a new DuckDB.

    `leave_out` are columns that are not to be published, besides those that the policy leaves out.
    """

    table: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    memory_limit: str | None = None
    leave_out: Collection[str] = ()
    unit: str | None = None


@dataclass(frozen=True)
class SourceTable:
    """A table on an engine that forgets what was kept, and the policy's view of it.

    `columns` are all of the source, and `left_out` those of them that are not to be published.
    """

    table: Table
    stated: model.TablePolicy | None
    path: str | None
    columns: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def policy(self) -> model.TablePolicy | None:
        """The policy of the columns that may be published."""
        if self.stated is None:
            return None
        return self.stated.without([*self.left_out, *self.stated.release.leave_out])

    def count_rows(self) -> int:
        """Return how many rows there are.

        Raises:
            EmptySource: There are none.
        """
        counted = build.alias_as(build.count_star(), "rows")
        query = build.select(counted, source=self.table.relation.copy())
        rows = int(self.table.engine.run(query)["rows"][0].as_py())
        if rows == 0:
            label = self.table.label
            raise EmptySource(f"{label} has a header but no rows: there are no people in it.")
        return rows


@contextmanager
def open_source(
    source: object, policy: model.Policy | str | Path | None, reading: SourceOptions
) -> Generator[SourceTable]:
    """Open `source` with its policy.

    The table is without the columns that the policy or the call leaves out. Its unit stays, which is
    never published.

    Raises:
        UnknownColumn: The call leaves out a column that is not in the table.
    """
    loaded = resolve_policy(policy)
    if isinstance(source, (str, Path)):  # the name of a frame's table is the caller's own
        refuse_stray_name(reading.table, source, loaded)
    with (
        opened_table(
            source,
            table=reading.table if holds_tables(source) else None,
            delimiter=reading.delimiter,
            encoding=reading.encoding,
            memory_limit=reading.memory_limit,
            hints=reading_hints(loaded, source, name=reading.table),
        ) as table,
        ScratchEngine(table.engine) as scratch,
    ):
        stated = select_table(loaded, label=table.label, name=reading.table) if loaded else None
        refuse_misfits(table, stated)
        path = str(loaded.path) if loaded and loaded.path else None
        unit = reading.unit or (stated.unit if stated else None)
        wanted = {*(stated.release.leave_out if stated else ())}
        wanted |= {require_column(table, name).name for name in reading.leave_out}
        names = tuple(column.name for column in table.columns)
        left_out = tuple(name for name in names if name in wanted)
        kept = tuple(c for c in table.columns if c.name not in wanted or c.name == unit)
        shown = replace(table, engine=scratch, columns=kept)
        yield SourceTable(shown, stated, path, names, left_out)
