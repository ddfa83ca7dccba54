"""PostgreSQL: tables of a server, read, written and served."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlglot import exp

from discreet.engines.address import take_parameter
from discreet.engines.engine import Engine, Table, TableTarget
from discreet.engines.scratch import innermost
from discreet.engines.transfer import open_reader
from discreet.errors import OutputRefused, SourceNotFound, WrongUsage, did_you_mean
from discreet.registry import EngineSpec
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.databases.database import Database
    from discreet.engines.postgres import PostgreSQL


def _connect(url: str) -> PostgreSQL:
    from discreet.engines.postgres import PostgreSQL

    return PostgreSQL(url)


def _table_name(url: str) -> str | None:
    return take_parameter(url, "table")[1]


def _list_tables(url: str) -> list[str]:
    with contextlib.closing(_connect(take_parameter(url, "table")[0])) as server:
        return [_qualify_name(schema, name) for schema, name in server.tables()]


def _qualify_name(schema: str, name: str) -> str:
    return name if schema == "public" else f"{schema}.{name}"


def _open_table(url: str, *, table: str | None, engine: Engine | None) -> Table:
    from discreet.engines.postgres import PostgreSQL

    url, named = take_parameter(url, "table")
    name = table or named
    if engine is not None and not isinstance(engine, PostgreSQL):
        raise WrongUsage(
            "A PostgreSQL table can only be joined with tables on its own server. Export it to a "
            "file, or put the other table on the server."
        )
    server = engine or PostgreSQL(url)
    known = server.tables()
    labels = {_qualify_name(schema, item): (schema, item) for schema, item in known}
    if name is None and len(labels) == 1:
        name = next(iter(labels))
    if name is None:
        listed = ", ".join(f"'{label}'" for label in labels) or "none"
        raise WrongUsage(
            f"The database holds {len(labels)} tables: {listed}. Name one with --table NAME, or "
            "?table=NAME in the URL."
        )
    found = labels.get(name) or labels.get(name.removeprefix("public."))
    if found is None:
        raise SourceNotFound(f"The database has no table '{name}'.{did_you_mean(name, labels)}")
    return server.table(build.table(*found), label=name)


def _parse_target(text: str, *, force: bool) -> TableTarget:
    url, named = take_parameter(text, "table")
    if not named:
        raise WrongUsage("Say which table to write: postgresql://user@host/database?table=NAME.")
    schema, dot, table = named.rpartition(".")
    name = build.table(schema if dot else "public", table)
    with contextlib.closing(_connect(url)) as server:
        _require_creatable(server, name, force=force)
    joint = "&" if "?" in url else "?"
    return TableTarget(
        name=f"{name.db}.{name.name}",
        source=f"{url}{joint}table={quote(f'{name.db}.{name.name}')}",
        force=force,
        save=lambda engine, query: _save_table(engine, query, url, name, force=force),
    )


def _save_table(engine: Engine, query: exp.Query, url: str, name: exp.Table, *, force: bool) -> int:
    """Store `query` as a table and return its number of rows; on the same server nothing travels."""
    from discreet.engines.postgres import PostgreSQL

    home = innermost(engine)
    with contextlib.closing(_connect(url)) as server:
        _require_creatable(server, name, force=force)
        if isinstance(home, PostgreSQL) and home.address == server.address:
            return home.save(query, name, replace=force)
        with open_reader(engine, query) as reader:
            return server.save_rows(reader, name, replace=force)


def _require_creatable(server: PostgreSQL, name: exp.Table, *, force: bool) -> None:
    """Refuse a table that exists, or a schema that is missing or closed to this user."""
    may_create = exp.Anonymous(
        this="has_schema_privilege", expressions=[exp.column("nspname"), build.text("CREATE")]
    )
    rights = server.run(
        build.select(build.alias_as(may_create, "may"), source=exp.to_table("pg_namespace")).where(
            exp.column("nspname").eq(build.text(name.db))
        )
    ).to_pylist()
    if not rights:
        raise OutputRefused(f"The database has no schema '{name.db}'. Create it, or name another.")
    if not rights[0]["may"]:
        raise OutputRefused(
            f"This user may not create tables in the schema '{name.db}'. Ask for the right, or "
            "name another."
        )
    if not force and (name.db, name.name) in server.tables():
        raise OutputRefused(
            f"The table {name.db}.{name.name} exists. Name another, or add --force to replace it."
        )


def _serve(url: str, *, result_bytes: int | None) -> Database:
    from discreet.engines.postgres.served import ServedPostgres

    return ServedPostgres(url, result_bytes=result_bytes)


SPEC = EngineSpec(
    name="postgresql",
    title="PostgreSQL",
    schemes=("postgresql://", "postgres://"),
    extra="postgres",
    start=_connect,
    open_table=_open_table,
    table_name=_table_name,
    list_tables=_list_tables,
    names_schemas=True,
    parse_target=_parse_target,
    serve=_serve,
    position=2,
)
