"""Rows of a query written to a file, a folder or a table, in an order that reveals nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from discreet.engines.engine import ArrowBatch, ArrowReader, Engine, FileEngine, TableTarget
from discreet.engines.transfer import fit_decimals, on_duckdb, open_reader, schema_of
from discreet.errors import Bug, DiscreetError, OutputRefused
from discreet.registry import FORMATS
from discreet.release.output.files import (
    file_digest,
    folder_digest,
    number_parts,
    part_name,
    require_rows,
    whole_file,
    whole_folder,
)
from discreet.release.output.target import (
    FileTarget,
    FolderTarget,
    Target,
    parse_target,
)
from discreet.sql import build

ArrowField: TypeAlias = Any  # pyarrow ships no types

__all__ = ["Target", "WrittenOutput", "parse_target", "sha256_of_source", "write_rows"]


@dataclass(frozen=True)
class WrittenOutput:
    """What was written where; a table has no bytes and no digest."""

    place: str
    rows: int
    bytes: int | None = None
    sha256: str | None = None


def write_rows(
    engine: Engine,
    query: exp.Query,
    target: Target,
    *,
    order: Sequence[str] = (),
    hide: Collection[str] = (),
    settled: Collection[str] = (),
    repeat: str | None = None,
) -> WrittenOutput:
    """Write the rows of `query`, all of them or nothing, and say what was written.

    Rows are sorted by the columns in `order` and then by every column that is written, texts last,
    so that the order of the source leaves no trace and the same rows give the same bytes.

    Args:
        engine: Where the query runs.
        query: The rows; its columns have names of their own.
        target: From `parse_target`.
        order: Columns of the query that come first in the order, such as the number of a class.
        hide: Columns of the query that are not written.
        settled: Columns that are equal wherever all columns in `order` are, as quasi-identifiers are
            in a class; sorting is quicker without them.
        repeat: A column with how many times each row is written: only distinct rows are then
            sorted and brought over. For files and folders of one part.
    """
    if repeat is not None and not repeats(engine, target):
        raise Bug("Rows are repeated by DuckDB, and it does not write to this target.")
    if isinstance(target, (FileTarget, FolderTarget)):
        query = fit_decimals(engine, query)
    schema = schema_of(engine, query)
    plan = _WritePlan(tuple(schema), tuple(order), frozenset(hide), frozenset(settled), repeat)
    match target:
        case FileTarget():
            return _write_file(engine, query, target, plan)
        case FolderTarget():
            return _write_folder(engine, query, target, plan)
        case TableTarget():
            rows = target.save(engine, plan.sorted(_wrap_query(query)))
            return WrittenOutput(target.place, rows)


def sha256_of_source(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in pieces."""
    return file_digest(path)


@dataclass(frozen=True)
class _WritePlan:
    """Which columns are written, and in which order of rows."""

    fields: tuple[ArrowField, ...]
    order: tuple[str, ...]
    hide: frozenset[str]
    settled: frozenset[str]
    repeat: str | None = None

    def __post_init__(self) -> None:
        known = {field.name for field in self.fields}
        repeat = {self.repeat} if self.repeat else set[str]()
        unknown = {*self.order, *self.hide, *self.settled, *repeat} - known
        if unknown:
            raise Bug(f"The query to write has no column {', '.join(sorted(unknown))}.")
        if self.settled and not self.order:
            raise Bug("Columns are settled by the order of others, and none are given.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are written."""
        return tuple(field.name for field in self.fields if field.name not in self.hide)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that decide the order: every one that is written, so that no tie is left.

        Texts come last: they cost most to compare, and are rarely reached.
        """
        others = [field for field in self.fields if field.name not in {*self.hide, *self.settled}]
        others.sort(key=lambda field: pa.types.is_string(field.type))
        return tuple(dict.fromkeys((*self.order, *(field.name for field in others))))

    def unsorted(self, source: exp.Expr) -> exp.Select:
        """Return the query that reads all columns of `source`, called r."""
        return build.select(*map(_normalize_zero, self.fields), source=source)

    def sorted(self, source: exp.Expr) -> exp.Select:
        """Return the query that reads `source`, called r, leaves out what is hidden, and sorts."""
        written = [field for field in self.fields if field.name not in self.hide]
        query = build.select(*map(_normalize_zero, written), source=source)
        if self.repeat is not None:
            query = query.select(build.alias_as(build.column(self.repeat, of="r"), self.repeat))
        ordered = build.order_nulls_last(query, [build.column(name, of="r") for name in self.keys])
        return ordered if self.repeat is None else self._repeat_rows(ordered, self.repeat)

    def _repeat_rows(self, ordered: exp.Select, repeat: str) -> exp.Select:
        """Return each row of `ordered` as often as it says, side by side."""
        columns = [build.column(name) for name in self.columns]
        copies = exp.Anonymous(this="range", expressions=[build.column(repeat)])
        expanded = build.select(
            *columns,
            build.alias_as(exp.Anonymous(this="unnest", expressions=[copies]), repeat),
            source=build.subquery(ordered, "s"),
        )
        return build.select(
            *(column.copy() for column in columns), source=build.subquery(expanded, "e")
        )


def repeats(engine: Engine, target: Target) -> bool:
    """Return whether rows can be written to `target` as distinct ones with their numbers."""
    is_one_file = isinstance(target, FolderTarget) and engine.part_writer is None
    return isinstance(target, FileTarget) or is_one_file


def _normalize_zero(field: ArrowField) -> exp.Expr:
    """Return a column without minus zero, which equals zero and yet is written otherwise.

    Where the two are equal in an order, the order of the source would decide between them.
    """
    column: exp.Expr = build.column(field.name, of="r")
    if pa.types.is_floating(field.type):
        kind = "FLOAT" if pa.types.is_float32(field.type) else "DOUBLE"
        column = exp.Add(this=column, expression=exp.cast(build.number(0), kind))
    return build.alias_as(column, field.name)


def _write_file(
    engine: Engine, query: exp.Query, target: FileTarget, plan: _WritePlan
) -> WrittenOutput:
    with whole_file(target) as beside:
        rows = _export_file(engine, query, plan, beside, target=target)
    return WrittenOutput(target.place, rows, target.path.stat().st_size, file_digest(target.path))


def _export_file(
    engine: Engine, query: exp.Query, plan: _WritePlan, path: Path, *, target: FileTarget
) -> int:
    """Write one file. DuckDB writes and sorts for all engines, so that all give the same bytes."""
    home = engine.file_engine
    if home is not None:
        return _export_sorted(home, plan.sorted(_wrap_query(query)), path, target)
    with on_duckdb(engine, query) as (writer, relation):
        rows = plan.sorted(build.aliased_table(relation, "r"))
        return _export_sorted(writer, rows, path, target)


def _export_sorted(home: FileEngine, rows: exp.Select, path: Path, target: FileTarget) -> int:
    form = target.format
    if form.copy_options is not None:
        return home.export(rows, path, options=form.copy_options(target.suffix))
    if form.write is None:
        raise Bug(f"Files of the format '{form.name}' are not written.")
    with open_reader(home, rows) as reader:
        return _write_arrow(reader, path, form.write, target)


def _write_arrow(
    reader: ArrowReader, path: Path, write: Callable[[Any, Path], None], target: FileTarget
) -> int:
    """Let a format of another package write the rows; its errors are replaced: they may quote cells."""
    count = 0

    def batches() -> Iterator[ArrowBatch]:
        nonlocal count
        for batch in reader:
            count += batch.num_rows
            yield batch

    rows = pa.RecordBatchReader.from_batches(reader.schema, batches())
    title, kind = target.format.title, "it left rows out"
    try:
        write(rows, path)
        if next(rows, None) is None and path.is_file():
            return count
    except (DiscreetError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 -- the writer of a package raises anything
        kind = type(error).__name__
    raise OutputRefused(
        f"{target.place} cannot be written as {title} ({kind}). Choose another format, or update the "
        "package that offers this one."
    )


def _write_folder(
    engine: Engine, query: exp.Query, target: FolderTarget, plan: _WritePlan
) -> WrittenOutput:
    parts = engine.part_writer
    with whole_folder(target) as beside:
        if parts is None:
            part = beside / part_name(0)
            part_target = FileTarget(part, FORMATS.get("parquet"), ".parquet", target.force)
            rows = _export_file(engine, query, plan, part, target=part_target)
        else:
            inner = plan.unsorted(_wrap_query(query))
            rows = parts.export(inner, beside.absolute(), columns=plan.columns, keys=plan.keys)
            number_parts(beside)
            require_rows(beside, rows)
    sizes = sum(path.stat().st_size for path in target.path.iterdir())
    return WrittenOutput(target.place, rows, sizes, folder_digest(target.path))


def _wrap_query(query: exp.Query) -> exp.Subquery:
    return build.subquery(query.copy(), "r")
