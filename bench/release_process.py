"""A command run alone and measured: wall time, CPU time, and the memory of it and its children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DISCREET = str(Path(sys.executable).with_name("discreet"))
_EVERY = 0.25  # seconds between two looks
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """What a command took: seconds, and the largest memory of all its processes together in MB."""

    wall: float
    cpu: float
    memory: float
    text: str

    @property
    def json(self) -> Any:
        """What the command printed last, read as JSON."""
        start = self.text.index("{")
        return json.loads(self.text[start:])


class CommandFailed(Exception):
    """A measured command ended with an error; the message is the end of what it said."""


def measure(command: list[str], *, has_children: bool = False) -> Measured:
    """Run `command` and return what it took.

    Spark's work is done by a JVM that nobody waits for: processes that have children are looked at
    while they run, besides asking the system at the end.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err)
        watch = _Watch(child.pid)
        if has_children:
            watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
        watch.stop()
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            err.seek(0)
            raise CommandFailed(err.read().decode(errors="replace")[-2000:])
        out.seek(0)
        text = out.read().decode()
    return Measured(
        wall=wall,
        cpu=max(usage.ru_utime + usage.ru_stime, sum(watch.cpu.values())),
        memory=max(usage.ru_maxrss / 1024, watch.peak / 2**20),
        text=text,
    )


def best(command: list[str], *, times: int) -> Measured:
    """Return the run that took least wall time, with the least CPU time of all runs."""
    runs = [measure(command) for _ in range(times)]
    quickest = min(runs, key=lambda run: run.wall)
    return Measured(quickest.wall, min(r.cpu for r in runs), quickest.memory, quickest.text)


def aimed(found: float, aim: float | None, *, least: bool = False, digits: int = 4) -> str:
    """Return whether a number is as good as was aimed at."""
    if aim is None:
        return ""
    met = round(found, digits) >= aim if least else round(found, digits) <= aim
    return f"{'>=' if least else '<='} {aim}: {'met' if met else 'MISSED'}"


def timely(took: Measured, aim: float | None) -> str:
    """Return whether a command was as quick as was aimed at.

    Where others take the cores, wall time says how busy they are, and CPU time how much was done.
    """
    if aim is None:
        return ""
    met = "met" if took.wall <= aim else "met in CPU time" if took.cpu <= aim else "MISSED"
    return f"<= {aim} s: {met}"


def peer(name: str, folder: Path) -> str:
    """Return the Python of a peer's own environment, made from its lock file if it is not there."""
    environment = folder / name
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        uv = Path(sys.executable).with_name("uv")
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--no-deps", "--python", python, "--require-hashes",
             "-r", f"bench/peers/{name}.lock"],
            check=True,
        )  # fmt: skip
    return str(python)


class _Watch(threading.Thread):
    """Looks at a process and all that descend from it, again and again."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.cpu: dict[int, float] = {}
        self._known = {root}
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_EVERY):
            self._look()

    def stop(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join()

    def _look(self) -> None:
        size = 0
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            pid = int(entry.name)
            if pid in self._known or int(fields[1]) in self._known:
                self._known.add(pid)
                self.cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICK
                size += int(fields[21]) * _PAGE
        self.peak = max(self.peak, size)
