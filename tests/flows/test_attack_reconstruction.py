"""`discreet attack reconstruction`: counts of groups against exact, rounded and private answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

POLICY = """\
tables:
  people:
    unit: row
    budget: {epsilon: 1}
    tolerance: {reconstruction: 10%}
    columns:
      number: {role: identifier, kind: integer}
      name: {role: identifier, kind: text}
      ill: {role: sensitive, kind: text, values: [HIV, flu]}
"""
VALUE = ("--value", "ill = 'HIV'")


@pytest.fixture
def table(folder):
    ill = np.where(np.random.default_rng(1).random(40) < 0.5, "HIV", "flu")
    rows = [f"{place},Ann {place},{what}" for place, what in enumerate(ill)]
    (folder / "people.csv").write_text("\n".join(["number,name,ill", *rows, ""]), "utf-8")
    (folder / "policy.yaml").write_text(POLICY, "utf-8")
    return "people.csv"


def attack(discreet, table, *options):
    return discreet("attack", "reconstruction", table, *VALUE, "--seed", 1, *options)


def test_rounded_counts_give_everybody_away_and_exceed_the_tolerance(discreet, table):
    ran = attack(discreet, table, "--round", 5, "--policy", "policy.yaml", "--json")
    (found,) = ran.json
    assert ran.code == 3
    assert found["rate"] >= 0.95
    assert (found["targets"], found["details"]["answered"], found["details"]["absent"]) == (
        40,
        168,
        2,
    )
    assert found["queries"] > 168  # some to find out how large groups should be
    assert found["details"]["method"] == "Chebyshev"


def test_the_terminal_has_an_example_and_neither_json_nor_the_report_has(discreet, table, folder):
    ran = attack(discreet, table, "--by", "name", "--report", "page.html")
    assert ran.code == 0
    assert "For your eyes only" in ran.out
    assert "Among those who have it: name Ann" in ran.out
    assert "Ann " not in (folder / "page.html").read_text("utf-8")


def test_the_limit_follows_the_formula(discreet, table):
    ran = attack(discreet, table, "--find-limit", "--json")
    limit = ran.json[0]["details"]["limit"]
    assert [round(trial["alpha"], 2) for trial in limit] == [0.1, 0.25, 0.5, 1, 2, 4]
    shown = attack(discreet, table, "--find-limit")
    assert "How much noise stops it" in shown.out


@pytest.mark.statistics
def test_private_answers_are_not_solved(discreet, table):
    """60 questions share epsilon 1: a bit is right with chance 0.51, 37 of 40 with one below 1e-7.

    Half of them are right by guessing, so that 37 is more than 80 % of what is left to learn.
    """
    options = ("--epsilon", 1, "--policy", "policy.yaml", "--questions", 60, "--tolerance", "80%")
    ran = attack(discreet, table, *options, "--json")
    assert ran.code == 0
    assert ran.json[0]["correct"] < 37
    assert "thrown away" in ran.err


def test_every_table_is_tried_for_few_people(discreet, folder):
    (folder / "few.csv").write_text("name,ill\na,HIV\nb,flu\nc,HIV\n", "utf-8")
    ran = attack(discreet, "few.csv", "--subsets", "all", "--assume", "uniform:0.4", "--json")
    (found,) = ran.json
    assert (found["correct"], found["details"]["survivors"], found["queries"]) == (3, 1, 8)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (("--by", "nam"), "unknown-column", "Did you mean 'name'"),
        (("--assume", "gaus"), "wrong-usage", "Did you mean 'gaussian'"),
        (("--subsets", "hsh"), "wrong-usage", "Did you mean 'hash'"),
        (("--subsets", "arithmetic", "--by", "name"), "wrong-usage", "--by"),
        (("--subsets", "all", "--questions", 5), "wrong-usage", "20 people"),
        (("--epsilon", 1, "--round", 5), "wrong-usage", "--round"),
    ],
)
def test_wrong_words_are_answered_with_right_ones(discreet, table, options, error, words):
    ran = attack(discreet, table, *options)
    assert (ran.code, ran.error) == (2, error)
    assert words in ran.err


def test_a_secret_that_is_no_condition_is_refused(discreet, table):
    for value in ("illl = 1", "((", "count(*) > 1"):
        assert discreet("attack", "reconstruction", table, "--value", value).code == 2


def test_help_teaches(discreet):
    ran = discreet("attack", "reconstruction", "--help")
    assert "Examples:" in ran.out
    assert json.dumps("diagnosis = 'HIV'") in ran.out
