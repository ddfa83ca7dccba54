"""The served hospital that pages connect to: started by the first page that wants it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

DISCREET = Path(sys.executable).parent / "discreet"
SECONDS = 600


@dataclass(frozen=True)
class Served:
    """A running server: its folder, where it takes HTTP, and what it printed."""

    folder: Path
    web: str
    greeting: str


class Hospital:
    """`discreet demo --serve`, one for all pages, until a page fails."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._started: tuple[subprocess.Popen[str], Served] | None = None

    def open(self) -> Served:
        """Return the running server; start it if there is none."""
        if self._started is None:
            self._started = _start(self._folders.mktemp("served") / "hospital")
        return self._started[1]

    def close(self) -> None:
        """Stop it. A page that is tried again after a failure finds no table of its first try."""
        if self._started is not None:
            server, _ = self._started
            self._started = None
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=SECONDS)


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hospital]:
    """The hospital that pages may open."""
    made = Hospital(tmp_path_factory)
    yield made
    made.close()


def _start(folder: Path) -> tuple[subprocess.Popen[str], Served]:
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    server = subprocess.Popen(
        [DISCREET, "demo", str(folder), "--serve", "--port", "0", "--http-port", "0"],
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
    greeting = "".join(lines)
    assert "Ctrl-C" in greeting
    web = re.search(r"https://(127\.0\.0\.1:\d+)/", greeting)
    assert web is not None, greeting
    return server, Served(folder, web[1], greeting)
