"""`attack dictionary` against the same hashes and join in bare DuckDB.

Run with `python -m bench.attack_dictionary [CANDIDATES [ROWS]]`, 20,000,000 and 1,000,000 by default.
Candidates are numbers of eight digits; rows have one of 13,000 of them, hashed. DuckDB makes the
candidates by `range`, hashes them and joins: the obvious query.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import duckdb

from bench.figures import FigureTable
from bench.people import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

PSEUDONYMS = 13_000
HASHES = ("md5", "sha1", "sha256")


def make(name: str, candidates: int, rows: int) -> Path:
    """Return a Parquet file of hashed numbers, made once and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"hashed-{name}-{candidates}-{rows}.parquet"
    if not path.exists():
        number = f"lpad(((range % {PSEUDONYMS}) * {candidates // PSEUDONYMS})::VARCHAR, 8, '0')"
        query = f"SELECT {name}({number}) AS id FROM range({rows})"
        duckdb.sql(query).write_parquet(str(path))
    return path


def bare(path: Path, name: str, candidates: int) -> tuple[float, float, int]:
    """Return wall and CPU seconds of DuckDB, and rows whose hash was undone."""
    connection = duckdb.connect()
    wall, cpu = time.perf_counter(), time.process_time()
    found = connection.execute(
        f"""WITH guesses AS (SELECT lpad(range::VARCHAR, 8, '0') AS guess FROM range({candidates}))
        SELECT count(*) FROM '{path}' r JOIN guesses g ON r.id = {name}(g.guess)"""
    ).fetchone()
    return time.perf_counter() - wall, time.process_time() - cpu, int(found[0]) if found else 0


def ours(path: Path, name: str, candidates: int) -> tuple[float, float, int]:
    """Return wall and CPU seconds of the attack, and rows whose hash was undone."""
    from discreet.attacks.hashes.candidates import from_pattern
    from discreet.attacks.hashes.dictionary import attack_column
    from discreet.attacks.hashes.patterns import read_guess_pattern
    from discreet.engines.connect import open_table

    tens = candidates // 10_000_000
    pattern = read_guess_pattern(f"[0-{tens - 1}][0-9]{{7}}" if tens else "0[0-9]{7}")
    wall, cpu = time.perf_counter(), time.process_time()
    found = attack_column(open_table(path), "id", [from_pattern(pattern)])
    elapsed = time.perf_counter() - wall, time.process_time() - cpu
    if found.details["hash"] != name:
        raise SystemExit(f"{found.details['hash']} was found for {name}")
    return *elapsed, found.details["rows_inverted"]


def measure_hashes(candidates: int = 20_000_000, rows: int = 1_000_000) -> FigureTable:
    """Return the CPU seconds of the attack and of bare DuckDB, by hash."""
    lines: list[tuple[str, ...]] = []
    for name in HASHES:
        path = make(name, candidates, rows)
        (_, theirs, _), (_, mine, _) = (run(path, name, candidates) for run in (bare, ours))
        lines.append((name, f"{mine:.1f} s", f"{theirs:.1f} s", f"{mine / theirs:.2f}"))
    columns = (f"{candidates:,} candidates", "discreet", "bare DuckDB", "ratio")
    return FigureTable(columns, tuple(lines))


def main() -> None:
    candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    candidates = max(1, candidates // 10_000_000) * 10_000_000
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    print(f"{candidates:,} candidates, {rows:,} rows of {PSEUDONYMS:,} pseudonyms")
    header = ("", "wall s", "CPU s", "million hashes per CPU s", "rows undone")
    print(f"{header[0]:<22}{header[1]:>9}{header[2]:>9}{header[3]:>26}{header[4]:>13}")
    for name in HASHES:
        path = make(name, candidates, rows)
        times: dict[str, float] = {}
        for who, run in (("bare DuckDB", bare), ("attack dictionary", ours)):
            wall, cpu, undone = run(path, name, candidates)
            times[who] = cpu
            speed = candidates / cpu / 1e6
            print(f"{who + ', ' + name:<26}{wall:>5.1f}{cpu:>9.1f}{speed:>26.2f}{undone:>13,}")
        ratio = times["attack dictionary"] / times["bare DuckDB"]
        print(f"  CPU ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
