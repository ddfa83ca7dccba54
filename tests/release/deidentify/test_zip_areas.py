"""ZIP codes keep three digits, and none where few people live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DiscreetError, SourceNotFound, UnreadableSource
from discreet.release.deidentify.zip_areas import (
    known_small_areas,
    read_small_areas,
    shorten_zips,
)

if TYPE_CHECKING:
    from pathlib import Path

SMALL = known_small_areas().prefixes
# The table in the guidance of the Department of Health and Human Services of 2012.
GUIDANCE = [
    "036",
    "059",
    "063",
    "102",
    "203",
    "556",
    "692",
    "790",
    "821",
    "823",
    "830",
    "831",
    "878",
    "879",
    "884",
    "890",
    "893",
]


def shortened(*values: object) -> list[str | None]:
    return shorten_zips(pa.array(values), small=SMALL).to_pylist()


def test_the_seventeen_prefixes_of_the_guidance_are_restricted():
    assert set(GUIDANCE) <= SMALL


@pytest.mark.parametrize("prefix", GUIDANCE)
def test_a_small_area_is_000(prefix: str):
    assert shortened(f"{prefix}01", f"{prefix}99-1234") == ["000", "000"]


def test_zip_plus_four_and_padded_texts_keep_three_digits():
    assert shortened("10001", "10001-1234", "10001 1234", "100011234", " 10001 ") == ["100"] * 5


def test_numbers_that_lost_their_zeros_get_them_back():
    assert shortened(10001, 1001, 501) == ["100", "010", "005"]
    assert shortened(10001.0, 1001.0) == ["100", "010"]
    assert shortened("10001", "1001") == ["100", "010"]


def test_a_number_of_nine_digits_that_lost_its_zero_is_no_other_area():
    assert shortened(36011234, 100011234) == ["000", "100"]


def test_prefixes_stay_prefixes():
    assert shortened("100", "036") == ["100", "000"]
    assert shortened(100, 36) == ["100", "000"]
    assert shortened("100**", "036xx") == ["100", "000"]


def test_what_is_no_zip_code_goes():
    assert shortened("SW1A 1AA", "K1A 0B1", "", "10001A", "10001") == [None] * 4 + ["100"]


@given(st.lists(st.integers(0, 99_999), min_size=1, max_size=30))
def test_no_output_reveals_more_than_three_digits_or_a_small_area(codes: list[int]):
    found = shortened(*codes, 99_999)
    assert all(item is not None and len(item) == 3 and item not in SMALL for item in found)


def test_a_file_replaces_the_list(tmp_path: Path):
    path = tmp_path / "small.txt"
    path.write_text("# of our own count\n100\n\n101  # Manhattan\n")
    found = read_small_areas(path)
    assert (found.prefixes, found.source) == (frozenset({"100", "101"}), "small.txt")


@pytest.mark.parametrize(
    ("text", "kind"), [("1000\n", UnreadableSource), ("# nothing\n", UnreadableSource)]
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, kind: type[DiscreetError]):
    path = tmp_path / "small.txt"
    path.write_text(text)
    with pytest.raises(kind, match=r"small\.txt"):
        read_small_areas(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(SourceNotFound, match="--restricted-zips"):
        read_small_areas(tmp_path / "none.txt")
