"""Dates of a person move together, never stay, and come back for the holder of the key."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Table
from discreet.errors import UnsuitableValues, WrongUsage
from discreet.release.deidentify.date_shifts import shifts_of
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import DateShift, Reversible
from discreet.release.deidentify.pseudonyms import pseudonymize, undo_pseudonyms

KEY, OTHER = SecretKey(bytes(range(32))), SecretKey(bytes(range(1, 33)))


@pytest.fixture(scope="module")
def engine():
    engine = DuckDB()
    yield engine
    engine.close()


def opened(engine: Engine, table: pa.Table) -> Table:
    relation = engine.load(table.to_reader())
    return Table(engine, relation, engine.columns(relation), "visits")


def shifted(engine: Engine, table: pa.Table, *names: str, key: SecretKey = KEY, days: int = 365):
    kinds = dict.fromkeys(names, DateShift(days=days))
    done = pseudonymize(opened(engine, table), kinds, key=key, unit="person")
    return engine.run(done.query)


@given(st.lists(st.text(), min_size=1), st.integers(1, 400))
def test_a_shift_is_within_its_range_and_never_zero(people: list[str], days: int):
    found = shifts_of(pa.array(people), shift=DateShift(days=days), key=KEY).to_pylist()
    assert all(1 <= abs(number) <= days for number in found)


def test_every_shift_of_the_range_occurs():
    people = pa.array([str(number) for number in range(2000)])
    found = shifts_of(people, shift=DateShift(days=5), key=KEY).to_pylist()
    assert set(found) == {-5, -4, -3, -2, -1, 1, 2, 3, 4, 5}


def test_a_person_moves_alike_whether_the_number_is_an_integer_or_a_text():
    numbers = shifts_of(pa.array([17, 18]), shift=DateShift(), key=KEY)
    assert numbers == shifts_of(pa.array(["17", "18"]), shift=DateShift(), key=KEY)
    assert numbers != shifts_of(pa.array([17, 18]), shift=DateShift(), key=OTHER)
    assert numbers != shifts_of(pa.array([17, 18]), shift=DateShift(domain="b"), key=KEY)


days = st.dates(dt.date(1800, 1, 1), dt.date(2300, 1, 1))
moments = st.tuples(days, st.times()).map(lambda both: dt.datetime.combine(*both))
visits = st.lists(
    st.tuples(st.integers(1, 3), st.none() | days, st.none() | moments), min_size=1, max_size=12
)


@settings(max_examples=40)
@given(visits)
def test_intervals_within_a_person_survive_and_missing_stays_missing(
    engine: DuckDB, visits: list[tuple[int, dt.date | None, dt.datetime | None]]
):
    people, dates, clocks = (list(column) for column in zip(*visits, strict=True))
    table = pa.table(
        {
            "n": range(len(people)),
            "person": people,
            "day": pa.array(dates, pa.date32()),
            "clock": pa.array(clocks, pa.timestamp("us")),
            "text": pa.array([d.isoformat() if d else None for d in dates], pa.string()),
        }
    )
    found = shifted(engine, table, "day", "clock", "text").sort_by("n")
    moved: dict[int, set[dt.timedelta]] = {}
    for before, after in zip(table.to_pylist(), found.to_pylist(), strict=True):
        assert after["text"] == (after["day"].isoformat() if after["day"] else None)
        for name in ("day", "clock"):
            assert (before[name] is None) == (after[name] is None)
            if before[name] is not None:
                moved.setdefault(before["person"], set()).add(after[name] - before[name])
    assert all(len(distances) == 1 for distances in moved.values())
    assert dt.timedelta(0) not in set().union(*moved.values())


TEXTS = ["2024-02-29", "2024-02-29T10:00", "2024-02-29 10:00:00.5", "2024-02-29T23:59:59+05:30"]


def test_only_the_day_of_a_text_moves(engine: DuckDB):
    table = pa.table({"person": ["a"] * len(TEXTS), "text": TEXTS})
    found = sorted(shifted(engine, table, "text")["text"].to_pylist())
    assert {text[10:] for text in found} == {text[10:] for text in TEXTS}
    assert len({text[:10] for text in found}) == 1
    assert "2024-02-29" not in found[0]


@pytest.mark.parametrize(
    "text", ["29.02.2024", "2023-02-29", "2024-02", "", "2024-01-01 to 2024-02-01", "today"]
)
def test_a_text_that_is_no_date_is_refused_and_not_quoted(engine: DuckDB, text: str):
    table = pa.table({"person": ["a", "b"], "text": ["2024-02-29", text]})
    with pytest.raises(UnsuitableValues, match=r"1 row has a text in column 'text'") as refused:
        shifted(engine, table, "text")
    assert not text or f"'{text}'" not in str(refused.value)


def test_dates_that_mean_no_end_stay(engine: DuckDB):
    table = pa.table({"person": ["a", "b"], "day": [dt.date.max, dt.date.min]})
    assert set(shifted(engine, table, "day")["day"].to_pylist()) == {dt.date.max, dt.date.min}


def test_dates_that_would_leave_the_calendar_are_refused(engine: DuckDB):
    table = pa.table({"person": ["a"], "day": [dt.date(9999, 12, 1)]})
    with pytest.raises(UnsuitableValues, match="leave the years 1 to 9999"):
        shifted(engine, table, "day")


def test_a_date_without_a_person_is_refused(engine: DuckDB):
    table = pa.table({"person": ["a", None, None], "day": [None, dt.date(2024, 1, 1), None]})
    with pytest.raises(UnsuitableValues, match="1 row has a date in column 'day' but no person"):
        shifted(engine, table, "day")


def test_a_column_without_dates_is_refused(engine: DuckDB):
    with pytest.raises(UnsuitableValues, match="holds no dates but integers"):
        shifted(engine, pa.table({"person": ["a"], "day": [20240229]}), "day")


def test_a_shift_needs_a_person_and_one_range(engine: DuckDB):
    table = opened(
        engine,
        pa.table({"person": ["a"], "a": [dt.date(2024, 1, 1)], "b": [dt.date(2024, 1, 1)]}),
    )
    with pytest.raises(WrongUsage, match="no column names the person"):
        pseudonymize(table, {"a": DateShift()}, key=KEY)
    with pytest.raises(WrongUsage, match="different shifts"):
        pseudonymize(table, {"a": DateShift(), "b": DateShift(days=9)}, key=KEY, unit="person")
    with pytest.raises(WrongUsage, match="36,500"):
        DateShift(days=0)


def test_dates_come_back_through_the_pseudonym_of_their_person(engine: DuckDB):
    table = pa.table(
        {"person": ["a", "b"], "day": [dt.date(2024, 1, 1), dt.date(1950, 2, 3)], "n": [1, 2]}
    )
    kinds = {"person": Reversible(), "day": DateShift()}
    done = pseudonymize(opened(engine, table), kinds, key=KEY, unit="person")
    released = opened(engine, engine.run(done.query))
    found = engine.run(undo_pseudonyms(released, kinds, key=KEY, unit="person"))
    assert found.sort_by("n").to_pylist() == table.to_pylist()
