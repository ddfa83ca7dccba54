"""Random neighbors in every format and on every engine: equal before paying, hidden by what is paid."""

from __future__ import annotations

import pytest
from bench.verify.neighbours import FORMS, explore, twice


def test_no_one_is_distinguished_in_databases_files_and_frames() -> None:
    tally = explore(FORMS, seed=11, goes_on=lambda made: made < len(FORMS), questions=4)
    assert tally.findings == []
    assert tally.seen["changed"] > 0


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


@pytest.mark.soak
@pytest.mark.postgres
@pytest.mark.parametrize("seed", range(4))
def test_no_one_is_distinguished_in_many_databases(postgres_url: str, seed: int) -> None:
    forms = (*FORMS, "postgresql")
    tally = explore(
        forms, seed=1000 * (seed + 1), goes_on=lambda made: made < 40 * len(forms), url=postgres_url
    )
    assert tally.findings == []
