"""Spark: tables of a catalog, files that a cluster reads, and frames of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.address import take_parameter
from discreet.engines.engine import Engine, Table, TableTarget
from discreet.engines.scratch import innermost
from discreet.errors import OutputRefused, WrongUsage
from discreet.registry import EngineSpec

if TYPE_CHECKING:
    from discreet.engines.databases.database import Database
    from discreet.engines.spark import Spark

_SCHEME = "spark:"


def _start(address: str) -> Spark:
    from discreet.engines.spark import start_spark

    return start_spark(_find_master(address))


def _find_master(address: str) -> str | None:
    is_master = address.startswith(f"{_SCHEME}//")
    return address if is_master else address.removeprefix(_SCHEME) or None


def _table_name(address: str) -> str:
    return address.removeprefix(_SCHEME).partition("?")[0]


def _open_table(address: str, *, table: str | None, engine: Engine | None) -> Table:
    from discreet.engines.spark import start_spark

    name, master = _spark_parts(address, table)
    home = _require_spark(engine, "table") or start_spark(master)
    return home.table(home.open(name), label=name.rpartition("/")[2])


def _is_frame(source: object) -> bool:
    return type(source).__module__.startswith("pyspark.")


def _open_frame(frame: Any, *, engine: Engine | None) -> Table:
    from discreet.engines.spark import Spark

    home = _require_spark(engine, "frame") or Spark(frame.sparkSession)
    return home.table(frame, label="DataFrame")


def _require_spark(engine: Engine | None, what: str) -> Spark | None:
    from discreet.engines.spark import Spark

    if engine is None or isinstance(engine, Spark):
        return engine
    raise WrongUsage(f"A Spark {what} can only be joined with tables on Spark.")


def _spark_parts(source: str, table: str | None) -> tuple[str, str | None]:
    rest, master = take_parameter(source.removeprefix(_SCHEME), "master")
    if rest.startswith("//") and master is None:  # spark://host:7077 is a master, not a table
        master, rest = f"{_SCHEME}{rest}", ""
    name = table or rest
    if not name:
        raise WrongUsage(
            "Name the table: spark:catalog.table or spark:/folder/file.parquet, with "
            "?master=spark://host:7077 for a cluster."
        )
    return name, master


def _parse_target(text: str, *, force: bool) -> TableTarget:
    name, _ = take_parameter(text.removeprefix(_SCHEME), "master")  # the source names the cluster
    if not name or "/" in name:
        raise WrongUsage(
            "Say which table to write: spark:catalog.table. For files, name a folder: out.parquet/."
        )
    return TableTarget(
        name=name,
        source=f"{_SCHEME}{name}",
        force=force,
        save=lambda engine, query: _save_table(engine, query, name, force=force),
    )


def _save_table(engine: Engine, query: exp.Query, name: str, *, force: bool) -> int:
    """Store `query` as a table of the catalog and return its number of rows."""
    home: Any = innermost(engine)
    if home.name != SPEC.name:  # asked without loading Spark
        raise WrongUsage(
            f"A Spark table is written from Spark only, and the source is on {engine.name}. Write a "
            "Parquet file, or open the source as spark:NAME."
        )
    if home.has_table(name) and not force:
        raise OutputRefused(f"The table {name} exists. Name another, or add --force to replace it.")
    return home.save(query, name, replace=force)


def _serve(address: str, *, result_bytes: int | None) -> Database:
    from discreet.engines.spark.served import ServedSpark

    del result_bytes  # Spark has its own limit, `spark.driver.maxResultSize`
    return ServedSpark(master=_find_master(address))


SPEC = EngineSpec(
    name="spark",
    title="Spark",
    schemes=(_SCHEME,),
    extra="spark",
    start=_start,
    open_table=_open_table,
    table_name=_table_name,
    physical_name=lambda address: (_table_name(address),),
    is_frame=_is_frame,
    open_frame=_open_frame,
    parse_target=_parse_target,
    serve=_serve,
    position=3,
)
