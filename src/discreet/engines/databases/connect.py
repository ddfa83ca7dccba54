"""Open any served database by its path or URL."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.databases.database import Database
from discreet.engines.databases.duckdb import ResourceLimits, ServedDuckDB
from discreet.errors import WrongUsage
from discreet.registry import find_engine


def open_database(
    where: str | Path | None,
    *,
    key: bytes | None = None,
    seals_spill: bool = False,
    memory_limit: str | None = None,
    result_bytes: int | None = None,
) -> Database:
    """Return the database at `where`, ready to be served.

    Args:
        where: The path of a DuckDB file, created when missing; `postgresql://…`; `spark:` or
            `spark://host:7077`; None for a database in memory.
        key: Encrypts a DuckDB file; other places encrypt their files themselves.
        seals_spill: Encrypt DuckDB's spilled data even where its file is not encrypted.
        memory_limit: How much memory DuckDB may use.
        result_bytes: How much memory one result may take, 54000 beyond it; Spark has its own
            `spark.driver.maxResultSize`.

    >>> database = open_database(None)
    >>> database.name, database.is_writable, database.tables()
    ('duckdb', True, [])
    >>> database.close()
    """
    spec = find_engine(where)
    if spec is not None and key is not None:
        raise WrongUsage("A key encrypts a DuckDB file only. Leave it out for a server.")
    if spec is not None:
        if spec.serve is None:
            raise WrongUsage(f"Tables of {spec.title} cannot be served. Load them into a file.")
        return spec.serve(str(where), result_bytes=result_bytes)
    return ServedDuckDB(
        Path(where) if where is not None else None,
        key=key,
        seals_spill=seals_spill,
        limits=ResourceLimits(memory=memory_limit, result_bytes=result_bytes),
    )
