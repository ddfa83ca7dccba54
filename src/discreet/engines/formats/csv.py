"""CSV and similar files: the dialect comes from the first lines, types are proven on all rows."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredSchema
from discreet.engines.file_request import LENIENT_OPTIONS, FileRequest, table_function
from discreet.engines.names import refuse_duplicates
from discreet.engines.text_encoding import (
    CHUNK_BYTES,
    RecordGrammar,
    as_utf8,
    isolate_records,
    open_byte_stream,
)
from discreet.engines.type_inference import TypeGuess, guess_types, store_converted
from discreet.errors import EmptySource, UnreadableSource, WrongUsage
from discreet.registry import FormatSpec
from discreet.sql import build

HEAD_BYTES = 1 << 18
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "utf-16": "utf-16",
    "utf16": "utf-16",
    "latin-1": "latin-1",
    "latin1": "latin-1",
    "iso-8859-1": "latin-1",
}


@dataclass(frozen=True)
class Dialect:
    """The dialect of a file: its delimiter, encoding and column names."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    skip: int  # blank lines before the header


def _open_csv(request: FileRequest) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    return _open_inferred(request) if request.schema is None else _open_declared(request)


def _open_inferred(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
    """Return CSV files that share one header as a table, with types that hold for every row."""
    paths, encoding, engine = request.paths, request.encoding, request.engine
    first = _common_dialect(paths, find_dialect, delimiter=request.delimiter, encoding=encoding)
    if first.encoding == "utf-8":
        for path in paths:
            _refuse_other_encodings(path)
    texts = build.select(exp.Star(), source=_read_csv(paths, first))
    raw = engine.view(_without_blank_lines(texts, first), hint="raw")
    types = _guess_column_types(paths, first, engine=engine, raw=raw)
    kept, found = store_converted(raw, types, engine=engine)
    # The header alone shows the delimiter of most files; otherwise it has to be declared.
    bare = [header_dialect(path, delimiter=None, encoding=encoding).delimiter for path in paths]
    written = None if set(bare) == {first.delimiter} else first.delimiter
    return kept, DeclaredSchema(
        found, written, None if first.encoding == "utf-8" else first.encoding
    )


def _open_declared(request: FileRequest) -> exp.Table:
    """Return CSV files as a table of their header, the declared columns fitted; rows are read later."""
    paths, schema = request.paths, request.schema or DeclaredSchema({})
    dialect = _common_dialect(
        paths, header_dialect, delimiter=schema.delimiter, encoding=schema.encoding
    )

    def read() -> exp.Table:
        folder = Path(request.engine.folder)
        clean: list[Path] = []
        for path in paths:
            end = _line_end(path, dialect.encoding)
            text = as_utf8(path, encoding=dialect.encoding, folder=folder, line_end=end)
            grammar = RecordGrammar(
                dialect.delimiter, len(dialect.names), end, is_multiline=schema.is_multiline
            )
            clean.append(isolate_records(text, grammar, folder=folder))
        return _read_csv(clean, replace(dialect, encoding="utf-8"), options=LENIENT_OPTIONS)

    columns = schema.named(dialect.names)
    return request.defer(columns, read, where=_is_no_blank_line(dialect))


def _without_blank_lines(query: exp.Select, dialect: Dialect) -> exp.Select:
    where = _is_no_blank_line(dialect)
    return query if where is None else query.where(where)


def _is_no_blank_line(dialect: Dialect) -> exp.Expr | None:
    """Return what keeps blank lines out: in one column, an empty text is written `""`."""
    match dialect.names:
        case (name,):
            return exp.Not(this=build.is_null(build.column(name)))
        case _:
            return None


def _common_dialect(
    paths: Sequence[Path],
    find: Callable[..., Dialect],
    *,
    delimiter: str | None,
    encoding: str | None,
) -> Dialect:
    first, *others = [find(path, delimiter=delimiter, encoding=encoding) for path in paths]
    for path, other in zip(paths[1:], others, strict=True):
        if other != first:
            raise UnreadableSource(
                f"{path.name} has another header, delimiter or encoding than {paths[0].name}. "
                "Files opened together must be written alike; open them one by one."
            )
    return first


def _open_texts(path: Path, engine: DuckDB) -> exp.Table:
    dialect = find_dialect(path, delimiter=_written_delimiter(path.name), encoding="utf-8")
    return engine.view(build.select(exp.Star(), source=_read_csv([path], dialect)), hint="texts")


def _written_delimiter(suffix: str) -> str:
    return "\t" if ".tsv" in suffix.lower() else ","


def _copy_options(suffix: str) -> Mapping[str, exp.Expr]:
    packing = next((word for end, word in _COMPRESSIONS.items() if suffix.endswith(end)), "none")
    return {
        "FORMAT": exp.var("csv"),
        "HEADER": exp.true(),
        "DELIMITER": build.text(_written_delimiter(suffix)),
        "QUOTE": build.text('"'),
        "ESCAPE": build.text('"'),
        # Nothing is NULL; a text that is empty is then written "".
        "NULLSTR": build.text(""),
        "COMPRESSION": build.text(packing),
    }


def find_dialect(path: Path, *, delimiter: str | None, encoding: str | None) -> Dialect:
    """Return the dialect of `path` from its first lines; only the column names are kept."""
    head, encoding, is_cut = _read_head(path, encoding)
    _refuse_binary(path, head)
    body = head.lstrip("\r\n")
    if not body.strip():
        raise EmptySource(f"{path.name} is empty. A table needs at least a line of column names.")
    return _dialect_of(path, head, body, delimiter=delimiter, encoding=encoding, is_cut=is_cut)


def header_dialect(path: Path, *, delimiter: str | None, encoding: str | None) -> Dialect:
    """Return the dialect of `path` from its header: no row below it is read."""
    head, encoding, _ = _read_head(path, encoding)
    header = _first_record(head.lstrip("\r\n"))
    if not header.strip():
        raise EmptySource(f"{path.name} is empty. A table needs at least a line of column names.")
    _refuse_binary(path, header)
    return _dialect_of(path, head, header, delimiter=delimiter, encoding=encoding, is_cut=False)


def _line_end(path: Path, encoding: str) -> str:
    """Return what the header ends in, as all lines then do: CR alone as on old Macs, CRLF, or LF."""
    head = _read_head(path, encoding)[0]
    body = head.lstrip("\r\n")
    after = body[len(_first_record(body)) :]
    if after.startswith("\r") and not after.lstrip("\r").startswith("\n"):
        return "\r"
    # Blank lines before the header may end otherwise, and are counted as they are.
    return "\r\n" if after.startswith("\r\n") and head == body else "\n"


def _first_record(text: str) -> str:
    """Return the text up to the end of the first line that is outside quotation marks."""
    quoted = False
    for place, letter in enumerate(text):
        quoted ^= letter == '"'
        if letter in "\r\n" and not quoted:
            return text[:place]
    return text


def _dialect_of(
    path: Path, head: str, body: str, *, delimiter: str | None, encoding: str, is_cut: bool
) -> Dialect:
    before = head[: len(head) - len(head.lstrip("\r\n"))]
    skip = before.replace("\r\n", "\n").count("\n")
    chosen = (
        _parse_delimiter(delimiter)
        if delimiter is not None
        else _find_delimiter(body, is_cut=is_cut)
    )
    header = next(iter(_read_records(body, chosen)), [])
    names = tuple(name.strip() or f"column{i}" for i, name in enumerate(header, start=1))
    refuse_duplicates(names, where=path.name)
    return Dialect(delimiter=chosen, encoding=encoding, names=names, skip=skip)


def _parse_delimiter(delimiter: str) -> str:
    chosen = "\t" if delimiter in ("\\t", "tab") else delimiter
    if not 1 <= len(chosen.encode()) <= 4 or set(chosen) & set('"\r\n'):
        raise WrongUsage("A delimiter has one to four characters, such as ';' or '\\t' for a tab.")
    return chosen


def _read_head(path: Path, encoding: str | None) -> tuple[str, str, bool]:
    """Return the start of a file as text, its encoding, and whether there is more."""
    if encoding is not None and encoding.lower() not in ENCODINGS:
        raise WrongUsage(
            f"Encoding '{encoding}' is not known. Use utf-8, utf-16 or latin-1, or convert the "
            "file first: iconv -f OTHER -t UTF-8."
        )
    raw = _first_bytes(path)
    is_cut = len(raw) == HEAD_BYTES
    known = ENCODINGS[encoding.lower()] if encoding else None
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        known = known or "utf-16"
    known = known or "utf-8"
    text = raw.decode("utf-8-sig" if known == "utf-8" else known, errors="replace")
    return text, known, is_cut


def _refuse_binary(path: Path, text: str) -> None:
    if text.count("\0") > len(text) // 100:
        raise UnreadableSource(
            f"{path.name} is not text: it holds binary data. If it is a table in another format, "
            "give it the usual ending (.parquet, .xlsx, .arrow …)."
        )


def _first_bytes(path: Path) -> bytes:
    try:
        with open_byte_stream(path) as stream:
            return bytes(stream.read(HEAD_BYTES))
    except (OSError, pa.ArrowException) as error:
        kind = type(error).__name__
    raise UnreadableSource(f"{path.name} cannot be read ({kind}). Check its rights and its ending.")


def _refuse_other_encodings(path: Path) -> None:
    """Refuse a file that is not UTF-8, with the line; DuckDB 1.5 may crash on one instead."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, is_whole = 1, True
    try:
        with open_byte_stream(path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                decoder.decode(chunk)
                line += chunk.count(b"\n")
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # `error.object` may begin with bytes kept from the chunk before, which hold no line end.
        line += error.object[: error.start].count(b"\n")
    except (OSError, pa.ArrowException):
        is_whole = False
    else:
        return
    if not is_whole:
        raise UnreadableSource(f"{path.name} is damaged: it cannot be unpacked to its end.")
    raise UnreadableSource(
        f"{path.name}, line {line}: the text is not UTF-8. Name its encoding, such as "
        "`--encoding latin-1`."
    )


def _read_records(text: str, delimiter: str) -> list[list[str]]:
    # csv knows one-character delimiters; a blank after the comma is taken off by skipinitialspace.
    if len(delimiter) > 1 and delimiter != ", ":
        text, delimiter = text.replace(delimiter, "\x1f"), "\x1f"
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter[0],
        skipinitialspace=delimiter == ", ",
    )
    try:
        return [record for record in reader if record]
    except csv.Error:  # such as a field beyond csv's limit: DuckDB will decide
        return [text.splitlines()[0].split(delimiter)]


def _find_delimiter(text: str, *, is_cut: bool) -> str:
    """Return the delimiter that splits the head into rows as long as the header."""
    best, best_score = ",", (False, 1)
    for candidate in DELIMITERS:
        records = _read_records(text, candidate)
        widths = [len(record) for record in (records[:-1] if is_cut else records)]
        width = widths[0] if widths else 1
        score = (width > 1 and all(other == width for other in widths), width)
        if score > best_score:
            best, best_score = candidate, score
    if best == "," and _has_blank_after_commas(text, is_cut=is_cut):
        return ", "
    return best


def _has_blank_after_commas(text: str, *, is_cut: bool) -> bool:
    records = _read_records(text, ",")
    records = records[:-1] if is_cut and len(records) > 1 else records
    later = [field for record in records for field in record[1:]]
    widths = {len(record) for record in _read_records(text, ", ")[: len(records)]}
    return bool(later) and len(widths) == 1 and all(field.startswith(" ") for field in later)


def _read_csv(
    paths: Sequence[Path], dialect: Dialect, *, options: Mapping[str, exp.Expr] | None = None
) -> exp.Table:
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=build.text(name), expression=build.text("VARCHAR"))
            for name in dialect.names
        ]
    )
    all_options: dict[str, exp.Expr] = {
        "auto_detect": exp.false(),
        "delim": build.text(dialect.delimiter),
        "quote": build.text('"'),
        "escape": build.text('"'),
        "header": exp.true(),
        "skip": build.number(dialect.skip),
        "encoding": build.text(dialect.encoding),
        # "" is an empty text; no characters mean NULL.
        "allow_quoted_nulls": exp.false(),
        "columns": columns,
        **(options or {}),
    }
    return table_function("read_csv", paths, all_options)


def _guess_column_types(
    paths: Sequence[Path], dialect: Dialect, *, engine: DuckDB, raw: exp.Table
) -> dict[str, TypeGuess]:
    try:
        return guess_types(raw, dialect.names, engine=engine)
    except duckdb.Error as error:
        failure = _csv_failure(paths, str(error))
    raise failure


def _csv_failure(paths: Sequence[Path], words: str) -> UnreadableSource:
    """Return our error for DuckDB's: only its line number and its counts are used."""
    file = next((path.name for path in paths if f"file = {path}" in words), paths[0].name)
    line = re.search(r"CSV Error on Line: (\d+)", words)
    where = f"{file}, line {line[1]}" if line else file
    if "unicode" in words or "encoded" in words:
        return UnreadableSource(
            f"{where}: the text is not written in the given encoding. Name the right one with "
            "`--encoding`."
        )
    width = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", words)
    if width:
        return UnreadableSource(
            f"{where}: {width[2]} columns where the header has {width[1]}. Correct the line, or "
            "name the delimiter with `--delimiter` if another one is meant."
        )
    if "quote" in words.partition("Possible")[0]:
        return UnreadableSource(f"{where}: a quotation mark is not closed. Correct the line.")
    return UnreadableSource(
        f"{where} is not a table that can be read. Check its delimiter (`--delimiter`), its encoding "
        "(`--encoding`), and that all lines end alike (with LF, or all with CRLF)."
    )


SPEC = FormatSpec(
    name="csv",
    title="CSV, TSV, text",
    suffixes=(".csv", ".tsv", ".txt", ".tab", ".psv"),
    compressions=tuple(_COMPRESSIONS),
    written=tuple(end + packed for end in (".csv", ".tsv") for packed in ("", *_COMPRESSIONS)),
    open=_open_csv,
    open_texts=_open_texts,
    copy_options=_copy_options,
    suffix_decides=False,
    position=1,
)
