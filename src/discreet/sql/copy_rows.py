r"""The data of COPY … FROM as columns of texts: text, CSV and binary form, block by block.

>>> reader = CopyReader(CopyForm("text", "\t", "\\N"), 2)
>>> reader.feed(b"1\ta\\tb\n2\t\\")
>>> reader.feed(b"N\n")
>>> [column.to_pylist() for column in reader.finish()]
[['1', '2'], ['a\tb', None]]
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.errors import StatementFailed
from discreet.sql.decode import utf8

Array: TypeAlias = Any  # of pyarrow, which has no types

BLOCK = 4 << 20  # bytes that are parsed together
SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.DOTALL)


@dataclass(frozen=True)
class CopyForm:
    """How the rows are written; `header` is skipped, and must have `names` where they are given."""

    format: str  # text, csv or binary
    delimiter: str
    null: str
    quote: str = '"'
    escape: str = '"'
    header: bool = False
    names: tuple[str, ...] = ()


class CopyReader:
    """Reads rows of `width` cells that come in pieces."""

    def __init__(self, form: CopyForm, width: int) -> None:
        self._form, self._width = form, width
        self._pieces: list[bytes] = []
        self._size = 0
        self._has_begun = self._has_ended = False

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        if data and not self._has_ended:
            self._pieces.append(data)
            self._size += len(data)

    @property
    def is_full(self) -> bool:
        """Whether a block can be taken, so that memory stays bounded."""
        return self._size >= BLOCK

    def take(self) -> list[Array]:
        """Return the columns of all complete rows so far."""
        return self._cut_rows(is_last=False)

    def finish(self) -> list[Array]:
        """Return the columns of the remaining rows.

        Raises:
            StatementFailed: 22P04, the last row is not complete.
        """
        return self._cut_rows(is_last=True)

    def _cut_rows(self, *, is_last: bool) -> list[Array]:
        data = b"".join(self._pieces)
        if self._form.format == "binary":
            columns, rest = self._read_binary(data, is_last=is_last)
        else:
            end = len(data) if is_last else self._last_row_end(data)
            columns, rest = self._read_lines(data[:end]), data[end:]
        self._pieces, self._size = [rest] if rest else [], len(rest)
        return columns

    # --- text and CSV ---------------------------------------------------------------------------

    def _last_row_end(self, data: bytes) -> int:
        """Return where the last complete row ends."""
        if self._form.format == "text":
            end = data.rfind(b"\n") + 1
            while end >= 2 and _is_escaped(data, end - 1):
                end = data.rfind(b"\n", 0, end - 1) + 1
            return end
        if self._form.escape != self._form.quote:
            return 0  # an escaped quote looks like another one: everything is read at the end
        import numpy as np

        letters = np.frombuffer(data, np.uint8)
        outside = np.cumsum(letters == ord(self._form.quote)) % 2 == 0
        ends = np.flatnonzero((letters == 10) & outside)
        return int(ends[-1]) + 1 if len(ends) else 0

    def _read_lines(self, data: bytes) -> list[Array]:
        if self._form.header and not self._has_begun and data:
            data = self._skip_header(data)
        self._has_begun = self._has_begun or bool(data)
        data = self._up_to_marker(data)
        if not data:
            return _no_rows(self._width)
        return self._read_csv(data) if self._form.format == "csv" else self._read_text(data)

    def _skip_header(self, data: bytes) -> bytes:
        line, _, rest = data.partition(b"\n")
        if self._form.names:
            names = utf8(line).rstrip("\r").split(self._form.delimiter)
            if tuple(name.strip(self._form.quote) for name in names) != self._form.names:
                raise StatementFailed("22P04", "column name mismatch in header line")
        self._has_begun = True
        return rest

    def _up_to_marker(self, data: bytes) -> bytes:
        found = re.search(rb"(?:^|\n)\\\.\r?(?:\n|$)", data)
        if found is None:
            return data
        self._has_ended = True
        return data[: found.start() + data[found.start() : found.end()].startswith(b"\n")]

    def _read_text(self, data: bytes) -> list[Array]:
        import pyarrow as pa
        import pyarrow.compute as pc

        delimiter = self._form.delimiter
        text = _plain_separators(utf8(data), delimiter)
        text = text.replace("\r\n", "\n").removesuffix("\n")
        functions: Any = pc
        lines = functions.split_pattern(pa.array([text], pa.large_string()), "\n").values
        cells = functions.split_pattern(lines, delimiter)
        lengths = functions.list_value_length(cells)
        if functions.any(functions.not_equal(lengths, self._width)).as_py():
            missing = functions.any(functions.less(lengths, self._width)).as_py()
            raise _wrong_width(is_missing=missing)
        values = cells.values
        return [self._read_cells(part) for part in _columns_of(values, self._width)]

    def _read_cells(self, cells: Array) -> Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        functions: Any = pc
        is_null = functions.equal(cells, self._form.null)
        written = functions.if_else(is_null, pa.scalar(None, pa.large_string()), cells)
        has_escapes = functions.match_substring(written, "\\").fill_null(False)
        if functions.any(has_escapes).as_py():
            plain = [_unescape_text(cell) for cell in written.filter(has_escapes).to_pylist()]
            written = functions.replace_with_mask(
                written, has_escapes, pa.array(plain, pa.large_string())
            )
        return written.cast(pa.string())

    def _read_csv(self, data: bytes) -> list[Array]:
        import pyarrow as pa
        from pyarrow import csv

        form, names = self._form, [f"c{place}" for place in range(self._width)]
        utf8(data)  # fails as PostgreSQL does
        _require_closed_quotes(data, form)
        try:
            table = csv.read_csv(
                io.BytesIO(data),
                csv.ReadOptions(column_names=names, use_threads=False),
                csv.ParseOptions(
                    delimiter=form.delimiter,
                    quote_char=form.quote,
                    double_quote=form.escape == form.quote,
                    escape_char=False if form.escape == form.quote else form.escape,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                ),
                csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[form.null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            pass  # its message quotes the data
        else:
            return [column.combine_chunks() for column in table.columns]
        raise StatementFailed("22P04", "the rows are not CSV with one value for each column")

    # --- binary ---------------------------------------------------------------------------------

    def _read_binary(self, data: bytes, *, is_last: bool) -> tuple[list[Array], bytes]:
        """Return the cells as they came, which differ by type, and what is left over."""
        import pyarrow as pa

        at = 0
        if not self._has_begun:
            at = _binary_start(data)
            if at == 0 and not is_last:
                return _no_rows(self._width, pa.binary()), data
            self._has_begun = True
        rows: list[list[bytes | None]] = [[] for _ in range(self._width)]
        while not self._has_ended:
            following = self._binary_row(data, at, rows)
            if following is None:
                break
            at = following
        if is_last and not self._has_ended:
            raise StatementFailed("22P04", "unexpected EOF in COPY data")
        return [pa.array(cells, pa.binary()) for cells in rows], data[at:]

    def _binary_row(self, data: bytes, at: int, rows: list[list[bytes | None]]) -> int | None:
        """Add one row; return where the next one begins, None if it is not complete."""
        if len(data) < at + 2:
            return None
        (count,) = struct.unpack_from("!h", data, at)
        if count == -1:
            self._has_ended = True
            return len(data)
        if count != self._width:
            raise _wrong_width(is_missing=count < self._width)
        at, row = at + 2, list[bytes | None]()
        for _ in rows:
            if len(data) < at + 4:
                return None
            (length,) = struct.unpack_from("!i", data, at)
            if length < -1:
                raise StatementFailed("22P04", "invalid field size")
            end = at + 4 + max(length, 0)
            if len(data) < end:
                return None
            row.append(None if length == -1 else data[at + 4 : end])
            at = end
        for cells, cell in zip(rows, row, strict=True):
            cells.append(cell)
        return at


def _binary_start(data: bytes) -> int:
    """Return where the first row begins; 0 if the header is not complete."""
    if not SIGNATURE.startswith(data[: len(SIGNATURE)]):
        raise StatementFailed("22P04", "COPY file signature not recognized")
    if len(data) < len(SIGNATURE) + 8:
        return 0
    flags, extension = struct.unpack_from("!Ii", data, len(SIGNATURE))
    if flags or extension < 0:
        raise StatementFailed("22P04", "unrecognized critical flags in COPY file header")
    start = len(SIGNATURE) + 8 + extension
    return start if len(data) >= start else 0


def _require_closed_quotes(data: bytes, form: CopyForm) -> None:
    """Refuse a quoted cell that does not end: it would swallow the rows after it."""
    if form.escape != form.quote:
        data = re.sub(re.escape(form.escape.encode()) + b".", b"", data, flags=re.DOTALL)
    if data.count(form.quote.encode()) % 2:
        raise StatementFailed("22P04", "unterminated CSV quoted field")


def _is_escaped(data: bytes, place: int) -> bool:
    before = data[max(0, place - 64) : place]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _plain_separators(text: str, delimiter: str) -> str:
    """Return a text without separators after a backslash: they belong to the cell."""
    if f"\\{delimiter}" not in text and "\\\n" not in text:
        return text
    inside = {delimiter: f"\\x{ord(delimiter):02x}", "\n": "\\n"}
    return re.sub(r"\\(.)", lambda found: inside.get(found[1], found[0]), text, flags=re.DOTALL)


def _unescape_text(cell: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1] is not None:
            return chr(int(found[1], 16))
        if found[2] is not None:
            return chr(int(found[2], 8) & 0xFF)
        return _LETTERS.get(found[3], found[3])

    return _ESCAPE.sub(letter, cell)


def _columns_of(values: Array, width: int) -> Sequence[Array]:
    import numpy as np
    import pyarrow as pa

    count = len(values)
    return [values.take(pa.array(np.arange(place, count, width))) for place in range(width)]


def _no_rows(width: int, kind: Any = None) -> list[Array]:
    import pyarrow as pa

    return [pa.array([], kind or pa.string()) for _ in range(width)]


def _wrong_width(*, is_missing: bool) -> StatementFailed:
    if is_missing:
        return StatementFailed("22P04", "missing data for a column")
    return StatementFailed("22P04", "extra data after last expected column")
