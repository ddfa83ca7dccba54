"""Tables as messages: blocks of rows, assembled by column, without Python code per cell."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.sql.binary_form import column_binary, fixed_width_cells
from discreet.sql.text_form import Array, column_text, compute

BLOCK_BYTES = 256 * 1024
BLOCK_ROWS = 8192
# Below this, row by row is faster than a dozen calls of Arrow.
FEW_ROWS = 24


def as_table(table: ArrowTable) -> Any:
    """Return a table of pyarrow."""
    import pyarrow as pa

    return table if isinstance(table, pa.Table) else pa.table(table)


def blocks(table: ArrowTable) -> Iterator[Any]:
    """Return a table in parts of about a quarter of a megabyte."""
    whole = as_table(table)
    each = max(whole.nbytes // max(whole.num_rows, 1), 1)
    yield from whole.to_batches(max_chunksize=max(1, min(BLOCK_ROWS, BLOCK_BYTES // each)))


def encode_columns(
    batch: Any, fields: Sequence[ResultField], formats: Sequence[int], zone: str
) -> list[Array]:
    """Return the columns of a block as arrays of bytes, text (0) or binary (1) each."""
    import pyarrow as pa

    columns: list[Array] = []
    for place, field in enumerate(fields):
        column = batch.column(place)
        if formats[place]:
            columns.append(column_binary(column, field.type))
        else:
            columns.append(column_text(column, field.type, zone=zone).cast(pa.binary()))
    return columns


def data_rows(
    table: ArrowTable, fields: Sequence[ResultField], formats: Sequence[int], *, zone: str = "UTC"
) -> Iterator[bytes]:
    """Return the rows of a table as DataRow messages, block by block."""
    if as_table(table).num_columns != len(fields):
        raise StatementFailed("0A000", "cached plan must not change result type")
    for batch in blocks(table):
        columns = encode_columns(batch, fields, formats, zone)
        yield frame_rows(columns, batch.num_rows, letter=b"D", head=struct.pack("!H", len(fields)))


def frame_rows(columns: Sequence[Array], rows: int, *, letter: bytes, head: bytes) -> bytes:
    """Return one message per row: letter, length, `head`, and each cell with its length."""
    if rows < FEW_ROWS:
        return _frame_few_rows(columns, rows, letter, head)
    import numpy as np

    pc = compute()

    lengths = [pc.binary_length(column).fill_null(-1) for column in columns]
    total = np.full(rows, 4 + len(head), dtype="i8")
    parts: list[Array] = []
    for column, length in zip(columns, lengths, strict=True):
        sizes = length.to_numpy()
        total += 4 + np.maximum(sizes, 0)
        parts += [fixed_width_cells(sizes.astype(">i4"), length), column.fill_null(b"")]
    return interleave_cells([_message_heads(letter, total, head, rows), *parts])


def _message_heads(letter: bytes, total: Any, head: bytes, rows: int) -> Array:
    """Return the start of each message."""
    import numpy as np
    import pyarrow as pa

    start = np.empty(rows, dtype=[("letter", "S1"), ("length", ">i4")])
    start["letter"], start["length"] = letter, total
    starts = pa.Array.from_buffers(pa.binary(5), rows, [None, pa.py_buffer(start)]).cast(
        pa.binary()
    )
    if not head:
        return starts
    pc = compute()

    return pc.binary_join_element_wise(starts, pa.scalar(head, pa.binary()), b"")


def interleave_cells(parts: Sequence[Array]) -> bytes:
    """Return all cells of the first row, then all of the second, and so on, as bytes."""
    pc = compute()

    joined = pc.binary_join_element_wise(*parts, b"")
    _, offsets, data = joined.buffers()
    if data is None:
        return b""
    ends = memoryview(offsets).cast("i")
    first = ends[joined.offset]
    return data[first : ends[joined.offset + len(joined)]].to_pybytes()


def _frame_few_rows(columns: Sequence[Array], rows: int, letter: bytes, head: bytes) -> bytes:
    cells = [column.to_pylist() for column in columns]
    out: list[bytes] = []
    for row in range(rows):
        parts = [head]
        for column in cells:
            cell = column[row]
            if cell is None:
                parts.append(b"\xff\xff\xff\xff")
            else:
                parts += (len(cell).to_bytes(4, "big"), cell)
        body = b"".join(parts)
        out += (letter, (len(body) + 4).to_bytes(4, "big"), body)
    return b"".join(out)
