"""Census blocks of the published examples and of Garfinkel, Abowd & Martindale (2019), and blocks of Adult."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.csv as csv
import pytest

from discreet.attacks.census.marginals import tabulate_marginals
from discreet.attacks.census.read import parse_block
from discreet.attacks.census.reconstruct import reconstruct_block
from discreet.attacks.census.solve import solve_block

FOUR = """
people: 4
variables:
  age: 0..115
  race: [White, Asian]
groups:
  - {where: {age: 17}, count: 2}
  - {where: {race: White}, count: 2, age: {mean: exactly 30}}
  - {where: {race: Asian}, count: 2, age: {mean: exactly 32}}
"""

# Understanding Database Reconstruction Attacks on Public Data (CACM 62:3), table 1; counts of fewer
# than three people are suppressed, and no one below 15 is married.
SEVEN = """
people: 7
decimals: 1
variables:
  age: 0..115
  sex: [female, male]
  race: [black, white]
  married: [no, yes]
groups:
  - {age: {median: 30, mean: 38}}
  - {where: {sex: female}, count: 4, age: {median: 30, mean: 33.5}}
  - {where: {sex: male}, count: 3, age: {median: 30, mean: 44}}
  - {where: {race: black}, count: 4, age: {median: 51, mean: 48.5}}
  - {where: {race: white}, count: 3, age: {median: 24, mean: 24}}
  - {where: {married: no, age: 18..}, count: 0..2}
  - {where: {married: yes, age: 18..}, count: 4, age: {median: 51, mean: 54}}
  - {where: {race: black, sex: female}, count: 3, age: {median: 36, mean: 36.7}}
  - {where: {race: black, sex: male}, count: 0..2}
  - {where: {race: white, sex: male}, count: 0..2}
  - {where: {race: white, sex: female}, count: 0..2}
  - {where: {age: ..4}, count: 0..2}
  - {where: {age: ..17}, count: 0..2}
  - {where: {age: 64..}, count: 0..2}
impossible:
  - {married: yes, age: ..14}
"""
COLUMNS = ["sex", "race", "marital-status", "education", "workclass"]


@pytest.fixture(scope="module")
def adult(shared_data) -> Any:
    path = shared_data / "adult" / "adult.csv"
    return csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=";")).select(COLUMNS)


def some(adult: Any, people: int, seed: int) -> Any:
    return adult.take(np.random.default_rng(seed).permutation(adult.num_rows)[:people])


def spelled(text: str) -> list[list[str]]:
    block = parse_block(text)
    found = solve_block(block)
    assert found.is_complete
    return [sorted(map(block.spell, table.elements())) for table in found.tables]


def test_the_block_of_four_has_one_solution():
    white, asian = "race White", "race Asian"
    wanted = [f"age 17, {asian}", f"age 17, {white}", f"age 43, {white}", f"age 47, {asian}"]
    assert spelled(FOUR) == [wanted]
    found = reconstruct_block(parse_block(FOUR))
    assert found.details["unique"]
    assert found.rate == found.certainty == 1


def test_the_block_of_four_is_open_when_means_are_rounded_to_whole_numbers():
    found = reconstruct_block(parse_block(FOUR.replace("exactly ", "")))
    assert found.details["solutions"] == 9
    assert found.details["certain"] == 2


def test_the_block_of_seven_has_one_solution():
    black, white = "race black", "race white"
    assert spelled(SEVEN) == [
        sorted(
            [
                f"age 8, sex female, {black}, married no",
                f"age 18, sex male, {white}, married no",
                f"age 24, sex female, {white}, married no",
                f"age 30, sex male, {white}, married yes",
                f"age 36, sex female, {black}, married yes",
                f"age 66, sex female, {black}, married yes",
                f"age 84, sex male, {black}, married yes",
            ]
        )
    ]


@pytest.mark.parametrize("seed", [3, 5])
def test_ten_people_of_adult_follow_from_all_pairs_of_columns(adult: Any, seed: int):
    people = some(adult, 10, seed)
    found = reconstruct_block(tabulate_marginals(people, ways=2), truth=people)
    assert found.rate == 1
    assert found.correct == 10


@pytest.mark.parametrize("seed", [3, 7])
def test_a_hundred_people_of_adult_follow_from_all_triples_of_columns(adult: Any, seed: int):
    people = some(adult, 100, seed)
    found = reconstruct_block(tabulate_marginals(people, ways=3), truth=people)
    assert found.details["guaranteed"] >= 96
    assert found.correct == found.claimed >= 96


def test_sixty_people_of_adult_are_not_all_certain_by_pairs(adult: Any):
    people = some(adult, 60, 3)
    found = reconstruct_block(
        tabulate_marginals(people, ways=2), truth=people, most=50, seconds=200
    )
    assert found.correct == found.claimed
    assert found.rate < found.details["guaranteed"] / 60 < 1
    assert found.details["matched"] >= found.details["guaranteed"]


def test_noise_makes_impossible_tables(adult: Any):
    found = reconstruct_block(parse_block(SEVEN.replace("mean: 44}", "mean: 46}")))
    assert not found.details["consistent"]
