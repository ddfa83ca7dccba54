"""A served DuckDB: one file, many sessions, no access to anything else on the machine."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb
from sqlglot import exp

from discreet.engines.databases.database import ResultField
from discreet.engines.duckdb.connection import TRAITS, DuckDBConnection
from discreet.engines.duckdb.engine import DuckDB, connect_in_memory
from discreet.engines.duckdb.failures import call_duckdb
from discreet.engines.duckdb.file import attach_for_writing, copy_file, load_cryptography
from discreet.engines.duckdb.results import duckdb_field
from discreet.engines.duckdb.writers import CommitClock, WriterQueue, fold_name_parts
from discreet.engines.engine import ArrowReader
from discreet.errors import OutputRefused, StoreFailed, WrongUsage
from discreet.sql import build
from discreet.writing import TemporaryFolder, write_private_file

CATALOG = "guarded"  # DuckDB's name of the served file
WRITE_TIMEOUT = 30.0  # seconds that a writer waits for another one

_CLOSED: Mapping[str, exp.Expr] = {
    "enable_external_access": exp.false(),
    "lock_configuration": exp.true(),
}


@dataclass(frozen=True)
class ResourceLimits:
    """Limits on DuckDB's use of the machine; None leaves a limit to DuckDB.

    Attributes:
        memory: In total, such as `2GB`.
        threads: How many it may start.
        spill: How much it may write beside its file, such as `10GB`.
        result_bytes: Memory of one result; 54000 beyond it.
    """

    memory: str | None = None
    threads: int | None = None
    spill: str | None = None
    result_bytes: int | None = None


_NONE = ResourceLimits()


class ServedDuckDB:
    """A DuckDB file as the catalog `guarded` of an instance in memory, or a database in memory.

    Private tables of queries live in memory, not in the file. After the file is attached, no other
    file, network address or setting can be reached.

    Args:
        path: The file, created when missing; None is a database in memory, which never spills.
        key: At least 32 bytes that encrypt the file, its log and spilled data.
        seals_spill: Encrypt spilled data even where the file is not encrypted: its tables may hold
            cells that queries decrypt. Without DuckDB's module for it, nothing is spilled then.
        limits: Limits on its use of the machine.
        temp_directory: Where it spills; by default a private folder, deleted at the end.
        patience: Seconds that a writer waits for another one before it fails with 55P03.
    """

    name = "duckdb"
    traits = TRAITS
    is_writable = True
    prefix: tuple[str, ...] = (CATALOG,)

    def __init__(
        self,
        path: Path | None,
        *,
        key: bytes | None = None,
        seals_spill: bool = False,
        limits: ResourceLimits = _NONE,
        temp_directory: Path | None = None,
        patience: float = WRITE_TIMEOUT,
    ) -> None:
        self._path = path
        self.seals_spill = seals_spill or key is not None or path is None
        self._patience, self._limits = patience, limits
        self._spill = TemporaryFolder()
        self._turn, self._commits = WriterQueue(), CommitClock()
        self._take_versions()
        shares = {"memory_limit": limits.memory, "threads": limits.threads}
        settings: dict[str, Any] = {
            "temp_directory": str(temp_directory or self._spill.name) if path else "",
            "temp_file_encryption": self.seals_spill,
            # Otherwise a transaction's snapshot of the file begins only when it first touches it.
            "immediate_transaction_mode": True,
            **{name: value for name, value in shares.items() if value is not None},
        }
        self._root = connect_in_memory(settings)
        try:
            self._open(key)
        except BaseException:
            self.close()
            raise

    def _open(self, key: bytes | None) -> None:
        if self.seals_spill and key is None and self._path is not None:
            try:
                load_cryptography(self._root)
            except StoreFailed:
                self._set("temp_directory", build.text(""))
        attach_for_writing(self._root, self._path, alias=CATALOG, key=key)
        # Closing a handle of the file would end DuckDB's lock on it: one is kept for copies.
        self._file = self._path.open("rb") if self._path else None
        self._set("TimeZone", build.text("UTC"))
        if self._limits.spill is not None:  # as a setting of `connect`, DuckDB would ignore it
            self._set("max_temp_directory_size", build.text(self._limits.spill))
        for name, value in _CLOSED.items():
            self._set(name, value)
        self.create_schema("public")

    @property
    def embedded(self) -> Self:
        """This database: it runs inside the server."""
        return self

    def connect(self) -> DuckDBConnection:
        """Return a connection for one session."""
        return DuckDBConnection(
            call_duckdb(self._root.cursor),
            turn=self._turn,
            commits=self._commits,
            patience=self._patience,
            result_bytes=self._limits.result_bytes,
        )

    def tables(self) -> list[tuple[str, ...]]:
        """Return the physical names of the tables, outermost part first."""
        query = (
            exp.select("schema_name", "table_name")
            .from_(exp.Table(this=exp.Anonymous(this="duckdb_tables")))
            .where(exp.column("database_name").eq(build.text(CATALOG)))
            .order_by("schema_name", "table_name")
        )
        return [(CATALOG, *row) for row in self._fetch_rows(query.sql(dialect=self.traits.dialect))]

    def fields(self, names: Sequence[str]) -> tuple[ResultField, ...]:
        """Return the columns of a physical table."""
        query = build.select(exp.Star(), source=build.table(*names)).sql(
            dialect=self.traits.dialect
        )
        return tuple(duckdb_field(row[0], row[1]) for row in self._fetch_rows(f"DESCRIBE {query}"))

    def reader(self) -> DuckDBReader:
        """Return an engine over committed data, for differentially private queries."""
        return DuckDBReader(self._root.cursor)

    def version(self, names: Sequence[str]) -> str:
        """Return a text that changes whenever the content of a physical table may have changed."""
        return self._commits.version(fold_name_parts(names))

    def create_schema(self, name: str) -> None:
        """Create a schema in the file, unless it exists."""
        schema = exp.Create(this=build.table(CATALOG, name), kind="SCHEMA", exists=True)
        with contextlib.closing(self.connect()) as session:
            session.execute(schema)

    def add_function(
        self, name: str, function: Callable[..., Any], *, returns: str, is_pure: bool
    ) -> None:
        """Create a function over any number of Arrow columns that all sessions can call.

        Transactions that began before do not see it. `is_pure` allows reusing one call's result.
        """

        def call(*columns: Any) -> Any:
            return function(*columns)

        call.__annotations__ = {}  # which DuckDB would take for types of its own
        register: Any = self._root.create_function  # its type stubs leave out some arguments
        call_duckdb(
            lambda: register(
                name,
                call,
                None,
                returns,
                type="arrow",
                null_handling="special",
                side_effects=not is_pure,
            )
        )

    def import_table(self, names: Sequence[str], batches: ArrowReader) -> int:
        """Create a table of Arrow data, whole or not at all, and return its number of rows."""
        cursor = call_duckdb(self._root.cursor)
        source = build.select(exp.Star(), source=build.table("incoming"))
        create = exp.Create(this=build.table(*names), kind="TABLE", expression=source)
        session = DuckDBConnection(
            cursor, turn=self._turn, commits=self._commits, patience=self._patience
        )
        with contextlib.closing(session):
            call_duckdb(lambda: cursor.register("incoming", batches))
            return session.execute(create)

    def backup(self, target: Path, *, beside: Callable[[], None] | None = None) -> None:
        """Write a consistent copy of the file; it is encrypted if the file is.

        Writers wait meanwhile, readers do not. `beside` copies files that must match this one.
        """
        if self._path is None or self._file is None:
            raise WrongUsage("A database in memory cannot be copied. Serve a file.")
        self._turn.acquire(self, timeout=self._patience, is_stopped=lambda: False)
        try:
            with self._commits.hold_clock():
                self._write_checkpoint()
                log = self._path.with_name(f"{self._path.name}.wal")
                copy_file(self._file, log, target)
                if beside is not None:
                    beside()
        finally:
            self._turn.release(self)

    def close(self) -> None:
        """Write the log into the file and release it."""
        self._write_checkpoint()
        with contextlib.suppress(duckdb.Error):
            self._root.close()
        if getattr(self, "_file", None) is not None:
            self._keep_versions()
        if getattr(self, "_file", None) is not None:
            self._file.close()  # pyright: ignore[reportOptionalMemberAccess]
        self._spill.cleanup()

    def _take_versions(self) -> None:
        """Go on with the versions of tables as they were at the last end, if the file is as it was then.

        What was kept is removed: after a crash, every table counts as changed.
        """
        if self._path is None or not self._versions_file.is_file():
            return
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self._versions_file.read_text("utf-8"))
            self._versions_file.unlink()
            if kept["file"] == self._describe_file():
                self._commits.restore(kept["clock"])

    def _keep_versions(self) -> None:
        described = self._describe_file()
        if described is not None:
            kept = {"file": described, "clock": self._commits.to_plain()}
            with contextlib.suppress(OutputRefused):  # every table counts as changed then
                write_private_file(self._versions_file, json.dumps(kept).encode(), may_exist=True)

    @property
    def _versions_file(self) -> Path:
        path = self._path or Path()
        return path.with_name(f"{path.name}.versions")

    def _describe_file(self) -> list[int] | None:
        """Return what changes whenever the file is written or replaced; None while there is a log beside it."""
        path = self._path or Path()
        if path.with_name(f"{path.name}.wal").exists() or not path.is_file():
            return None
        found = path.stat()
        return [found.st_size, found.st_mtime_ns, found.st_ino]

    def _write_checkpoint(self) -> None:
        # While others read, DuckDB may refuse; then the log keeps what the file does not have yet.
        with contextlib.suppress(duckdb.Error):
            self._root.execute(
                f"CHECKPOINT {exp.to_identifier(CATALOG).sql(dialect=self.traits.dialect)}"
            )

    def _fetch_rows(self, text: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(call_duckdb(self._root.cursor)) as cursor:
            return call_duckdb(lambda: cursor.execute(text).fetchall())

    def _set(self, name: str, value: exp.Expr) -> None:
        # Globally, so that it applies to every cursor.
        text = f"SET GLOBAL {name} = {value.sql(dialect=self.traits.dialect)}"
        try:
            self._root.execute(text)
        except duckdb.Error:
            pass
        else:
            return
        raise StoreFailed(
            f"DuckDB does not know the setting '{name}', without which it is not safe."
        )


class DuckDBReader(DuckDB):
    """DuckDB within an instance that is locked already; kept tables never reach the served file."""

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._set_up(looks_at_rows=False)
        self._connect = connect
        self._connection = call_duckdb(connect)
        # Readers share one catalog in memory: each has its own schema there.
        self._schema = exp.Table(
            this=exp.to_identifier(f"reader_{secrets.token_hex(8)}", quoted=True),
            db=exp.to_identifier("memory", quoted=True),
        )
        self.execute(exp.Create(this=self._schema.copy(), kind="SCHEMA"))
        self._use_schema(self._connection)

    def lock_external_access(self) -> None:
        """Do nothing: the instance has no access to files, network or settings already."""

    def close(self) -> None:
        """Drop the kept tables; the served database stays open."""
        names = self._schema.sql(dialect=self.dialect)
        with contextlib.suppress(duckdb.Error):
            self._connection.execute("USE memory.main")
            self._connection.execute(f"DROP SCHEMA IF EXISTS {names} CASCADE")
        with contextlib.suppress(duckdb.Error):
            self._connection.close()
        self._folder.cleanup()

    def _open_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = call_duckdb(self._connect)
        self._use_schema(cursor)
        for name, data in self._registered.items():
            call_duckdb(lambda name=name, data=data: cursor.register(name, data))
        return cursor

    def _use_schema(self, connection: duckdb.DuckDBPyConnection) -> None:
        names = self._schema.sql(dialect=self.dialect)
        call_duckdb(lambda: connection.execute(f"USE {names}"))
