"""Tables of databases: made under another name, then renamed, so that no reader sees a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Engine
from discreet.engines.scratch import innermost
from discreet.engines.transfer import open_reader
from discreet.errors import OutputRefused, WrongUsage
from discreet.release.output.target import PostgresTarget, SparkTarget, require_creatable_on
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.spark import Spark


def save_to_postgres(engine: Engine, query: exp.Query, target: PostgresTarget) -> int:
    """Store `query` as a table and return its number of rows; on the same server nothing travels."""
    from discreet.engines.postgres import PostgreSQL

    home = innermost(engine)
    name = build.table(target.schema, target.table)
    server = PostgreSQL(target.url)
    try:
        require_creatable_on(server, target)
        if isinstance(home, PostgreSQL) and home.address == server.address:
            return home.save(query, name, replace=target.force)
        with open_reader(engine, query) as reader:
            return server.save_rows(reader, name, replace=target.force)
    finally:
        server.close()


def save_to_spark(engine: Engine, query: exp.Query, target: SparkTarget) -> int:
    """Store `query` as a table of the catalog and return its number of rows."""
    home = spark_of(engine)
    if home is None:
        raise WrongUsage(
            f"A Spark table is written from Spark only, and the source is on {engine.name}. Write a "
            "Parquet file, or open the source as spark:NAME."
        )
    if home.has_table(target.table) and not target.force:
        raise OutputRefused(
            f"The table {target.table} exists. Name another, or add --force to replace it."
        )
    return home.save(query, target.table, replace=target.force)


def spark_of(engine: Engine) -> Spark | None:
    """Return the Spark that does the work of `engine`, if it is one; Spark is loaded only then."""
    home = innermost(engine)
    if home.dialect != "spark":
        return None
    from discreet.engines.spark import Spark

    return home if isinstance(home, Spark) else None
