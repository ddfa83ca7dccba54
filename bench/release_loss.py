"""What releases of tables that others use lose, by method: the figures of the pages about methods.

`python -m bench.release_loss` prints them. ARX's figures were measured with ARX 3.9.2 on another day, and
kaylode's with its own code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.figures import FigureTable
from bench.release_process import DISCREET, measure
from bench.release_search import DATA, TABLES, search_alone
from bench.release_utility import ACCEPT, ARX_LOSS, OUT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MANY = {
    "credit card clients, 24 columns, 30,000 rows, all but a few different": "creditcard_int",
    "a personality test, 16 columns, 73,489 rows": "mach2019_int",
}
KS = (5, 10)
KAYLODE = ("0.1045", "0.1704", "0.5–1.9 s")


def measure_methods() -> FigureTable:
    """Return the Loss of Adult, by ARX and by the two best methods."""
    arx = {
        "ARX, optimal full-domain (5 % suppressed)": "optimal 5 %",
        "ARX, local recoding, defaults": "local",
        "ARX, local recoding, tuned by an expert": "local, tuned by an expert",
    }
    rows = [(name, *(f"{ARX_LOSS[k][key]:.4f}" for k in KS)) for name, key in arx.items()]
    for name, method in (("`relaxed-mondrian`", "relaxed-mondrian"), ("**`local`**", "local")):
        losses = (search_alone("A8", f"k{k}", 0.0, method, repeats=1)["loss"] for k in KS)
        rows.append((name, *(f"{loss:.4f}" for loss in losses)))
    return FigureTable(("method", "k = 5", "k = 10"), tuple(rows))


def measure_tables() -> FigureTable:
    """Return the Loss of `local` on several tables."""

    def search(table: str, criteria: str) -> str:
        return f"{search_alone(table, criteria, 0.0, 'local', repeats=1)['loss']:.4f}"

    rows = [
        ("Adult, k = 2 / 25 / 100", " / ".join(search("A8", f"k{k}") for k in (2, 25, 100))),
        ("Adult, with 3 distinct occupations in each class", search("A8", "k5+l3")),
        ("Adult, with t-closeness 0.2 of the occupation", search("A8", "k5+t0.2")),
        ("Adult to predict the salary class (A8c)", search("A8c", "k5")),
        ("KDD Cup 98, 7 columns, 63,441 rows", search("C7", "k5")),
        *((name, _many_columns(table)) for name, table in MANY.items()),
    ]
    return FigureTable(("table (k = 5 unless said)", "loss"), tuple(rows))


def measure_mondrian() -> FigureTable:
    """Return the Loss and the CPU seconds of Mondrian's methods on Adult."""
    rows = [("Mondrian with hierarchies, best of others (kaylode)", *KAYLODE)]
    for method in ("mondrian", "relaxed-mondrian"):
        found = [search_alone("A8", f"k{k}", 0.0, method, repeats=3) for k in KS]
        losses = (f"{one['loss']:.4f}" for one in found)
        rows.append((f"`{method}`", *losses, f"{found[0]['cpu']:.1f} s"))
    path, quasi, _ = TABLES["A8"]
    plain = (_release(path, quasi, "--method", "mondrian", "--k", str(k)) for k in KS)
    name = "`mondrian`, no hierarchies, age a range, other columns kept or hidden"
    rows.append((name, *plain, ""))
    return FigureTable(("method", "k = 5", "k = 10", "CPU (k = 5)"), tuple(rows))


def _many_columns(name: str) -> str:
    path = DATA / name / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        names = file.readline().strip().split(";")
    return _release(path, names, "--hierarchies", str(path.parent / "hierarchies"), "--k", "5")


def _release(path: Path, quasi: Sequence[str], *words: str) -> str:
    """Return the Loss that the command tells."""
    OUT.mkdir(parents=True, exist_ok=True)
    took = measure(
        [
            *(DISCREET, "anonymize", str(path), "--delimiter", ";", "--quasi", ",".join(quasi)),
            *("-o", str(OUT / "loss.csv"), "--force", "--json", *ACCEPT, *words),
        ]
    )
    return f"{took.json['loss']:.4f}"


def main() -> None:
    for run in (measure_methods, measure_tables, measure_mondrian):
        print(run().to_markdown())


if __name__ == "__main__":
    main()
