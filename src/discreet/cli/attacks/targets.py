"""The target of an attack and what the adversary has, opened for one command and closed after it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, Table


@dataclass(frozen=True)
class OpenTarget:
    """A target on its engine; other tables are opened beside it, or on engines of their own."""

    table: Table
    _engines: list[Engine] = field(default_factory=list["Engine"])

    def open_beside(self, source: str) -> Table:
        """Return a table on the target's engine, to be joined with it."""
        from discreet.engines.connect import open_table

        return open_table(source, engine=self.table.engine)

    def open_other(self, source: str) -> Table:
        """Return a table on an engine of its own."""
        from discreet.engines.connect import open_table

        opened = open_table(source)
        self._engines.append(opened.engine)
        return opened


@contextmanager
def open_attack_target(
    source: str, choices: Mapping[str, Any], *, report: Path | None
) -> Generator[OpenTarget]:
    """Open the target as the reading options say; a report that cannot be written is told first."""
    from discreet.engines.connect import holds_tables, open_table
    from discreet.writing import require_writable_path

    if report is not None:
        require_writable_path(report)
    table = open_table(
        source,
        # The name may also be that of the policy's table, which a file does not have.
        table=choices["table"] if holds_tables(source) else None,
        delimiter=choices["delimiter"],
        encoding=choices["encoding"],
        memory_limit=choices["memory"],
    )
    engines: list[Engine] = [table.engine]
    try:
        yield OpenTarget(table, engines)
    finally:
        for engine in engines:
            engine.close()
