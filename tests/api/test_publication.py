"""Releases from Python are tried together with earlier ones, as the command's are."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet

POLICY = """
tables:
  people:
    columns: {name: identifier, sex: quasi-identifier, age: quasi-identifier, ill: sensitive}
    criteria: [k-anonymity: {k: 5}, l-diversity: {column: ill, l: 2}]
"""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table and its policy in a folder, with one release that the registry remembers."""
    rows = [f"Zebulon Quackenbush {n},{'FM'[n % 2]},{n % 4},{'abc'[n % 3]}" for n in range(120)]
    (tmp_path / "people.csv").write_text("\n".join(["name,sex,age,ill", *rows]))
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    discreet.anonymize("people.csv", "policy.yaml", output="first.csv")
    return tmp_path


def release_again(job: str, **options: object):
    if job == "anonymize":
        return discreet.anonymize("people.csv", "policy.yaml", **options)
    return discreet.deidentify("people.csv", "policy.yaml", method="safe-harbor", **options)


@pytest.mark.parametrize("job", ["anonymize", "deidentify"])
def test_a_dry_run_is_tried_with_earlier_releases(job: str, people: Path):
    found = release_again(job, dry_run=True)
    assert "composition" in {one.attack for one in found.findings}


@pytest.mark.parametrize("job", ["anonymize", "deidentify"])
def test_rows_in_memory_are_tried_with_earlier_releases_and_not_remembered(job: str, people: Path):
    remembered = sorted((people / "discreet-releases").rglob("*"))
    found = release_again(job)
    assert "composition" in {one.attack for one in found.findings}
    assert found.to_arrow().num_rows == 120
    assert sorted((people / "discreet-releases").rglob("*")) == remembered


@pytest.mark.parametrize("job", ["anonymize", "deidentify"])
def test_a_released_file_is_remembered(job: str, people: Path):
    release_again(job, output="second.csv")
    assert len(list((people / "discreet-releases").glob("*.json"))) == 2
