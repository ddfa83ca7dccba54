"""Census blocks of Adult: how much of the people comes back from their cross tables.

Run with `python -m bench.attack_census`. One draw of each size, five columns; CPU seconds.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import FigureTable
from bench.release_search import DATA

COLUMNS = ("sex", "race", "marital-status", "education", "workclass")
CASES = ((10, 2), (25, 2), (50, 2), (100, 2), (100, 3), (200, 3))
SECONDS = 60


def draw_people(count: int, folder: Path) -> Path:
    """Write `count` people of Adult, drawn by a hash of their place, and return the file."""
    import duckdb

    path = folder / f"people-{count}.csv"
    rows = duckdb.read_csv(str(DATA / "adult" / "adult.csv"), delimiter=";", all_varchar=True)
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    numbered = rows.project(f"{names}, row_number() OVER () AS place")
    numbered.order("hash(place)").limit(count).project(names).write_csv(str(path))
    return path


def measure_census() -> FigureTable:
    """Return the shares of people that are certain, guaranteed and matched, by block."""
    from discreet.attacks.census.marginals import tabulate_marginals
    from discreet.attacks.census.reconstruct import reconstruct_block

    lines: list[tuple[str, ...]] = []
    with TemporaryDirectory() as name:
        tabulate_marginals(str(draw_people(3, Path(name))), ways=2, columns=COLUMNS)  # imports
        for count, ways in CASES:
            path = str(draw_people(count, Path(name)))
            began = time.process_time()
            block = tabulate_marginals(path, ways=ways, columns=COLUMNS, suppress=0)
            found = reconstruct_block(block, most=1000, seconds=SECONDS, truth=path)
            took = time.process_time() - began
            shares = [found.details[part] / count for part in ("certain", "guaranteed", "matched")]
            cells = (f"{share:.0%}".replace("%", " %") for share in shares)
            lines.append((f"{count}", f"{ways} columns", *cells, f"{took:.1f} s"))
    head = ("people", "cross tables of", "certain", "guaranteed", "matched", "CPU")
    return FigureTable(head, tuple(lines))


def main() -> None:
    print(measure_census().to_markdown())


if __name__ == "__main__":
    main()
