"""The signing of checkpoints, and copies of them at witnesses."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, func, insert, select

from discreet.errors import DiscreetError
from discreet.guard.journal.checkpoints import (
    Checkpoint,
    read_checkpoints,
    require_origin,
    sign_checkpoint,
)
from discreet.guard.journal.schema import checkpoint as table
from discreet.stores.plain import StatementConnection

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from discreet.guard.journal.chain import ChainState

_LAST = select(func.max(table.c.size))
_THIS = select(table.c.size).where(table.c.size == bindparam("this"))
_ADD = insert(table)
_ALL = select(table.c.note).order_by(table.c.size)
_COUNT = select(func.count()).select_from(table)


class Signer:
    """Signs the first entry, then after so many entries or seconds; used under the writers' lock."""

    def __init__(
        self,
        key: Ed25519PrivateKey | None,
        *,
        origin: str,
        every: int,
        seconds: float,
        witness: Sequence[Path],
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._key, self._origin = key, require_origin(origin)
        self._every, self._seconds, self._witness = every, seconds, tuple(witness)
        self._clock = clock or (lambda: datetime.now(UTC))
        self._signed: int | None = None
        self._seen = 0
        self._signed_at = time.monotonic()
        self._hashing = _hashing_key(key)
        self.unwitnessed = 0
        self.heads: Callable[[], Mapping[str, str]] = dict

    def fingerprint(self, text: str) -> str:
        """Return a hash that can be compared with guesses only with the key."""
        return hmac.new(self._hashing, text.encode(), hashlib.sha256).hexdigest()

    def wait(self) -> float | None:
        """Return in how many seconds a checkpoint is due, None when nothing new is to be signed."""
        if self._key is None or self._signed is None or self._seen <= self._signed:
            return None
        return max(0.0, self._signed_at + self._seconds - time.monotonic())

    def sign(
        self, connection: StatementConnection, state: ChainState, *, now: bool = False
    ) -> Checkpoint | None:
        """Write a checkpoint of `state` if one is due, or `now`; return it if one was written."""
        self._seen = state.size
        if self._key is None or state.size == 0:
            return None
        before = connection.scalar(_LAST) or 0 if self._signed is None else self._signed
        self._signed = before
        is_due = before == 0 or state.size - before >= self._every or self.wait() == 0
        if not (is_due or now):
            return None
        if connection.scalar(_THIS, {"this": state.size}):
            self._signed, self._signed_at = state.size, time.monotonic()  # by another gateway
            return None
        made = Checkpoint(
            self._origin,
            state.size,
            state.frontier.root(),
            state.hash,
            self._clock(),
            heads=self._read_heads(),
        )
        made = replace(made, note=sign_checkpoint(made, self._key))
        connection.execute(_ADD, {"size": made.size, "note": made.note})
        return made

    def _read_heads(self) -> Mapping[str, str]:
        try:
            return self.heads()
        except DiscreetError:
            return {}  # the next checkpoint has the heads that cannot be reached now

    def postpone(self) -> None:
        """Retry after the usual time."""
        self._signed_at = time.monotonic()

    def kept(self, made: Checkpoint) -> None:
        """Copy a durable checkpoint to the witnesses."""
        self._signed, self._signed_at = made.size, time.monotonic()
        for path in self._witness:
            try:
                _append(path, made.note)
            except OSError:
                # The journal continues: its own copy is written. Health checks report this number.
                self.unwitnessed += 1


def stored_checkpoints(connection: Connection) -> list[Checkpoint]:
    """Return the journal's own checkpoints, the smallest first.

    Raises:
        WrongUsage: one of them cannot be read.
    """
    notes = connection.scalars(_ALL)
    return [
        found for note in notes for found in read_checkpoints(note, place="The journal's own table")
    ]


def count_checkpoints(connection: Connection) -> int:
    """Return how many checkpoints the journal has."""
    return int(connection.scalar(_COUNT) or 0)


def _append(path: Path, note: str) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(opened, "ab", buffering=0) as file:
        file.write(note.encode())
        os.fsync(file.fileno())


def _hashing_key(key: Ed25519PrivateKey | None) -> bytes:
    if key is None:
        return secrets.token_bytes(32)
    return hmac.new(key.private_bytes_raw(), b"discreet journal texts", hashlib.sha256).digest()
