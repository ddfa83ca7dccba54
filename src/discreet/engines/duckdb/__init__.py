"""DuckDB: the engine of files and frames, and a file that is served."""

from discreet.engines.duckdb.engine import SMALL_FILE, DuckDB, hide_progress_bar
from discreet.engines.duckdb.failures import call_duckdb

__all__ = ["SMALL_FILE", "DuckDB", "call_duckdb", "hide_progress_bar"]
