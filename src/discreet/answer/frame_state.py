"""The state of a frame by a name: within a session, equal rows have equal names, so that the same request is free.

In another session they have other names. A name that followed from rows alone would tell, in the ledger, whether
a guess at all of them is right, and next month, that no one joined or left.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import Any

import pyarrow as pa

from discreet.engines.frames import is_pandas

_names: dict[bytes, str] = {}
_lock = threading.Lock()


class _HashSink:
    """A file that keeps only the hash of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=32)

    def write(self, content: Any) -> int:
        """Add bytes to the hash."""
        self.hash.update(content)
        return len(content)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""


def name_state(frame: object) -> str | None:
    """Return the name of the rows that a frame holds in memory; None of a stream, a view, or a mixed column."""
    held = _read_held_rows(frame)
    if held is None:
        return None
    plain = held.replace_schema_metadata(None).combine_chunks()
    sink = _HashSink()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), plain.schema) as writer:
        writer.write_table(plain)
    with _lock:
        return _names.setdefault(sink.hash.digest(), secrets.token_hex(16))


def _read_held_rows(frame: Any) -> Any:
    """Return the rows of a frame as an Arrow table, None where reading them could use them up or fail."""
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    try:
        if is_pandas(frame):
            return pa.Table.from_pandas(frame)
        if type(frame).__module__.partition(".")[0] == "polars" and hasattr(frame, "to_arrow"):
            return frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None  # such as a column of texts and numbers
    return None
