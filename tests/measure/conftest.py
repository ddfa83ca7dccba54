"""Tables grouped the way `assess` groups them, on one DuckDB for all tests of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.measure.classes import Roles, group_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from discreet.measure.classes import Cells


class Grouping(Protocol):
    def __call__(
        self,
        table: pa.Table,
        quasi: list[str],
        sensitive: Sequence[str] = ...,
        unit: str | None = ...,
    ) -> Cells: ...


@pytest.fixture(scope="session")
def cells_of() -> Iterator[Grouping]:
    """Return a function from an Arrow table and column names to its cells."""
    engine = DuckDB()

    def cells_of(
        table: pa.Table, quasi: list[str], sensitive: Sequence[str] = (), unit: str | None = None
    ) -> Cells:
        relation = engine.load(table.to_reader())
        opened = Table(engine, relation, engine.columns(relation), "table")
        subject = Roles(
            opened,
            quasi=tuple(opened.column(name) for name in quasi),
            sensitive=tuple(opened.column(name) for name in sensitive),
            unit=opened.column(unit) if unit else None,
        )
        return group_cells(subject)

    yield cells_of
    engine.close()
