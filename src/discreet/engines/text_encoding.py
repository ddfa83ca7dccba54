"""Text files made readable: converted to UTF-8, with invalid bytes replaced."""

from __future__ import annotations

import codecs
import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.errors import UnreadableSource

CHUNK_BYTES = 1 << 22
# What ends no line, by what the lines of a file end in.
_STRAY = {"\n": r"\r(?!\n)", "\r\n": r"\r(?!\n)|(?<!\r)\n"}


def open_byte_stream(path: Path) -> Any:
    """Return the decompressed bytes of a file as a stream."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    return pa.input_stream(str(path), compression=compression)


def as_utf8(path: Path, *, encoding: str, folder: Path, line_end: str = "\n") -> Path:
    """Return a file in UTF-8 with the text of `path`: that file, or a copy in `folder`.

    Bytes that are not valid text become U+FFFD, and carriage returns without a line feed become
    blanks unless they end the lines, so that invalid bytes change only their own cell. Where lines
    end in both, line feeds without a carriage return become blanks as well.
    """
    is_plain = encoding == "utf-8" and path.suffix.lower() not in (".gz", ".zst")
    stray = _STRAY.get(line_end)
    if is_plain and _is_clean(path, stray):
        return path
    handle, name = tempfile.mkstemp(dir=folder, prefix="clean-")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    held = ""  # a carriage return at the end of a piece: the next piece decides what it is
    try:
        with (
            open_byte_stream(path) as stream,
            open(handle, "w", encoding="utf-8", newline="") as file,  # noqa: PTH123
        ):
            while chunk := stream.read(CHUNK_BYTES):
                text = held + _replace_invalid(decoder.decode(chunk))
                held = "\r" if text.endswith("\r") else ""
                file.write(_blank_strays(stray, text.removesuffix("\r")))
            file.write(
                _blank_strays(stray, held + _replace_invalid(decoder.decode(b"", final=True)))
            )
    except (OSError, pa.ArrowException):
        damaged = True
    else:
        damaged = False
    if damaged:
        raise UnreadableSource(f"{path.name} is damaged: it cannot be unpacked to its end.")
    return Path(name)


def _blank_strays(stray: str | None, text: str) -> str:
    return text if stray is None else re.sub(stray, " ", text)


def _replace_invalid(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _is_clean(path: Path, stray: str | None) -> bool:
    decoder, held = codecs.getincrementaldecoder("utf-8")(), b""
    pattern = None if stray is None else re.compile(stray.encode())
    try:
        with open_byte_stream(path) as stream:
            while chunk := bytes(stream.read(CHUNK_BYTES)):
                decoder.decode(chunk)
                whole = held + chunk
                held = b"\r" if whole.endswith(b"\r") else b""
                if pattern is not None and pattern.search(whole.removesuffix(b"\r")):
                    return False
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return pattern is None or not held
