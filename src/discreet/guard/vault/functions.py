"""DuckDB functions that decrypt and encrypt cells in a query, under unguessable names.

DuckDB's functions are transactional, so all sessions share four, which exist from the start; their
first argument is the number of a slot: one column, as one session can read it.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.errors import InvalidKey, StatementFailed
from discreet.guard.vault.columns import (
    Array,
    ArrowType,
    ColumnLocation,
    blind_index,
    decode_texts,
    decrypt,
    encrypt,
    unreadable,
    verify_index,
)
from discreet.guard.vault.open_key import OpenKey

_NAME_BYTES = 16


class CreateFunction(Protocol):
    """Creates a database function over any number of Arrow columns."""

    def __call__(
        self, name: str, function: Callable[..., Any], *, returns: str, is_pure: bool
    ) -> None:
        """Create it, for all following sessions."""
        ...


@dataclass
class Slot:
    """One encrypted column, as one session can read it; `failure` is why a cell was last refused.

    The engine's own error hides that. `key` is the reason why there is none while the column is
    locked; `longest` is how many characters a text may have.
    """

    number: int
    key: OpenKey | StatementFailed
    place: ColumnLocation
    kind: ArrowType
    longest: int | None = None
    failure: StatementFailed | None = None

    @property
    def opened(self) -> OpenKey:
        """The key.

        Raises:
            StatementFailed: 42501, the column is locked; 22000, its key was destroyed.
        """
        if isinstance(self.key, StatementFailed):
            raise self.key
        return self.key


class EncryptionFunctions:
    """The functions of one database, and their slots."""

    def __init__(self) -> None:
        self.open_text, self.open_bytes, self.lock, self.index = (
            f"vault_{secrets.token_hex(_NAME_BYTES)}" for _ in range(4)
        )
        self._slots: dict[int, Slot] = {}
        self._numbers = itertools.count(1)

    def register(self, create: CreateFunction) -> None:
        """Create the functions, before the first session begins."""
        create(self.open_text, self._wrap_call(_decrypt_text), returns="VARCHAR", is_pure=True)
        create(self.open_bytes, self._wrap_call(_decrypt_bytes), returns="BLOB", is_pure=True)
        # Nonces: the result of one call must not be reused for another.
        create(self.lock, self._wrap_call(_encrypt_values), returns="BLOB", is_pure=False)
        create(self.index, self._wrap_call(_index_values), returns="BLOB", is_pure=True)

    def add(
        self,
        key: OpenKey | StatementFailed,
        *,
        place: ColumnLocation,
        kind: ArrowType,
        longest: int | None = None,
    ) -> Slot:
        """Return a new slot for a column, locked if a refusal is given instead of its key."""
        slot = Slot(next(self._numbers), key, place, kind, longest)
        self._slots[slot.number] = slot
        return slot

    def remove(self, slot: Slot) -> None:
        """Remove a slot: calls for it fail from now on."""
        self._slots.pop(slot.number, None)

    def _wrap_call(self, work: Callable[..., Array]) -> Callable[..., Array]:
        def call(numbers: Array, *columns: Array) -> Array:
            # A query names the slot as a literal, so all of its rows have the same one.
            slot = self._slots.get(numbers[0].as_py())
            if slot is None:
                raise unreadable()
            try:
                return work(slot, *columns)
            except StatementFailed as failure:
                slot.failure = failure
                raise
            except InvalidKey:
                slot.failure = unreadable()
                raise

        return call


def _decrypt_text(slot: Slot, cells: Array, indexes: Array, *rows: Array) -> Array:
    import pyarrow as pa

    texts = decrypt(cells, key=slot.opened, place=slot.place, rows=rows, returns=pa.string())
    values = decode_texts(texts, slot.kind)
    verify_index(values, indexes, key=slot.opened, place=slot.place)
    # The query casts texts to their type; times are numbers, which it cannot cast.
    return values.cast(pa.string()) if pa.types.is_time(slot.kind) else texts


def _decrypt_bytes(slot: Slot, cells: Array, indexes: Array, *rows: Array) -> Array:
    import pyarrow as pa

    values = decrypt(cells, key=slot.opened, place=slot.place, rows=rows, returns=pa.binary())
    verify_index(values, indexes, key=slot.opened, place=slot.place)
    return values


def _encrypt_values(slot: Slot, values: Array, *rows: Array) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if slot.longest is not None and pa.types.is_string(values.type):
        longest: Any = pc.max(pc.utf8_length(values))  # pyright: ignore[reportAttributeAccessIssue]
        if (longest.as_py() or 0) > slot.longest:
            raise StatementFailed(
                "22001", f"value too long for type character varying({slot.longest})"
            )
    return encrypt(values, key=slot.opened, place=slot.place, rows=rows)


def _index_values(slot: Slot, values: Array) -> Array:
    return blind_index(values, key=slot.opened, place=slot.place)
