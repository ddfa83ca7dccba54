"""A real browser, driven over a pipe by its own protocol: no driver, no port, no other library."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)
SECONDS = 120.0
# Chromium reads file 3 and writes file 4; both may be in use until the pipes are copied away.
CONNECT = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(pipe), fcntl.F_DUPFD, 10) for pipe in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


@dataclass
class Tab:
    """One open page, and everything it did since it was opened."""

    send: Callable[..., dict[str, Any]]
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def happened(self, method: str) -> list[dict[str, Any]]:
        """Return what was reported under a name of the protocol."""
        return [event["params"] for event in self.events if event["method"] == method]

    def look(self, *, scheme: str, width: int) -> None:
        """Show the page to a reader who prefers a color scheme, on a screen of some width."""
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )


class Browser:
    """Chromium without a screen."""

    def __init__(self, program: str, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONNECT, str(theirs_in), str(theirs_out), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._last = 0
        self._tabs: dict[str, Tab] = {}

    def open(self, page: Path | str) -> Tab:
        """Return the page of a file or an address once it has loaded."""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(lambda method, **parts: self._send(method, session=session, **parts))
        self._tabs[session] = tab
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
            tab.send(f"{domain}.enable")
        tab.send("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while not tab.happened("Page.loadEventFired"):
            self._receive()
        return tab

    def close(self) -> None:
        """End the browser."""
        self._write({"id": self._last + 1, "method": "Browser.close"})
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._in)
        os.close(self._out)

    def _send(self, method: str, *, session: str | None = None, **parts: Any) -> dict[str, Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parts}
        self._write(message | ({"sessionId": session} if session else {}))
        while True:
            answer = self._receive()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer
                return answer["result"]

    def _write(self, message: dict[str, Any]) -> None:
        os.write(self._out, json.dumps(message).encode() + b"\0")

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(until - time.monotonic(), 0))
            assert ready, "the browser fell silent"
            received = os.read(self._in, 1 << 16)
            assert received, "the browser ended"
            self._buffer += received
        first, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(first)
        if "method" in message and message.get("sessionId") in self._tabs:
            self._tabs[message["sessionId"]].events.append(message)
        return message


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Debian's chromium; where it is missing tests are skipped, but never on CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed: run `apt-get install chromium`")
        pytest.skip("chromium is not installed")
    started = Browser(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
