"""Random neighbors in every format and on every engine: equal before paying, hidden by what is paid."""

from __future__ import annotations

import pytest
from bench.verify.formats import FILES, FRAMES, WRITTEN
from bench.verify.neighbours import FORMS, GUESSED, explore, finds_fault, missed_faults, twice
from bench.verify.server_neighbours import examine


def test_no_one_is_distinguished_in_databases_files_and_frames() -> None:
    forms = ("duckdb", *FILES, *FRAMES)
    tally = explore(forms, seed=11, goes_on=lambda made: made < len(forms), questions=4)
    assert tally.findings == []
    assert tally.seen["changed"] > 0


def test_no_one_is_distinguished_in_files_of_many_dialects() -> None:
    tally = explore(WRITTEN, seed=21, goes_on=lambda made: made < len(WRITTEN), questions=2)
    assert tally.findings == []
    assert tally.seen["changed"] > 0
    assert tally.seen["weighted"] > 0


@pytest.mark.postgres
def test_no_one_is_distinguished_on_postgresql(postgres_url: str) -> None:
    tally = explore(
        ("postgresql",), seed=3, goes_on=lambda made: made < 2, questions=6, url=postgres_url
    )
    assert tally.findings == []


def test_a_person_with_two_ids_is_found() -> None:
    """The verification itself: it fails where a unit is not all of a person."""
    tally = explore(("duckdb",), seed=1, goes_on=lambda made: made < 3, questions=6, change=twice)
    assert tally.findings != []


def test_a_person_with_two_ids_is_found_by_weighted_questions() -> None:
    tally = explore(("duckdb",), seed=1, goes_on=lambda made: made < 4, questions=0, change=twice)
    assert any("weighted" in finding for finding in tally.findings)


@pytest.mark.parametrize(
    ("form", "reader"), [*((form, "guessing") for form in GUESSED), ("text", "sampling")]
)
def test_a_reader_that_takes_kinds_from_rows_is_found(form: str, reader: str) -> None:
    """The verification itself: it fails where one person's cell decides a kind."""
    assert finds_fault(form, lambda world: world, reader, most=40)


def test_no_one_is_distinguished_for_free_by_who_may_only_ask_a_server() -> None:
    compared, found = examine(1)
    assert compared > 30
    assert found == []


def test_a_view_that_counts_rows_for_who_may_only_ask_is_found() -> None:
    assert any("leak" in one for one in examine(2, is_planted=True)[1])


@pytest.mark.soak
def test_every_planted_fault_is_found() -> None:
    assert missed_faults(40) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2))
def test_no_one_is_distinguished_by_who_may_only_ask_many_servers(seed: int) -> None:
    assert [examine(100 * (seed + 1) + number)[1] for number in range(25)] == [[]] * 25


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(3))
def test_no_one_is_distinguished_in_many_databases(postgres_url: str, seed: int) -> None:
    forms = (*FORMS, "postgresql")
    tally = explore(
        forms, seed=1000 * (seed + 1), goes_on=lambda made: made < 12 * len(forms), url=postgres_url
    )
    assert tally.findings == []
