"""DuckDB: the default engine, for files and frames."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.duckdb.failures import (
    FAILURES,
    call_duckdb,
    duckdb_engine_failure,
    duckdb_setting_failure,
)
from discreet.engines.engine import KINDS, ArrowBatch, ArrowReader, ArrowTable, Column, Kind, Table
from discreet.engines.render import byte_order, drop_table, drop_view, render_sql
from discreet.errors import EngineFailed, OutputRefused, WrongUsage
from discreet.sql import build
from discreet.sql.types import FROM_DUCKDB
from discreet.writing import TemporaryFolder

Answer = TypeVar("Answer")

ROWS_PER_BATCH = 122_880  # DuckDB's own row group, so that a batch is one vectorized hand-over
SMALL_FILE = 1_000_000  # bytes: one thread reads it in no time
_BYTES_PER_THREAD = 250e6  # twice the least of DuckDB's guide, at which a sort sometimes fails

_OURS = "discreet_"  # prefix of generated names

_DISK_ERRORS = (
    errno.ENOSPC,
    errno.EFBIG,
    errno.EDQUOT,
    errno.EACCES,
    errno.EROFS,
    errno.ENOENT,
    errno.EIO,
)

_FINE = "TIMESTAMP_NS"
_FAR = ("TIMESTAMP_S", "TIMESTAMP_MS")  # their range exceeds that of microseconds
_ENDS = ("290307-01-01 (BC) 00:00:00", "294246-12-31 23:59:59")
_WIDE_INTEGERS = ("UBIGINT", "HUGEINT", "UHUGEINT")


def duckdb_kind(type_name: str) -> Kind:
    """Return the kind of a DuckDB type."""
    if type_name.endswith("]"):  # a list or an array of anything
        return Kind.OTHER
    bare = type_name.partition("(")[0]
    if bare in _WIDE_INTEGERS:
        return Kind.INTEGER
    return Kind.TEXT if bare == "ENUM" else KINDS.get(FROM_DUCKDB.get(bare, ""), Kind.OTHER)


def _plain_type(type_name: str) -> str | None:
    """Return the type to which a column is cast, or None when it stays as it is."""
    kind = duckdb_kind(type_name)
    # An ENUM sorts by its declaration; lists, maps and JSON have no order that other engines share.
    if kind is Kind.OTHER or (kind is Kind.TEXT and type_name != "VARCHAR"):
        return "TEXT"
    return "TIMESTAMP" if type_name.startswith("TIMESTAMP_") else None


def _as_plain(name: str, kind: str, to: str) -> exp.Expr:
    """Return a column cast to another type; timestamps out of its range become its first or last."""
    column = build.column(name)
    if kind not in _FAR:
        return exp.cast(column, to)
    ends = [exp.cast(build.text(end), exp.DataType.build(kind, dialect="duckdb")) for end in _ENDS]
    ifs = [
        exp.If(this=test(this=column.copy(), expression=end), true=end.copy())
        for test, end in zip((exp.LT, exp.GT), ends, strict=True)
    ]
    return exp.cast(exp.Case(ifs=ifs, default=column), to)


def _all_whole(column: exp.Column) -> exp.Expr:
    # Beyond 2**53 neighboring whole numbers are equal as reals.
    is_whole = exp.EQ(this=column, expression=exp.Anonymous(this="trunc", expressions=[column]))
    is_small = exp.LTE(this=exp.Abs(this=column.copy()), expression=build.number(2**53))
    return exp.Anonymous(this="bool_and", expressions=[exp.and_(is_whole, is_small)])


def _any_finer(column: exp.Column) -> exp.Expr:
    nanoseconds = exp.Anonymous(this="epoch_ns", expressions=[column])
    rest = exp.Mod(this=nanoseconds, expression=build.number(1000))
    is_finer = exp.NEQ(this=rest, expression=build.number(0))
    return exp.Anonymous(this="bool_or", expressions=[is_finer])


def _memory_settings(memory_limit: str) -> dict[str, str | int]:
    """Return the settings that keep DuckDB, threads included, within a memory limit."""
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", memory_limit, re.IGNORECASE)
    if not parts:
        raise WrongUsage(
            f"'{memory_limit}' is not a size. Write a memory limit such as 500MB or 4GB."
        )
    power = "KMGT".index(parts[2][0].upper()) + 1
    size = float(parts[1]) * 1000**power
    # A hash table of each thread must fit before it can spill.
    threads = max(1, min(os.cpu_count() or 1, int(size / _BYTES_PER_THREAD)))
    return {"memory_limit": memory_limit.strip(), "threads": threads}


def connect_in_memory(settings: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Return an instance that loads no extension, stores no secret and reads no Python variable."""
    closed: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
    }
    return call_duckdb(
        lambda: duckdb.connect(":memory:", config=closed | dict(settings)), duckdb_setting_failure
    )


def hide_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB draw no progress bar of its own.

    In Jupyter without ipywidgets there is none, and DuckDB refuses the setting in either direction.
    """

    def hide() -> None:
        ((is_shown,),) = connection.execute(
            "SELECT current_setting('enable_progress_bar')"
        ).fetchall()
        if is_shown:
            connection.execute("SET enable_progress_bar = false")

    call_duckdb(hide, duckdb_setting_failure)


class DuckDB:
    """An in-memory DuckDB that spills to a private folder and never uses the network."""

    name = "duckdb"
    dialect = "duckdb"
    has_fixed_time_zone = True
    orders_numbered_rows = False
    compares_decimals_exactly = False
    part_writer = None
    is_lost = False

    def __init__(
        self,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        looks_at_rows: bool = True,
    ) -> None:
        self._set_up(looks_at_rows=looks_at_rows)
        settings: dict[str, Any] = {"temp_directory": self._folder.name}
        if memory_limit is not None:
            settings |= _memory_settings(memory_limit)
        if threads is not None:
            settings["threads"] = threads
        elif memory_limit is None:
            # DuckDB splits work by row groups: on a small table, other threads only wait for work.
            settings["threads"], self._has_spare_threads = 1, True
        self._connection = connect_in_memory(settings)
        self._set(self._connection, "TimeZone", build.text("UTC"))
        hide_progress_bar(self._connection)

    def _set_up(self, *, looks_at_rows: bool) -> None:
        """Begin with nothing registered; a connection is made afterwards."""
        # Whether the rows of a table may decide how its columns are shown, and whether reading them
        # fails: not for questions.
        self._looks_at_rows = looks_at_rows
        # Spilled data are cell values: only its owner can read the folder, which is deleted.
        self._folder = TemporaryFolder()
        self._has_spare_threads = False  # which are used as soon as a table is not small
        self._registered: dict[str, object] = {}
        self._count = 0
        self.attached: dict[str, str] = {}  # database files by path
        self._views: dict[str, set[str]] = {}  # what each view reads
        self._deferred: dict[str, Callable[[], None]] = {}  # what reads a table's rows
        self._readers: dict[str, Callable[[], ArrowReader]] = {}  # what reads views DuckDB fails on

    @property
    def file_engine(self) -> Self:
        """This engine: it reads and writes files."""
        return self

    @property
    def looks_at_rows(self) -> bool:
        """Whether rows may decide what a table looks like, and whether it can be read."""
        return self._looks_at_rows

    def place(self, label: str) -> None:
        """Return None: what is in memory has no lasting place."""
        del label

    @property
    def folder(self) -> str:
        """A private folder that lives as long as this engine."""
        return self._folder.name

    def columns(self, relation: exp.Table) -> tuple[Column, ...]:
        """Return the columns of `relation` in their order."""
        return tuple(Column(name, duckdb_kind(kind), kind) for name, kind in self.types(relation))

    def types(self, relation: exp.Table) -> list[tuple[str, str]]:
        """Return the columns of `relation` with DuckDB's own type names."""
        query = build.select(exp.Star(), source=relation.copy()).limit(0)
        described = self.execute(query, lambda cursor: cursor.description)
        return [(str(name), str(kind)) for name, kind, *_ in described or []]

    def run(self, query: exp.Query, *, most: int | None = None) -> ArrowTable:
        """Return the whole result, if it is small: it fails with more than `most` rows."""
        self._read_deferred(query)
        text = render_sql(query, dialect=self.dialect)
        if most is None:
            return self._call_again(lambda: self._connection.sql(text).to_arrow_table())
        return self._call_again(lambda: _read_at_most(self._connection.sql(text), most))

    def interrupt(self) -> None:
        """Make the statement that runs in another thread fail."""
        self._connection.interrupt()

    def stream(self, query: exp.Query) -> Iterator[ArrowBatch]:
        """Yield the result in order, batch by batch, in bounded memory."""
        self._read_deferred(query)
        # A cursor of its own: other queries on this engine must not cut a half-read result short.
        cursor = self._open_cursor()
        text, seen = render_sql(query, dialect=self.dialect), 0

        def start() -> Iterator[ArrowBatch]:
            return iter(cursor.sql(text).to_arrow_reader(ROWS_PER_BATCH))

        def start_again() -> ArrowBatch | None:
            nonlocal batches
            batches = _skip_rows(start(), seen)
            return next(batches, None)

        try:
            batches = iter(())
            batch = self._call_again(start_again)
            while batch is not None:
                seen += batch.num_rows
                yield batch
                batch = self._call_again(lambda: next(batches, None), start_again)
        finally:
            with contextlib.suppress(duckdb.Error):
                cursor.close()

    def keep(self, query: exp.Query) -> exp.Table:
        """Store the result for this session, spilling to disk if need be, and return its name."""
        self._read_deferred(query)
        relation = self.fresh_name("kept")
        statement = exp.Create(this=relation.copy(), kind="TABLE", expression=query.copy())
        ((rows,),) = self.execute(statement, lambda cursor: cursor.fetchall())
        if rows > ROWS_PER_BATCH:
            self.use_all_threads()
        return relation

    def use_all_threads(self) -> None:
        """Read tables with as many threads as DuckDB would: an engine begins with one."""
        if self._has_spare_threads:
            self._has_spare_threads = False
            call_duckdb(lambda: self._connection.execute("RESET threads"), duckdb_setting_failure)

    def drop(self, relation: exp.Table) -> None:
        """Drop what `keep`, `load` or `defer` stored."""
        if self._deferred.pop(relation.name, None) is not None:
            self.execute(drop_view(relation))
            return
        if relation.name in self._registered:
            del self._registered[relation.name]
            call_duckdb(lambda: self._connection.unregister(relation.name))
            return
        self.execute(drop_table(relation))

    def load(self, batches: ArrowReader) -> exp.Table:
        """Store Arrow data for this session and return its name."""
        incoming = self.register(batches)
        try:
            return self.keep(build.select(exp.Star(), source=incoming))
        finally:
            self.drop(incoming)

    def lock_external_access(self) -> None:
        """Forbid access to files, network and settings: only registered tables stay reachable."""
        self._set(self._connection, "enable_external_access", exp.false())
        self._set(self._connection, "lock_configuration", exp.true())

    def close(self) -> None:
        """Release the connection and delete what it spilled."""
        with contextlib.suppress(duckdb.Error):
            self._connection.close()
        self._folder.cleanup()

    def export(self, query: exp.Query, path: Path, *, options: Mapping[str, exp.Expr]) -> int:
        """Write the result to a file, its rows in their order, and return how many there are.

        The same rows in the same order give the same bytes, however many threads write.
        """
        self._read_deferred(query)
        wanted = {"USE_TMP_FILE": exp.false(), "OVERWRITE_OR_IGNORE": exp.true(), **options}
        statement = exp.Copy(
            this=exp.Subquery(this=query.copy()),
            kind=False,
            files=[build.text(str(path))],
            params=[
                exp.CopyParameter(this=exp.var(name), expression=value)
                for name, value in wanted.items()
            ],
        )
        try:
            written = self.execute_unguarded(statement).fetchone()
        except (duckdb.Error, pa.ArrowException) as error:
            failure = _write_failure(error) or duckdb_engine_failure(error)
        else:
            return int(written[0]) if written else 0
        raise failure

    def view(self, query: exp.Query, *, hint: str = "view") -> exp.Table:
        """Name `query` without running it."""
        relation = self.fresh_name(hint)
        self._name_view(relation, query)
        self._views[relation.name] = {table.name for table in query.find_all(exp.Table)}
        return relation

    def read_otherwise(self, view: exp.Table, read: Callable[[], ArrowReader]) -> None:
        """Let the rows of a view be those of `read` from when DuckDB fails on a value in it."""
        if not self._looks_at_rows:
            self._readers[view.name] = read

    def defer(self, types: Mapping[str, str], read: Callable[[], exp.Query]) -> exp.Table:
        """Name a table of known columns whose rows are read by the first query about them."""
        wanted = [build.alias_as(exp.cast(exp.Null(), to), name) for name, to in types.items()]
        return self.defer_rows(exp.Select(expressions=wanted).where(exp.false()), read)

    def defer_rows(self, empty: exp.Query, read: Callable[[], exp.Query]) -> exp.Table:
        """Name a table with the columns of `empty` whose rows are read by the first query about them."""
        relation = self.fresh_name("deferred")
        self._name_view(relation, empty)
        self._deferred[relation.name] = lambda: self._store_rows(relation, empty, read)
        return relation

    def _name_view(self, relation: exp.Table, query: exp.Query) -> None:
        self.execute(exp.Create(this=relation.copy(), kind="VIEW", expression=query.copy()))

    def _store_rows(
        self, relation: exp.Table, empty: exp.Query, read: Callable[[], exp.Query]
    ) -> None:
        query = read()
        self.execute(drop_view(relation))
        try:
            self.execute(exp.Create(this=relation.copy(), kind="TABLE", expression=query.copy()))
        except BaseException:
            self._name_view(relation, empty)
            raise

    def _read_deferred(self, query: exp.Query) -> None:
        if not self._deferred:
            return
        reached = {table.name for table in query.find_all(exp.Table)}
        waiting = list(reached)
        while waiting:
            found = self._views.get(waiting.pop(), set()) - reached
            reached |= found
            waiting += found
        for name in reached & set(self._deferred):
            self._deferred[name]()
            del self._deferred[name]

    def register(self, data: object) -> exp.Table:
        """Name an Arrow object that stays where it is; DuckDB scans it in place."""
        relation = self.fresh_name("arrow")
        if getattr(data, "num_rows", ROWS_PER_BATCH + 1) > ROWS_PER_BATCH:
            self.use_all_threads()
        call_duckdb(lambda: self._connection.register(relation.name, data))
        self._registered[relation.name] = data
        return relation

    def table(self, relation: exp.Table, *, label: str) -> Table:
        """Return `relation` as a table whose columns can all be grouped and ordered."""
        types = self.types(relation)
        plain = {name: _plain_type(kind) for name, kind in types}
        # Rounded to what other engines have, moments could become equal.
        plain |= dict.fromkeys(self._finer_than_microseconds(relation, types))
        # A table that was not created here may have a collation that treats texts as equal.
        texts = [name for name, kind in types if kind == "VARCHAR" and not _is_ours(relation)]
        if texts or any(plain.values()):
            wanted = [
                build.alias_as(byte_order(build.column(name)), name)
                if name in texts
                else build.alias_as(_as_plain(name, dict(types)[name], to), name)
                if to
                else build.column(name)
                for name, to in plain.items()
            ]
            relation = self.view(build.select(*wanted, source=relation.copy()))
        columns = tuple(
            # Whether moments were rounded depends on rows, so that the type must not.
            Column(name, duckdb_kind(kind), kind if kind == _FINE else plain[name] or kind)
            for name, kind in types
        )
        return Table(engine=self, relation=relation, columns=columns, label=label)

    def _finer_than_microseconds(
        self, relation: exp.Table, types: list[tuple[str, str]]
    ) -> list[str]:
        clocks = [name for name, kind in types if kind == _FINE]
        if not clocks or not self._looks_at_rows:
            return []
        checks = [build.alias_as(_any_finer(build.column(name)), name) for name in clocks]
        found = self.run(build.select(*checks, source=relation.copy())).to_pylist()[0]
        return [name for name in clocks if found[name]]

    def whole_numbers(self, relation: exp.Table) -> exp.Table:
        """Return a view in which a column of reals that are all whole is one of integers.

        Spreadsheets and statistics packages store every number as a real.
        """
        types = self.types(relation)
        reals = [name for name, kind in types if kind == "DOUBLE"]
        if not reals:
            return relation
        checks = [build.alias_as(_all_whole(build.column(name)), name) for name in reals]
        found = self.run(build.select(*checks, source=relation.copy())).to_pylist()[0]
        wanted = [
            build.alias_as(exp.cast(build.column(name), "BIGINT"), name)
            if found.get(name)
            else build.column(name)
            for name, _ in types
        ]
        return self.view(build.select(*wanted, source=relation.copy()))

    def fresh_name(self, hint: str) -> exp.Table:
        """Return a table name that is not used on this engine."""
        self._count += 1
        return build.table(f"{_OURS}{hint}_{self._count}")

    def execute(
        self,
        statement: exp.Expr,
        take: Callable[[duckdb.DuckDBPyConnection], Answer] = lambda _: None,
    ) -> Answer:
        """Run `statement` and return `take` of its result; failures quote no data."""
        text = render_sql(statement, dialect=self.dialect)
        return self._call_again(lambda: take(self._connection.execute(text)))

    def _call_again(
        self, call: Callable[[], Answer], again: Callable[[], Answer] | None = None
    ) -> Answer:
        """Return `call()`, or `again()` once what DuckDB cannot read was read by other means."""
        try:
            return call()
        except FAILURES as error:
            failure, can_be_read = duckdb_engine_failure(error), _is_unreadable(error)
        if not (self._readers and can_be_read):
            raise failure
        while self._readers:
            self._replace_view(*self._readers.popitem())
        return call_duckdb(again or call)

    def _replace_view(self, name: str, read: Callable[[], ArrowReader]) -> None:
        view, loaded = build.table(name), self.load(read())
        held = dict(self.types(loaded))
        wanted = [
            build.column(column) if held[column] == kind else _try_cast(column, kind)
            for column, kind in self.types(view)
        ]
        query = build.select(*wanted, source=loaded)
        self.execute(exp.Create(this=view, kind="VIEW", replace=True, expression=query))

    def execute_unguarded(self, statement: exp.Expr) -> duckdb.DuckDBPyConnection:
        """Run `statement`, or raise DuckDB's own error: for callers that evaluate and drop it."""
        return self._connection.execute(render_sql(statement, dialect=self.dialect))

    def describe_unguarded(self, query: exp.Query) -> list[tuple[str, str]]:
        """Return the names and types of a result, or raise DuckDB's own error."""
        described = self.execute_unguarded(query.copy().limit(0)).description or []
        return [(str(name), str(kind)) for name, kind, *_ in described]

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a separate connection to the same data, with its local settings applied again."""
        cursor = call_duckdb(self._connection.cursor)
        hide_progress_bar(cursor)
        for name, data in self._registered.items():
            call_duckdb(lambda name=name, data=data: cursor.register(name, data))
        return cursor

    def _set(self, connection: duckdb.DuckDBPyConnection, name: str, value: exp.Expr) -> None:
        item = exp.SetItem(this=exp.EQ(this=exp.var(name), expression=value))
        text = render_sql(exp.Set(expressions=[item]), dialect=self.dialect)
        call_duckdb(lambda: connection.execute(text), duckdb_setting_failure)


def _is_ours(relation: exp.Table) -> bool:
    return not relation.db and relation.name.startswith(_OURS)


def _read_at_most(result: duckdb.DuckDBPyRelation, most: int) -> ArrowTable:
    reader = result.to_arrow_reader(min(most + 1, ROWS_PER_BATCH))
    batches: list[ArrowBatch] = []
    while sum(batch.num_rows for batch in batches) <= most:
        batch = next(reader, None)
        if batch is None:
            return pa.Table.from_batches(batches, schema=reader.schema)
        batches.append(batch)
    reader.close()
    raise EngineFailed(f"The result has more than {most:,} rows. Ask for fewer.")


def _try_cast(column: str, kind: str) -> exp.Expr:
    to = exp.DataType.build(kind, dialect=DuckDB.dialect)
    return build.alias_as(exp.TryCast(this=build.column(column), to=to), column)


def _skip_rows(batches: Iterator[ArrowBatch], count: int) -> Iterator[ArrowBatch]:
    for batch in batches:
        yield batch.slice(min(count, batch.num_rows))
        count = max(count - batch.num_rows, 0)


def _is_unreadable(error: Exception) -> bool:
    """Whether DuckDB failed on a value that a typed file or frame holds, and that it cannot hold itself."""
    return isinstance(error, (duckdb.ConversionException, duckdb.InvalidInputException)) or (
        isinstance(error, OSError) and str(error).startswith(("Conversion", "Invalid Input"))
    )


def _write_failure(error: Exception) -> OutputRefused | None:
    """Return the system's reason for a file error, all that is used of DuckDB's message."""
    reasons = (os.strerror(number) for number in _DISK_ERRORS)
    reason = next((text for text in reasons if text in str(error)), None)
    if reason is None or not isinstance(error, duckdb.IOException):
        return None
    return OutputRefused(
        f"The output cannot be written: {reason}. Free space there and in the temporary folder "
        "(TMPDIR), or choose another place."
    )
