"""What a result shows of itself: on a terminal, in a log and in a notebook no person's values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import discreet
from discreet.result import Result

ROWS = 120
# Every cell has one of these in it, and nothing else does.
MARKS = ("Qx", "7310")
PEOPLE = pa.table(
    {
        "name": [f"Qxname {i}" for i in range(ROWS)],
        "birth": [f"Qxborn{i % 60}" for i in range(ROWS)],
        "town": [f"Qxtown{i % 7}" for i in range(ROWS)],
        "pay": [731000 + i % 9 for i in range(ROWS)],
        "ill": [f"Qxill{i % 5}" for i in range(ROWS)],
    }
)
ROLES = {"quasi": ["birth", "town"], "sensitive": ["ill", "pay"]}


def nested(value: object) -> Iterator[Result]:
    """Yield a result and every result within it."""
    if isinstance(value, Result):
        yield value
        for item in dataclasses.fields(value):
            if not item.name.startswith("_"):
                yield from nested(getattr(value, item.name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from nested(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from nested(item)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("results")
    voters = PEOPLE.select(["name", "birth", "town"])
    return {
        "assess": discreet.assess(PEOPLE, **ROLES),
        "assess without roles": discreet.assess(PEOPLE),
        "init": discreet.draft_policy(PEOPLE),
        "anonymize": discreet.anonymize(
            PEOPLE.drop(["pay"]), quasi=["birth", "town"], sensitive=["ill"], k=3, l=2
        ),
        "deidentify": discreet.deidentify(
            PEOPLE,
            method="pseudonymize",
            key_file=write_key(folder),
            columns=["name"],
            accept_risk="a test",
        ),
        "attack all": discreet.attack.all(PEOPLE, **ROLES),
        "linkage": discreet.attack(
            "linkage", PEOPLE, known=voters, on=["birth", "town"], sensitive=["ill"]
        ),
    }


def write_key(folder: Path) -> str:
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "key").chmod(0o600)
    return str(folder / "key")


def test_no_cell_is_in_a_representation_of_a_result_or_its_parts(results: dict[str, Result]):
    shown = [
        text for one in results.values() for part in nested(one) for text in (repr(part), str(part))
    ]
    assert len(shown) > 200
    assert [text for text in shown if any(mark in text for mark in MARKS)] == []


def test_no_cell_is_in_a_card(results: dict[str, Result]):
    cards = {name: one._repr_html_() for name, one in results.items()}
    assert [name for name, card in cards.items() if any(mark in card for mark in MARKS)] == []


def test_the_classes_that_hold_cells_are_among_them(results: dict[str, Result]):
    kinds = {type(part).__name__ for one in results.values() for part in nested(one)}
    assert {"Assessment", "ClassView", "Finding", "PolicyDraft", "Release", "Deidentified"} <= kinds
    assert "Qx" in str(results["assess"].to_dict()["smallest"])


def test_every_result_has_the_short_representation_or_one_of_its_own():
    @dataclasses.dataclass(frozen=True)
    class Example(Result):
        verdict: str
        people: tuple[str, ...]

    assert repr(Example("2 people", ("Ann", "Bob"))) == "Example(verdict='2 people', …)"
