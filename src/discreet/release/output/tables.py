"""Tables of databases: made under another name, then renamed, so that no reader sees a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Engine
from discreet.engines.scratch import innermost
from discreet.engines.transfer import open_reader
from discreet.errors import OutputRefused, WrongUsage
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.postgres import PostgreSQL
    from discreet.engines.spark import Spark
    from discreet.release.output.target import PostgresTarget, SparkTarget


def require_creatable(target: PostgresTarget) -> None:
    """Refuse a table that exists, or a schema that is missing or closed to this user."""
    from discreet.engines.postgres import PostgreSQL

    server = PostgreSQL(target.url)
    try:
        _require_creatable(server, target)
    finally:
        server.close()


def save_to_postgres(engine: Engine, query: exp.Query, target: PostgresTarget) -> int:
    """Store `query` as a table and return its number of rows; on the same server nothing travels."""
    from discreet.engines.postgres import PostgreSQL

    home = innermost(engine)
    name = build.table(target.schema, target.table)
    server = PostgreSQL(target.url)
    try:
        _require_creatable(server, target)
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


def _require_creatable(server: PostgreSQL, target: PostgresTarget) -> None:
    may_create = exp.Anonymous(
        this="has_schema_privilege", expressions=[exp.column("nspname"), build.text("CREATE")]
    )
    rights = server.run(
        build.select(build.alias_as(may_create, "may"), source=exp.to_table("pg_namespace")).where(
            exp.column("nspname").eq(build.text(target.schema))
        )
    ).to_pylist()
    if not rights:
        raise OutputRefused(
            f"The database has no schema '{target.schema}'. Create it, or name another."
        )
    if not rights[0]["may"]:
        raise OutputRefused(
            f"This user may not create tables in the schema '{target.schema}'. Ask for the right, or "
            "name another."
        )
    if not target.force and (target.schema, target.table) in server.tables():
        raise OutputRefused(
            f"The {target.place} exists. Name another, or add --force to replace it."
        )
