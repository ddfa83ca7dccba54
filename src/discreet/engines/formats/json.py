"""JSON: typed by all of its records, or by declared fields, each record parsed independently."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
from sqlglot import exp

from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind
from discreet.engines.file_request import LENIENT_OPTIONS, FileRequest, table_function
from discreet.engines.names import refuse_duplicates
from discreet.engines.text_encoding import as_utf8
from discreet.engines.type_inference import (
    JSON_NUMBERS,
    TEMPORAL,
    TypeGuess,
    guess_types,
    store_converted,
)
from discreet.errors import EmptySource, UnreadableSource
from discreet.registry import FormatSpec
from discreet.sql import build

_LINES = (".ndjson", ".jsonl")
_SEPARATOR = "\x1f"  # no valid JSON holds it
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_MARK = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_BRACE = re.compile(rf'{_STRING}|["{{}}]', re.DOTALL)
_BRACKET = re.compile(rf'{_STRING}|["\[\]]', re.DOTALL)
_FLAT = rf'\{{(?:[^{{}}"]++|{_STRING})*+\}}'
_TWICE = rf'\{{(?:[^{{}}"]++|{_STRING}|{_FLAT})*+\}}'
_SHALLOW = re.compile(rf'\{{(?:[^{{}}"]++|{_STRING}|{_TWICE})*+\}}', re.DOTALL)
_INDENT = re.compile(r"[ \t]*")
_LINE = build.column("line")
MOST_FIELDS = 1000  # of a record, by which rows are recognized


def _open_json(request: FileRequest) -> exp.Table | tuple[exp.Table, DeclaredSchema]:
    return _open_inferred(request) if request.schema is None else _open_declared(request)


def _open_inferred(request: FileRequest) -> tuple[exp.Table, DeclaredSchema]:
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
    source = table_function("read_json", request.paths, {"columns": columns})
    raw = request.engine.view(build.select(exp.Star(), source=source), hint="raw")
    numbers = [name for name, kind in detected.items() if kind == "DOUBLE"]
    texts = [name for name, kind in types.items() if kind == "VARCHAR" and name not in numbers]
    hints = DeclaredSchema({}) if request.hints is None else request.hints
    written = {name: one.written for name, one in hints.named(texts).items()}
    guesses: dict[str, TypeGuess] = {}
    for names, candidates in ((texts, TEMPORAL), (numbers, JSON_NUMBERS)):
        if names:
            guesses |= guess_types(
                raw, names, engine=request.engine, guesses=candidates, written=written
            )
    kept, found = store_converted(raw, guesses, engine=request.engine, written=written)
    # Whole numbers beyond 64 bits are kept as texts, which keeps them all distinct.
    wide = [name for name, kind in types.items() if kind in ("UBIGINT", "HUGEINT")]
    return kept, DeclaredSchema({**found, **dict.fromkeys(wide, DeclaredColumn(Kind.TEXT))})


def _json_types(request: FileRequest, options: dict[str, exp.Expr]) -> dict[str, str]:
    source = table_function("read_json", request.paths, options)
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


def _open_declared(request: FileRequest) -> exp.Table:
    """Return JSON files as a table of the declared fields; their records are read later.

    Without any declared field, the records are read now, and all of their fields are texts.
    """
    columns = dict((request.schema or DeclaredSchema({})).columns)
    columns = columns or dict.fromkeys(_common_fields(request), DeclaredColumn(Kind.TEXT))

    def read() -> exp.Expr:
        fields = [build.alias_as(_extract_field(_LINE, name), name) for name in columns]
        return build.subquery(_filled_lines(request, fields), "r")

    return request.defer(columns, read)


def _filled_lines(request: FileRequest, wanted: Sequence[exp.Expr]) -> exp.Select:
    """Return `wanted` of each line that is not blank; a record is one line."""
    folder = Path(request.engine.folder)
    clean = [as_utf8(path, encoding="utf-8", folder=folder) for path in request.paths]
    lines = [
        file if _has_lines(path) else _in_lines(file, folder)
        for path, file in zip(request.paths, clean, strict=True)
    ]
    is_filled = exp.NEQ(this=exp.Trim(this=_LINE.copy()), expression=build.text(""))
    return build.select(*wanted, source=_read_lines(lines)).where(is_filled)


def _common_fields(request: FileRequest) -> list[str]:
    """Return the names of the records' fields, the most common ones if there are very many."""
    valid = exp.Anonymous(this="json_valid", expressions=[_LINE.copy()])
    names = exp.Anonymous(this="json_keys", expressions=[_LINE.copy()])
    each = exp.Anonymous(
        this="unnest", expressions=[exp.Case(ifs=[exp.If(this=valid, true=names)])]
    )
    found = build.subquery(_filled_lines(request, [build.alias_as(each, "field")]), "r")
    field = build.column("field")
    ordered = (
        build.select(field, source=found)
        .group_by(field.copy())
        .order_by(exp.Ordered(this=build.count_star(), desc=True), field.copy())
        .limit(MOST_FIELDS)
    )
    names_found = request.engine.run(ordered).column(0).to_pylist()
    by_folded = {str(name).casefold(): str(name) for name in reversed(names_found) if name}
    return sorted(by_folded.values()) or ["column1"]


def _has_lines(path: Path) -> bool:
    endings = [ending.lower() for ending in path.suffixes]
    return any(ending in _LINES for ending in endings)


def _extract_field(line: exp.Expr, name: str) -> exp.Expr:
    """Return a field of a record as text, NULL where the line is no record or lacks the field."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    text = exp.Anonymous(this="json_extract_string", expressions=[line.copy(), build.text(pointer)])
    valid = exp.Anonymous(this="json_valid", expressions=[line.copy()])
    return exp.Case(ifs=[exp.If(this=valid, true=text)])


def _read_lines(paths: Sequence[Path]) -> exp.Table:
    columns = exp.Struct(
        expressions=[exp.PropertyEQ(this=build.text("line"), expression=build.text("VARCHAR"))]
    )
    options = {
        "auto_detect": exp.false(),
        "header": exp.false(),
        "delim": build.text(_SEPARATOR),
        "quote": build.text(""),
        "escape": build.text(""),
        "columns": columns,
        **LENIENT_OPTIONS,
    }
    return table_function("read_csv", paths, options)


def _in_lines(path: Path, folder: Path) -> Path:
    """Return a file with one record per line, from a list or a sequence of records."""
    handle, name = tempfile.mkstemp(dir=folder, prefix="lines-")
    with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 -- a handle
        for record in _split_records(path.read_text("utf-8-sig")):
            file.write(record.replace("\r", " ").replace("\n", " ") + "\n")
    return Path(name)


def _split_records(text: str) -> Iterator[str]:
    """Yield the text of each record of a list or sequence of records; no record is parsed.

    Only its braces outside strings decide where a record ends. A list in place of a record is one
    empty record. After a record that is never closed, reading continues at the next line with the
    same indentation.
    """
    is_list, inside, place = text.lstrip().startswith("["), False, 0
    while found := _MARK.search(text, place):
        start, place = found.span()
        mark = text[start]
        if mark == "]":
            inside = False
        elif mark == "[" and is_list and not inside:
            inside = True
        elif mark in "{[":
            end = _find_end(text, start)
            yield text[start:end] if mark == "{" and end else "{}"
            place = end or _next_line(text, start)


def _find_end(text: str, start: int) -> int | None:
    """Return the end of the object or list that begins at `start`, None if it has none."""
    if shallow := _SHALLOW.match(text, start):  # the fast path for most records
        return shallow.end()
    opening, depth = text[start], 0
    for found in (_BRACE if opening == "{" else _BRACKET).finditer(text, start):
        mark = found[0]
        if mark == '"':  # an unclosed string: the quotation marks before were misread
            return None
        if mark[0] != '"':
            depth += 1 if mark == opening else -1
        if not depth:
            return found.end()
    return None


def _next_line(text: str, start: int) -> int:
    line = text.rfind("\n", 0, start) + 1
    indent = _INDENT.match(text, line)
    alike = re.compile(rf"\n{re.escape(indent[0] if indent else '')}[,\[]?(?=[ \t]?\{{)")
    found = alike.search(text, start)
    return found.end() if found else len(text)


SPEC = FormatSpec(
    name="json",
    title="JSON",
    suffixes=(".json", *_LINES),
    compressions=(".gz", ".zst"),
    open=_open_json,
    has_header=False,  # each record names its own fields
    may_be_empty=True,
    position=3,
)
