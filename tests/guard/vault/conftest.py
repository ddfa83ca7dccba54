"""A control store on disk, a server's key, and a key of a column."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from discreet.guard.control import ControlStore
from discreet.guard.vault.keys import KeyAction, create_key, open_key
from discreet.guard.vault.wrapping import WrappingKey, new_wrapping_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.guard.vault.open_key import OpenKey

ACT = KeyAction("officer", datetime(2026, 5, 1, tzinfo=UTC))
SIN = "employee.sin"


def raw_bytes(folder: Path) -> bytes:
    """Return every byte of every file below a folder, as a thief of the disk has them."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.fixture
def documents(tmp_path: Path) -> Iterator[ControlStore]:
    (tmp_path / "data").mkdir(mode=0o700)
    control = ControlStore(tmp_path / "data" / "control.sqlite")
    yield control
    control.close()


@pytest.fixture
def server(tmp_path: Path) -> WrappingKey:
    return new_wrapping_key(tmp_path / "master.key")


@pytest.fixture
def key(documents: ControlStore, server: WrappingKey) -> OpenKey:
    create_key(documents, SIN, server, act=ACT)
    return open_key(documents, SIN, server)
