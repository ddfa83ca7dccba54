"""What all peers are asked about: the same public facts, questions and stopwatch.

Runs in each peer's own environment, so that it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

EPSILON = 1.0

# Adult: the values and ranges that the data's own documentation tells.
EDUCATION = [
    *("10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th", "Assoc-acdm", "Assoc-voc"),
    *("Bachelors", "Doctorate", "HS-grad", "Masters", "Preschool", "Prof-school", "Some-college"),
]
SEX = ["Female", "Male"]
CELLS = [(education, sex) for education in EDUCATION for sex in SEX]
AGE = (17, 90)
HOURS = (1, 99)

# Made-up visits: 100 known keys, values clamped to a range, at most 5 keys with 2 rows per user.
KEYS = [f"key-{number:02d}" for number in range(100)]
VALUES = (0, 100)
GROUPS_PER_USER = 5
ROWS_PER_GROUP = 2

Question = Callable[[], list[float]]


def serve(
    *, accuracy: Callable[[str], dict[str, Question]], speed: Callable[[str, str], Work]
) -> None:
    """Do what the command line asks for and print it as JSON.

    `accuracy PATH QUESTION REPEATS` prints a list of answers, each a list of numbers in the order of
    the public keys; `speed PATH UNIT REPEATS` prints the least wall and CPU seconds of all runs.
    """
    kind, path, word, repeats = sys.argv[1:]
    if kind == "accuracy":
        ask = accuracy(path)[word]
        found: object = [ask() for _ in range(int(repeats))]
    else:
        found = timed(speed(path, word), int(repeats))
    print("\n" + json.dumps(found))


Work = Callable[[], object]


def timed(work: Work, repeats: int) -> dict[str, float]:
    """Return the least wall and CPU seconds, and the peak memory in MB."""
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), cpu_seconds()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(cpu_seconds() - cpu)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": min(walls), "cpu": min(cpus), "memory": memory}


def cpu_seconds() -> float:
    """CPU time of this process and of all that descend from it and still run, such as Spark's JVM."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        # With the time of children that it has waited for: Spark's Python workers.
        spent[pid] = sum(int(field) for field in fields[11:15]) / tick
    mine = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= grown
    return time.process_time() + sum(spent[pid] for pid in mine if pid != os.getpid())
