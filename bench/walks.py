"""Three walks through the source: how many files and calls of discreet a table, a question and a statement pass.

Run with `python -m bench.walks`. Each walk runs twice, and the second run is counted: imports and caches of a
process are no part of it. A call is a call of a Python function that is defined in discreet.
"""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import discreet
from bench.figures import FigureTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

SOURCE = str(Path(discreet.__file__).parent)
HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))
QUESTION = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


def count_calls(walk: Callable[[], object]) -> tuple[int, int]:
    """Return how many files of discreet a walk enters, and how many calls it makes there."""
    files_entered: set[str] = set()
    calls = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            calls += 1
            files_entered.add(frame.f_code.co_filename)

    walk()
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return len(files_entered), calls


def assess_walk(_: Path) -> tuple[int, int]:
    """Count `discreet.assess` of the bundled patients."""
    source, quasi = HOSPITAL / "patients.csv", ["birth_date", "sex", "postcode"]
    return count_calls(lambda: discreet.assess(source, quasi=quasi, sensitive=["diagnosis"]))


def ask_walk(folder: Path) -> tuple[int, int]:
    """Count a question with a policy that was not asked before, curator and ledger being open."""
    questions = iter((QUESTION, QUESTION.replace("n FROM", "people FROM")))
    with discreet.open(
        HOSPITAL / "patients.csv", HOSPITAL / "policy.yaml", ledger=folder / "ledger.sqlite"
    ) as curator:
        return count_calls(lambda: curator.ask(next(questions), epsilon="0.01"))


def select_walk(folder: Path) -> tuple[int, int]:
    """Count a SELECT through the gateway: split, prepared and run, without the protocol."""
    from discreet.guard.identity.authenticator import ClientInfo
    from discreet.server.settings import read_settings
    from discreet.server.startup import open_server

    os.environ["DISCREET_ADMIN_PASSWORD"] = "a long password"
    opened = open_server(read_settings(folder / "data", port=0))
    client = ClientInfo("admin", "127.0.0.1", is_local=True, is_encrypted=True)
    session = opened.server.open_session(client, {}, "test")

    def run(text: str) -> None:
        for statement in session.split(text):
            session.run(session.prepare(statement), ())

    run("CREATE TABLE t (id integer, x integer); INSERT INTO t VALUES (1, 2)")
    keys = iter((1, 2))  # a text that was planned before takes a shorter way
    try:
        return count_calls(lambda: run(f"SELECT x FROM t WHERE id = {next(keys)}"))
    finally:
        opened.server.close()


WALKS = {
    "`discreet assess` of a file": assess_walk,
    "a new question of `discreet ask`": ask_walk,
    "a SELECT through the server": select_walk,
}


def measure_walks() -> FigureTable:
    """Return files and calls of each walk."""
    rows: list[tuple[str, ...]] = []
    for name, walk in WALKS.items():
        with TemporaryDirectory() as folder:
            entered, calls = walk(Path(folder))
        rows.append((name, f"{entered}", f"{calls:,}"))
    return FigureTable(("walk", "files entered", "calls"), tuple(rows))


if __name__ == "__main__":
    print(measure_walks().to_markdown())
