"""Messages of the protocol: parsing of a client's, and construction of the server's."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from discreet.engines.databases.database import ResultField
from discreet.errors import StatementFailed
from discreet.sql.decode import utf8
from discreet.sql.types import client_type, numeric_modifier

PROTOCOL_3_0 = 3 << 16
CANCEL_REQUEST = 1234 << 16 | 5678
SSL_REQUEST = 1234 << 16 | 5679
GSSENC_REQUEST = 1234 << 16 | 5680

_INT16 = struct.Struct("!h")
_UINT16 = struct.Struct("!H")
_INT32 = struct.Struct("!i")
_UINT32 = struct.Struct("!I")
_COLUMN = struct.Struct("!IhIhih")


class Frame(NamedTuple):
    """One message of a client: its letter and what follows the length."""

    kind: bytes
    body: bytes


class Body:
    """Parses the body of a message; malformed content is 08P01."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise StatementFailed("08P01", "insufficient data left in message")
        part, self._at = self._data[self._at : end], end
        return part

    def int16(self) -> int:
        """Return a count, an unsigned number."""
        return _UINT16.unpack(self.take(2))[0]

    def int32(self) -> int:
        """Return a signed number."""
        return _INT32.unpack(self.take(4))[0]

    def uint32(self) -> int:
        """Return an unsigned number."""
        return _UINT32.unpack(self.take(4))[0]

    def text(self) -> str:
        """Return a text up to its zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise StatementFailed("08P01", "invalid string in message")
        part, self._at = self._data[self._at : end], end + 1
        return utf8(part)

    def sized(self) -> bytes | None:
        """Return a value with its length before it; None for NULL."""
        length = self.int32()
        return None if length == -1 else self.take(length)

    def rest(self) -> bytes:
        """Return the rest."""
        return self.take(len(self._data) - self._at)

    def end(self) -> None:
        """Check that nothing is left."""
        if self._at != len(self._data):
            raise StatementFailed("08P01", "invalid message format")


def encode_cstring(text: str) -> bytes:
    """Return zero-terminated text; zero bytes and what UTF-8 lacks are left out."""
    return text.replace("\0", "").encode("utf-8", "replace") + b"\0"


def message(kind: bytes, body: bytes = b"") -> bytes:
    r"""Return a message with its letter and length.

    >>> message(b"Z", b"I")
    b'Z\x00\x00\x00\x05I'
    """
    return kind + _UINT32.pack(len(body) + 4) + body


PARSE_COMPLETE = message(b"1")
BIND_COMPLETE = message(b"2")
CLOSE_COMPLETE = message(b"3")
NO_DATA = message(b"n")
EMPTY_QUERY = message(b"I")
PORTAL_SUSPENDED = message(b"s")
COPY_DONE = message(b"c")


def ready(transaction: str) -> bytes:
    """Return ReadyForQuery."""
    return message(b"Z", transaction.encode("ascii"))


def complete(tag: str) -> bytes:
    """Return CommandComplete."""
    return message(b"C", encode_cstring(tag))


def authentication(kind: int, payload: bytes = b"") -> bytes:
    """Return an authentication request; 0 means success."""
    return message(b"R", _INT32.pack(kind) + payload)


def parameter_status(name: str, value: str) -> bytes:
    """Return ParameterStatus."""
    return message(b"S", encode_cstring(name) + encode_cstring(value))


def backend_key(process: int, secret: bytes) -> bytes:
    """Return BackendKeyData, for cancel requests."""
    return message(b"K", _UINT32.pack(process) + secret)


def negotiate(options: Sequence[str]) -> bytes:
    """Return NegotiateProtocolVersion: 3.0, and these options are unknown."""
    names = b"".join(encode_cstring(option) for option in options)
    return message(b"v", _UINT32.pack(PROTOCOL_3_0) + _UINT32.pack(len(options)) + names)


def encode_fields(fields: Mapping[str, str | None]) -> bytes:
    """Return the fields of an error or notice, by their letters, without those that are None."""
    given = [(letter, text) for letter, text in fields.items() if text is not None]
    return b"".join(letter.encode("ascii") + encode_cstring(text) for letter, text in given) + b"\0"


def row_description(fields: Sequence[ResultField], formats: Sequence[int]) -> bytes:
    """Return RowDescription; `formats` has one entry per column, 0 for text and 1 for binary."""
    parts = [_UINT16.pack(len(fields))]
    for field, form in zip(fields, formats, strict=True):
        kind = client_type(field.type)
        parts.append(encode_cstring(field.name))
        parts.append(
            _COLUMN.pack(field.table, field.place, kind.oid, kind.size, _type_modifier(field), form)
        )
    return message(b"T", b"".join(parts))


def _type_modifier(field: ResultField) -> int:
    if field.type != "numeric" or field.precision is None:
        return -1
    return numeric_modifier(field.precision, field.scale or 0)


def parameter_description(types: Iterable[str]) -> bytes:
    """Return ParameterDescription."""
    oids = [_UINT32.pack(client_type(name).oid) for name in types]
    return message(b"t", _UINT16.pack(len(oids)) + b"".join(oids))


def copy_in_response(columns: int, form: int) -> bytes:
    """Return CopyInResponse; `form` is 0 for text and 1 for binary."""
    return message(b"G", bytes([form]) + _UINT16.pack(columns) + _INT16.pack(form) * columns)


def copy_out_response(columns: int, form: int) -> bytes:
    """Return CopyOutResponse; `form` is 0 for text and 1 for binary."""
    head = bytes([form]) + _UINT16.pack(columns)
    return message(b"H", head + _INT16.pack(form) * columns)
