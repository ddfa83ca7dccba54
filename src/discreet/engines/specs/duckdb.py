"""DuckDB: the engine of files and of frames in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.registry import EngineSpec

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB


def _start(_: str) -> DuckDB:
    from discreet.engines.duckdb import DuckDB

    return DuckDB()


SPEC = EngineSpec(name="duckdb", title="DuckDB", start=_start, position=1)
