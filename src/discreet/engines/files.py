"""Files by format: each becomes a lazy view on DuckDB; rows do not pass through Python."""

from __future__ import annotations

import glob
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.engines.declared_schema import declared_kind
from discreet.engines.duckdb import SMALL_FILE, DuckDB
from discreet.engines.engine import ArrowReader, DeclaredColumn, DeclaredSchema, Table
from discreet.engines.file_request import FileRequest
from discreet.engines.frames import arrow_data
from discreet.engines.names import refuse_duplicates
from discreet.engines.recognition import store_typed
from discreet.errors import (
    BrokenExtension,
    DiscreetError,
    EmptySource,
    SourceNotFound,
    UnreadableSource,
    did_you_mean,
)
from discreet.registry import FORMATS, FormatSpec, find_format
from discreet.sql import build

STANDARD_INPUT = "-"
_PACKED = (".gz", ".zst")
_HEAD_BYTES = 20


def open_file(
    source: str,
    *,
    engine: DuckDB,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schema: DeclaredSchema | None = None,
    hints: DeclaredSchema | None = None,
) -> Table:
    """Return a file, the files of a glob, or standard input as a table on `engine`.

    With `schema`, a file without types of its own has the columns and kinds that it declares. With
    `hints`, its kinds are found in its rows, and its cells are written as they say.
    """
    paths = [store_standard_input(engine)] if source == STANDARD_INPUT else find_files(source)
    found = {spec.name: spec for spec in map(file_format, paths)}
    if len(found) > 1:
        raise UnreadableSource(
            f"{source} matches files of several kinds: {', '.join(sorted(found))}."
        )
    (spec,) = found.values()
    if sum(path.stat().st_size for path in paths) > SMALL_FILE:
        engine.use_all_threads()
    if hints is not None:
        delimiter, encoding = delimiter or hints.delimiter, encoding or hints.encoding
    request = FileRequest(tuple(paths), engine, table, delimiter, encoding, schema, hints)
    label = "standard input" if source == STANDARD_INPUT else Path(source).name
    if schema is not None and not spec.typed:
        return _open_declared(request, schema, spec, label)
    relation, drafted = _open_relation(replace(request, schema=None), spec)
    opened = engine.table(relation, label=label)
    return opened if spec.typed else replace(opened, schema=drafted or _draft_schema(opened))


def _open_relation(
    request: FileRequest, spec: FormatSpec
) -> tuple[exp.Table, DeclaredSchema | None]:
    opened = _open_arrow(request, spec) if spec.open is None else spec.open(request)
    return opened if isinstance(opened, tuple) else (opened, None)


def is_untyped_file(source: str) -> bool:
    """Whether a file has at most names for its columns, and no types."""
    return not file_format(find_files(source)[0]).typed


def file_header_names(
    source: str,
    *,
    engine: DuckDB,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> tuple[str, ...] | None:
    """Return the column names of a file without types; None where only its rows have them."""
    if not file_format(find_files(source)[0]).has_header:
        return None
    opened = open_file(
        source,
        engine=engine,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        schema=DeclaredSchema({}),
    )
    return opened.undeclared


def recognize_form(source: str, *, engine: DuckDB, **reading: Any) -> DeclaredSchema:
    """Return how the cells of a file are written, by its rows, so that they are the same in every copy.

    Where that cannot be recognized, they are read as its header alone shows.
    """
    paths = tuple(find_files(source))
    recognize = file_format(paths[0]).recognize_form
    if recognize is None:
        return DeclaredSchema({})
    stated = reading.get("delimiter"), reading.get("encoding")
    try:
        return recognize(FileRequest(paths, engine, None, *stated, None))
    except DiscreetError:
        return DeclaredSchema({})


def _open_declared(
    request: FileRequest, schema: DeclaredSchema, spec: FormatSpec, label: str
) -> Table:
    """Return the table that the schema declares; its rows are read by the first query."""
    delimiter = request.delimiter or schema.delimiter
    encoding = request.encoding or schema.encoding
    schema = replace(schema, delimiter=delimiter, encoding=encoding)
    request = replace(request, delimiter=delimiter, encoding=encoding, schema=schema)
    relation, _ = _open_relation(request, spec)
    every = request.engine.columns(relation)
    columns = tuple(one for one in every if one.name in schema.columns)
    others = tuple(one.name for one in every if one.name not in schema.columns)
    undeclared = others if spec.has_header else None
    plain = replace(request, schema=replace(schema, columns={}, missing=()))
    return Table(
        request.engine,
        relation,
        columns,
        label,
        schema,
        undeclared,
        lambda: _open_cells(plain, spec),
    )


@contextmanager
def _open_cells(request: FileRequest, spec: FormatSpec) -> Generator[exp.Table]:
    relation, _ = _open_relation(request, spec)
    try:
        yield relation
    finally:
        request.engine.drop(relation)


def _draft_schema(opened: Table) -> DeclaredSchema:
    kinds = {column.name: DeclaredColumn(declared_kind(column.kind)) for column in opened.columns}
    return DeclaredSchema(kinds)


def _open_arrow(
    request: FileRequest, spec: FormatSpec
) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    """Return files of a format that is read as Arrow; without types of its own it gives texts."""
    reader = _read_arrow(request, spec)
    names = reader.schema.names
    refuse_duplicates(names, where=request.paths[0].name)
    if not names:
        raise EmptySource(f"{request.paths[0].name} has no columns. A table needs at least one.")
    if request.schema is not None:
        columns = request.schema.named(names)
        return request.defer(
            columns, lambda: _load_arrow(_read_arrow(request, spec), request, spec)
        )
    if spec.typed and not request.engine.looks_at_rows:
        return _defer_typed(reader, request, spec)
    loaded = _load_arrow(reader, request, spec)
    if spec.typed:
        return loaded
    kept, found = store_typed(loaded, names, request)
    return kept, replace(found, delimiter=request.delimiter, encoding=request.encoding)


def _defer_typed(reader: ArrowReader, request: FileRequest, spec: FormatSpec) -> exp.Table:
    """Return a table whose rows are read by the first query: no row decides whether it opens."""
    empty = request.engine.register(reader.schema.empty_table())
    return request.engine.defer_rows(
        build.select(exp.Star(), source=empty),
        lambda: build.select(
            exp.Star(), source=_load_arrow(_read_arrow(request, spec), request, spec)
        ),
    )


def _load_arrow(reader: ArrowReader, request: FileRequest, spec: FormatSpec) -> exp.Table:
    """Store the rows on the engine; an error of the reader is replaced, since it may quote cells."""
    failures: list[DiscreetError] = []

    def batches() -> Iterator[Any]:
        try:
            yield from reader
        except Exception as error:
            failures.append(_reading_failure(request.paths, spec, error))
            raise

    try:
        return request.engine.load(pa.RecordBatchReader.from_batches(reader.schema, batches()))
    except DiscreetError as error:
        failure = failures[0] if failures else error
    raise failure


def _read_arrow(request: FileRequest, spec: FormatSpec) -> ArrowReader:
    """Return the rows of all files, one file after another."""
    first, *others = [_read_one(path, request, spec) for path in request.paths]
    for path, other in zip(request.paths[1:], others, strict=True):
        if other.schema != first.schema:
            raise UnreadableSource(
                f"{path.name} has other columns than {request.paths[0].name}. Files opened "
                "together must have the same columns."
            )
    every = (batch for reader in (first, *others) for batch in reader)
    return pa.RecordBatchReader.from_batches(first.schema, every)


def _read_one(path: Path, request: FileRequest, spec: FormatSpec) -> ArrowReader:
    options = {name: getattr(request, name) for name in spec.options}
    stated = {name: value for name, value in options.items() if value is not None}
    try:
        found = spec.read(path, **stated) if spec.read else None
        data: Any = arrow_data(found, is_total=not request.engine.looks_at_rows)
    except DiscreetError:
        raise
    except Exception as error:  # noqa: BLE001 -- the reader of a package raises anything
        failure = _reading_failure((path,), spec, error)
    else:
        scan = data.scanner() if hasattr(data, "scanner") else data  # a dataset is scanned
        reader = scan if isinstance(scan, pa.RecordBatchReader) else scan.to_reader()
        return reader if spec.typed else _require_texts(reader, spec)
    raise failure


def _require_texts(reader: ArrowReader, spec: FormatSpec) -> ArrowReader:
    for item in reader.schema:
        if not (pa.types.is_string(item.type) or pa.types.is_large_string(item.type)):
            raise BrokenExtension(
                f"The file format '{spec.name}' cannot be used: it gives column '{item.name}' as "
                f"{item.type}, and a format whose files state no types gives texts. Its package has "
                "to return texts, or to state `typed=True` if no row can change a type."
            )
    return reader


def _reading_failure(
    paths: tuple[Path, ...], spec: FormatSpec, error: Exception
) -> UnreadableSource:
    return UnreadableSource(
        f"{paths[0].name} cannot be read as {spec.title} ({type(error).__name__}). The message is "
        "withheld because it may quote data."
    )


def find_files(source: str) -> list[Path]:
    """Return the files that `source` names, sorted; refuse a missing one."""
    path = Path(source).expanduser()
    if path.is_dir():
        raise UnreadableSource(f"{source} is a folder, not a table.{_describe_contents(path)}")
    if path.exists():
        return [path]
    found = sorted(Path(item) for item in glob.glob(str(path), recursive=True))  # noqa: PTH207 -- absolute patterns
    files = [item for item in found if item.is_file()]
    if files:
        return files
    if glob.has_magic(source):
        raise SourceNotFound(f"No file matches {source}. Check the pattern and the folder.")
    near = [item.name for item in path.parent.iterdir()] if path.parent.is_dir() else []
    raise SourceNotFound(f"There is no file {source}.{did_you_mean(path.name, near)}")


def file_format(path: Path) -> FormatSpec:
    """Return the format of a file: by its first bytes if they decide, otherwise by its ending.

    The first bytes of a text may be a person's data and imitate another format. So a JSON file, or
    one of another package's format, is recognized by its ending, and below the header of a CSV file
    no signature is looked for.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    endings = [ending.lower() for ending in path.suffixes]
    plain = [ending for ending in endings if ending not in _PACKED]
    named = find_format(plain[-1]) if plain else None
    if named is None or not named.suffix_decides:
        only_first = named is not None and named.name == "csv"
        if marked := _format_of_bytes(path, head, only_first=only_first):
            return marked
    spec = named or FORMATS.get("csv")
    if not head and not spec.may_be_empty:
        raise EmptySource(f"{path.name} is empty. A table needs at least its column names.")
    if spec.read is not None and endings[-1] in _PACKED and endings[-1] not in spec.compressions:
        raise UnreadableSource(
            f"{path.name} is packed, and {spec.title} files are read as they are. Unpack it first."
        )
    return spec


def _format_of_bytes(path: Path, head: bytes, *, only_first: bool) -> FormatSpec | None:
    """Return the format that the first bytes show, None if they show none."""
    for spec in FORMATS.own():
        for marks in spec.signatures:
            if only_first and set(marks) != {0}:
                continue
            if all(head[at : at + len(mark)] == mark for at, mark in marks.items()):
                return spec
    if head.startswith(b"SQLite format 3"):
        raise UnreadableSource(f"{path.name} is an SQLite database. Export the table to CSV first.")
    return None


def _describe_contents(folder: Path) -> str:
    names = sorted(item.name for item in folder.iterdir())
    parts = [name for name in names if name.endswith(FORMATS.get("parquet").suffixes)]
    if not names:
        return " It is empty."
    listed = ", ".join(f"'{name}'" for name in names[:12])
    rest = f" and {len(names) - 12} more" if len(names) > 12 else ""
    hint = f" For all its parts together: '{folder}/*{Path(parts[0]).suffix}'." if parts else ""
    return f" It holds: {listed}{rest}.{hint}"


def store_standard_input(engine: DuckDB) -> Path:
    """Return a file with the content of standard input, which lives as long as `engine`."""
    # Types are proven on all rows before any is used, so a pipe has to be stored once.
    path = Path(engine.folder) / "standard input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if path.stat().st_size == 0:
        raise EmptySource("Standard input is empty. Pipe a CSV, Parquet or Arrow file into it.")
    return path
