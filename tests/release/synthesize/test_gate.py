"""The gate of synthetic tables: a table that copies people is refused, one under differential privacy is not."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.domain.binned_range import bin_whole_numbers
from discreet.domain.coded_column import CodedColumn
from discreet.domain.listed_values import ListedValues
from discreet.dp.accounting import rho_of_epsilon
from discreet.dp.spending import ZcdpSpending
from discreet.engines.engine import Kind
from discreet.release.synthesize.gate import (
    TOLERANCE,
    CodedPeople,
    RowCounter,
    attack_rows,
    attack_twin,
    choose_others,
    compare_with_others,
    judge_strictly,
    limit_rows,
    make_twin,
)
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, fit_model

SIZES, ORDERED = (40, 3, 12, 30), (True, False, False, True)


COLUMNS = tuple(
    CodedColumn(
        f"c{place}",
        Kind.INTEGER,
        bin_whole_numbers(Decimal(0), Decimal(size - 1))
        if is_ordered
        else ListedValues(Kind.INTEGER, tuple(range(size))),
    )
    for place, (size, is_ordered) in enumerate(zip(SIZES, ORDERED, strict=True))
)


def draw_people(count: int) -> CodedPeople:
    chance = np.random.default_rng(11)
    group = chance.integers(0, 6, count)
    rows = [
        (group * 3 + chance.integers(0, size, count) // (2 + place)) % size
        for place, size in enumerate(SIZES)
    ]
    return CodedPeople(np.stack(rows, axis=1).astype(np.int32), np.arange(count), is_all=True)


def copy_people(rows, units):
    del units
    return rows[np.random.default_rng(1).integers(0, len(rows), len(rows))]


def make_private(epsilon: str):
    def make_table(rows, units):
        del units
        rho = rho_of_epsilon(Fraction(epsilon), delta=Fraction(1, 10**9))
        model = fit_model(
            RowCounter(rows, SIZES),
            [ColumnShape(size, ordered) for size, ordered in zip(SIZES, ORDERED, strict=True)],
            ZcdpSpending(rho, sensitivity=1),
            target=None,
            settings=FAST,
            chance=np.random.default_rng(2),
        )
        return model.sample(max(1, round(model.columns.total)), np.random.default_rng(3))

    return make_table


def find_all(make_table, count=1500):
    chance = np.random.default_rng(4)
    twin = make_twin(draw_people(count), make_table, chance)
    assert twin is not None
    return attack_twin(twin, COLUMNS, label="made", sensitive=["c2"], chance=chance)


def test_a_table_that_copies_people_is_caught():
    judged = [judge_strictly(found, TOLERANCE) for found in find_all(copy_people)]
    caught = {found.attack for found in judged if found.exceeds}
    assert caught >= {"closest", "attribute"}


def test_rows_that_are_nearer_to_people_than_their_model_is_are_caught():
    people = draw_people(1500).rows
    drawn = make_private("1")(people, None)
    found = attack_rows(people, drawn, people, COLUMNS, label="x", chance=np.random.default_rng(1))
    honest = attack_rows(drawn, drawn, people, COLUMNS, label="x", chance=np.random.default_rng(1))
    assert judge_strictly(found, TOLERANCE).exceeds
    assert not judge_strictly(honest, TOLERANCE).exceeds


@pytest.mark.statistics
def test_being_in_a_released_table_is_guessed_no_better_than_epsilon_allows():
    """Advantage of membership ≤ (e^ε - 1) / (e^ε + 1) + δ; n = 300 and 150, alpha 1e-9 by six deviations."""
    epsilon = 0.5
    bound = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1) + 1e-9
    for found in find_all(make_private(str(epsilon))):
        if found.attack in ("closest", "membership"):
            others = found.details["control_targets"]
            deviation = math.sqrt(0.25 / found.targets + 0.25 / others)
            assert found.rate - (found.control or 0.0) <= bound + 6 * deviation


def test_people_are_set_aside_with_all_of_their_rows():
    people = draw_people(400)
    units = np.repeat(np.arange(100), 4)
    twin = make_twin(
        CodedPeople(people.rows, units, is_all=True), copy_people, np.random.default_rng(1)
    )
    assert twin is not None
    assert not set(units[twin.is_other]) & set(units[~twin.is_other])
    assert len(twin.others) == len(twin.people) == 20  # one row of each


@pytest.mark.statistics
def test_many_rows_of_a_person_make_no_attack_surer_of_itself():
    """People with 30 equal rows each, 4 tables of strangers: each attack on one exceeds with alpha 1e-6."""
    chance = np.random.default_rng(6)
    units = np.repeat(np.arange(120), 30)
    exceeding: dict[str, int] = {"people": 0, "rows": 0}
    for _ in range(4):
        drawn = chance.permutation(draw_people(240).rows)
        rows, strangers = drawn[units], drawn[chance.integers(120, 240, 2000)]
        is_other = choose_others(units, chance)
        assert is_other is not None
        for name, of in (("people", units), ("rows", np.arange(len(units)))):
            source = CodedPeople(rows, of, is_all=True)
            twin = compare_with_others(source, strangers, is_other, chance)
            found = attack_twin(twin, COLUMNS, label="made", sensitive=["c2"], chance=chance)
            exceeding[name] += sum(judge_strictly(one, TOLERANCE).exceeds for one in found)
    assert exceeding["people"] == 0
    assert exceeding["rows"] > 0  # what was wrong: each row taken for a person


def test_too_few_people_give_no_control():
    assert make_twin(draw_people(5), copy_people, np.random.default_rng(1)) is None


def test_no_unit_keeps_more_rows_than_are_allowed():
    units = np.random.default_rng(1).integers(0, 9, 200)
    kept = limit_rows(units, 3, np.random.default_rng(2))
    assert np.bincount(units[kept]).tolist() == [3] * 9
