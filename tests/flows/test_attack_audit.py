"""`discreet attack audit`, `distinguishing` and `families` from the command line."""

from __future__ import annotations

import numpy as np
import pytest


def write_outputs(folder, *columns):
    lines = ["input,output"]
    for given, outputs in columns:
        lines += [f"{given},{output}" for output in outputs]
    (folder / "outputs.csv").write_text("\n".join([*lines, ""]), "utf-8")
    return "outputs.csv"


def geometric(value, runs, seed):
    chance = np.random.default_rng(seed)
    share = 1 - np.exp(-1)
    return value + chance.geometric(share, runs) - chance.geometric(share, runs)


@pytest.mark.statistics
def test_outputs_refute_a_claim_that_is_too_small_and_not_the_true_one(discreet, folder):
    """Seeded outputs of the geometric mechanism at epsilon 1."""
    file = write_outputs(
        folder, ("with", geometric(5, 8000, 1)), ("without", geometric(4, 8000, 2))
    )
    true = discreet("attack", "audit", file, "--claims", 1, "--json")
    small = discreet("attack", "audit", file, "--claims", "0.5", "--json")
    assert (true.code, small.code) == (0, 3)
    assert (true.json[0]["details"]["refuted"], small.json[0]["details"]["refuted"]) == (
        False,
        True,
    )
    assert 0.5 < small.json[0]["details"]["lower_bound"] < 1


def test_missing_outputs_are_outputs(discreet, folder):
    file = write_outputs(folder, ("a", [""] * 200), ("b", [1, 2] * 100))
    ran = discreet("attack", "audit", file, "--claims", 1)
    assert ran.code == 3
    assert "Refuted" in ran.out


def test_our_own_mechanism_passes(discreet, folder):
    ran = discreet(
        "attack",
        "audit",
        "--mechanism",
        "discreet:laplace",
        "--claims",
        1,
        "--runs",
        2000,
        "--sure",
        0.9999,
    )
    assert ran.code == 0
    assert "Not refuted" in ran.out


def test_code_of_the_working_folder_is_run_and_caught(discreet, folder, monkeypatch):
    monkeypatch.syspath_prepend("")
    (folder / "leaking.py").write_text("def count(rows): return rows.num_rows\n", "utf-8")
    (folder / "people.csv").write_text("age\n4\n5\n6\n", "utf-8")
    ran = discreet(
        "attack",
        "audit",
        "people.csv",
        "--mechanism",
        "leaking:count",
        "--claims",
        1,
        "--runs",
        500,
    )
    assert ran.code == 3
    assert "the table" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--claims", 1), "outputs"),
        (("--claims", 1, "--mechanism", "discreet:laplac"), "Did you mean 'laplace'"),
        (("--claims", 1, "--mechanism", "discreet:gaussian"), "--delta"),
        (("--claims", 1, "--mechanism", "nothing"), "module:function"),
        (("--claims", "x"), "0.5"),
        (("nowhere.csv", "--claims", 1), "nowhere.csv"),
    ],
)
def test_wrong_words_are_answered(discreet, folder, arguments, words):
    ran = discreet("attack", "audit", *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_the_game_is_played(discreet, folder):
    ran = discreet(
        "attack", "distinguishing", "--epsilon", 1, "--trials", 20_000, "--seed", 1, "--json"
    )
    assert ran.code == 0
    errors = sorted(found["details"]["error"] for found in ran.json)
    assert errors == pytest.approx([0.269, 0.269, 0.303], abs=0.03)


def test_families_are_weaker(discreet, folder):
    ran = discreet("attack", "families", "--epsilon", "0.1", "--size", 10, "--seed", 1, "--json")
    (found,) = ran.json
    assert found["details"]["epsilon"] == 1
    assert "epsilon 1:" in found["verdict"]
    assert discreet("attack", "families", "--epsilon", "0", "--size", 10).code == 2
    assert discreet("attack", "families", "--epsilon", "1", "--size", 9, "--tolerance", 0).code == 3
