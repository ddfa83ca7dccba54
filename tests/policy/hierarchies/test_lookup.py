"""Lookup files: the format, its faults with their lines, and all those of the benchmark data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import InvalidHierarchy, SourceNotFound
from discreet.policy.hierarchies.lookup import Lookup, read_lookup
from discreet.policy.hierarchy import codes, find_nesting_fault

if TYPE_CHECKING:
    from pathlib import Path


def lookup(folder: Path, text: str | bytes) -> Lookup:
    path = folder / "levels.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_lookup(path, file="levels.csv")


def test_a_file_gives_each_value_its_labels(tmp_path: Path) -> None:
    hierarchy = lookup(tmp_path, "J10;J;respiratory;*\nE11;E;endocrine;*\n")
    values = pa.array(["E11", None, "J10"])
    assert hierarchy.height == 3
    assert hierarchy.generalize(values, 2).to_pylist() == ["endocrine", None, "respiratory"]
    assert hierarchy.generalize(values, 3).to_pylist() == ["*", "*", "*"]


@pytest.mark.parametrize(
    "text",
    [
        "a,x,*\nb,y,*\n",
        "a;x;*\r\nb;y;*\r\n",
        "\ufeffa;x;*\nb;y;*",
        '"a";"x";"*"\n\n"b";y;*\n',
        "a;x\nb;y\n",
        "a;x;ALL\nb;y;ALL\n",
    ],
    ids=["comma", "CRLF", "BOM", "quotes", "no top", "other top"],
)
def test_variants_of_the_format_mean_the_same(tmp_path: Path, text: str) -> None:
    hierarchy = lookup(tmp_path, text)
    assert hierarchy.height == 2
    assert hierarchy.generalize(pa.array(["b", "a"]), 1).to_pylist() == ["y", "x"]
    assert hierarchy.generalize(pa.array(["b", "a"]), 2).to_pylist() == ["*", "*"]


def test_an_empty_text_is_a_value_and_not_null(tmp_path: Path) -> None:
    hierarchy = lookup(tmp_path, ";unknown;*\na;known;*\n")
    assert hierarchy.generalize(pa.array(["", None]), 1).to_pylist() == ["unknown", None]


def test_a_column_of_numbers_finds_padded_values(tmp_path: Path) -> None:
    hierarchy = lookup(tmp_path, "00501;005**;*\n10001;100**;*\n")
    assert hierarchy.generalize(pa.array([10001, 501]), 1).to_pylist() == ["100**", "005**"]
    assert hierarchy.misses(pa.array([502, None])).to_pylist() == [502]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "levels.csv: no levels found"),
        ("a\nb\n", "levels.csv: no levels found"),
        ("a;x;*\nb;*\n", "levels.csv:2: 2 columns, where line 1 has 3"),
        ("a;x;*\n\nb;y;*\na;y;*\n", "levels.csv:4: the value of line 1 again"),
        ("a;x;*\na;x;*\n", "levels.csv:2: the value of line 1 again"),
        ("a;x;p;*\nb;x;q;*\n", "levels.csv:2: levels 1 and 2 do not nest"),
        (b"a;x;*\n\xe9;y;*\n", "levels.csv:2: not UTF-8"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidHierarchy) as caught:
        lookup(tmp_path, text)
    assert str(caught.value).startswith(message)


def test_a_missing_file_and_a_folder_are_distinguished(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match=r"'nope\.csv' is not there"):
        read_lookup(tmp_path / "nope.csv", file="nope.csv")
    with pytest.raises(InvalidHierarchy, match="cannot be read"):
        read_lookup(tmp_path, file="folder")


def test_two_hierarchies_are_equal_if_name_and_content_are(tmp_path: Path) -> None:
    first = lookup(tmp_path, "a;x;*\n")
    assert first == lookup(tmp_path, "a;x;*\n")
    assert first != lookup(tmp_path, "a;y;*\n")
    assert len({first, lookup(tmp_path, "a;x;*\n")}) == 1


def test_every_hierarchy_of_the_benchmark_data_loads_covers_and_nests(shared_data: Path) -> None:
    paths = sorted(shared_data.glob("*/hierarchies/*.csv"))
    assert len(paths) == 83
    for path in paths:
        hierarchy = read_lookup(path)
        levels = codes(hierarchy, hierarchy.columns[0])
        assert find_nesting_fault(levels) is None, path
        assert [len(set(level.tolist())) for level in levels][-1] == 1, path
