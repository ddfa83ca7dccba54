"""Open any served database by its path or URL."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.address import POSTGRES, SPARK
from discreet.engines.databases.database import Database
from discreet.engines.databases.duckdb import ResourceLimits, ServedDuckDB
from discreet.errors import WrongUsage


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
    text = str(where) if where is not None else ""
    if text.startswith((*POSTGRES, SPARK)) and key is not None:
        raise WrongUsage("A key encrypts a DuckDB file only. Leave it out for a server.")
    if text.startswith(POSTGRES):
        from discreet.engines.databases.postgres import ServedPostgres

        return ServedPostgres(text, result_bytes=result_bytes)
    if text.startswith(SPARK):
        from discreet.engines.databases.spark import ServedSpark

        master = text if text.startswith(f"{SPARK}//") else text.removeprefix(SPARK)
        return ServedSpark(master=master or None)
    path = Path(text) if where is not None else None
    return ServedDuckDB(
        path,
        key=key,
        seals_spill=seals_spill,
        limits=ResourceLimits(memory=memory_limit, result_bytes=result_bytes),
    )
