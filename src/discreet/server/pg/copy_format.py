"""COPY … TO STDOUT: rows as text, CSV or binary, one CopyData message each."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.guard.statements.statement import CopyOut
from discreet.server.pg.messages import COPY_DONE, copy_out_response, message
from discreet.server.pg.rows import as_table, blocks, encode_columns, frame_rows, interleave_cells
from discreet.sql.text_form import Array, column_text, compute

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
TRAILER = struct.pack("!h", -1)
# PostgreSQL's escapes; the backslash comes first.
_ESCAPES = (
    ("\\", "\\\\"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
)


def copy_out(
    table: ArrowTable, fields: Sequence[ResultField], options: CopyOut, *, zone: str = "UTC"
) -> Iterator[bytes]:
    """Return the messages of a COPY up to CopyDone."""
    is_binary = options.format == "binary"
    yield copy_out_response(len(fields), int(is_binary))
    yield from (
        _binary_messages(table, fields)
        if is_binary
        else _text_messages(table, fields, options, zone)
    )
    yield COPY_DONE


def _binary_messages(table: ArrowTable, fields: Sequence[ResultField]) -> Iterator[bytes]:
    formats, head = [1] * len(fields), struct.pack("!H", len(fields))
    whole = as_table(table)
    # As PostgreSQL does, the signature shares its message with the first row, or with the end.
    if not whole.num_rows:
        yield message(b"d", SIGNATURE + TRAILER)
        return
    for part in blocks(whole.slice(0, 1)):
        yield frame_rows(
            encode_columns(part, fields, formats, "UTC"), 1, letter=b"d", head=SIGNATURE + head
        )
    for part in blocks(whole.slice(1)):
        columns = encode_columns(part, fields, formats, "UTC")
        yield frame_rows(columns, part.num_rows, letter=b"d", head=head)
    yield message(b"d", TRAILER)


def _text_messages(
    table: ArrowTable, fields: Sequence[ResultField], options: CopyOut, zone: str
) -> Iterator[bytes]:
    import pyarrow as pa

    is_csv = options.format == "csv"
    delimiter = options.delimiter or ("," if is_csv else "\t")
    null = options.null if options.null is not None else ("" if is_csv else "\\N")
    if options.header:
        names = [pa.array([field.name]) for field in fields]
        written = [_format_cells(name, is_csv, delimiter, null, len(fields) == 1) for name in names]
        yield _line_messages(written, 1, delimiter)
    for part in blocks(table):
        cells: list[Array] = []
        for place, field in enumerate(fields):
            text = column_text(part.column(place), field.type, zone=zone)
            cells.append(_format_cells(text, is_csv, delimiter, null, len(fields) == 1))
        yield _line_messages(cells, part.num_rows, delimiter)


def _format_cells(texts: Array, is_csv: bool, delimiter: str, null: str, is_alone: bool) -> Array:
    if is_csv:
        return _quote_cells(texts, delimiter, null, is_alone).fill_null(null)
    return _escape_cells(texts, delimiter).fill_null(null)


def _escape_cells(texts: Array, delimiter: str) -> Array:
    pc = compute()

    escapes = [*_ESCAPES, ("\v", "\\v")]
    if delimiter not in dict(escapes):
        escapes.append((delimiter, "\\" + delimiter))
    for pattern, replacement in escapes:
        texts = pc.replace_substring(texts, pattern, replacement)
    return texts


def _quote_cells(texts: Array, delimiter: str, null: str, is_alone: bool) -> Array:
    pc = compute()

    needs: Any = pc.equal(texts, null)
    for mark in (delimiter, '"', "\n", "\r"):
        needs = pc.or_(needs, pc.match_substring(texts, mark))
    if is_alone:  # a line `\.` would be taken for the end
        needs = pc.or_(needs, pc.equal(texts, "\\."))
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def _line_messages(cells: Sequence[Array], rows: int, delimiter: str) -> bytes:
    """Return one CopyData per line."""
    import numpy as np
    import pyarrow as pa

    pc = compute()

    lines = pc.binary_join_element_wise(*cells, delimiter) if len(cells) > 1 else cells[0]
    lines = pc.binary_join_element_wise(lines, "\n", "").cast(pa.binary())
    start = np.empty(rows, dtype=[("letter", "S1"), ("length", ">i4")])
    start["letter"], start["length"] = b"d", pc.binary_length(lines).to_numpy() + 4
    heads = pa.Array.from_buffers(pa.binary(5), rows, [None, pa.py_buffer(start)]).cast(pa.binary())
    return interleave_cells([heads, lines])
