"""JSON by its declared fields: one record per line, each parsed independently of the others."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlglot import exp

from discreet.engines.declared_schema import cast_declared, types_of
from discreet.engines.delimited import LENIENT_OPTIONS, table_function
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredSchema
from discreet.engines.text_encoding import as_utf8
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


def open_declared_json(
    paths: Sequence[Path], schema: DeclaredSchema, *, engine: DuckDB
) -> exp.Table:
    """Return JSON files as a table of the declared fields; their records are read later."""
    columns = dict(schema.columns)

    def read() -> exp.Query:
        folder = Path(engine.folder)
        clean = [as_utf8(path, encoding="utf-8", folder=folder) for path in paths]
        lines = [
            file if _has_lines(path) else _in_lines(file, folder)
            for path, file in zip(paths, clean, strict=True)
        ]
        line = build.column("line")
        wanted = [
            build.alias_as(cast_declared(_extract_field(line, name), one), name)
            for name, one in columns.items()
        ]
        query = build.select(*wanted, source=_read_lines(lines))
        return query.where(exp.NEQ(this=exp.Trim(this=line.copy()), expression=build.text("")))

    return engine.defer(types_of(columns), read)


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
