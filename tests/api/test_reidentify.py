"""The holder of the key finds the people behind pseudonyms; others get an error, not rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import discreet
from discreet.errors import (
    InvalidKey,
    InvalidManifest,
    OutputRefused,
    SourceNotFound,
    UnprotectedFile,
    UnsuitableValues,
    WrongUsage,
)
from discreet.release.deidentify.keys import new_key_file, read_key_file

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
    output = publish(options, tmp_path / "out.parquet")
    rows = pd.read_parquet(output)
    found = discreet.reidentify(rows, manifest=f"{output}.release.json", **options)
    assert isinstance(found, pd.DataFrame)
    assert set(found["doctor"]) == {"D1", "D2"}


def test_the_manifest_names_what_can_be_undone(tmp_path: Path, options: dict[str, Any]):
    output = publish(options, tmp_path / "out.parquet")
    key = {name: options[name] for name in ("key_file", "mapping")}
    found = discreet.reidentify(output, **key).sort_by("id").to_pydict()
    found["seen"] = [None if day is None else str(day) for day in found["seen"]]
    assert found == pa.table(PEOPLE).sort_by("id").to_pydict()


def test_what_no_key_undoes_stays_and_is_named(tmp_path: Path, options: dict[str, Any]):
    forever = {"columns": ["id"], "reversible": ["name"], "shift_dates": ["seen"], "unit": "id"}
    key: dict[str, Any] = {"key_file": options["key_file"]}
    output = publish({**forever, **key}, tmp_path / "out.parquet")
    found = discreet.reidentify(output, dry_run=True, **key)
    assert found.columns == {"name": "reversible"}
    assert sorted(found.left) == ["id", "seen"]
    with pytest.raises(WrongUsage, match="'id' has pseudonyms"):
        discreet.reidentify(output, shift_dates=["seen"], **key)
    with pytest.raises(WrongUsage, match="'id' has keyed pseudonyms"):
        discreet.reidentify(output, reversible=["id"], **key)


@pytest.mark.parametrize(
    "columns", [{}, {"format_preserving": ["id"]}, {"shift_dates": ["seen"], "unit": "other"}]
)
def test_another_key_than_that_of_the_manifest_is_refused(
    tmp_path: Path, options: dict[str, Any], columns: dict[str, Any]
):
    output = publish(options, tmp_path / "out.parquet")
    new_key_file(tmp_path / "other.key")
    with pytest.raises(InvalidKey, match="made with the key"):
        discreet.reidentify(output, key_file=tmp_path / "other.key", **columns)


@pytest.mark.parametrize(
    "columns", [{"format_preserving": ["id"]}, {"shift_dates": ["seen"], "unit": "id"}]
)
def test_columns_that_prove_no_key_need_its_fingerprint(
    tmp_path: Path, options: dict[str, Any], columns: dict[str, Any]
):
    rows = pd.read_parquet(publish(options, tmp_path / "out.parquet"))
    key: dict[str, Any] = {"key_file": options["key_file"], **columns}
    with pytest.raises(WrongUsage, match="without an error"):
        discreet.reidentify(rows, **key)
    with pytest.raises(InvalidKey, match="made with the key 0000"):
        discreet.reidentify(rows, fingerprint="0000000000000000", **key)
    known = read_key_file(options["key_file"]).fingerprint
    assert len(discreet.reidentify(rows, fingerprint=known, **key)) == 3


def test_without_a_manifest_another_key_gives_an_error_and_no_rows(
    tmp_path: Path, options: dict[str, Any]
):
    rows = pd.read_parquet(publish(options, tmp_path / "out.parquet"))
    new_key_file(tmp_path / "other.key")
    other: dict[str, Any] = {"key_file": tmp_path / "other.key"}
    with pytest.raises(UnsuitableValues, match="no pseudonyms of this key"):
        discreet.reidentify(rows, reversible=["name"], **other)
    with pytest.raises(InvalidKey, match="another key"):
        discreet.reidentify(rows, tokens=["doctor"], mapping=options["mapping"], **other)


def test_what_is_written_is_private_and_noted_in_the_registry(
    tmp_path: Path, options: dict[str, Any]
):
    output = publish(options, tmp_path / "out.parquet")
    originals = tmp_path / "originals.csv"
    found = discreet.reidentify(output, output=originals, **options)
    assert (found.output.rows, found.columns["name"]) == (3, "reversible")
    assert originals.stat().st_mode & 0o077 == 0
    noted = (tmp_path / "discreet-releases" / "reidentified.jsonl").read_text("utf-8")
    entry = json.loads(noted)
    assert (entry["output"], entry["key"]) == (str(originals), found.key)
    assert "Ann" not in noted
    # A note is no release: the next one is made as before.
    publish({**options, "force": True}, output)


def test_a_file_that_others_can_read_is_not_replaced(tmp_path: Path, options: dict[str, Any]):
    output = publish(options, tmp_path / "out.parquet")
    originals = tmp_path / "originals.csv"
    originals.write_text("", "utf-8")
    originals.chmod(0o644)
    with pytest.raises(UnprotectedFile):
        discreet.reidentify(output, output=originals, force=True, **options)
    with pytest.raises(OutputRefused, match="source itself"):
        discreet.reidentify(output, output=output, force=True, **options)


@pytest.mark.parametrize("content", ["", "{}", '{"settings": {"columns": {"a": {"kind": "x"}}}}'])
def test_what_is_no_manifest_of_pseudonyms_is_refused(
    tmp_path: Path, options: dict[str, Any], content: str
):
    place = tmp_path / "m.json"
    place.write_text(content, "utf-8")
    with pytest.raises(InvalidManifest):
        discreet.reidentify(pa.table(PEOPLE), manifest=place, key_file=options["key_file"])


def test_what_is_missing_is_named(tmp_path: Path, options: dict[str, Any]):
    rows = pa.table(PEOPLE)
    known = read_key_file(options["key_file"]).fingerprint
    key: dict[str, Any] = {"key_file": options["key_file"], "fingerprint": known}
    with pytest.raises(WrongUsage, match="No column was named"):
        discreet.reidentify(rows, **key)
    with pytest.raises(InvalidKey, match="key_file or key_env"):
        discreet.reidentify(rows, reversible=["name"])
    with pytest.raises(WrongUsage, match="Give both"):
        discreet.reidentify(rows, tokens=["doctor"], **key)
    with pytest.raises(SourceNotFound, match="no sealed mapping"):
        discreet.reidentify(rows, tokens=["doctor"], mapping=tmp_path / "gone", **key)
    with pytest.raises(SourceNotFound, match="no manifest"):
        discreet.reidentify(rows, manifest=tmp_path / "gone", **key)
    with pytest.raises(WrongUsage, match="names the person"):
        discreet.reidentify(rows, shift_dates=["seen"], **key)
