"""Files by format: each becomes a lazy view on DuckDB; rows do not pass through Python."""

from __future__ import annotations

import glob
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines import attached, delimited, records, sheets, surveys
from discreet.engines.declared_schema import declared_kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb import duckdb_kind as kind_of_type
from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind, Table
from discreet.engines.names import refuse_duplicates
from discreet.engines.type_inference import JSON_NUMBERS, TEMPORAL, convert_column, guess_types
from discreet.errors import EmptySource, SourceNotFound, UnreadableSource, did_you_mean
from discreet.sql import build

STANDARD_INPUT = "-"
_ENDINGS = {
    "csv": (".csv", ".tsv", ".txt", ".tab", ".psv"),
    "parquet": (".parquet", ".pq", ".parq"),
    "json": (".json", ".ndjson", ".jsonl"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "excel": (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    "survey": (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
    "duckdb": (".duckdb", ".ddb", ".db"),
}
_KINDS = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings}
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class FileRequest:
    """A request to open files: the paths, table, sheet, delimiter and encoding."""

    paths: tuple[Path, ...]
    engine: DuckDB
    table: str | None
    delimiter: str | None
    encoding: str | None
    schema: DeclaredSchema | None

    @property
    def path(self) -> Path:
        """The only file, for formats that are opened one at a time."""
        if len(self.paths) != 1:
            raise UnreadableSource(
                f"{len(self.paths)} files match, and files like {self.paths[0].name} are opened "
                "one by one. Name one of them."
            )
        return self.paths[0]


def open_file(
    source: str,
    *,
    engine: DuckDB,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    schema: DeclaredSchema | None = None,
) -> Table:
    """Return a file, the files of a glob, or standard input as a table on `engine`.

    With `schema`, a file without types of its own has the columns and kinds that it declares.
    """
    paths = [store_standard_input(engine)] if source == STANDARD_INPUT else find_files(source)
    kinds = {file_kind(path) for path in paths}
    if len(kinds) > 1:
        raise UnreadableSource(
            f"{source} matches files of several kinds: {', '.join(sorted(kinds))}."
        )
    request = FileRequest(tuple(paths), engine, table, delimiter, encoding, schema)
    label = "standard input" if source == STANDARD_INPUT else Path(source).name
    (kind,) = kinds
    if kind in UNTYPED and schema is not None:
        return _open_declared(request, kind, label)
    found = _OPENERS[kind](request)
    relation, drafted = found if isinstance(found, tuple) else (found, None)
    opened = engine.table(relation, label=label)
    return replace(opened, schema=_draft_schema(opened, drafted) if kind in UNTYPED else None)


def is_untyped_file(source: str) -> bool:
    """Whether a file has at most names for its columns, and no types."""
    return file_kind(find_files(source)[0]) in UNTYPED


def file_header_names(
    source: str,
    *,
    engine: DuckDB,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> tuple[str, ...] | None:
    """Return the column names of a file without types; None where only its rows have them."""
    if file_kind(find_files(source)[0]) in HEADLESS:
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


def _open_declared(request: FileRequest, kind: str, label: str) -> Table:
    """Return the table that the schema declares; its rows are read by the first query."""
    schema = request.schema or DeclaredSchema({})
    schema = replace(
        schema,
        delimiter=request.delimiter or schema.delimiter,
        encoding=request.encoding or schema.encoding,
    )
    relation = _DECLARED[kind](request, schema)
    # Undeclared columns can be used to recognize the rows, and cannot be named by a query.
    every = request.engine.columns(relation)
    columns = tuple(one for one in every if one.name in schema.columns)
    others = tuple(one.name for one in every if one.name not in schema.columns)
    undeclared = None if kind in HEADLESS else others
    return Table(request.engine, relation, columns, label, schema, undeclared)


def _draft_schema(opened: Table, drafted: DeclaredSchema | None) -> DeclaredSchema:
    if drafted is not None:
        return drafted
    kinds = {column.name: DeclaredColumn(declared_kind(column.kind)) for column in opened.columns}
    return DeclaredSchema(kinds)


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


def file_kind(path: Path) -> str:
    """Return the format of a file: by its first bytes if they decide, otherwise by its ending.

    The first bytes of a text may be a person's data and imitate another format. So a JSON file is
    recognized by its ending, and below the header of a CSV file no signature is looked for.
    """
    with path.open("rb") as file:
        head = file.read(20)
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in _PACKED]
    named = _KINDS.get(endings[-1]) if endings else None
    if named != "json" and (marked := _kind_from_bytes(path, head, is_text=named == "csv")):
        return marked
    kind = named or "csv"
    if not head and kind not in ("parquet", "json"):
        raise EmptySource(f"{path.name} is empty. A table needs at least its column names.")
    return kind


def _kind_from_bytes(path: Path, head: bytes, *, is_text: bool) -> str | None:
    """Return the format that the first bytes show, None if they show none."""
    if head.startswith((b"PAR1", b"PARE")):
        return "parquet"
    if head.startswith(b"ARROW1") or (head[:4] == b"\xff\xff\xff\xff" and len(head) > 8):
        return "arrow"
    # A checksum, the signature, and a version in eight bytes, of which the last ones are zero.
    if not is_text and head[8:12] == b"DUCK" and head[16:20] == b"\0\0\0\0":
        return "duckdb"
    if head.startswith(b"SQLite format 3"):
        raise UnreadableSource(f"{path.name} is an SQLite database. Export the table to CSV first.")
    return None


def _describe_contents(folder: Path) -> str:
    names = sorted(item.name for item in folder.iterdir())
    parts = [name for name in names if name.endswith(_ENDINGS["parquet"])]
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


def _open_csv(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
    return delimited.open_delimited(
        request.paths,
        engine=request.engine,
        delimiter=request.delimiter,
        encoding=request.encoding,
    )


def _open_parquet(request: FileRequest) -> exp.Table:
    first = _parquet_names(request.paths[0])
    refuse_duplicates(first, where=request.paths[0].name)
    for path in request.paths[1:]:
        if set(_parquet_names(path)) != set(first):
            raise UnreadableSource(
                f"{path.name} has other columns than {request.paths[0].name}. Files opened "
                "together must have the same columns."
            )
    # A partition called zip=01234 must stay text.
    options: dict[str, exp.Expr] = {
        "union_by_name": exp.true(),
        "hive_types_autocast": exp.false(),
    }
    source = delimited.table_function("read_parquet", request.paths, options)
    return request.engine.view(build.select(exp.Star(), source=source), hint="parquet")


def _parquet_names(path: Path) -> list[str]:
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError):
        pass
    raise UnreadableSource(f"{path.name} is damaged or not a Parquet file. Write it again.")


def _open_json(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
    options: dict[str, exp.Expr] = {"sample_size": exp.Neg(this=build.number(1))}
    detected = _json_types(request, options)
    # DuckDB would guess at dates, and round long numbers: both are texts until proven otherwise.
    doubtful = ("DATE", "TIME", "TIMESTAMP", "UUID", "DOUBLE")
    types = {name: "VARCHAR" if kind in doubtful else kind for name, kind in detected.items()}
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=build.text(name), expression=build.text(kind))
            for name, kind in types.items()
        ]
    )
    source = delimited.table_function("read_json", request.paths, {"columns": columns})
    raw = request.engine.view(build.select(exp.Star(), source=source), hint="raw")
    numbers = [name for name, kind in detected.items() if kind == "DOUBLE"]
    texts = [name for name, kind in types.items() if kind == "VARCHAR" and name not in numbers]
    guesses = {
        **(guess_types(raw, texts, engine=request.engine, guesses=TEMPORAL) if texts else {}),
        **(
            guess_types(raw, numbers, engine=request.engine, guesses=JSON_NUMBERS)
            if numbers
            else {}
        ),
    }
    wanted = [
        build.alias_as(convert_column(build.column(name), guesses[name]), name)
        if name in guesses
        else build.column(name)
        for name in types
    ]
    kept = request.engine.keep(build.select(*wanted, source=raw))
    kinds = {name: declared_kind(kind_of_type(kind)) for name, kind in request.engine.types(kept)}
    # Whole numbers beyond 64 bits are kept as texts, which keeps them all distinct.
    kinds |= {name: Kind.TEXT for name, kind in types.items() if kind in ("UBIGINT", "HUGEINT")}
    formats = {name: guess.format for name, guess in guesses.items()}
    return kept, DeclaredSchema(
        {name: DeclaredColumn(kind, formats.get(name)) for name, kind in kinds.items()}
    )


def _json_types(request: FileRequest, options: dict[str, exp.Expr]) -> dict[str, str]:
    source = delimited.table_function("read_json", request.paths, options)
    query = build.select(exp.Star(), source=source)
    name = request.paths[0].name
    if not any(path.stat().st_size for path in request.paths):
        raise EmptySource(f"{name} is empty. Without records its columns are unknown.")
    try:
        types = request.engine.describe_unguarded(query)
    except duckdb.Error as error:
        line = re.search(r"in (line|record/value) (\d+)", str(error))
        where = f"{name}, {line[1]} {line[2]}" if line else name
        types = None
    else:
        where = name
    if types is None:
        raise UnreadableSource(f"{where}: this is not JSON. Correct it and try again.")
    if [column for column, _ in types] == ["json"]:
        raise UnreadableSource(
            f"{name} holds no records. Write a list of objects, or one object per line."
        )
    refuse_duplicates([column for column, _ in types], where=name)
    return dict(types)


def _open_arrow(request: FileRequest) -> exp.Table:
    from pyarrow import dataset  # brings pandas along, which most runs never need

    try:
        data = dataset.dataset([str(path) for path in request.paths], format="ipc")
        names = list(data.schema.names)
    except (pa.ArrowException, OSError):
        return _open_arrow_stream(request)
    refuse_duplicates(names, where=request.paths[0].name)
    return request.engine.register(data)


def _open_arrow_stream(request: FileRequest) -> exp.Table:
    try:
        reader = pa.ipc.open_stream(str(request.path))
    except (pa.ArrowException, OSError):
        reader = None
    if reader is None:
        raise UnreadableSource(f"{request.path.name} is damaged or not an Arrow file.")
    refuse_duplicates(list(reader.schema.names), where=request.path.name)
    return request.engine.load(reader)


UNTYPED = ("csv", "json", "excel", "survey")
HEADLESS = ("json",)  # each record names its own fields
_DECLARED: dict[str, Callable[[FileRequest, DeclaredSchema], exp.Table]] = {
    "csv": lambda request, schema: delimited.open_declared_csv(
        request.paths, schema, engine=request.engine
    ),
    "json": lambda request, schema: records.open_declared_json(
        request.paths, schema, engine=request.engine
    ),
    "excel": lambda request, schema: sheets.open_declared_sheet(
        request.path, schema, engine=request.engine, sheet=request.table
    ),
    "survey": lambda request, schema: surveys.open_declared_survey(
        request.path, schema, engine=request.engine
    ),
}
_OPENERS: dict[str, Callable[[FileRequest], exp.Table | tuple[exp.Table, DeclaredSchema]]] = {
    "csv": _open_csv,
    "parquet": _open_parquet,
    "json": _open_json,
    "arrow": _open_arrow,
    "excel": lambda request: sheets.open_sheet(
        request.path, engine=request.engine, sheet=request.table
    ),
    "survey": lambda request: surveys.open_survey(request.path, engine=request.engine),
    "duckdb": lambda request: attached.open_attached(
        request.path, engine=request.engine, table=request.table
    ),
}
