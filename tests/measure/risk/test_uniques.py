from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.errors import WrongUsage
from discreet.measure.risk.uniques import Uniques, file_intrusion, find_uniques, record_intrusion
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlglot import exp

# The example of the World Bank's guide to disclosure control (sdcPractice, table 4.5).
GUIDE = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
GUIDE_COLUMNS = ["residence", "gender", "education", "labor"]

# The example of Templ's book (2017), as sdcMicro tests it.
BOOK = [
    ("20s", "male", "50k+", "highschool"),
    ("20s", "male", "50k+", "highschool"),
    ("20s", "male", "50k-", "highschool"),
    ("20s", "male", "50k-", "highschool"),
    ("20s", "female", "50k-", "university"),
    ("20s", "female", "50k-", "highschool"),
    ("20s", "female", "50k-", "middleschool"),
    ("60s", "male", "50k-", "university"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    engine = DuckDB()
    yield engine
    engine.close()


def load_classes(engine: DuckDB, rows: Sequence[Sequence[object]]) -> tuple[exp.Table, list]:
    """Store the classes of some rows on the engine; return them and their values by id."""
    counts = Counter(tuple(row) for row in rows)
    width = len(rows[0]) if rows else 1
    values = list(counts)
    domains = [
        {v: i for i, v in enumerate(sorted({row[q] for row in values}, key=str))}
        for q in range(width)
    ]
    data = {"id": pa.array(range(len(values)), pa.int64())}
    for q in range(width):
        data[f"q{q}"] = pa.array([domains[q][row[q]] for row in values], pa.int64())
    data["size"] = pa.array(counts.values(), pa.int64())
    return engine.load(pa.table(data).to_reader()), values


def search(
    engine: DuckDB, rows: Sequence[Sequence[object]], columns: Sequence[str], **options
) -> Uniques:
    classes, _ = load_classes(engine, rows)
    try:
        return find_uniques(engine, classes, columns, **options)
    finally:
        engine.drop(classes)


def brute_force(rows: Sequence[Sequence[object]], depth: int) -> dict[tuple, list[tuple[int, ...]]]:
    """Return each unique person's minimal sets of columns, by the definition."""
    width = len(rows[0])
    found: dict[tuple, list[tuple[int, ...]]] = {}
    for row in rows:
        minimal: list[tuple[int, ...]] = []
        for size in range(1, depth + 1):
            for chosen in combinations(range(width), size):
                is_alone = sum(all(other[q] == row[q] for q in chosen) for other in rows) == 1
                if is_alone and not any(set(part) < set(chosen) for part in minimal):
                    minimal.append(chosen)
        if minimal:
            found[tuple(row)] = minimal
    return found


def test_scores_of_the_guide_are_reproduced(engine: DuckDB) -> None:
    found = search(engine, GUIDE, GUIDE_COLUMNS, depth=3)

    assert [record.score for record in found.records] == [12, 10, 6, 6]
    assert found.records[0].smallest == ("residence",)
    assert found.records[1].smallest == ("education",)
    assert (found.people, found.unique, found.singled_out) == (10, 4, 4)
    assert {count.score: count.people for count in found.scores} == {0: 6, 6: 2, 10: 1, 12: 1}


def test_a_greater_depth_does_not_change_the_scores_of_the_guide(engine: DuckDB) -> None:
    assert [r.score for r in search(engine, GUIDE, GUIDE_COLUMNS, depth=4).records] == [
        12,
        10,
        6,
        6,
    ]


def test_scores_of_the_textbook_are_reproduced(engine: DuckDB) -> None:
    found = search(engine, BOOK, ["age", "gender", "income", "education"], depth=4)

    assert [record.score for record in found.records] == [8, 6, 4, 2]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("abc", [50, 37.5, 37.5]),
        ("acb", [50, 37.5, 37.5]),
        ("cab", [37.5, 50, 37.5]),
        ("cba", [37.5, 37.5, 50]),
    ],
)
def test_contributions_are_those_sdcmicro_is_tested_with(
    engine: DuckDB, order: str, expected: list[float]
) -> None:
    values = {"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}
    rows = list(zip(*(values[column] for column in order), strict=True))

    found = search(engine, rows, list(order), depth=3)

    assert [exposure.contribution for exposure in found.exposures] == expected


def test_intrusion_scores_of_the_guide_are_reproduced() -> None:
    # The guide's table was computed with the scores of an older sdcMicro; the spread is the same.
    old = np.array([1.75, 3.25, 1.75, 2.75, 0.0])
    file_level = file_intrusion(unique=4, paired=6, fraction=0.01)
    assert file_level is not None

    risk = record_intrusion(old, unique=4, file_level=file_level, columns=4)

    assert [f"{value:.4f}" for value in risk] == ["0.0051", "0.0107", "0.0051", "0.0088", "0.0000"]


def test_the_intrusion_score_ranks_records_as_the_score_does(engine: DuckDB) -> None:
    found = search(engine, GUIDE, GUIDE_COLUMNS, depth=3)

    assert found.intrusion == pytest.approx(0.04 / (0.04 + 5.94))
    risks = [record.intrusion for record in found.records]
    assert risks == sorted(risks, reverse=True)
    assert risks[0] == pytest.approx(0.01139, abs=1e-5)


def test_without_pairs_every_unique_match_is_held_for_correct(engine: DuckDB) -> None:
    found = search(engine, [(1,), (2,)], ["a"], depth=1)

    assert found.intrusion == 1.0
    assert [record.intrusion for record in found.records] == [1.0, 1.0]


rows_of_small_tables = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=25)
)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=rows_of_small_tables, depth=st.integers(1, 6))
def test_the_search_agrees_with_the_definition(engine: DuckDB, rows: list, depth: int) -> None:
    width = len(rows[0])
    names = [f"c{q}" for q in range(width)]
    classes, values = load_classes(engine, rows)
    found = find_uniques(engine, classes, names, depth=depth, shown=len(rows))
    engine.drop(classes)
    reach = min(depth, width)
    expected = brute_force(rows, reach)

    assert found.depth == reach
    weights = {size: prod(width - i for i in range(size, reach)) for size in range(1, reach + 1)}
    assert {values[record.id]: record.score for record in found.records} == {
        row: sum(weights[len(chosen)] for chosen in minimal) for row, minimal in expected.items()
    }
    assert {values[record.id]: record.smallest for record in found.records} == {
        row: tuple(names[q] for q in minimal[0]) for row, minimal in expected.items()
    }
    held = Counter(chosen for minimal in expected.values() for chosen in minimal)
    assert {f.columns: f.minimal for f in found.sets if f.minimal} == {
        tuple(names[q] for q in chosen): count for chosen, count in held.items()
    }
    assert [exposure.minimal_uniques for exposure in found.exposures] == [
        sum(count for chosen, count in held.items() if q in chosen) for q in range(width)
    ]
    assert found.singled_out == len(expected)
    assert sum(count.people for count in found.scores) == found.people == len(rows)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=rows_of_small_tables)
def test_the_classes_of_every_set_are_those_counted_by_hand(engine: DuckDB, rows: list) -> None:
    width = len(rows[0])
    names = [str(q) for q in range(width)]

    found = search(engine, rows, names, depth=width)

    assert len(found.sets) == 2**width - 1
    for known in found.sets:
        sizes = Counter(tuple(row[int(q)] for q in known.columns) for row in rows).values()
        assert (known.classes, known.k) == (len(sizes), min(sizes))
        assert known.unique == sum(size == 1 for size in sizes)
        assert known.people_by_size == tuple(
            sum(size for size in sizes if size == wanted) for wanted in range(1, 11)
        )


def test_sets_are_ranked_by_the_people_they_single_out(engine: DuckDB) -> None:
    found = search(engine, GUIDE, GUIDE_COLUMNS, depth=3, shown=2)

    assert found.most_exposing[0].columns == ("education",)
    assert found.most_exposing[0].minimal == 3
    assert found.most_exposing[1].columns == ("gender", "labor")
    assert found.minimal_by_size == (4, 5, 0)
    assert len(found.records) == 2


def test_progress_ends_at_the_number_of_sets(engine: DuckDB) -> None:
    calls: list[tuple[int, int]] = []

    search(engine, GUIDE, GUIDE_COLUMNS, depth=2, progress=lambda d, t: calls.append((d, t)))

    assert calls == [(done, 10) for done in range(1, 11)]


def test_an_empty_table_singles_no_one_out(engine: DuckDB) -> None:
    found = search(engine, [], ["a"], depth=1)

    assert (found.people, found.unique, found.records, found.scores) == (0, 0, (), ())
    assert found.sets[0].k is None
    assert found.intrusion is None
    assert found.exposures[0].contribution is None


def test_depth_is_cut_with_a_caution_when_the_bits_do_not_fit(engine: DuckDB) -> None:
    # Four people are unique: one byte for each set. Level 2 would keep 4 and 6 of them.
    cut, whole = (search(engine, GUIDE, GUIDE_COLUMNS, depth=3, memory=m) for m in (9, 10))

    assert (cut.depth, whole.depth) == (2, 3)
    assert "more than 2 columns were not searched" in cut.cautions[0]
    assert whole.cautions == ()


@pytest.mark.parametrize(("columns", "depth"), [([], 1), (["a"], 0)])
def test_nothing_to_combine_is_refused(engine: DuckDB, columns: list[str], depth: int) -> None:
    with pytest.raises(WrongUsage, match="No columns"):
        search(engine, [(1,)], columns, depth=depth)


def test_a_fraction_outside_its_range_is_refused(engine: DuckDB) -> None:
    with pytest.raises(WrongUsage, match="fraction"):
        search(engine, [(1,)], ["a"], depth=1, fraction=0)


def test_the_result_is_plain_data(engine: DuckDB) -> None:
    plain = search(engine, GUIDE, GUIDE_COLUMNS, depth=2).to_dict()

    assert plain["records"][0]["smallest"] == ["residence"]
    assert plain["sets"][0]["people_by_size"][:2] == [1, 0]


def test_birth_date_and_zip_single_out_all_but_two_of_adult(shared_data: Path) -> None:
    table = open_table(str(shared_data / "adult_with_pii" / "adult_with_pii.csv"))
    names = ["DOB", "Zip", "Sex"]
    people = table.engine.run(
        build.select(*(build.column(name) for name in names), source=table.relation)
    )
    codes = [people.column(n).combine_chunks().dictionary_encode().indices for n in names]
    values, sizes = np.unique(np.stack(codes, axis=1), axis=0, return_counts=True)
    data = {f"q{q}": values[:, q].astype(np.int64) for q in range(3)}
    numbered = pa.table({"id": np.arange(len(sizes)), **data, "size": sizes})
    classes = table.engine.load(numbered.to_reader())

    found = find_uniques(table.engine, classes, names, depth=2)

    by_columns = {known.columns: known for known in found.sets}
    assert found.people == 32563
    assert by_columns["DOB",].unique == 7847
    assert by_columns["DOB", "Zip"].unique == 32561
    already = by_columns["DOB",].unique + by_columns["Zip",].unique
    assert 32561 - already <= by_columns["DOB", "Zip"].minimal <= 32561 - 7847
