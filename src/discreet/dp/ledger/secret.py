"""The key of row hashes: beside the file of a ledger, so that the ledger alone reveals nothing."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

from sqlalchemy import Connection, insert, select

from discreet.dp.ledger import journal, schema
from discreet.errors import LedgerFailed
from discreet.stores.store import MEMORY, Store, is_server
from discreet.writing import require_private

KEY_SUFFIX = ".key"
_BYTES = 32
_secret = schema.secret


def read_secret(store: Store, place: str | Path) -> bytes:
    """Return the key of a ledger; the first who needs it draws it.

    On a server, which many machines share, the key is in a table of its own. In a file it would go
    wherever the ledger is copied to; so it lies beside it, and the ledger has its hash.
    """
    is_file = not is_server(place) and str(place) != MEMORY
    beside = Path(f"{Path(place).resolve()}{KEY_SUFFIX}") if is_file else None
    fresh = secrets.token_bytes(_BYTES)
    if beside is not None and store.read(_read_hash) is None:
        fresh = _write_key(beside, fresh)
    found = store.write(lambda connection: _settle_key(connection, fresh, is_kept=not is_file))
    digest, _, kept = found.partition(":")
    key = _load(beside) if beside is not None else bytes.fromhex(kept)
    if key is None or hashlib.sha256(key).hexdigest() != digest:
        raise LedgerFailed(
            f"The key {beside or 'of the ledger'} is missing or is another ledger's, so that tables that were asked about "
            "before cannot be recognized. No question is answered without it. Restore it from a backup."
        )
    return key


def _read_hash(connection: Connection) -> str | None:
    return connection.scalar(select(_secret.c.hash))


def _settle_key(connection: Connection, fresh: bytes, *, is_kept: bool) -> str:
    """Return the hash of the key and, where it is kept here, the key; write both if there are none."""
    last = journal.take_head(connection)
    row = connection.execute(select(_secret)).one_or_none()
    if row is None:
        digest, kept = hashlib.sha256(fresh).hexdigest(), fresh.hex() if is_kept else None
        connection.execute(insert(_secret).values(id=1, hash=digest, key=kept))
        journal.append_lines(connection, last, [journal.secret_line(digest)])
        return f"{digest}:{kept or ''}"
    return f"{row.hash}:{row.key or ''}"


def _write_key(path: Path, fresh: bytes) -> bytes:
    """Write a key atomically if there is none, and return the one that is there."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    except OSError as error:
        reason = error.strerror
    else:
        reason = None
    finally:
        part.unlink(missing_ok=True)
    if reason is not None:
        raise LedgerFailed(
            f"The key {path} cannot be written ({reason}). Make room, or name another ledger."
        )
    return _load(path) or fresh


def _load(path: Path) -> bytes | None:
    require_private(path)
    try:
        found = path.read_bytes()
    except OSError:
        return None
    return found if len(found) == _BYTES else None
