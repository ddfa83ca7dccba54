"""What the memory of a server still holds after a session closed."""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.flows.gateways import Gateway, connect, run

from discreet.guard.control import ControlStore
from discreet.guard.vault.keys import KeyAction, create_key
from discreet.guard.vault.wrapping import parse_wrapping_key

ACT = KeyAction("test", dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
NEEDS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may read the memory of a server that protects itself"
)


@NEEDS_ROOT
def test_a_closed_session_leaves_neither_its_values_nor_its_key_in_the_memory(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    key, value = secrets.token_bytes(32), f"canary-{secrets.token_hex(8)}"
    with closing(ControlStore(data / "control.sqlite")) as control:
        wrapping = parse_wrapping_key(key, where="The test")
        create_key(control, "notes.body", wrapping, act=ACT, custody="client")
    gateway = Gateway(data)
    try:
        run(gateway, "CREATE TABLE notes (id int, body text)")
        with closing(connect(gateway)) as client:
            client.execute("SELECT discreet_unlock('notes.body', %s)", [key])
            for number in range(20):
                client.execute("SELECT count(*) FROM notes WHERE body = %s", [value])
                client.execute("SELECT id FROM notes WHERE body <> %s AND id = %s", [value, number])
        # Garbage is looked for about once a second after a session closed.
        deadline = time.monotonic() + 60
        while (found := copies(gateway.pid, value.encode(), key, key.hex().encode())) != [0, 0, 0]:
            if time.monotonic() > deadline:
                break
            with closing(connect(gateway)) as other:
                other.execute("SELECT 1")
            time.sleep(0.5)
        assert found == [0, 0, 0]
    finally:
        gateway.stop()


@NEEDS_ROOT
def test_a_value_is_found_in_the_memory_of_a_process_that_still_holds_it():
    """The search itself: it must find what is there."""
    value = f"canary-{secrets.token_hex(8)}"
    assert copies(os.getpid(), value.encode())[0] >= 1


def test_a_server_that_fails_leaves_no_core_dump_and_no_one_may_trace_it(tmp_path: Path):
    script = (
        "import ctypes, os, resource\n"
        "hard = resource.getrlimit(resource.RLIMIT_CORE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))\n"
        "from discreet.server.process import protect\n"
        "protect()\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), flush=True)\n"
        "os.abort()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert child.stdout is not None
    assert child.stdout.read().strip() == "(0, 0) 0"
    child.stdout.close()
    _, status = os.waitpid(child.pid, 0)
    child.returncode = 0
    assert os.WTERMSIG(status) == signal.SIGABRT
    assert not os.WCOREDUMP(status)


def copies(process: int, *needles: bytes) -> list[int]:
    """How often each of the needles is in the memory of a process."""
    found = [0] * len(needles)
    places = Path(f"/proc/{process}/maps").read_text().splitlines()
    with Path(f"/proc/{process}/mem").open("rb", 0) as memory:
        for place in places:
            start, end, rights, name = re.fullmatch(
                r"(\w+)-(\w+) (\S+) \S+ \S+ \S+\s*(.*)", place
            ).groups()  # type: ignore[union-attr]
            if "w" not in rights or name.startswith("[v"):
                continue
            try:
                memory.seek(int(start, 16))
                content = memory.read(int(end, 16) - int(start, 16))
            except OSError:
                continue  # given back meanwhile
            found = [n + content.count(needle) for n, needle in zip(found, needles, strict=True)]
    return found
