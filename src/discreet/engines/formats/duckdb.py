"""DuckDB database files, attached read-only and queried in place."""

from __future__ import annotations

from pathlib import Path

import duckdb
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.failures import locked_source
from discreet.engines.file_request import FileRequest
from discreet.errors import SourceNotFound, UnreadableSource, WrongUsage, did_you_mean
from discreet.registry import FormatSpec
from discreet.sql import build


def _open_database(request: FileRequest) -> exp.Table:
    """Return the table that was named, or the only one there is."""
    path, table = request.path, request.table
    found = _attach_read_only(path, engine=request.engine)
    if table is None and len(found) == 1:
        return next(iter(found.values()))
    if table is None:
        listed = ", ".join(f"'{name}'" for name in found) or "none"
        raise WrongUsage(
            f"{path.name} holds {len(found)} tables: {listed}. Name one with --table NAME."
        )
    if table in found:
        return found[table]
    raise SourceNotFound(f"{path.name} has no table '{table}'.{did_you_mean(table, found)}")


def _attach_read_only(path: Path, *, engine: DuckDB) -> dict[str, exp.Table]:
    """Return the tables and views of a DuckDB file by name, outside `main` as `schema.name`."""
    alias = engine.attached.get(str(path.resolve())) or _attach_file(path, engine=engine)
    names = engine.run(
        exp.select("schema_name", "table_name")
        .from_(
            exp.union(
                exp.select("database_name", "schema_name", "table_name").from_(
                    _catalog_function("duckdb_tables")
                ),
                exp.select("database_name", "schema_name", "view_name")
                .from_(_catalog_function("duckdb_views"))
                .where("NOT internal"),
            ).subquery("t")
        )
        .where(exp.column("database_name").eq(exp.Literal.string(alias)))
        .order_by("schema_name", "table_name")
    )
    return {
        (
            row["table_name"] if row["schema_name"] == "main" else ".".join(row.values())
        ): build.table(alias, row["schema_name"], row["table_name"])
        for row in names.to_pylist()
    }


def _table_names(path: Path) -> list[str]:
    home = DuckDB()
    try:
        return list(_attach_read_only(path, engine=home))
    finally:
        home.close()


def _catalog_function(function: str) -> exp.Table:
    return exp.Table(this=exp.Anonymous(this=function))


def _attach_file(path: Path, *, engine: DuckDB) -> str:
    alias = engine.fresh_name("file").name
    literal = exp.alias_(build.text(str(path)), exp.to_identifier(alias, quoted=True))
    statement = exp.Attach(this=literal, expressions=[exp.AttachOption(this=exp.var("READ_ONLY"))])
    try:
        engine.execute_unguarded(statement)
    except duckdb.Error as error:
        failure = _translate_error(path, error)
    else:
        engine.attached[str(path.resolve())] = alias
        return alias
    raise failure


def _translate_error(path: Path, error: duckdb.Error) -> Exception:
    remedy = "Close it there, or work on a copy."
    return locked_source(path.name, str(error), remedy) or UnreadableSource(
        f"{path.name} is damaged, encrypted, or not a DuckDB database of a version that can be "
        "read. Open it in DuckDB itself to see."
    )


SPEC = FormatSpec(
    name="duckdb",
    title="DuckDB",
    suffixes=(".duckdb", ".ddb", ".db"),
    typed=True,
    tables=_table_names,
    open=_open_database,
    # A checksum, the signature, and a version in eight bytes, of which the last ones are zero.
    signatures=({8: b"DUCK", 16: b"\0\0\0\0"},),
    suffix_decides=False,
    position=7,
)
