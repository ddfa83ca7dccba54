"""An engine for the duration of one task: tables kept meanwhile are dropped at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from discreet.engines.engine import ArrowBatch, ArrowReader, ArrowTable, Column, Engine
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from sqlglot import exp


class ScratchEngine:
    """A wrapper around an engine that records which tables it stored."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.name, self.dialect = engine.name, engine.dialect
        self.has_fixed_time_zone = engine.has_fixed_time_zone
        self.orders_numbered_rows = engine.orders_numbered_rows
        self.compares_decimals_exactly = engine.compares_decimals_exactly
        self.file_engine, self.part_writer = engine.file_engine, engine.part_writer
        self._stored: dict[str, exp.Table] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_lost(self) -> bool:
        """Whether the server is known to be gone, and with it all kept tables."""
        return self.engine.is_lost

    def place(self, label: str) -> str | None:
        """Return an identifier of a table on its server."""
        return self.engine.place(label)

    def interrupt(self) -> None:
        """Make the statement that runs in another thread fail, where the engine can."""
        self.engine.interrupt()

    def columns(self, relation: exp.Table) -> tuple[Column, ...]:
        """Return the columns of `relation` in their order."""
        return self.engine.columns(relation)

    def run(self, query: exp.Query) -> ArrowTable:
        """Return the whole result: for results known to be small."""
        return self.engine.run(query)

    def stream(self, query: exp.Query) -> Iterator[ArrowBatch]:
        """Yield the result in order, batch by batch, in bounded memory."""
        return self.engine.stream(query)

    def keep(self, query: exp.Query) -> exp.Table:
        """Store the result until the task ends and return its name."""
        return self._remember_relation(self.engine.keep(query))

    def load(self, batches: ArrowReader) -> exp.Table:
        """Store Arrow data until the task ends and return its name."""
        return self._remember_relation(self.engine.load(batches))

    def drop(self, relation: exp.Table) -> None:
        """Drop what `keep` or `load` stored."""
        self._stored.pop(relation.sql(), None)
        self.engine.drop(relation)

    def close(self) -> None:
        """Drop everything stored here; the engine itself stays open."""
        for relation in list(self._stored.values()):
            # The task's own result or error takes precedence; a broken connection drops nothing.
            with suppress(DiscreetError):
                self.drop(relation)

    def _remember_relation(self, relation: exp.Table) -> exp.Table:
        self._stored[relation.sql()] = relation
        return relation


def innermost(engine: Engine) -> Engine:
    """Return the underlying engine without the wrapper."""
    while isinstance(engine, ScratchEngine):
        engine = engine.engine
    return engine
