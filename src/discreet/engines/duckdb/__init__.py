"""DuckDB: the engine of files and frames, and a file that is served."""

from discreet.engines.duckdb.engine import DuckDB, hide_progress_bar
from discreet.engines.duckdb.failures import call_duckdb

__all__ = ["DuckDB", "call_duckdb", "hide_progress_bar"]
