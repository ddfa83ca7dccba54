"""What goes with a release confirms no guess at its source: it says no more than the rows themselves."""

from __future__ import annotations

import hashlib
import json
import shutil
from itertools import permutations, product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

AGES = (31,) * 4 + (51,) * 4 + (71,) * 4
ILLNESSES = ("cold", "flu", "gout", "HIV")
POLICY = """\
tables:
  people:
    tolerance: {default: 100%}
    columns:
      name: identifier
      age: {role: quasi-identifier}
      ill: {role: sensitive}
    criteria:
      - k-anonymity: {k: 4}
"""


def source_of(guess: tuple[tuple[str, ...], ...]) -> str:
    """The table of twelve people of whom everything but the illness is known."""
    ills = [ill for one in guess for ill in one]
    lines = [f"P{i},{age},{ill}" for i, (age, ill) in enumerate(zip(AGES, ills, strict=True))]
    return "\n".join(["name,age,ill", *lines, ""])


def guesses() -> Iterator[tuple[tuple[str, ...], ...]]:
    """Everything that agrees with the release: in each class of four, all orders of its illnesses."""
    return product(permutations(ILLNESSES), repeat=3)


def published(folder: Path, discreet, text: str, name: str, *options: str) -> dict[str, bytes]:
    """What is published of a source, each file by its name; the id is drawn, the time is the clock's."""
    (folder / "people.csv").write_text(text)
    for name_of_folder in ("out", "discreet-releases"):
        shutil.rmtree(folder / name_of_folder, ignore_errors=True)
    (folder / "out").mkdir()
    command = ("anonymize", "people.csv", "--policy", "policy.yaml", "-o", f"out/{name}")
    ran = discreet(*command, *options)
    assert ran.code == 0, ran.err
    found = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    found["release.json"] = found.pop(f"{name}.release.json")
    manifest = json.loads(found["release.json"])
    for drawn in (manifest["release"]["id"], manifest["made"]):
        found["release.json"] = found["release.json"].replace(drawn.encode(), b"")
    return found


@pytest.mark.parametrize("name", ["released.csv", "released.csv.gz", "released.parquet"])
def test_everything_that_is_published_is_the_same_for_every_guess(
    folder: Path, discreet, name: str
):
    (folder / "policy.yaml").write_text(POLICY)
    every = [*guesses()]
    assert len(every) == 13_824
    first = published(folder, discreet, source_of(every[0]), name)
    assert set(first) == {name, "release.json"}
    for guess in (every[12_102], every[-1]):
        assert published(folder, discreet, source_of(guess), name) == first


ROWS = [(zipcode, ill) for zipcode in ("1000", "2000") for ill in "abcdefghijkl"]


def people_of(units: list[str]) -> str:
    """The rows of ROWS, each with the person it belongs to."""
    lines = [f"{unit},{age},{ill}" for unit, (age, ill) in zip(units, ROWS, strict=True)]
    return "\n".join(["name,age,ill", *lines, ""])


@pytest.mark.parametrize("criterion", ["k-anonymity: {k: 5}", "t-closeness: {column: ill, t: 0.9}"])
def test_how_many_rows_a_person_has_is_not_in_the_manifest(folder: Path, discreet, criterion: str):
    policy = POLICY.replace("  people:\n", "  people:\n    unit: name\n")
    assert policy != POLICY
    (folder / "policy.yaml").write_text(policy.replace("k-anonymity: {k: 4}", criterion))
    alone = [f"P{place}" for place in range(24)]  # 12 people in each class
    twice = [*alone[:12], *(f"Q{place // 2}" for place in range(12))]  # 12 and 6
    found = [published(folder, discreet, people_of(units), "o.csv") for units in (alone, twice)]
    assert found[0] == found[1]
    release = json.loads(found[0]["release.json"])["release"]
    assert (release["k"], release["risk"]) == (None, None)
    assert [(one["reached"], one["holds"]) for one in release["criteria"]] == [(None, True)]


def test_how_many_people_the_population_has_is_not_in_the_manifest(folder: Path, discreet):
    (folder / "policy.yaml").write_text(POLICY.replace("k-anonymity: {k: 4}", "k-map: {k: 4}"))
    found: list[dict[str, bytes]] = []
    for times in (5, 7):
        (folder / "everybody.csv").write_text("age\n" + "31\n51\n71\n" * times)
        source = source_of(next(guesses()))
        found.append(published(folder, discreet, source, "o.csv", "--against", "everybody.csv"))
    assert found[0] == found[1]


def test_no_digest_of_a_guess_is_in_anything_that_is_published(folder: Path, discreet):
    (folder / "policy.yaml").write_text(POLICY)
    every = [*guesses()]
    found = published(folder, discreet, source_of(every[12_102]), "released.csv")
    result = b"\n".join(found.values()).decode().lower()
    confirmed = [
        kind
        for guess in every
        for kind in ("sha256", "sha1", "md5")
        if hashlib.new(kind, source_of(guess).encode()).hexdigest() in result
    ]
    assert confirmed == []


def test_a_keyed_digest_of_the_source_stays_with_the_custodian(folder: Path, discreet):
    (folder / "policy.yaml").write_text(POLICY)
    text = source_of(next(guesses()))
    published(folder, discreet, text, "released.csv")
    place = folder / "discreet-releases"
    record = json.loads(next(place.glob("*.json")).read_text())
    assert record["files"]["people.csv"] != hashlib.sha256(text.encode()).hexdigest()
    assert discreet("anonymize", "--replay", "out/released.csv.release.json", "--force").code == 0
    (folder / "people.csv").write_text(text.replace("cold", "HIV"))
    ran = discreet("anonymize", "--replay", "out/released.csv.release.json", "--force")
    assert (ran.code, ran.error) == (2, "invalid-manifest")
    assert "people.csv changed since" in ran.err
    # With the record goes the only proof of what the release was made from.
    for path in place.glob("*.json"):
        path.unlink()
    ran = discreet("anonymize", "--replay", "out/released.csv.release.json", "--force")
    assert (ran.code, ran.error) == (2, "invalid-manifest")
    assert "custodian's registry" in ran.err


def test_the_record_of_a_deidentified_table_confirms_no_guess(folder: Path, discreet):
    text = source_of(next(guesses()))
    (folder / "people.csv").write_text(text)
    arguments = (
        "deidentify",
        "people.csv",
        "--method",
        "safe-harbor",
        "--as-of",
        "2026",
        "-o",
        "shared.csv",
        "--accept-risk",
        "an example",
    )
    ran = discreet(*arguments)
    assert ran.code == 0, ran.err
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest not in (folder / "shared.csv.release.json").read_text()
    kept = (folder / "discreet-releases").rglob("*.json")
    assert digest not in "".join(path.read_text() for path in kept)


def shared(folder: Path, discreet, text: str, *options: str) -> dict[str, bytes]:
    """What is published of a deidentified source, each file by its name."""
    (folder / "people.csv").write_text(text)
    for name in ("out", "discreet-releases"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "out").mkdir()
    reason = ("--accept-risk", "an example")
    ran = discreet("deidentify", "people.csv", *options, *reason, "-o", "out/shared.csv")
    assert ran.code == 0, ran.err
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


SAFE_HARBOR = ("--method", "safe-harbor", "--as-of", "2026")


@pytest.mark.parametrize(
    ("column", "usual", "other", "options"),
    [("email", "p{}@example.org", "", ()), ("born", "unknown {}", "1950", ("--class", "born=C"))],
)
def test_the_record_does_not_count_the_cells_of_a_column_that_was_removed(
    folder: Path, discreet, column: str, usual: str, other: str, options: tuple[str, ...]
):
    cells = [usual.format(n) for n in range(24)]
    found = [
        shared(
            folder,
            discreet,
            "\n".join([f"{column},age,ill", *(f"{cell},31,flu" for cell in written), ""]),
            *(*SAFE_HARBOR, "--keep", "ill", *options),
        )
        for written in (cells, [*cells[:-1], other])
    ]
    assert found[0]["shared.csv"].splitlines()[0] == b"age,ill"
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "method", [(*SAFE_HARBOR, "--unit", "name"), ("--method", "expert", "--policy", "policy.yaml")]
)
def test_how_many_rows_a_person_has_is_not_in_the_record(folder: Path, discreet, method):
    policy = POLICY.replace("  people:\n", "  people:\n    unit: name\n")
    (folder / "policy.yaml").write_text(policy.replace("k: 4", "k: 2"))
    alone = [f"P{place}" for place in range(48)]
    twice = [*alone[:24], *(f"Q{place // 2}" for place in range(24))]
    rows = [(zipcode, ill) for zipcode in ("31", "51") for ill in "abcdefghijkl" * 2]
    found = [
        shared(
            folder,
            discreet,
            "\n".join(
                [
                    "name,age,ill",
                    *(f"{u},{a},{i}" for u, (a, i) in zip(units, rows, strict=True)),
                    "",
                ]
            ),
            *method,
        )
        for units in (alone, twice)
    ]
    assert found[0] == found[1]


def test_a_packed_file_has_neither_a_name_nor_a_time_in_its_head(folder: Path, discreet):
    (folder / "policy.yaml").write_text(POLICY)
    found = published(folder, discreet, source_of(next(guesses())), "released.csv.gz")
    head = found["released.csv.gz"][:10]
    assert head[3] & 0b11110 == 0  # no name, no comment, no extra field
    assert head[4:8] == bytes(4)
    assert b"people.csv" not in found["released.csv.gz"]


def test_a_parquet_file_reveals_nothing_but_its_rows(folder: Path, discreet):
    from pyarrow import parquet

    (folder / "policy.yaml").write_text(POLICY)
    published(folder, discreet, source_of(next(guesses())), "released.parquet")
    result = parquet.read_metadata(Path("out") / "released.parquet")
    assert result.metadata is None or set(result.metadata) <= {b"ARROW:schema"}
    assert result.created_by.startswith("DuckDB")
    assert (result.num_rows, result.num_row_groups) == (12, 1)
