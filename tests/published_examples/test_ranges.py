"""C27 of the published examples: design three age ranges that give a table a higher k."""

from __future__ import annotations

from pathlib import Path

from discreet.engines.connect import open_table
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.release.anonymize.ranges import best_ranges
from discreet.release.anonymize.read import read_problem

TABLE = Path(__file__).parent / "tables" / "c27_age_province.csv"


def test_c27_the_best_three_age_ranges_make_the_table_three_anonymous():
    bound = bind_roles(open_table(str(TABLE)), quasi=["Age", "Province"])
    reading = read_problem(group_cells(bound.subject), bound, [])
    found = best_ranges(reading.problem, "Age", ranges=3)
    ages = reading.values[0].to_pylist()
    cuts = {
        (ages[low], ages[high])
        for low, high in zip(found.lows[:, 0], found.highs[:, 0], strict=True)
    }
    assert found.notes["k"] == 3
    assert cuts == {(21, 26), (27, 35), (36, 49)}  # no one is 20, so that the textbook's 20 is a 21
