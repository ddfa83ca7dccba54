"""`ask` against the same aggregation without protection, and against peers.

Run with `make bench`, or one part alone: `python -m bench.answer engine`. COUNT, SUM and AVG by 100
public keys of a clamped value, epsilon = 1, from Parquet. discreet and plain DuckDB take turns in one
process, and every time is the least of its turns; peers run in environments of their own. `--slow` adds
Tumult Analytics and PipelineDP, and 10 million rows for those who need minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench import answer_small
from bench.answer_visits import CLAMPED, PLAIN, Unit, policy, visits
from bench.figures import FigureTable
from bench.people import FOLDER
from bench.release_process import DISCREET, CommandFailed, aimed, measure, peer

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = (1_000_000, 10_000_000)
TURNS = {1_000_000: 15, 10_000_000: 7}
PLAIN_NAME = "plain DuckDB, no protection"
# name, unit, is registered, aim of the ratio to plain DuckDB
OURS: list[tuple[str, Unit, bool, float]] = [
    ("discreet, row", "row", False, 1.15),
    ("discreet, user, registered", "user", True, 2.0),
    ("discreet, user", "user", False, 10.0),
]
# name, environment, unit, largest number of rows, turns, is slow
PEERS = [
    ("SmartNoise SQL on DuckDB, row", "smartnoise", "row", 10_000_000, 5, False),
    ("SmartNoise SQL on DuckDB, user", "smartnoise", "user", 10_000_000, 3, False),
    ("diffprivlib, row, n public", "diffprivlib", "row", 10_000_000, 5, False),
    ("OpenDP (Polars), row", "opendp", "row", 10_000_000, 3, False),
    ("OpenDP (Polars), user", "opendp", "user", 1_000_000, 2, False),
    ("OpenDP (Polars), user", "opendp", "user", 10_000_000, 1, True),
    ("Tumult, row, no AVG", "tumult", "row", 1_000_000, 2, True),
    ("Tumult, user, no AVG", "tumult", "user", 1_000_000, 1, True),
    ("PipelineDP, row, in memory", "pipelinedp", "row", 1_000_000, 1, True),
    ("PipelineDP, user, in memory", "pipelinedp", "user", 1_000_000, 1, True),
]
KEPT = FOLDER / "answer-speed.json"
HEADER = f"{'':<34}{'wall s':>9}{'CPU s':>9}{'ratio':>9}{'CPU':>9}{'peak MB':>10}  aim"

Took = dict[str, float]


def engine(rows: int) -> dict[str, Took]:
    """Let plain DuckDB and discreet take turns, in this process."""
    import duckdb

    path = visits(rows)
    connection = duckdb.connect()
    connection.from_parquet(str(path)).create_view("visits")
    works: dict[str, Callable[[int], object]] = {
        PLAIN_NAME: lambda _: connection.execute(PLAIN).to_arrow_table(),
        "the same, values clamped": lambda _: connection.execute(CLAMPED).to_arrow_table(),
    }
    with TemporaryDirectory() as folder:
        for name, unit, is_registered, _ in OURS:
            works[name] = asker(path, Path(folder), unit=unit, is_registered=is_registered)
        return turns(works, TURNS[rows])


def asker(path: Path, folder: Path, *, unit: Unit, is_registered: bool) -> Callable[[int], object]:
    """Return a function that asks a question that was not asked before: what is kept is not measured."""
    import discreet

    inside = folder / f"{unit}-{is_registered}"
    inside.mkdir()
    written = policy(path.resolve(), inside, unit=unit)
    source = registered(path, written, inside) if is_registered else path
    curator = discreet.open(source, written, ledger=inside / "ledger.db", table="visits")
    return lambda turn: curator.ask(PLAIN, epsilon=1 + Decimal(turn) / 1_000_000).to_arrow()


def registered(path: Path, written: Path, folder: Path) -> Path:
    """Write the copy with ranks of each user's rows; how long that takes is no part of a question."""
    copy = folder / "visits.parquet"
    took = measure([DISCREET, "register", str(path), "--policy", str(written), "-o", str(copy)])
    print(
        f"  (registered once, in {took.wall:.1f} s of wall time and {took.cpu:.1f} s of CPU time)"
    )
    return copy


def turns(works: dict[str, Callable[[int], object]], number: int) -> dict[str, Took]:
    """Return the least wall and CPU seconds of each work over turns that go round."""
    took: dict[str, Took] = {}
    for turn in range(number):
        for name, work in works.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work(turn)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            before = took.get(name, {"wall": wall, "cpu": cpu})
            took[name] = {"wall": min(wall, before["wall"]), "cpu": min(cpu, before["cpu"])}
    return took


def row(name: str, found: Took, base: Took, aim: float | None = None) -> None:
    memory = f"{found['memory']:.0f}" if "memory" in found else ""
    ratio = found["cpu"] / base["cpu"]
    print(
        f"{name:<34}{found['wall']:>9.3f}{found['cpu']:>9.3f}{found['wall'] / base['wall']:>9.2f}"
        f"{ratio:>9.2f}{memory:>10}  {aimed(ratio, aim, digits=2)}"
    )


def against_engine() -> None:
    """Print what protection costs on top of the same aggregation."""
    aims = {name: aim for name, _, _, aim in OURS}
    for rows in ROWS:
        print(f"\n{rows:,} visits of {rows // 10:,} users: COUNT, SUM and AVG by 100 keys")
        found = engine(rows)
        print(HEADER)
        for name, took in found.items():
            row(name, took, found[PLAIN_NAME], aims.get(name))


def measure_time() -> FigureTable:
    """Return the CPU seconds of discreet and of its peers, and their ratio to plain DuckDB."""
    cells: dict[str, dict[int, str]] = {}
    kept = against_peers(slow=True, again=False)
    for rows in ROWS:
        found = engine(rows)
        base = found.pop(PLAIN_NAME)["cpu"]
        pairs = {name: (took["cpu"], base) for name, took in found.items()}
        for name, *_ in PEERS:
            if (both := kept.get(f"{name} {rows}")) is not None:
                pairs[name] = both["peer"]["cpu"], both["plain"]["cpu"]
        for name, (took, plainly) in pairs.items():
            cells.setdefault(name, {})[rows] = f"{took:.3g} s ({took / plainly:,.1f})"
    lines = tuple((name, *(of.get(rows, "") for rows in ROWS)) for name, of in cells.items())
    return FigureTable(("CPU (times plain DuckDB)", *(f"{rows:,} rows" for rows in ROWS)), lines)


def against_peers(*, slow: bool, again: bool) -> dict[str, dict[str, Took]]:
    """Print what peers take; what they took is kept, with the plain DuckDB of the same minute."""
    kept: dict[str, dict[str, Took]] = {}
    if KEPT.exists() and not again:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for rows in ROWS:
        print(f"\npeers, {rows:,} visits")
        print(HEADER)
        for name, environment, unit, most, times, is_slow in PEERS:
            key = f"{name} {rows}"
            if rows > most or (is_slow and not slow and key not in kept):
                continue
            if is_slow and any(n == name and not s and m >= rows for n, _, _, m, _, s in PEERS):
                continue
            if key not in kept:
                try:
                    kept[key] = {
                        "plain": plain(rows),
                        "peer": theirs(environment, rows, unit, times),
                    }
                except CommandFailed as failed:
                    print(f"{name}: {str(failed).strip().splitlines()[-1]}")
                    continue
                KEPT.write_text(json.dumps(kept), encoding="utf-8")
            row(name, kept[key]["peer"], kept[key]["plain"])
    return kept


def plain(rows: int) -> Took:
    import duckdb

    connection = duckdb.connect()
    connection.from_parquet(str(visits(rows))).create_view("visits")
    return turns({"": lambda _: connection.execute(PLAIN).to_arrow_table()}, TURNS[rows])[""]


def theirs(environment: str, rows: int, unit: str, times: int) -> Took:
    script = f"bench/peers/{environment}_answer.py"
    python = peer(environment, FOLDER)
    took = measure([python, script, "speed", str(visits(rows)), unit, str(times)])
    return json.loads(took.text.strip().splitlines()[-1])


PARTS = ("engine", "peers", *answer_small.SMALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--slow", action="store_true", help="also peers that need minutes")
    parser.add_argument("--again", action="store_true", help="measure peers again")
    given = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}: where the load is higher, wall times say little")
    for part in given.parts or PARTS:
        if part == "engine":
            against_engine()
        elif part == "peers":
            against_peers(slow=given.slow, again=given.again)
        else:
            answer_small.SMALL[part]()


if __name__ == "__main__":
    main()
