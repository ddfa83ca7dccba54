"""The protocol of all engines: they run sqlglot trees and return Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from discreet.policy.text_format import CellFormat

if TYPE_CHECKING:
    from sqlglot import exp


# pyarrow ships no types; these names document which of its classes is meant.
ArrowTable: TypeAlias = Any
ArrowBatch: TypeAlias = Any
ArrowReader: TypeAlias = Any
ArrowSchema: TypeAlias = Any


class Kind(StrEnum):
    """The kind of a column, with the same meaning on every engine."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DECIMAL = "decimal"
    REAL = "real"
    TEXT = "text"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    OTHER = "other"  # lists, structs, JSON, bytes …: compared by their text

    @property
    def is_number(self) -> bool:
        """Whether arithmetic makes sense of the values."""
        return self in (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)

    @property
    def is_ordered(self) -> bool:
        """Whether the engine's order of the values is meaningful to people."""
        return self.is_number or self in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP)


# The kind of each of PostgreSQL's types; values of any other type are compared by their text.
KINDS: Mapping[str, Kind] = {
    "bool": Kind.BOOLEAN,
    **dict.fromkeys(("int2", "int4", "int8", "oid"), Kind.INTEGER),
    "numeric": Kind.DECIMAL,
    **dict.fromkeys(("float4", "float8"), Kind.REAL),
    **dict.fromkeys(("char", "name", "text", "bpchar", "varchar", "uuid"), Kind.TEXT),
    "date": Kind.DATE,
    "time": Kind.TIME,
    **dict.fromkeys(("timestamp", "timestamptz"), Kind.TIMESTAMP),
}


@dataclass(frozen=True)
class Column:
    """A column of a table on an engine; `type` is the engine's own type, where its width matters."""

    name: str
    kind: Kind
    type: str = ""


@dataclass(frozen=True)
class DeclaredColumn:
    """The kind of a column, and how its cells are written."""

    kind: Kind
    written: CellFormat = field(default_factory=CellFormat)


@dataclass(frozen=True)
class DeclaredSchema:
    """The columns of a file by name, and how it is written where that is declared.

    `columns` state all that holds for their cells. `missing` are the words for missing values of columns
    that are not declared. With `is_multiline`, a cell in quotation marks may hold line ends; `skip` is the
    number of lines before the header. `titles` are what a file calls its columns beside their names, and
    `doubts` says of columns by name how they could also be read; both are for the custodian.
    """

    columns: Mapping[str, DeclaredColumn]
    delimiter: str | None = None
    encoding: str | None = None
    is_multiline: bool = True
    skip: int | None = None
    missing: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)
    doubts: Mapping[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)

    def named(self, names: Iterable[str]) -> dict[str, DeclaredColumn]:
        """Return all columns of a header, in their order; undeclared ones are text."""
        text = DeclaredColumn(Kind.TEXT, CellFormat(missing=self.missing or None))
        return {name: self.columns.get(name, text) for name in names}


@dataclass(frozen=True)
class Table:
    """A table on an engine: its name there, its columns, and the user's name for it.

    `schema` is that of a file without types of its own, inferred from its rows or declared.
    `undeclared` are the names of the source's other columns, which no query can name; None where
    only its rows have them. `cells` gives all columns as the source holds them, whatever is declared;
    None where `relation` has them so.
    """

    engine: Engine
    relation: exp.Table
    columns: tuple[Column, ...]
    label: str
    schema: DeclaredSchema | None = None
    undeclared: tuple[str, ...] | None = ()
    cells: Callable[[], AbstractContextManager[exp.Table]] | None = field(
        default=None, compare=False
    )

    def column(self, name: str) -> Column | None:
        """Return the column called exactly `name`, or None."""
        return next((column for column in self.columns if column.name == name), None)


class Engine(Protocol):
    """A system that runs queries. Every failure is a `DiscreetError` that quotes no data.

    Code outside of `discreet.engines` asks for what an engine can do, never which one it is.

    Attributes:
        name: The name of its specification.
        dialect: sqlglot's name of its SQL dialect.
        has_fixed_time_zone: Whether a session computes in UTC; others may share it otherwise.
        orders_numbered_rows: Whether ROW_NUMBER needs an order, which costs a sort.
        compares_decimals_exactly: Whether decimals of any two sizes are equal only if they are one.
    """

    name: str
    dialect: str
    has_fixed_time_zone: bool
    orders_numbered_rows: bool
    compares_decimals_exactly: bool

    @property
    def file_engine(self) -> FileEngine | None:
        """This engine, if it reads and writes files itself and can hold other tables beside."""
        ...

    @property
    def part_writer(self) -> PartWriter | None:
        """This engine, if it writes the files of a folder in parallel."""
        ...

    @property
    def is_lost(self) -> bool:
        """Whether the server is known to be gone, and with it all kept tables."""
        ...

    def place(self, label: str) -> str | None:
        """Return an identifier of a table on its server, whatever the address; None without one."""
        ...

    def interrupt(self) -> None:
        """Make the statement that runs in another thread fail, where the engine can."""
        ...

    def columns(self, relation: exp.Table) -> tuple[Column, ...]:
        """Return the columns of `relation` in their order."""
        ...

    def run(self, query: exp.Query) -> ArrowTable:
        """Return the whole result: for results known to be small."""
        ...

    def stream(self, query: exp.Query) -> Iterator[ArrowBatch]:
        """Yield the result in order, batch by batch, in bounded memory."""
        ...

    def keep(self, query: exp.Query) -> exp.Table:
        """Store the result for this session, spilling to disk if need be, and return its name."""
        ...

    def drop(self, relation: exp.Table) -> None:
        """Drop what `keep` or `load` stored."""
        ...

    def load(self, batches: ArrowReader) -> exp.Table:
        """Store Arrow data for this session and return its name."""
        ...

    def close(self) -> None:
        """Release the connection; only what was opened here is closed."""
        ...


class FileEngine(Engine, Protocol):
    """An engine that reads and writes files."""

    def view(self, query: exp.Query, *, hint: str = "view") -> exp.Table:
        """Name `query` without running it."""
        ...

    def table(self, relation: exp.Table, *, label: str) -> Table:
        """Return `relation` as a table whose columns can all be grouped and ordered."""
        ...

    def export(self, query: exp.Query, path: Path, *, options: Mapping[str, exp.Expr]) -> int:
        """Write the result to a file, its rows in their order, and return how many there are."""
        ...


class PartWriter(Protocol):
    """An engine whose machines write the files of a folder in parallel."""

    def export(
        self, query: exp.Query, folder: Path, *, columns: Sequence[str], keys: Sequence[str]
    ) -> int:
        """Write the `columns` of a result as Parquet files, and return the row count."""
        ...


@dataclass(frozen=True)
class TableTarget:
    """A table of a database that rows are written to; its address may hold a password.

    Attributes:
        name: What messages call the table.
        source: What `open_table` reads it back from.
        force: Whether a table of that name is replaced.
        save: Stores the result of a query on an engine there, whole or not at all; returns its rows.
    """

    name: str
    source: str = field(repr=False)
    force: bool
    save: Callable[[Engine, exp.Query], int] = field(repr=False, compare=False)

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return f"table {self.name}"
