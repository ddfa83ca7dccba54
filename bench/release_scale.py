"""Millions of rows: `anonymize` from file to file, against DuckDB reading, grouping and writing."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from bench.figures import FigureTable
from bench.people import FOLDER, QUASI, SENSITIVE, people, people_in_parts
from bench.release_process import DISCREET, CommandFailed, Measured, best, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

OUT = FOLDER / "scale"
PARTS = 10
MEMORY = "4GB"
LARGE = {"duckdb": 50_000_000, "spark": 100_000_000}
MOST = 3  # times plain DuckDB, from AIMED rows on
AIMED = 10_000_000
REPEATS = 2
METHODS = {
    "local (default)": (),
    "mondrian": ("--method", "mondrian"),
    "full-domain 5 %": ("--method", "full-domain", "--suppress", "5%"),
}


def plain(source: str, output: str) -> None:
    """Read, group and write a file as DuckDB does it when nothing is protected."""
    import duckdb

    connection = duckdb.connect()
    rows = connection.read_parquet(source)
    columns = ", ".join((*QUASI, SENSITIVE))
    rows.aggregate(f"{columns}, COUNT(*) AS rows", columns).to_arrow_table()
    rows.write_parquet(output, compression="zstd")


def measure_scale() -> FigureTable:
    """Return CPU seconds and memory of releases of 1 to 50 million rows, beside plain DuckDB."""
    return _as_figures({**growth(), **large({"duckdb": LARGE["duckdb"]})})


def measure_spark() -> FigureTable:
    """Return CPU seconds and memory of a release of 100 million rows on Spark, beside plain DuckDB."""
    return _as_figures(large({"spark": LARGE["spark"]}))


def _as_figures(measured: Mapping[int, Mapping[str, Measured]]) -> FigureTable:
    lines: list[tuple[str, ...]] = []
    for rows, runs in measured.items():
        base = runs["plain DuckDB"]
        for name, took in runs.items():
            ratio = "" if took is base else f"{took.cpu / base.cpu:.1f}"
            cells = (f"{took.cpu:.1f} s", ratio, f"{took.memory / 1024:.1f} GB")
            lines.append((f"{rows // 1_000_000} million" if took is base else "", name, *cells))
    return FigureTable(("rows", "", "CPU", "times plain DuckDB", "peak memory"), tuple(lines))


def growth(sizes: tuple[int, ...] = (1_000_000, 10_000_000)) -> dict[int, dict[str, Measured]]:
    """Show that time grows no faster than rows, and stays near that of plain DuckDB."""
    OUT.mkdir(parents=True, exist_ok=True)
    earlier: dict[str, Measured] = {}
    runs: dict[int, dict[str, Measured]] = {}
    for rows in sizes:
        source = people("leaning", rows)
        print(f"\nleaning: {rows:,} rows, 6 quasi-identifiers, k=5, Parquet to Parquet")
        print(HEADER)
        base = best(_plain(str(source)), times=REPEATS)
        _row("plain DuckDB", base, base)
        runs[rows] = {"plain DuckDB": base}
        for name, words in METHODS.items():
            line = _command(str(source), str(OUT / "released.parquet"), *words)
            took = runs[rows][name] = best(line, times=REPEATS)
            _row(f"anonymize, {name}", took, base, _within(took, base) if rows >= AIMED else "")
            if name in earlier:
                times = took.cpu / earlier[name].cpu
                print(f"{'':<30}{times:.1f} times the CPU for {rows // sizes[0]} times the rows")
            earlier[name] = took
    shutil.rmtree(OUT)
    return runs


def large(sizes: Mapping[str, int] = LARGE) -> dict[int, dict[str, Measured]]:
    """Run 50 million rows on DuckDB and 100 million on Spark, and tell how much memory they take."""
    runs: dict[int, dict[str, Measured]] = {}
    for engine, rows in sizes.items():
        OUT.mkdir(parents=True, exist_ok=True)
        folder = people_in_parts("leaning", rows, parts=PARTS)
        print(f"\nleaning: {rows:,} rows in {PARTS} files, k=5, on {engine}")
        print(HEADER)
        base = measure(_plain(str(folder / "*.parquet")))
        _row("plain DuckDB", base, base)
        runs[rows] = {"plain DuckDB": base}
        if engine == "duckdb":
            source, output = str(folder / "*.parquet"), str(OUT / "released.parquet")
            line = _command(source, output, "--memory", MEMORY)
        else:
            line = _command(f"spark:{folder.absolute()}", f"{OUT / 'released.parquet'}/")
        try:
            took = measure(line, has_children=engine == "spark")
        except CommandFailed as failed:
            print(f"anonymize failed: {failed}")
        else:
            _row(f"anonymize on {engine}", took, base)
            runs[rows][f"local on {engine}"] = took
            found = took.json
            print(f"{'':<30}k={found['k']}, {found['classes']:,} classes, Loss {found['loss']:.4f}")
        shutil.rmtree(OUT)
        shutil.rmtree(folder)
    return runs


def _within(took: Measured, base: Measured) -> str:
    """Return whether it took at most three times as long; see `timely` about busy machines."""
    walls, cpus = took.wall / base.wall, took.cpu / base.cpu
    met = "met" if walls <= MOST else "met in CPU time" if cpus <= MOST else "MISSED"
    return f"<= {MOST}: {met}"


HEADER = f"{'':<30}{'wall s':>9}{'CPU s':>9}{'ratio':>8}{'CPU':>8}{'peak MB':>10}  aim"


def _row(name: str, took: Measured, base: Measured, aim: str = "") -> None:
    print(
        f"{name:<30}{took.wall:>9.2f}{took.cpu:>9.2f}{took.wall / base.wall:>8.2f}"
        f"{took.cpu / base.cpu:>8.2f}{took.memory:>10.0f}  {aim}",
        flush=True,
    )


def _plain(source: str) -> list[str]:
    output = str(OUT / "plain.parquet")
    return [sys.executable, "-m", "bench.release_scale", source, output]


def _command(source: str, output: str, *words: str) -> list[str]:
    return [
        *(DISCREET, "anonymize", source, "--quasi", ",".join(QUASI), "--sensitive", SENSITIVE),
        *("--k", "5", "-o", output, "--force", "--json", *words),
        *("--accept-risk", "invented people, measured for time"),
    ]


if __name__ == "__main__":
    plain(sys.argv[1], sys.argv[2])
