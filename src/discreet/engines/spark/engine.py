"""Spark: queries run on the cluster; only results come back, as Arrow."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa
from sqlglot import exp

from discreet.engines.arrow import normalize_reader
from discreet.engines.engine import KINDS, ArrowBatch, ArrowReader, ArrowTable, Column, Kind, Table
from discreet.engines.names import refuse_duplicates
from discreet.engines.render import drop_table, rename_table, render_sql
from discreet.errors import DiscreetError, EngineFailed, MissingExtra
from discreet.sql import build
from discreet.sql.types import FROM_ARROW, FROM_SPARK, TYPES

try:
    from py4j.protocol import Py4JError
    from pyspark import StorageLevel
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import DataFrame, Observation, SparkSession, functions
except ImportError as error:
    raise MissingExtra(what="Spark", extra="spark") from error


Answer = TypeVar("Answer")

_LOCAL_PARTITIONS = "4"
_PARTS = 32  # files of an export; a part of a hundred million rows is sorted in memory
_SETTINGS = {
    "spark.app.name": "discreet",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.timeType.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": _LOCAL_PARTITIONS,
    "spark.sql.catalogImplementation": "in-memory",
}

# Without an appender Spark would fall back to its own, loud configuration.
_QUIET = """
status = off
rootLogger.level = off
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
"""


# pyspark writes each failed statement to standard error itself, with the cell that caused it.
_QUOTING_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class Spark:
    """A Spark session; `close` ends it only if it was started here."""

    name = "spark"
    dialect = "spark"
    has_fixed_time_zone = False
    orders_numbered_rows = True
    compares_decimals_exactly = False
    file_engine = None
    is_lost = False

    def __init__(self, session: SparkSession, *, is_ours: bool = False) -> None:
        for logger in _QUOTING_LOGGERS:
            PySparkLogger.getLogger(logger).disabled = True
        self.session = session
        self._is_ours = is_ours
        self._frames: dict[str, DataFrame] = {}

    @property
    def part_writer(self) -> Self:
        """This engine: its machines write in parallel."""
        return self

    def place(self, label: str) -> None:
        """Return None: Spark has no identifier of a table's content."""
        del label

    def interrupt(self) -> None:
        """Do nothing: Spark cannot stop one query of a session that others may share."""

    def columns(self, relation: exp.Table) -> tuple[Column, ...]:
        """Return the columns of `relation` in their order."""
        frame = self._query_frame(build.select(exp.Star(), source=relation.copy()))
        return tuple(
            Column(name, spark_kind(kind), kind) for name, kind in call_spark(lambda: frame.dtypes)
        )

    def run(self, query: exp.Query) -> ArrowTable:
        """Return the whole result: for results known to be small."""
        frame = self._query_frame(query)
        names = call_spark(lambda: frame.columns)
        table = call_spark(lambda: _number_columns(frame).toArrow())
        reader = normalize_reader(table.rename_columns(names).to_reader())
        return call_spark(reader.read_all)

    def stream(self, query: exp.Query) -> Iterator[ArrowBatch]:
        """Yield the result in order, batch by batch; one partition at a time is on the driver."""
        frame = self._query_frame(query)
        names = call_spark(lambda: frame.columns)
        rows = call_spark(
            lambda: iter(
                _number_columns(frame).mapInArrow(_make_packer(), "packed binary").toLocalIterator()
            )
        )
        while (row := call_spark(lambda: next(rows, None))) is not None:
            with pa.ipc.open_stream(row[0]) as packed:
                for batch in normalize_reader(packed):
                    yield batch.rename_columns(names)

    def keep(self, query: exp.Query) -> exp.Table:
        """Store the result for this session, spilling to disk if need be, and return its name."""
        return self._store(self._query_frame(query), hint="kept")

    def drop(self, relation: exp.Table) -> None:
        """Drop what `keep` or `load` stored."""
        frame = self._frames.pop(relation.name, None)
        if frame is not None:
            call_spark(frame.unpersist)
        call_spark(lambda: self.session.catalog.dropTempView(relation.name))

    def load(self, batches: ArrowReader) -> exp.Table:
        """Store Arrow data for this session and return its name; it passes through the driver."""
        table = call_spark(lambda: normalize_reader(batches).read_all())
        names = [str(position) for position in range(table.num_columns)]
        types = ", ".join(
            f"`{name}` {_spark_type(field.type)}"
            for name, field in zip(names, table.schema, strict=True)
        )
        frame = call_spark(
            lambda: self.session.createDataFrame(table.rename_columns(names), schema=types).toDF(
                *table.column_names
            )
        )
        relation = self._fresh_name("loaded")
        call_spark(lambda: frame.createOrReplaceTempView(relation.name))
        return relation

    def has_table(self, name: str) -> bool:
        """Return whether the catalog has a table called `name`."""
        return call_spark(lambda: self.session.catalog.tableExists(name))

    def save(self, query: exp.Query, name: str, *, replace: bool) -> int:
        """Store the result as a permanent table, whole or not at all, and return its row count."""
        parts = name.split(".")
        table, beside = (
            build.table(*parts),
            build.table(*parts[:-1], self._fresh_name("saved").name),
        )
        text = beside.sql(dialect=self.dialect)
        try:
            call_spark(lambda: self._query_frame(query).write.saveAsTable(text))
            rows = call_spark(lambda: self.session.table(text).count())
            if replace:
                # The old table stays until the new one is complete: the query may read it.
                self._execute(drop_table(table))
            self._execute(rename_table(beside, table))
        except BaseException:
            with contextlib.suppress(EngineFailed):
                self._execute(drop_table(beside))
            raise
        return rows

    def export(
        self, query: exp.Query, folder: Path, *, columns: Sequence[str], keys: Sequence[str]
    ) -> int:
        """Write the `columns` of a result as Parquet files, many at once, and return the row count.

        Values decide which file a row goes to and, by `keys`, its position: on every cluster the
        same rows give the same files.
        """
        frame = self._query_frame(query)
        place = call_spark(lambda: frame.repartition(_PARTS, *map(_quote_column, columns)))
        order = [functions.col(_quote_column(key)).asc_nulls_last() for key in keys]
        counted = Observation()
        rows = functions.count(functions.lit(1)).alias("rows")
        sorted_ = call_spark(
            lambda: place.sortWithinPartitions(*order).select(*map(_quote_column, columns))
        )
        with self._temporary_setting("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"):
            call_spark(
                lambda: (
                    sorted_.observe(counted, rows)
                    .write.mode("overwrite")
                    .option("compression", "zstd")
                    .parquet(folder.as_uri())
                )
            )
        return int(counted.get["rows"])

    def close(self) -> None:
        """Drop the kept tables, and end the session if it was started here."""
        for name in list(self._frames):
            with contextlib.suppress(EngineFailed):
                self.drop(build.table(name))
        if self._is_ours:
            call_spark(self.session.stop)

    def open(self, name: str) -> DataFrame:
        """Return a table of the catalog, or a file or folder that Spark can read."""
        ending = name.rpartition(".")[2].lower()
        if "/" not in name:
            return call_spark(lambda: self.session.table(name))
        form = {"csv": "csv", "json": "json", "orc": "orc"}.get(ending, "parquet")
        # Types of a text file are not guessed here: use DuckDB for files, Spark for tables.
        return call_spark(
            lambda: self.session.read.format(form).option("header", "true").load(name)
        )

    def table(self, frame: DataFrame, *, label: str) -> Table:
        """Return `frame` as a table; types without comparison (maps, structs …) become text."""
        types = call_spark(lambda: frame.dtypes)
        refuse_duplicates([name for name, _ in types], where=label)
        wanted = [
            build.alias_as(exp.cast(build.column(name), "TEXT"), name)
            if spark_kind(kind) is Kind.OTHER
            else build.column(name)
            for name, kind in types
        ]
        source, view = self._fresh_name("source"), self._fresh_name("view")
        call_spark(lambda: frame.createOrReplaceTempView(source.name))
        plain = self._query_frame(build.select(*wanted, source=source))
        call_spark(lambda: plain.createOrReplaceTempView(view.name))
        columns = tuple(Column(name, spark_kind(kind), kind) for name, kind in types)
        return Table(engine=self, relation=view, columns=columns, label=label)

    def _query_frame(self, query: exp.Query) -> DataFrame:
        text = render_sql(query, dialect=self.dialect)
        return call_spark(lambda: self.session.sql(text))

    def _execute(self, statement: exp.Expr) -> None:
        text = render_sql(statement, dialect=self.dialect)
        call_spark(lambda: self.session.sql(text))

    @contextlib.contextmanager
    def _temporary_setting(self, name: str, value: str) -> Generator[None]:
        """Change a setting of the session, which others may share, for a while."""
        before = call_spark(lambda: self.session.conf.get(name))
        call_spark(lambda: self.session.conf.set(name, value))
        try:
            yield
        finally:
            call_spark(lambda: self.session.conf.set(name, str(before)))

    def _store(self, frame: DataFrame, *, hint: str) -> exp.Table:
        relation = self._fresh_name(hint)
        kept = call_spark(lambda: frame.persist(StorageLevel.MEMORY_AND_DISK))
        call_spark(kept.count)  # compute it now: a kept table must not change or fail later
        call_spark(lambda: kept.createOrReplaceTempView(relation.name))
        self._frames[relation.name] = kept
        return relation

    def _fresh_name(self, hint: str) -> exp.Table:
        # Several engines may share one session, so a counter of this object is not enough.
        return build.table(f"discreet_{hint}_{os.urandom(8).hex()}")


def start_spark(master: str | None = None) -> Spark:
    """Return an engine on the active session, or on a new one at `master` (default: local)."""
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return Spark(active)
    master = master or os.environ.get("MASTER") or "local[*]"
    settings = dict(_SETTINGS)
    if master.startswith("local"):
        settings |= _LOCAL_SETTINGS
    return Spark(call_spark(lambda: _create_session(master, settings)), is_ours=True)


def spark_kind(type_name: str) -> Kind:
    """Return the kind of a Spark type."""
    return KINDS.get(FROM_SPARK.get(type_name.partition("(")[0], ""), Kind.OTHER)


def _engine_failure(error: Exception) -> EngineFailed:
    state = type(error).__name__
    if isinstance(error, PySparkException):
        state = error.getCondition() or error.getSqlState() or state
    hint = (
        " Install a Java runtime (17 or later) and set JAVA_HOME."
        if state == "JAVA_GATEWAY_EXITED"
        else ""
    )
    return EngineFailed(
        f"Spark refused a statement ({state}). Its own message is withheld because it may quote "
        f"data.{hint}"
    )


def call_spark(
    call: Callable[[], Answer], translate: Callable[[Exception], DiscreetError] = _engine_failure
) -> Answer:
    """Return `call()`; a failure of Spark becomes one of ours, without Spark's message.

    The new error is raised after the `except` block: inside it, Python would attach the old one.
    """
    try:
        return call()
    except (PySparkException, Py4JError, pa.ArrowException) as error:
        failure = translate(error)
    raise failure


def _create_session(master: str, settings: Mapping[str, str]) -> SparkSession:
    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # Spark logs failures with the cell that caused them.
    quiet = folder / "log4j2.properties"
    quiet.write_text(_QUIET, encoding="utf-8")
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    builder = builder.config(
        "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={quiet.as_uri()}"
    )
    with _silence_stderr():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    if master.startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        # Workers on this machine must find pyarrow: the first `python3` of the path may not have it.
        session.sparkContext.pythonExec = sys.executable
    return session


@contextlib.contextmanager
def _silence_stderr() -> Generator[None]:
    """Make child processes that start meanwhile inherit a discarded standard error."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        saved = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def _quote_column(name: str) -> str:
    return build.column(name).sql(dialect="spark")


def _number_columns(frame: DataFrame) -> DataFrame:
    """Return `frame` with columns called 0, 1 …: two columns of a result may share one name."""
    return frame.toDF(*(str(position) for position in range(len(frame.columns))))


def _make_packer() -> Callable[[Iterator[ArrowBatch]], Iterator[ArrowBatch]]:
    # A nested function is pickled by value: workers need pyarrow, not this package.
    def pack(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            packed = pa.array([sink.getvalue().to_pybytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([packed], names=["packed"])

    return pack


def _spark_type(arrow: Any) -> str:
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision}, {arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz else "timestamp_ntz"
    if pa.types.is_int8(arrow):
        return "tinyint"
    return TYPES[FROM_ARROW[str(arrow)]].elsewhere.spark[0]
