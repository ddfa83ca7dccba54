"""`discreet epsilon`: every calculator by its words, in JSON and in prose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("words", "epsilon"),
    [
        ("randomized-response --heads 0.5", math.log(3)),
        ("randomized-response --heads 0.4", math.log(4.75)),
        ("randomized-response --heads 0.6 --second 1/3", math.log(3)),
        ("randomized-response --if-yes 0.6 --if-no 0.2", math.log(3)),
        ("randomized-response --truth 0.75", math.log(3)),
        ("randomized-response --truth 0.7 --values 4", math.log(7)),
        ("randomized-response --heads 0", "inf"),
        ("laplace --scale 10 --sensitivity 1", 0.1),
        ("laplace --epsilon 0.5 --sensitivity 90000", 0.5),
        ("compose 0.1 0.2", 0.3),
        ("compose 0.1 0.2 laplace:10:1 --times 2", 0.8),
        ("compose 0.1 0.2 --parallel", 0.2),
        ("compose 0.1 0.2 --parallel --bounded", 0.4),
        ("distinguish 0.1", 0.1),
        ("error 1e5", 1e5),
        ("group 0.1 --size 10", 1),
        ("estimate --yes 1500 --of 5000 --if-yes 0.6 --if-no 0.2", math.log(3)),
        ("sensitivity count --neighbors bounded --epsilon 0.5", 0.5),
    ],
)
def test_a_calculator_reports_its_epsilon(words: str, epsilon: float | str, discreet):
    ran = discreet("epsilon", *words.split(), "--json")
    assert (ran.code, ran.err) == (0, "")
    result = ran.json["epsilon"]
    assert result == epsilon if isinstance(epsilon, str) else result == pytest.approx(epsilon)
    assert ran.json["why"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("randomized-response --heads 0.4", "epsilon = ln 4.75 ≈ 1.55814"),
        ("laplace --epsilon 0.5 --sensitivity 1", "scale 2, standard deviation 2.82843"),
        ("compose 0.1 ln:3", "epsilon = 0.1 + ln 3 ≈ 1.19861"),
        ("distinguish 100000", "error from 10^-43429.448 to 0.5"),
        ("group 0.1 --size 10", "error at least 0.26894, for one person 0.47502"),
        ("estimate --yes 1500 --of 5000 --heads 0.6 --second 1/3", "people 1,250"),
        ("sensitivity sum --bounds -5,3 --epsilon 1/2", "Laplace noise of scale 10"),
        ("sensitivity histogram --neighbors bounded", "sensitivity 2 (bounded neighbors)"),
    ],
)
def test_a_calculator_speaks_to_people(words: str, shown: str, discreet):
    ran = discreet("epsilon", *words.split())
    assert ran.code == 0
    assert shown in ran.out


def test_ways_to_count_stand_side_by_side(discreet):
    ask = ("epsilon", "compose", "0.01", "--times", "1000", "--delta", "1e-6")
    accounts = discreet(*ask, "--json").json["accounts"]
    assert list(accounts) == ["basic", "advanced", "zcdp", "pld"]
    assert accounts["pld"] < accounts["zcdp"] < accounts["advanced"] < accounts["basic"] == 10
    assert "by zcdp: 1.47" in discreet(*ask).out


def test_a_table_names_who_is_distinguished(folder: Path, discreet):
    (folder / "t.csv").write_text("status,UNP,PROT\nUNVAX,0.5,0.5\nDOSE1,1/4,3/4\nDOSE2,0,1\n")
    ran = discreet("epsilon", "table", "t.csv", "--json", "--delta", "0.5")
    assert ran.json["epsilon"] == "inf"
    assert ran.json["worst"]["unlikely"] == "DOSE2"
    assert ran.json["profile"] == [{"epsilon": 0, "delta": 0.5}]
    result = discreet("epsilon", "table", "t.csv").out
    assert "epsilon = ∞" in result
    assert "Not differentially private: output 'UNP'" in result


def test_a_table_may_be_asked_for_the_delta_of_an_epsilon(folder: Path, discreet):
    (folder / "t.csv").write_text("0.76,0.24\n0.16,0.84\n")
    ran = discreet("epsilon", "table", "t.csv", "--epsilon", "0", "--json")
    assert ran.json["profile"] == [{"epsilon": 0, "delta": pytest.approx(0.6)}]
    assert ran.json["exact"] == "ln 4.75"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("randomized-response", "wrong-usage"),
        ("randomized-response --heads 0.5 --truth 0.5", "wrong-usage"),
        ("randomized-response --truth 0.5 --second 0.5", "wrong-usage"),
        ("randomized-response --if-yes 0.5", "wrong-usage"),
        ("randomized-response --heads 0.5 --values 3", "wrong-usage"),
        ("randomized-response --heads 1.5", "invalid-mechanism"),
        ("randomized-response --heads half", "wrong-usage"),
        ("laplace --sensitivity 1", "wrong-usage"),
        ("laplace --scale 1", "wrong-usage"),
        ("laplace --scale 1 --epsilon 1 --sensitivity 1", "wrong-usage"),
        ("laplace --scale 0 --sensitivity 1", "invalid-mechanism"),
        ("table none.csv", "no-such-source"),
        ("compose", "wrong-usage"),
        ("compose many", "invalid-mechanism"),
        ("compose 0.1 --parallel --delta 1e-6", "wrong-usage"),
        ("compose 0.1 --times 0", "invalid-mechanism"),
        ("distinguish far", "wrong-usage"),
        ("group 0.1 --size 0", "invalid-mechanism"),
        ("estimate --yes 6 --of 5 --heads 0.5", "invalid-mechanism"),
        ("sensitivity sum", "invalid-mechanism"),
        ("sensitivity sum --bounds 5", "wrong-usage"),
        ("sensitivity median --bounds 0,5", "wrong-usage"),
        ("laplase --scale 1", "wrong-usage"),
    ],
)
def test_what_cannot_be_calculated_is_reported(words: str, code: str, discreet):
    ran = discreet("epsilon", *words.split())
    assert (ran.code, ran.out, ran.error) == (2, "", code)


def test_a_slip_in_the_name_of_a_calculator_is_answered_with_the_right_one(discreet):
    assert "Did you mean 'laplace'?" in discreet("epsilon", "laplase").err


def test_a_table_that_does_not_add_up_names_its_row_and_quotes_no_cell(folder: Path, discreet):
    (folder / "t.csv").write_text("said,yes,no\nAlice,0.123,0.5\nBob,0.5,0.5\n")
    ran = discreet("epsilon", "table", "t.csv")
    assert (ran.code, ran.error) == (2, "invalid-mechanism")
    assert "row 'Alice' add up to 0.623" in ran.err


def test_help_lists_the_calculators_and_loads_nothing_heavy(discreet):
    ran = discreet("epsilon", "--help")
    for word in ("randomized-response", "laplace", "table", "compose", "distinguish", "estimate"):
        assert word in ran.out
