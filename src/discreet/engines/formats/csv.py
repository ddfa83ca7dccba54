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
from discreet.engines.recognition import store_typed
from discreet.engines.text_encoding import (
    CHUNK_BYTES,
    RecordGrammar,
    as_utf8,
    find_encoding,
    isolate_records,
    open_byte_stream,
)
from discreet.errors import EmptySource, UnreadableSource, WrongUsage
from discreet.policy.text_format import ENCODINGS
from discreet.registry import FormatSpec
from discreet.sql import build

HEAD_BYTES = 1 << 18
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
DELIMITERS = (",", ";", "\t", "|")
DUCKDB_ENCODINGS = ("utf-8", "utf-16", "latin-1")
MOST_LINES_BEFORE = 20


@dataclass(frozen=True)
class Dialect:
    """The dialect of a file: its delimiter, encoding and column names."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    skip: int  # lines before the header
    preamble: int = 0  # of them, those that are not only blank lines just above it


def _open_csv(request: FileRequest) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    return _open_inferred(request) if request.schema is None else _open_declared(request)


def _open_inferred(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
    """Return CSV files that share one header as a table, with types that hold for every row."""
    paths, engine = request.paths, request.engine
    first = _recognize_dialect(request)
    if first.encoding == "utf-8" and request.encoding is not None:
        for path in paths:
            _refuse_other_encodings(path, "utf-8")
    readable = [_as_readable(path, first.encoding, Path(engine.folder)) for path in paths]
    known = "utf-8" if first.encoding not in DUCKDB_ENCODINGS else first.encoding
    texts = build.select(exp.Star(), source=_read_csv(readable, replace(first, encoding=known)))
    raw = engine.view(_without_blank_lines(texts, first), hint="raw")
    try:
        kept, found = store_typed(raw, first.names, request, delimiter=first.delimiter)
    except duckdb.Error as error:
        failure = _csv_failure(dict(zip(readable, paths, strict=True)), str(error))
    else:
        return kept, _with_dialect(found, first, request)
    raise failure


def _recognize_dialect(request: FileRequest) -> Dialect:
    return _common_dialect(
        request.paths,
        find_dialect,
        delimiter=request.delimiter,
        encoding=_parse_encoding(request.encoding) or _find_common_encoding(request),
        skip=None if request.hints is None else request.hints.skip or 0,
    )


def _recognize_form(request: FileRequest) -> DeclaredSchema:
    """Return delimiter, encoding and lines before the header, and no columns: cells stay as they are."""
    return _with_dialect(DeclaredSchema({}), _recognize_dialect(request), request)


def _with_dialect(found: DeclaredSchema, first: Dialect, request: FileRequest) -> DeclaredSchema:
    """Return a schema with what the header alone does not show of a file: for most files, nothing."""
    bare = [
        _header_delimiter(path, encoding=first.encoding, skip=first.skip) for path in request.paths
    ]
    is_marked = first.encoding == "utf-16" and request.encoding is None
    return replace(
        found,
        delimiter=None if set(bare) == {first.delimiter} else first.delimiter,
        encoding=None if first.encoding == "utf-8" or is_marked else first.encoding,
        skip=first.preamble or None,
    )


def _header_delimiter(path: Path, *, encoding: str, skip: int) -> str:
    return header_dialect(path, delimiter=None, encoding=encoding, skip=skip).delimiter


def _find_common_encoding(request: FileRequest) -> str:
    """Return the encoding of the files; with a policy that states none, they must be UTF-8."""
    try:
        found = {path: find_encoding(path) for path in request.paths}
    except (OSError, pa.ArrowException):
        for path in request.paths:  # which says which file is damaged
            _refuse_other_encodings(path, "utf-8")
        return "utf-8"
    others = {one for one in found.values() if one is not None}
    if len(others) > 1:
        raise UnreadableSource(
            f"The files are written in several encodings: {', '.join(sorted(others))}. Files opened "
            "together must be written alike; open them one by one, or name one with `--encoding`."
        )
    (encoding,) = others or {"utf-8"}
    if request.hints is not None and encoding not in ("utf-8", "utf-16"):
        path = next(path for path, one in found.items() if one == encoding)
        _refuse_other_encodings(path, "utf-8", likely=encoding)
    return encoding


def _as_readable(path: Path, encoding: str, folder: Path) -> Path:
    """Return a file that DuckDB reads: itself, or a copy in UTF-8."""
    if encoding in DUCKDB_ENCODINGS:
        return path
    _refuse_other_encodings(path, encoding)
    return as_utf8(path, encoding=encoding, folder=folder, line_end="")


def _open_declared(request: FileRequest) -> exp.Table:
    """Return CSV files as a table of their header, the declared columns fitted; rows are read later."""
    paths, schema = request.paths, request.schema or DeclaredSchema({})
    dialect = _common_dialect(
        paths,
        header_dialect,
        delimiter=schema.delimiter,
        encoding=schema.encoding,
        skip=schema.skip or 0,
    )

    def read() -> exp.Table:
        folder = Path(request.engine.folder)
        clean: list[Path] = []
        for path in paths:
            end = _line_end(path, dialect.encoding, dialect.preamble)
            text = as_utf8(
                path,
                encoding=dialect.encoding,
                folder=folder,
                line_end=end,
                skip=dialect.preamble,
            )
            grammar = RecordGrammar(
                dialect.delimiter, len(dialect.names), end, is_multiline=schema.is_multiline
            )
            clean.append(isolate_records(text, grammar, folder=folder))
        plain = replace(dialect, encoding="utf-8", skip=dialect.skip - dialect.preamble)
        return _read_csv(clean, plain, options=LENIENT_OPTIONS)

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
    skip: int | None,
) -> Dialect:
    first, *others = [
        find(path, delimiter=delimiter, encoding=encoding, skip=skip) for path in paths
    ]
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


def find_dialect(
    path: Path, *, delimiter: str | None, encoding: str | None, skip: int | None = 0
) -> Dialect:
    """Return the dialect of `path` from its first lines; only the column names are kept.

    The header stands below `skip` lines, and blank ones; where that is None, it is looked for.
    """
    head, encoding, is_cut = _read_head(path, encoding)
    _refuse_binary(path, head)
    if skip is None:
        skip = _count_preamble(head, delimiter=delimiter, is_cut=is_cut)
    body = _below_lines(head, skip)
    if not body.strip():
        raise EmptySource(f"{path.name} is empty. A table needs at least a line of column names.")
    return _dialect_of(
        path, body, delimiter=delimiter, encoding=encoding, is_cut=is_cut, preamble=skip
    )


def header_dialect(
    path: Path, *, delimiter: str | None, encoding: str | None, skip: int = 0
) -> Dialect:
    """Return the dialect of `path` from its header: no row below it is read."""
    head, encoding, _ = _read_head(path, encoding)
    below = _below_lines(head, skip)
    blank = below[: len(below) - len(below.lstrip("\r\n"))]
    header = _first_record(below.lstrip("\r\n"))
    if not header.strip():
        raise EmptySource(f"{path.name} is empty. A table needs at least a line of column names.")
    _refuse_binary(path, header)
    return _dialect_of(
        path, blank + header, delimiter=delimiter, encoding=encoding, is_cut=False, preamble=skip
    )


def _below_lines(text: str, count: int) -> str:
    return "".join(re.split(r"(?<=\n)|(?<=\r)(?!\n)", text, maxsplit=count)[count:])


def _count_preamble(head: str, *, delimiter: str | None, is_cut: bool) -> int:
    """Return how many lines of titles stand before the header: each has fewer filled cells than it."""
    if _is_regular(head.lstrip("\r\n"), delimiter, is_cut=is_cut):
        return 0
    for count in range(1, MOST_LINES_BEFORE + 1):
        body = _below_lines(head, count).lstrip("\r\n")
        if not _is_regular(body, delimiter, is_cut=is_cut):
            continue
        chosen = _parse_delimiter(delimiter) if delimiter else _find_delimiter(body, is_cut=is_cut)
        header, *rows = _read_records(body, chosen)
        above = _read_records(head[: len(head) - len(body)], chosen)
        most = max((sum(bool(cell.strip()) for cell in line) for line in above), default=0)
        is_header = all(re.search(r"[^\W\d_]", cell) for cell in header)
        if rows and is_header and most <= max(1, min(2, len(header) - 1)) and most < len(header):
            return count
    return 0


def _is_regular(body: str, delimiter: str | None, *, is_cut: bool) -> bool:
    """Whether some delimiter cuts all lines into as many cells as the first one, which is no title."""
    chosen = [_parse_delimiter(delimiter)] if delimiter else DELIMITERS
    for mark in chosen:
        records = _read_records(body, mark)
        widths = {len(record) for record in (records[:-1] if is_cut else records)}
        if len(widths) == 1 and widths != {1}:
            return len(records[0]) < 3 or sum(bool(cell.strip()) for cell in records[0]) > 1
    return False


def _line_end(path: Path, encoding: str, skip: int) -> str:
    """Return what the header ends in, as all lines then do: CR alone as on old Macs, CRLF, or LF."""
    head = _below_lines(_read_head(path, encoding)[0], skip)
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
    path: Path,
    text: str,
    *,
    delimiter: str | None,
    encoding: str,
    is_cut: bool,
    preamble: int,
) -> Dialect:
    body = text.lstrip("\r\n")
    before = text[: len(text) - len(body)]
    skip = preamble + before.replace("\r\n", "\n").count("\n")
    chosen = (
        _parse_delimiter(delimiter)
        if delimiter is not None
        else _find_delimiter(body, is_cut=is_cut)
    )
    header = next(iter(_read_records(body, chosen)), [])
    names = tuple(name.strip() or f"column{i}" for i, name in enumerate(header, start=1))
    refuse_duplicates(names, where=path.name)
    return Dialect(chosen, encoding, names, skip, preamble)


def _parse_delimiter(delimiter: str) -> str:
    chosen = "\t" if delimiter in ("\\t", "tab") else delimiter
    if not 1 <= len(chosen.encode()) <= 4 or set(chosen) & set('"\r\n'):
        raise WrongUsage("A delimiter has one to four characters, such as ';' or '\\t' for a tab.")
    return chosen


def _read_head(path: Path, encoding: str | None) -> tuple[str, str, bool]:
    """Return the start of a file as text, its encoding, and whether there is more."""
    known = _parse_encoding(encoding)
    raw = _first_bytes(path)
    is_cut = len(raw) == HEAD_BYTES
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        known = known or "utf-16"
    known = known or "utf-8"
    text = raw.decode("utf-8-sig" if known == "utf-8" else known, errors="replace")
    return text, known, is_cut


def _parse_encoding(encoding: str | None) -> str | None:
    if encoding is not None and encoding.lower() not in ENCODINGS:
        raise WrongUsage(
            f"Encoding '{encoding}' is not known. Use utf-8, utf-16, cp1252, latin-1 or another one of "
            f"{', '.join(sorted(set(ENCODINGS.values())))}, or convert the file first: iconv -f OTHER "
            "-t UTF-8."
        )
    return ENCODINGS[encoding.lower()] if encoding else None


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


def _refuse_other_encodings(path: Path, encoding: str, *, likely: str = "cp1252") -> None:
    """Refuse a file that is not of its encoding, with the line; DuckDB 1.5 may crash on one instead."""
    decoder = codecs.getincrementaldecoder(encoding)()
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
    known = {"utf-8": "UTF-8"}.get(encoding, encoding)
    raise UnreadableSource(
        f"{path.name}, line {line}: the text is not {known}. Name its encoding with `--encoding`, or in the "
        f"policy as `reading: {{encoding: {likely}}}`, if it is that."
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


def _csv_failure(paths: Mapping[Path, Path], words: str) -> UnreadableSource:
    """Return our error for DuckDB's: only its line number and its counts are used.

    `paths` are the files by what DuckDB read for them.
    """
    first = next(iter(paths.values())).name
    file = next((path.name for read, path in paths.items() if f"file = {read}" in words), first)
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
    recognize_form=_recognize_form,
    open_texts=_open_texts,
    copy_options=_copy_options,
    suffix_decides=False,
    position=1,
)
