"""The holder of the key finds the people behind pseudonyms; others get an error, not rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import InvalidKey, SourceNotFound, UnsuitableValues, WrongUsage
from discreet.release.deidentify.keys import new_key_file

PEOPLE = {
    "id": [1234567, 7654321, 2345678],
    "name": ["Ann", "Zoë", None],
    "doctor": ["D1", "D2", "D1"],
    "seen": ["1953-12-08", None, "2024-02-29"],
}


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    new_key_file(tmp_path / "secret.key")
    return {
        "key_file": tmp_path / "secret.key",
        "mapping": tmp_path / "people.sealed",
        "format_preserving": ["id"],
        "reversible": ["name"],
        "tokens": ["doctor"],
        "shift_dates": ["seen"],
        "unit": "id",
    }


def publish(options: dict[str, Any], output: Path) -> Path:
    people = pa.table(PEOPLE)
    discreet.deidentify(
        people, method="pseudonymize", output=output, accept_risk="a test", **options
    )
    return output


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_every_reversible_kind_comes_back_from_a_file(
    tmp_path: Path, options: dict[str, Any], name: str
):
    output = publish(options, tmp_path / name)
    found = discreet.reidentify(output, **options).sort_by("id").to_pydict()
    expected = pa.table(PEOPLE).sort_by("id").to_pydict()
    found["seen"] = [None if day is None else str(day) for day in found["seen"]]
    assert found == expected


def test_a_frame_comes_back_as_its_kind(tmp_path: Path, options: dict[str, Any]):
    rows = pd.read_parquet(publish(options, tmp_path / "out.parquet"))
    found = discreet.reidentify(rows, **options)
    assert isinstance(found, pd.DataFrame)
    assert set(found["doctor"]) == {"D1", "D2"}


def test_another_key_gives_an_error_and_no_rows(tmp_path: Path, options: dict[str, Any]):
    output = publish(options, tmp_path / "out.parquet")
    new_key_file(tmp_path / "other.key")
    other: dict[str, Any] = {"key_file": tmp_path / "other.key"}
    with pytest.raises(UnsuitableValues, match="no pseudonyms of this key"):
        discreet.reidentify(output, reversible=["name"], **other)
    with pytest.raises(InvalidKey, match="another key"):
        discreet.reidentify(output, tokens=["doctor"], mapping=options["mapping"], **other)


def test_what_is_missing_is_named(tmp_path: Path, options: dict[str, Any]):
    rows = pa.table(PEOPLE)
    key: dict[str, Any] = {"key_file": options["key_file"]}
    with pytest.raises(WrongUsage, match="No column was named"):
        discreet.reidentify(rows, **key)
    with pytest.raises(InvalidKey, match="key_file or key_env"):
        discreet.reidentify(rows, reversible=["name"])
    with pytest.raises(WrongUsage, match="Give both"):
        discreet.reidentify(rows, tokens=["doctor"], **key)
    with pytest.raises(SourceNotFound, match="no sealed mapping"):
        discreet.reidentify(rows, tokens=["doctor"], mapping=tmp_path / "gone", **key)
    with pytest.raises(WrongUsage, match="names the person"):
        discreet.reidentify(rows, shift_dates=["seen"], **key)
