"""Several releases of the same people, as a function of k; and what classes tell, against bare DuckDB.

`python -m bench.attack_composition` prints tables of rates and CPU seconds. The releases are those of
`discreet anonymize --method mondrian` on Adult with its categories as numbers: 7 quasi-identifiers,
two draws of 17,581 of 30,162 rows, which share 5,000 people; what is to be learned is the occupation.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from tests.attack.overlapping import QUASI, ROWS, draw, publish, read_adult

from discreet.attack.classes.homogeneity import find_homogeneity
from discreet.attack.classes.inference import find_inference
from discreet.attack.classes.skewness import find_skewness
from discreet.attack.classes.told import opened_release, read_classes
from discreet.attack.releases.composition import find_composition
from discreet.attack.releases.republication import find_republication
from discreet.engines.connect import open_table

DATA = Path(os.environ.get("DISCREET_SHARED_DATA", "/work/shared/data"))
ON = {name: name for name in QUASI}
SEED = 1
PEOPLE = 5_000_000


def composition(adult: pa.Table, folder: Path) -> None:
    """Print what two releases tell together, for several k and two overlaps."""
    print(
        f"{'overlap':>8}{'k':>4}{'perfect':>9}{'alone':>8}{'candidates':>14}{'guesses right':>16}{'CPU s':>8}"
    )
    for rows, sizes in ((ROWS, (2, 5, 10, 30)), (15_331, (5, 10))):
        drawn = draw(adult, rows=rows, chance=np.random.default_rng(SEED))
        for k in sizes:
            paths = [
                publish(table, folder / f"{place}.csv", k=k)
                for place, table in enumerate((drawn.first, drawn.second))
            ]
            known = open_table(drawn.both)
            releases = [open_table(path, engine=known.engine) for path in paths]
            start = time.process_time()
            _, found = find_composition(known, releases, on=ON, sensitive=["occupation"])
            took = time.process_time() - start
            told, right = found.details["candidates"], found.details["guessed_right"]
            print(
                f"{found.targets:>8,}{k:>4}{found.rate:>9.1%}"
                f"{found.details['told_by_each_release'][0]:>8.1%}"
                f"{max(told['each']):>7.1f} →{told['together']:>5.1f}"
                f"{max(right['each']):>9.0%} →{right['together']:>5.0%}{took:>8.2f}"
            )
            known.engine.close()


def republication(adult: pa.Table, folder: Path, *, k: int = 5) -> None:
    """Print what successive releases tell when people have birthdays and some are replaced."""
    print(f"\nRepublication at k={k}: a birthday each time, and a share of the people replaced")
    numbered = adult.append_column("person", pa.array(range(adult.num_rows)))
    chance = np.random.default_rng(SEED)
    for turnover, count in ((0.1, 5), (0.5, 3)):
        order = chance.permutation(adult.num_rows)
        inside, outside = list(order[:15_000]), list(order[15_000:])
        paths: list[Path] = []
        lists: list[pa.Table] = []
        for place in range(count):
            if place:
                leaving = int(turnover * len(inside))
                inside = list(chance.permutation(inside))
                inside, outside = inside[leaving:] + outside[:leaving], outside[leaving:]
            table = _older(numbered.take(np.array(inside)), place)
            lists.append(table)
            paths.append(publish(table.drop(["person"]), folder / f"{place}.csv", k=k))
        # Those who stay to the end: in every list.
        stay = set.intersection(*(set(table["person"].to_pylist()) for table in lists))
        kept = [_only(table, stay) for table in lists]
        home = open_table(kept[0])
        known = [home, *(open_table(table, engine=home.engine) for table in kept[1:])]
        releases = [open_table(path, engine=home.engine) for path in paths]
        (found,) = find_republication(
            known, releases, on=ON, sensitive=["occupation"], name="person"
        )
        told = " → ".join(f"{share:.1%}" for share in found.details["told_after_each"])
        print(f"  {turnover:.0%} replaced, {found.targets:,} who stay: {told}")
        home.engine.close()


def classes() -> None:
    """Print the CPU of three attacks on classes against the GROUP BY they rest on."""
    chance = np.random.default_rng(SEED)
    table = pa.table(
        {
            "age": chance.integers(0, 20, PEOPLE),
            "zip": chance.integers(0, 1_000, PEOPLE),
            "sex": chance.integers(0, 2, PEOPLE),
            "ill": chance.integers(0, 100, PEOPLE),
        }
    )
    connection = duckdb.connect()
    connection.register("people", table)
    start = time.process_time()
    connection.execute(
        "CREATE TABLE cells AS SELECT age, zip, sex, ill, count(*) AS n FROM people GROUP BY ALL"
    )
    bare = time.process_time() - start
    start = time.process_time()
    with opened_release(table, quasi=["age", "zip", "sex"], sensitive=["ill"]) as bound:
        told = read_classes(bound).columns[0]
        for attack in (find_homogeneity, find_inference, find_skewness):
            attack(told)
    took = time.process_time() - start
    print(
        f"\nHomogeneity, inference and skewness on {PEOPLE:,} rows in {len(told.groups):,} classes: "
        f"{took:.2f} CPU s, the bare GROUP BY {bare:.2f} ({took / bare:.1f} times)"
    )


def _older(table: pa.Table, years: int) -> pa.Table:
    ages = pa.array(table["age"].to_numpy() + years)
    return table.set_column(table.column_names.index("age"), "age", ages)


def _only(table: pa.Table, people: set[int]) -> pa.Table:
    return table.filter(pa.array([person in people for person in table["person"].to_pylist()]))


def main() -> None:
    """Print all of it."""
    adult = read_adult(DATA)
    with tempfile.TemporaryDirectory() as folder:
        composition(adult, Path(folder))
        republication(adult, Path(folder))
    classes()


if __name__ == "__main__":
    main()
