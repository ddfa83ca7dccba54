"""Text files that can be read whatever their bytes are: in UTF-8, what is none of it replaced."""

from __future__ import annotations

import codecs
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import UnreadableSource

CHUNK_BYTES = 1 << 22


def opened(path: Path) -> Any:
    """Return the bytes of a file as a stream, unpacked."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    return pa.input_stream(str(path), compression=compression)


def as_utf8(path: Path, *, encoding: str, folder: Path) -> Path:
    """Return a file in UTF-8 with the text of `path`: that file, or a copy in `folder`.

    Bytes that are no text become U+FFFD, so that one person's bytes change that person's cell only.
    """
    if encoding == "utf-8" and path.suffix.lower() not in (".gz", ".zst") and _is_utf8(path):
        return path
    handle, name = tempfile.mkstemp(dir=folder, prefix="clean-")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    try:
        with opened(path) as stream, open(handle, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            while chunk := stream.read(CHUNK_BYTES):
                file.write(_whole(decoder.decode(chunk)))
            file.write(_whole(decoder.decode(b"", final=True)))
    except (OSError, pa.ArrowException):
        damaged = True
    else:
        damaged = False
    if damaged:
        raise UnreadableSource(f"{path.name} is damaged: it cannot be unpacked to its end.")
    return Path(name)


def _whole(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with opened(path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
