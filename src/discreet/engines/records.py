"""JSON by its declared fields: one record per line, each read on its own, whatever the others are."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.cleaning import as_utf8
from discreet.engines.declared import fitted, types_of
from discreet.engines.delimited import FORGIVING, table_function
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from discreet.engines.declared import Schema
    from discreet.engines.duckdb import DuckDB

_LINES = (".ndjson", ".jsonl")
_BETWEEN = " \t\r\n,[]"
_SEPARATOR = "\x1f"  # no valid JSON holds it


def open_declared(paths: Sequence[Path], schema: Schema, *, engine: DuckDB) -> exp.Table:
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
            build.named(fitted(_field(line, name), one), name) for name, one in columns.items()
        ]
        query = build.select(*wanted, source=_read_lines(lines))
        return query.where(exp.NEQ(this=exp.Trim(this=line.copy()), expression=build.text("")))

    return engine.defer(types_of(columns), read)


def _has_lines(path: Path) -> bool:
    endings = [ending.lower() for ending in path.suffixes]
    return any(ending in _LINES for ending in endings)


def _field(line: exp.Expr, name: str) -> exp.Expr:
    """Return a field of a record as text, NULL where the line is no record or has no such field."""
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
        **FORGIVING,
    }
    return table_function("read_csv", paths, options)


def _in_lines(path: Path, folder: Path) -> Path:
    """Return a file with each record of a list, or of records after each other, on a line."""
    handle, name = tempfile.mkstemp(dir=folder, prefix="lines-")
    with open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 -- a handle
        for record in _records(path.read_text("utf-8-sig")):
            file.write(record.replace("\r", " ").replace("\n", " ") + "\n")
    return Path(name)


def _records(text: str) -> Iterator[str]:
    """Yield the text of each record; after one that cannot be read, go on with the next line."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        if text[place] in _BETWEEN:
            place += 1
            continue
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = text.find("\n", place) % (len(text) + 1)
            yield "{}"
        else:
            yield text[place:end]
        place = end
