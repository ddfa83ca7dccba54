"""The served hospital that pages connect to: started once, by the first page that wants it."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DISCREET = Path(sys.executable).parent / "discreet"


@dataclass(frozen=True)
class Served:
    """A running server: its folder, where it takes HTTP, and what it printed."""

    folder: Path
    web: str
    greeting: str


@pytest.fixture(scope="session")
def open_hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Served]]:
    """Return what starts `discreet demo --serve`, at most once."""
    started: list[tuple[subprocess.Popen[str], Served]] = []

    def start() -> Served:
        if not started:
            started.append(_start(tmp_path_factory.mktemp("served") / "hospital"))
        return started[0][1]

    yield start
    for server, _ in started:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


def _start(folder: Path) -> tuple[subprocess.Popen[str], Served]:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    server = subprocess.Popen(
        [DISCREET, "demo", str(folder), "--serve", "--port", "0", "--http-port", port],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert server.stdout is not None
    lines: list[str] = []
    for line in server.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    assert "Ctrl-C" in lines[-1]
    return server, Served(folder, f"127.0.0.1:{port}", "".join(lines))
