"""Several releases of the same people, as a function of k; and what classes reveal, against bare DuckDB.

`python -m bench.attack_composition` prints the tables of the documentation. The releases are those of
`discreet anonymize --method mondrian` on Adult with its categories as numbers: 7 quasi-identifiers,
two draws of 17,581 of 30,162 rows, which share 5,000 people; what is to be learned is the occupation.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
from tests.attacks.overlapping import QUASI, ROWS, draw, publish, read_adult

from bench.figures import FigureTable
from discreet.attacks.classes.histograms import opened_release, read_classes
from discreet.attacks.classes.homogeneity import find_homogeneity
from discreet.attacks.classes.inference import find_inference
from discreet.attacks.classes.skewness import find_skewness
from discreet.attacks.releases.composition import Thresholds, find_composition
from discreet.attacks.releases.republication import find_republication
from discreet.engines.connect import open_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.attacks.finding import Finding

DATA = Path(os.environ.get("DISCREET_SHARED_DATA", "/work/shared/data"))
ON = {name: name for name in QUASI}
SEED = 1
PEOPLE = 5_000_000


@dataclass(frozen=True)
class Composed:
    """What two releases with a certain k reveal together."""

    k: int
    few: Finding
    disclosed: Finding
    seconds: float


def compose(adult: pa.Table, folder: Path, *, rows: int, sizes: Sequence[int]) -> list[Composed]:
    """Return what two releases of so many rows reveal together, for several k."""
    drawn = draw(adult, rows=rows, chance=np.random.default_rng(SEED))
    found: list[Composed] = []
    for k in sizes:
        paths = [
            publish(table, folder / f"{place}.csv", k=k)
            for place, table in enumerate((drawn.first, drawn.second))
        ]
        known = open_table(drawn.both)
        releases = [open_table(path, engine=known.engine) for path in paths]
        start = time.process_time()
        few, disclosed = find_composition(
            known, releases, on=ON, sensitive=["occupation"], thresholds=Thresholds(k=k)
        )
        found.append(Composed(k, few, disclosed, time.process_time() - start))
        known.engine.close()
    return found


def measure_composition() -> FigureTable:
    """Return what two releases that share 5,000 people reveal together."""
    with tempfile.TemporaryDirectory() as folder:
        found = compose(read_adult(DATA), Path(folder), rows=ROWS, sizes=(2, 5, 10, 30))
    rows: list[tuple[str, ...]] = []
    for one in found:
        few, details = one.few.details, one.disclosed.details
        each, right = details["candidates"]["each"], details["guessed_right"]
        rows.append(
            (
                str(one.k),
                f"{few['fewer_than_k']:.1%}".replace("%", " %"),
                f"{one.disclosed.rate:.1%}".replace("%", " %"),
                " and ".join(
                    f"{share:.1%}" for share in details["disclosed_by_each_release"]
                ).replace("%", " %"),
                f"{max(each):.1f} → {details['candidates']['together']:.1f}",
                f"{max(right['each']):.0%} → {right['together']:.0%}".replace("%", " %"),
                f"{one.seconds:.1f} s",
            )
        )
    columns = ("k", "fewer than k candidates", "perfect breach", "by one release alone")
    return FigureTable((*columns, "values", "guesses right", "CPU"), tuple(rows))


def measure_republication() -> FigureTable:
    """Return what successive releases disclose when people have birthdays and some are replaced."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for turnover, count in ((0.1, 5), (0.5, 3)):
            found = republish(read_adult(DATA), Path(folder), turnover=turnover, count=count)
            shares = " →  ".join(
                f"{100 * share:.1f}" for share in found.details["disclosed_after_each"]
            )
            rows.append((f"{turnover:.0%}".replace("%", " %"), f"{found.targets:,}", f"{shares} %"))
    return FigureTable(
        ("replaced each time", "who stay", "disclosed after each release"), tuple(rows)
    )


def republish(adult: pa.Table, folder: Path, *, turnover: float, count: int, k: int = 5) -> Finding:
    """Return what is disclosed of those who stay, where a share is replaced before each release."""
    numbered = adult.append_column("person", pa.array(range(adult.num_rows)))
    chance = np.random.default_rng(SEED)
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
    (found,) = find_republication(known, releases, on=ON, sensitive=["occupation"], name="person")
    home.engine.close()
    return found


def measure_classes() -> FigureTable:
    """Return the CPU of three attacks on classes, and of the GROUP BY they rest on."""
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
        histogram = read_classes(bound).columns[0]
        for attack in (find_homogeneity, find_inference, find_skewness):
            attack(histogram)
    took = time.process_time() - start
    row = (f"{PEOPLE:,}", f"{len(histogram.groups):,}", f"{took:.1f} s", f"{bare:.1f} s")
    columns = ("rows", "classes", "homogeneity, inference and skewness", "bare GROUP BY in DuckDB")
    return FigureTable((*columns, "ratio"), ((*row, f"{took / bare:.1f}"),))


def _older(table: pa.Table, years: int) -> pa.Table:
    ages = pa.array(table["age"].to_numpy() + years)
    return table.set_column(table.column_names.index("age"), "age", ages)


def _only(table: pa.Table, people: set[int]) -> pa.Table:
    return table.filter(pa.array([person in people for person in table["person"].to_pylist()]))


def main() -> None:
    """Print all of it."""
    for measure in (measure_composition, measure_republication, measure_classes):
        print(measure().to_markdown())


if __name__ == "__main__":
    main()
