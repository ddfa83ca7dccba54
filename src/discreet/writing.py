"""Files are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from discreet.errors import OutputRefused

if TYPE_CHECKING:
    from pathlib import Path


def require_writable(path: Path, *, may_exist: bool = True) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    if path.is_dir():
        raise OutputRefused(f"{path} is a folder. Name a file in it.")
    folder = path.parent
    if not folder.is_dir():
        raise OutputRefused(f"There is no folder {folder}. Create it, or choose another place.")
    if not os.access(folder, os.W_OK):
        raise OutputRefused(f"The folder {folder} cannot be written. Choose another place.")
    if path.exists() and not may_exist:
        raise OutputRefused(f"{path} exists. Name another file, or add --force to replace it.")


def write_private(path: Path, content: bytes, *, may_exist: bool) -> None:
    """Write a secret that only its owner can read, whole or not at all."""
    require_writable(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        opened = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # a lost key or mapping cannot be made again
        if may_exist:
            beside.replace(path)
        else:
            path.hardlink_to(beside)  # fails if somebody wrote the file meanwhile
    except FileExistsError:
        raise OutputRefused(f"{path} exists and is not replaced. Name another file.") from None
    except OSError as error:
        raise OutputRefused(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write `text` so that whoever opens `path` sees the old file or the new one, never a part."""
    require_writable(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        raise OutputRefused(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        beside.unlink(missing_ok=True)
