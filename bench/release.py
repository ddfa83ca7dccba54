"""`anonymize` against anjana, anonypyx and ARX: what is lost, how long it takes, how it grows.

Run with `make bench`, or one part alone: `python -m bench.release utility`. Peers run here, in
environments of their own, on the same data, and one scorer reads everybody's released file. ARX was
measured elsewhere, on a machine of the same kind. Times of discreet are those of whole commands from
a cold start, with reading, writing and checking what was written, unless a table says otherwise;
peers' times are of their call alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from typing import Any

from bench import release_scale
from bench.figures import FigureTable
from bench.release_process import DISCREET, CommandFailed, Measured, aimed, best, measure, timely
from bench.release_search import DATA, golden_cases, search_alone
from bench.release_utility import ACCEPT, OUT, command, utility

# table, criteria, suppression, method, aim in seconds, ARX's warm search
SEARCHES = [
    ("A8", "k5", 0.0, "full-domain", None, "0.026"),
    ("A8", "k5", 0.05, "full-domain", 0.06, "0.334"),
    ("A8", "k5", 1.0, "full-domain", None, "0.441"),
    ("A8", "k10", 0.05, "full-domain", None, "0.379"),
    ("A8", "k5+t0.2", 0.05, "full-domain", 0.8, "1.4 to 2.6"),
    ("C7", "k5", 0.0, "full-domain", None, "0.241"),
    ("C7", "k5", 0.05, "full-domain", 0.4, "2.257"),
    ("C7", "k5", 1.0, "full-domain", None, "9.428"),
    ("A8", "k5", 0.0, "local", None, "4 to 5, tuned"),
    ("C7", "k5", 0.0, "local", None, ""),
]
COLD = [
    ("full-domain 5 %", ("--method", "full-domain", "--suppress", "5%"), 1.0, "4 to 6"),
    ("local (default)", (), None, ""),
    ("mondrian", ("--method", "mondrian"), None, ""),
]
MANY = {"creditcard_int": "3.5 to 21 minutes", "mach2019_int": "39 minutes"}


def search_in_process(table: str, criteria: str, share: float, method: str) -> Any:
    """Return the times and the Loss of a search in a process of its own."""
    arguments = json.dumps([table, criteria, share, method])
    return measure([sys.executable, "-m", "bench.release", "--search", arguments]).json


def measure_search() -> FigureTable:
    """Return the CPU seconds of the search alone, beside ARX's."""
    rows: list[tuple[str, ...]] = []
    for table, criteria, share, method, _, arx in SEARCHES:
        took = search_in_process(table, criteria, share, method)
        name = f"{table}, {criteria.replace('+', ' and ')}, {method}"
        name += f" {share:.0%}".replace("%", " %") if method == "full-domain" else ""
        rows.append((name, f"{took['cpu']:.2f} s", f"{arx} s" if arx else ""))
    return FigureTable(("", "discreet", "ARX, warm (measured elsewhere)"), tuple(rows))


def measure_columns() -> FigureTable:
    """Return the Loss and the CPU seconds of tables with many quasi-identifiers."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, ...]] = []
    for name, arx in MANY.items():
        width, took = release_many(name)
        found = took.json
        title = f"{name}, {found['rows']:,} rows"
        rows.append((title, f"{width}", f"{found['loss']:.4f}", f"{took.cpu:.1f} s", arx))
    return FigureTable(("", "columns", "Loss", "CPU", "ARX, as published"), tuple(rows))


def release_many(name: str) -> tuple[int, Measured]:
    """Return how many columns a table has, and what releasing it took."""
    path = DATA / name / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        names = file.readline().strip().split(";")
    took = measure(
        [
            *(DISCREET, "anonymize", str(path), "--delimiter", ";", "--quasi", ",".join(names)),
            *("--hierarchies", str(path.parent / "hierarchies"), "--k", "5", "--json"),
            *("-o", str(OUT / "many.csv"), "--force", *ACCEPT),
        ]
    )
    return len(names), took


def speed() -> None:
    """Print the time of the search alone, and that of whole commands."""
    print("\nThe search alone: the best of five, and the first in its process")
    print(f"{'':<30}{'CPU s':>8}{'wall s':>8}{'first':>8}{'Loss':>8}  {'aim':<20}ARX elsewhere")
    for table, criteria, share, method, aim, arx in SEARCHES:
        took = search_in_process(table, criteria, share, method)
        name = f"{table} {criteria} {method} {share:.0%}"
        print(
            f"{name:<30}{took['cpu']:>8.3f}{took['wall']:>8.3f}{took['first']:>8.3f}"
            f"{took['loss']:>8.4f}  {aimed(took['cpu'], aim, digits=3):<20}{arx}"
        )
    print("\nThe whole command from a cold process, A8, k=5: the best of three")
    print(f"{'':<30}{'wall s':>8}{'CPU s':>8}{'peak MB':>8}  {'aim':<28}ARX elsewhere")
    for name, words, aim, arx in COLD:
        took = best(command("A8", OUT / "cold.csv", "--k", "5", *words), times=3)
        print(
            f"{name:<30}{took.wall:>8.2f}{took.cpu:>8.2f}{took.memory:>8.0f}"
            f"  {timely(took, aim):<28}{arx}"
        )


def columns() -> None:
    """Print what many quasi-identifiers take and lose."""
    print("\nMany quasi-identifiers, k=5, local: the whole command")
    print(
        f"{'':<18}{'columns':>8}{'Loss':>8}{'hidden':>8}{'wall s':>8}{'CPU s':>8}{'peak MB':>8}"
        f"  {'aim':<28}ARX, published"
    )
    for name, arx in MANY.items():
        width, took = release_many(name)
        found = took.json
        print(
            f"{name:<18}{width:>8}{found['loss']:>8.4f}{found['suppressed']:>8,}"
            f"{took.wall:>8.1f}{took.cpu:>8.1f}{took.memory:>8.0f}  {timely(took, 60):<28}{arx}"
        )


def golden() -> None:
    """Print in how many cases the optimum is ARX's."""
    found = golden_cases()
    print(f"\nGolden: {found['same']} of {found['cases']} optima have the score of ARX 3.9.2")


PARTS = {
    "utility": utility,
    "speed": speed,
    "columns": columns,
    "golden": golden,
    "scale": release_scale.growth,
    "large": release_scale.large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", action="store_true", help="also 50 and 100 million rows")
    parser.add_argument("--search", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.search:
        print(json.dumps(search_alone(*json.loads(given.search))))
        return
    sys.stdout.reconfigure(line_buffering=True)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}: where the load is higher, wall times say little")
    for name in given.parts or [name for name in PARTS if name != "large" or given.scale]:
        if name not in ("scale", "large") and not DATA.exists():
            print(f"\n{name}: skipped, {DATA} is not here")
            continue
        OUT.mkdir(parents=True, exist_ok=True)
        try:
            PARTS[name]()
        except CommandFailed as failed:
            print(f"\n{name}: a command failed: {failed}")
        finally:
            shutil.rmtree(OUT, ignore_errors=True)


if __name__ == "__main__":
    main()
