"""`discreet attack dictionary`, from hashed rides to undone medallions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet


@pytest.fixture
def rides(folder: Path) -> Path:
    path = folder / "rides.csv"
    hashes = [hashlib.md5(f"{n % 10}A{n:02d}".encode()).hexdigest() for n in range(40)]
    path.write_text("\n".join(["medallion,fare", *(f"{each},7.5" for each in hashes * 2), ""]))
    return path


def test_a_pattern_undoes_all_and_exceeds_what_is_tolerated(rides: Path, discreet: Discreet):
    words = ("attack", "dictionary", rides, "--column", "medallion", "--pattern", r"\d[A-B]\d\d")
    shown = discreet(*words)
    assert shown.code == 0
    assert "40 of 40 pseudonyms in column 'medallion' are undone" in shown.out
    result = discreet(*words, "--tolerance", "5%", "--json")
    assert result.code == 3
    assert result.json[0]["details"]["hash"] == "md5"
    assert "0A00" not in result.out


def test_lists_and_known_tables_are_tried(rides: Path, discreet: Discreet):
    (rides.parent / "list.csv").write_text("m\n0A00\n1A01\n")
    words = ("attack", "dictionary", rides, "--column", "medallion", "--json")
    listed = discreet(*words, "--candidates", "list.csv").json[0]
    known = discreet(*words, "--known", "list.csv").json[0]
    assert (listed["claimed"], known["claimed"]) == (2, 40)


def test_pseudonyms_of_deidentify_are_not_undone(rides: Path, discreet: Discreet):
    plain = rides.parent / "plain.csv"
    plain.write_text("\n".join(["medallion,fare", *(f"{n % 10}A{n:02d},7" for n in range(40)), ""]))
    (rides.parent / "secret.key").write_text(bytes(range(32)).hex())
    (rides.parent / "secret.key").chmod(0o600)
    words = ("--method", "pseudonymize", "--columns", "medallion", "--key-file", "secret.key")
    made = discreet("deidentify", plain, *words, "-o", "out.csv")
    assert made.code == 0, made.err
    words = ("attack", "dictionary", "out.csv", "--known", plain, "--limit", "100000", "--json")
    found = discreet(*words).json[0]
    assert (found["attack"], found["claimed"], found["targets"]) == ("dictionary", 0, 40)


def test_a_pattern_with_a_slip_is_wrong_usage(rides: Path, discreet: Discreet):
    ran = discreet("attack", "dictionary", rides, "--column", "medallion", "--pattern", "[0-9")
    assert (ran.code, ran.error) == (2, "wrong-usage")
