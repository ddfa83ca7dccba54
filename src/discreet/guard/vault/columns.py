"""Encrypted columns: every cell by itself, bound to its table, column, key and row.

A cell is a version byte, eight bytes that name the key, a random nonce of twelve bytes, and the
AES-256-GCM ciphertext of the value, padded to full blocks of sixteen bytes so that its length
reveals little. NULL stays NULL.
"""

from __future__ import annotations

import hmac
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.errors import StatementFailed
from discreet.guard.vault.open_key import TAG_BYTES, VERSION_BYTES, OpenKey, tag_of
from discreet.guard.vault.wrapping import frame_parts

Array: TypeAlias = Any  # pyarrow's, whole or in chunks: it ships no types
ArrowType: TypeAlias = Any

FORMAT = b"\x01"
INDEX_BYTES = 16
_HEAD = len(FORMAT) + TAG_BYTES
_NONCE = 12
_BLOCK = 16
_PADS = [b"\x80" + bytes(-(length + 1) % _BLOCK) for length in range(_BLOCK)]


@dataclass(frozen=True)
class ColumnLocation:
    """The place of cells: a relation, as `schema.table`, and a column."""

    table: str
    column: str


def encrypt(values: Array, *, key: OpenKey, place: ColumnLocation, rows: Sequence[Array]) -> Array:
    """Return a column of encrypted cells; `rows` are the table's primary key columns, in order.

    Guarantee: without this key and the key that wraps it, one learns only which cells are NULL and
    the length of the others in blocks of 16 bytes; a cell that is changed, or moved to another row,
    column or table, is detected when it is read.
    """
    import pyarrow as pa

    tag, cipher = key.encrypting()
    head, about = FORMAT + tag, _associated_data(place, tag, len(rows))
    plain, where = _encode_values(values), _row_keys(rows, len(values))
    nonces = os.urandom(_NONCE * len(plain))
    seal, at, cells = cipher.encrypt, 0, list[bytes | None]()
    for value, row in zip(plain, where, strict=True):
        if value is None:
            cells.append(None)
        else:
            nonce = nonces[at : at + _NONCE]
            padded = value + _PADS[len(value) % _BLOCK]
            cells.append(head + nonce + seal(nonce, padded, about + row))
        at += _NONCE
    return pa.array(cells, pa.binary())


def decrypt(
    cells: Array, *, key: OpenKey, place: ColumnLocation, rows: Sequence[Array], returns: ArrowType
) -> Array:
    """Return the decrypted values of a column of cells, as `returns`.

    Raises:
        StatementFailed: 22000, a cell cannot be decrypted: another key, another row, or changed.
    """
    import pyarrow as pa
    from cryptography.exceptions import InvalidTag

    known = {
        FORMAT + tag: (cipher.decrypt, _associated_data(place, tag, len(rows)))
        for tag, cipher in key.decrypting().items()
    }
    found = list[bytes | None]()
    try:
        binary = cells.cast(pa.binary()).to_pylist()
        for cell, row in zip(binary, _row_keys(rows, len(cells)), strict=True):
            if cell is None:
                found.append(None)
            else:
                unseal, about = known[cell[:_HEAD]]
                padded = unseal(cell[_HEAD : _HEAD + _NONCE], cell[_HEAD + _NONCE :], about + row)
                found.append(padded.rstrip(b"\0")[:-1])
        return _decode_values(pa.array(found, pa.binary()), returns)
    except (InvalidTag, KeyError, ValueError, pa.ArrowException):
        raise unreadable() from None


def versions_in(cells: Array, key_id: str) -> dict[int, int]:
    """Count the cells under each version of a key; the key itself is not needed for that."""
    import pyarrow.compute as pc

    start, length = len(FORMAT), TAG_BYTES - VERSION_BYTES
    named = tag_of(key_id, 0)[:length]
    heads: Any = pc
    counted = heads.value_counts(heads.binary_slice(cells, start, _HEAD)).to_pylist()
    return {
        int.from_bytes(each["values"][length:], "big"): each["counts"]
        for each in counted
        if each["values"] is not None and each["values"][:length] == named
    }


def blind_index(values: Array, *, key: OpenKey, place: ColumnLocation) -> Array:
    """Return 16 bytes for each value, equal for equal values, which only the key can compute.

    It reveals which rows have the same value, and how often each occurs.
    """
    return blind_indexes(values, key=key, place=place)[0]


def blind_indexes(values: Array, *, key: OpenKey, place: ColumnLocation) -> list[Array]:
    """Return the index under every version of the key, the active one first, to look a value up."""
    import pyarrow as pa

    plain = _encode_values(_normalize_values(values))
    about = frame_parts("index", place.table, place.column)
    return [
        pa.array(
            [
                None
                if value is None
                else hmac.digest(secret, about + value, "sha256")[:INDEX_BYTES]
                for value in plain
            ],
            pa.binary(),
        )
        for secret in key.index_secrets()
    ]


def verify_index(values: Array, indexes: Array, *, key: OpenKey, place: ColumnLocation) -> None:
    """Refuse values that do not have the blind index beside them, under any version of the key.

    A value determines its index, so an index that was changed, or copied from another row, is
    detected when its cell is decrypted.

    Raises:
        StatementFailed: 22000, an index belongs to another value.
    """
    import pyarrow as pa

    stored = indexes.cast(pa.binary()).to_pylist()
    expected = [each.to_pylist() for each in blind_indexes(values, key=key, place=place)]
    for found, *known in zip(stored, *expected, strict=True):
        if found not in known:
            raise unreadable()


def decode_texts(texts: Array, kind: ArrowType) -> Array:
    """Return decrypted texts as values of their own type."""
    import pyarrow as pa

    return _decode_values(texts.cast(pa.binary()), kind)


def unreadable() -> StatementFailed:
    """Return the same error for all cells that cannot be decrypted."""
    return StatementFailed("22000", "an encrypted value cannot be read with this key")


def _associated_data(place: ColumnLocation, tag: bytes, keys: int) -> bytes:
    """Return the associated data of all cells of a column; that of the row is appended."""
    return frame_parts("cell", place.table, place.column, tag, str(keys))


def _row_keys(rows: Sequence[Array], count: int) -> list[bytes]:
    """Return the associated data of each row: its primary key, the same on every engine."""
    if not rows:
        raise StatementFailed("0A000", "an encrypted column needs a table with a primary key")
    columns = [_encode_values(_cast_canonical(column)) for column in rows]
    if any(len(column) != count or None in column for column in columns):
        raise StatementFailed("23502", "a row of an encrypted column has no primary key")
    if len(columns) == 1:
        return columns[0]  # pyright: ignore[reportReturnType]
    return [frame_parts(*row) for row in zip(*columns, strict=True)]  # pyright: ignore[reportArgumentType]


def _cast_canonical(column: Array) -> Array:
    """Return a column of keys in the one type of its kind: engines differ in widths and scales."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", "UTC" if kind.tz else None))
    if pa.types.is_decimal(kind):
        written = (None if each is None else each.normalize() for each in column.to_pylist())
        return pa.array([None if each is None else f"{each:f}" for each in written], pa.string())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    return column


def _normalize_values(values: Array) -> Array:
    """Return values in one normal form: texts in NFC, numbers without trailing zeros."""
    import pyarrow as pa

    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = values.to_pylist()
        return pa.array(
            [None if text is None else unicodedata.normalize("NFC", text) for text in texts],
            pa.string(),
        )
    return _cast_canonical(values)


def _encode_values(values: Array) -> list[bytes | None]:
    import pyarrow as pa

    kind = values.type
    try:
        if pa.types.is_time(kind):  # its text cannot be parsed back
            values = values.cast(pa.time64("us")).cast(pa.int64())
        is_text = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        texts = values if is_text else values.cast(pa.string())
        return texts.cast(pa.binary()).to_pylist()
    except pa.ArrowException:
        raise StatementFailed("0A000", "values of this type cannot be encrypted") from None


def _decode_values(plain: Array, returns: ArrowType) -> Array:
    import pyarrow as pa

    if pa.types.is_binary(returns) or pa.types.is_large_binary(returns):
        return plain.cast(returns)
    texts = plain.cast(pa.string())
    if pa.types.is_time(returns):
        return texts.cast(pa.int64()).cast(pa.time64("us")).cast(returns)
    return texts.cast(returns)
