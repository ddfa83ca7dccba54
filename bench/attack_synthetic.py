"""Attacks on synthetic data: discreet and Anonymeter on the same tables, CPU seconds and risks.

Run with `python -m bench.attack_synthetic [ROWS …]`. Source, control group and synthetic table have
ROWS people each (10,000 and 50,000); a tenth of the synthetic table is copied from the source, the rest
is drawn from the population. Both make 2,000 guesses, with one core. Anonymeter runs in an environment
of its own, after its compiler has warmed up; what it took is kept. `--again` asks it again.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figures import FigureTable
from bench.people import FOLDER, people
from bench.release_process import measure, peer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = (10_000, 50_000)
ALONE = 200_000  # discreet only
GUESSES = 2000
COPIED = 0.1
FIRST, SECOND = ["age", "race", "education"], ["sex", "marital", "workclass", "occupation"]
SECRET = "occupation"
KEPT = FOLDER / "attack-synthetic.json"


def tables(rows: int) -> Path:
    """Return a folder with three tables of `rows` people, made once and kept."""
    import duckdb

    folder = FOLDER / f"synthetic-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    made = people("leaning", 4 * rows)
    connection = duckdb.connect(config={"threads": 1})
    numbered = f"SELECT *, row_number() OVER () AS n FROM '{made}'"
    copied = int(rows * COPIED)
    ranges = {
        "source": f"n <= {rows}",
        "control": f"n > {rows} AND n <= {2 * rows}",
        "synthetic": f"n <= {copied} OR (n > {2 * rows} AND n <= {3 * rows - copied})",
    }
    for name, condition in ranges.items():
        path = folder / f"{name}.parquet"
        if not path.exists():
            # Copies must not stand first: the first of equally close records is taken.
            query = f"SELECT * EXCLUDE (n) FROM ({numbered}) WHERE {condition} ORDER BY hash(n)"
            connection.sql(query).write_parquet(str(path))
    return folder


def ours(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what discreet takes for each attack, reading the three tables once."""
    from discreet.attacks.synthetic.attribute import infer_attribute
    from discreet.attacks.synthetic.closest import find_closest_people
    from discreet.attacks.synthetic.linkability import link_column_sets
    from discreet.attacks.synthetic.singling_out import single_out
    from discreet.attacks.synthetic.trial import open_trial

    taken: dict[str, dict[str, Any]] = {}

    def take(name: str, work: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        found = work()
        taken[name] = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        return found

    source, control = folder / "source.parquet", folder / "control.parquet"
    trial = take(
        "reading",
        lambda: open_trial(folder / "synthetic.parquet", source=source, control=control),
    )
    attacks = {
        "singling-out": lambda rng: single_out(trial, rng=rng, guesses=GUESSES)[-1],
        "linkability": lambda rng: link_column_sets(trial, first=FIRST, second=SECOND, rng=rng),
        "attribute": lambda rng: infer_attribute(trial, SECRET, rng=rng, guesses=GUESSES),
        "closest": lambda rng: find_closest_people(trial, rng=rng, guesses=GUESSES),
    }
    for name, attack in attacks.items():
        found = take(name, lambda attack=attack: attack(np.random.default_rng(1)))
        taken[name] |= {"risk": found.advantage, "interval": found.details["risk_interval"]}
    return taken


def theirs(folder: Path, *, again: bool) -> dict[str, dict[str, Any]]:
    """Return what Anonymeter takes."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if again or folder.name not in kept:
        python = peer("anonymeter", FOLDER)
        given = [json.dumps(part) for part in (FIRST, SECOND, SECRET)]
        script = "bench/peers/anonymeter_synthetic.py"
        measure([python, script, str(tables(2000)), "50", *given])
        ran = measure([python, script, str(folder), str(GUESSES), *given])
        lines = [json.loads(line) for line in ran.text.splitlines() if line.startswith("{")]
        kept[folder.name] = {line["attack"]: line for line in lines}
        KEPT.write_text(json.dumps(kept, indent=1))
    return kept[folder.name]


def measure_synthetic() -> FigureTable:
    """Return the CPU seconds of discreet and of Anonymeter, by the number of rows."""
    own = {rows: ours(tables(rows)) for rows in (*ROWS, ALONE)}
    other = {rows: theirs(tables(rows), again=False) for rows in ROWS}

    def beside(name: str, rows: int) -> str:
        took = other[rows].get(name)
        if took is None:
            return ""
        return f"{took['cpu']:.1f} s ({took['cpu'] / own[rows][name]['cpu']:.0f}×)"

    lines = [
        (
            name,
            *(cell for n in ROWS for cell in (f"{own[n][name]['cpu']:.1f} s", beside(name, n))),
            f"{own[ALONE][name]['cpu']:.1f} s",
        )
        for name in own[ALONE]
    ]
    heads = (head for rows in ROWS for head in (f"{rows:,} rows", "Anonymeter"))
    return FigureTable(("", *heads, f"{ALONE:,} rows"), tuple(lines))


def shown(took: dict[str, Any] | None) -> str:
    """Return seconds and risk in columns."""
    if took is None:
        return f"{'–':>9}{'':>24}"
    low, high = took.get("interval", (0, 0))
    risk = f"{took['risk']:.3f} ({low:.3f}–{high:.3f})" if "risk" in took else ""
    return f"{took['cpu']:>9.2f}{risk:>24}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=int, default=ROWS)
    parser.add_argument("--again", action="store_true", help="measure Anonymeter again")
    given = parser.parse_args()
    for rows in given.rows:
        folder = tables(rows)
        own, other = ours(folder), theirs(folder, again=given.again)
        print(f"\n{rows:,} rows in each of three tables, {GUESSES:,} guesses; CPU seconds, risk")
        print(f"{'':<14}{'discreet':>9}{'':>24}{'Anonymeter':>11}{'':>22}{'ratio':>9}")
        for name, took in own.items():
            beside = other.get(name)
            ratio = f"{beside['cpu'] / took['cpu']:>8.0f}x" if beside else ""
            print(f"{name:<14}{shown(took)}  {shown(beside)}{ratio}")


if __name__ == "__main__":
    main()
