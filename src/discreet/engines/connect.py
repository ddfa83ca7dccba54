"""Open any source (path, URL or frame) as a table on an engine, and any database to be served."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from discreet.engines import files, frames
from discreet.engines.arrow import plain_type
from discreet.engines.databases.database import Database
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb.served import ResourceLimits, ServedDuckDB
from discreet.engines.engine import DeclaredSchema, Engine, Table
from discreet.errors import SourceNotFound, UnreadableSource, WrongUsage
from discreet.registry import ENGINES, EngineSpec, find_engine
from discreet.sql import build


def open_table(
    source: object,
    *,
    table: str | None = None,
    engine: Engine | None = None,
    delimiter: str | None = None,
    memory_limit: str | None = None,
    encoding: str | None = None,
    schema: DeclaredSchema | None = None,
    hints: DeclaredSchema | None = None,
) -> Table:
    """Return `source` as a table on an engine, without reading its rows into Python.

    Args:
        source: A path, a glob, `-` for standard input, a URL (`postgresql://…`, `spark:…`) or a
            frame of pandas, polars, pyarrow, DuckDB, Spark or anything with an Arrow stream.
        table: Which table or sheet, where the source holds several.
        engine: Put the table on this engine, beside others, so that they can be joined.
        delimiter: What separates the columns of a CSV file; detected when not given.
        memory_limit: How much memory a new DuckDB may use, such as `4GB`; the rest spills to disk.
        encoding: The encoding of a CSV file, such as `cp1252`; detected when not given.
        schema: Columns of a file without types; inferred from its rows when not given.
        hints: How a file without types is written, as its policy says; recognized when not given.

    >>> import pyarrow
    >>> opened = open_table(pyarrow.table({"age": [41, 7]}))
    >>> [(column.name, str(column.kind)) for column in opened.columns]
    [('age', 'integer')]
    """
    text = str(source) if isinstance(source, (str, Path)) else None
    spec = find_engine(source)
    if spec is not None and spec.open_table is not None:
        return spec.open_table(text, table=table, engine=engine)
    spec = _frame_engine(source)
    if spec is not None and spec.open_frame is not None:
        return spec.open_frame(source, engine=engine)
    home = engine if isinstance(engine, DuckDB) else DuckDB(memory_limit=memory_limit)
    try:
        if text is None:
            opened = frames.open_frame(source, engine=home, schema=schema)
        else:
            opened = files.open_file(
                text,
                engine=home,
                table=table,
                delimiter=delimiter,
                encoding=encoding,
                schema=schema,
                hints=hints,
            )
        return opened if engine is None or home is engine else _move_table(opened, engine)
    except BaseException:
        if home is not engine:
            home.close()
        raise


@contextmanager
def opened_table(
    source: object,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory_limit: str | None = None,
    hints: DeclaredSchema | None = None,
) -> Generator[Table]:
    """Open `source` as `open_table` does, and close it at the end.

    A table that is open already is used as it is and stays open. The policy chooses `table` when
    the source itself names its table.
    """
    if isinstance(source, Table):
        yield source
        return
    opened = open_table(
        source,
        table=None if names_its_table(source) else table,
        delimiter=delimiter,
        encoding=encoding,
        memory_limit=memory_limit,
        hints=hints,
    )
    try:
        yield opened
    finally:
        opened.engine.close()


def names_its_table(source: object) -> bool:
    """Return whether a source is one table, so that `table` only selects the policy's table."""
    spec = find_engine(source) if isinstance(source, str) else None
    return spec is not None and spec.table_name(str(source)) is not None


def is_local(source: object) -> bool:
    """Whether a source is a file or a frame, which DuckDB reads."""
    return find_engine(source) is None and _frame_engine(source) is None


def _frame_engine(source: object) -> EngineSpec | None:
    if isinstance(source, (str, Path)):
        return None
    return next((spec for spec in ENGINES.all() if spec.is_frame(source)), None)


def is_untyped_source(source: object) -> bool:
    """Whether a source has no types of its own, so that its rows would decide them."""
    if not isinstance(source, (str, Path)):
        return frames.is_untyped_frame(source)
    return is_local(source) and files.is_untyped_file(str(source))


def needs_kinds(source: object) -> bool:
    """Whether a policy must declare the types of a source, since its rows could change them."""
    return frames.is_pandas(source) or is_untyped_source(source)


def source_header_names(
    source: object,
    *,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> tuple[str, ...] | None:
    """Return the column names of a source without types; None where only its rows have them."""
    if not isinstance(source, (str, Path)):
        return frames.frame_header_names(source)
    home = DuckDB()
    try:
        return files.file_header_names(
            str(source), engine=home, table=table, delimiter=delimiter, encoding=encoding
        )
    finally:
        home.close()


def recognize_cells(
    source: object, *, engine: Engine | None = None, **reading: str | None
) -> DeclaredSchema:
    """Return how the cells of a source without types are written, by its rows; no column has a kind."""
    if not isinstance(source, (str, Path)):
        return DeclaredSchema({})
    home = engine if isinstance(engine, DuckDB) else DuckDB()
    try:
        return files.recognize_form(str(source), engine=home, **reading)
    finally:
        if home is not engine:
            home.close()


def label_of(source: object) -> str:
    """Return the name of a file or frame for messages."""
    return Path(source).name if isinstance(source, (str, Path)) else type(source).__name__


def find_named_files(source: str | Path) -> list[Path]:
    """Return the files that a path or pattern names; none for standard input and where there is none."""
    try:
        return [] if str(source) == files.STANDARD_INPUT else files.find_files(str(source))
    except (SourceNotFound, UnreadableSource):
        return []


def list_tables(source: str | Path) -> list[str]:
    """Return the tables of a database or the sheets of a workbook; none for other files."""
    text = str(source)
    spec = find_engine(text)
    if spec is not None and spec.list_tables is not None:
        return spec.list_tables(text)
    path = files.find_files(text)[0]
    tables = files.file_format(path).tables
    return [] if tables is None else list(tables(path))


def holds_tables(source: object) -> bool:
    """Return whether `source` may hold several tables, so that one must be named."""
    if not isinstance(source, (str, Path)):
        return False
    text = str(source)
    if find_engine(text) is not None:
        return True
    if text == files.STANDARD_INPUT:
        return False
    return files.file_format(files.find_files(text)[0]).tables is not None


def _move_table(table: Table, engine: Engine) -> Table:
    """Return `table` streamed to another engine; its first engine is closed."""
    columns = [build.column(column.name) for column in table.columns]
    query = build.select(*columns, source=table.relation)
    schema = table.engine.run(query.copy().limit(0)).schema
    # The stream may narrow types differently than an empty result; the schema decides.
    schema = pa.schema([pa.field(item.name, plain_type(item.type)) for item in schema])
    batches = (batch.cast(schema) for batch in table.engine.stream(query))
    relation = engine.load(pa.RecordBatchReader.from_batches(schema, batches))
    table.engine.close()
    return Table(engine, relation, table.columns, table.label, undeclared=table.undeclared)


def open_database(
    where: str | Path | None,
    *,
    key: bytes | None = None,
    seals_spill: bool = False,
    memory_limit: str | None = None,
    result_bytes: int | None = None,
) -> Database:
    """Return the database at `where`, ready to be served.

    Args:
        where: The path of a DuckDB file, created when missing; `postgresql://…`; `spark:` or
            `spark://host:7077`; None for a database in memory.
        key: Encrypts a DuckDB file; other places encrypt their files themselves.
        seals_spill: Encrypt DuckDB's spilled data even where its file is not encrypted.
        memory_limit: How much memory DuckDB may use.
        result_bytes: How much memory one result may take, 54000 beyond it; Spark has its own
            `spark.driver.maxResultSize`.

    >>> database = open_database(None)
    >>> database.name, database.is_writable, database.tables()
    ('duckdb', True, [])
    >>> database.close()
    """
    spec = find_engine(where)
    if spec is not None and key is not None:
        raise WrongUsage("A key encrypts a DuckDB file only. Leave it out for a server.")
    if spec is not None:
        if spec.serve is None:
            raise WrongUsage(f"Tables of {spec.title} cannot be served. Load them into a file.")
        return spec.serve(str(where), result_bytes=result_bytes)
    return ServedDuckDB(
        Path(where) if where is not None else None,
        key=key,
        seals_spill=seals_spill,
        limits=ResourceLimits(memory=memory_limit, result_bytes=result_bytes),
    )
