"""Sampling weights and ids of households are recognized, and body weight is neither."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.measure.profile import draft_tables, guess_roles
from discreet.measure.profile.survey import weight_name
from discreet.policy.load import parse_policy
from discreet.policy.model import ColumnRole

RANDOM = random.Random(11)
ROWS = 300
SAMPLED = [round(RANDOM.uniform(120, 9000), 3) for _ in range(ROWS)]
KILOGRAMS = [round(RANDOM.gauss(74, 14), 1) for _ in range(ROWS)]
POUNDS = [round(RANDOM.gauss(165, 30)) for _ in range(ROWS)]
GRAMS = [10 * round(random.Random(row).gauss(335, 50)) for row in range(ROWS)]
HOUSEHOLDS = [row // 3 for row in range(ROWS)]


def roles(**columns: list[Any]) -> dict[str, ColumnRole]:
    return {name: guess.role for name, guess in guess_roles(open_table(pa.table(columns))).items()}


@pytest.mark.parametrize(
    "name",
    [
        "sampling_weight",
        "PERWT",
        "HHWT",
        "fnlwgt",
        "AFNLWGT",
        "pweight",
        "PERWEIGHT",
        "WTFINL",
        "PWGTP",
        "WTMEC2YR",
        "dweight",
        "pspwght",
        "anweight",
        "survey_wt",
        "poids_sondage",
        "Haushaltsgewicht",
        "Hochrechnungsfaktor",
        "peso_muestral",
        "factor_ponderacion",
        "waga_proby",
        "weight",
        "wt",
        "Gewicht",
        "poids",
    ],
)
def test_a_sampling_weight_is_recognized_by_name_and_numbers(name: str) -> None:
    assert roles(**{name: SAMPLED})[name] is ColumnRole.WEIGHT


@pytest.mark.parametrize("values", [KILOGRAMS, POUNDS, GRAMS])
@pytest.mark.parametrize(
    "name",
    [
        "weight",
        "weight_kg",
        "Körpergewicht",
        "poids_kg",
        "peso",
        "waga",
        "body_weight",
        "wt",
        "person_weight",
    ],
)
def test_body_weight_is_no_sampling_weight(name: str, values: list[float]) -> None:
    assert roles(**{name: values})[name] is not ColumnRole.WEIGHT


@pytest.mark.parametrize(
    "name", ["birth_weight", "weight_lb", "vehicle_weight", "pesos", "underweight"]
)
def test_what_weighs_is_no_sampling_weight_however_large(name: str) -> None:
    assert roles(**{name: SAMPLED})[name] is not ColumnRole.WEIGHT


def test_a_bare_weight_beside_a_height_is_body_weight() -> None:
    found = roles(weight=SAMPLED, height=[round(RANDOM.gauss(170, 9)) for _ in range(ROWS)])
    assert found["weight"] is ColumnRole.QUASI_IDENTIFIER


def test_a_bare_weight_of_plausible_kilograms_beside_households_is_a_sampling_weight() -> None:
    assert roles(weight=KILOGRAMS, hhid=HOUSEHOLDS)["weight"] is ColumnRole.WEIGHT


@pytest.mark.parametrize("name", ["PESO", "weight", "person_weight"])
def test_a_weight_that_most_rows_do_not_have_is_no_sampling_weight(name: str) -> None:
    some = [value if row % 10 == 0 else None for row, value in enumerate(SAMPLED)]
    assert roles(**{name: some}, hhid=HOUSEHOLDS)[name] is not ColumnRole.WEIGHT


def test_a_weight_that_only_its_numbers_tell_apart_is_unsure() -> None:
    guess = guess_roles(open_table(pa.table({"weight": SAMPLED})))["weight"]
    assert guess.confidence == "low"


def test_of_several_weights_the_one_for_people_counts_and_none_is_published() -> None:
    found = roles(HHWT=SAMPLED, PERWT=SAMPLED, REPWT1=SAMPLED)
    assert found == {
        "HHWT": ColumnRole.IDENTIFIER,
        "PERWT": ColumnRole.WEIGHT,
        "REPWT1": ColumnRole.IDENTIFIER,
    }


@pytest.mark.parametrize("values", [[-1.0, *SAMPLED[1:]], ["high", "low"] * (ROWS // 2)])
def test_what_cannot_count_people_is_no_sampling_weight(values: list[Any]) -> None:
    assert roles(sampling_weight=values)["sampling_weight"] is not ColumnRole.WEIGHT


@pytest.mark.parametrize(
    "name",
    [
        "hhid",
        "household_id",
        "SERIAL",
        "id_menage",
        "Haushalts-ID",
        "id_hogar",
        "ori_hid",
        "psu",
        "cluster",
        "hh_number",
    ],
)
def test_the_id_of_a_household_or_cluster_is_recognized(name: str) -> None:
    assert roles(**{name: HOUSEHOLDS})[name] is ColumnRole.HOUSEHOLD


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("household_size", [1 + row % 6 for row in range(ROWS)]),
        ("household_member_id", [1 + row % 6 for row in range(ROWS)]),
        ("cluster", [row % 4 for row in range(ROWS)]),
        ("serial", list(range(ROWS))),
        ("household_id", list(range(ROWS))),
        ("household_income", SAMPLED),
    ],
)
def test_what_only_mentions_a_household_is_no_household_id(name: str, values: list[Any]) -> None:
    assert roles(**{name: values})[name] is not ColumnRole.HOUSEHOLD


def test_a_household_is_drafted_and_each_row_stays_a_person() -> None:
    table = pa.table(
        {"hhid": HOUSEHOLDS, "age": [20 + row % 60 for row in range(ROWS)], "pweight": SAMPLED}
    )
    draft = draft_tables([open_table(table)], sources=["people.csv"])
    policy = parse_policy(draft.to_yaml()).tables["people"]
    assert policy.unit_is_row
    assert policy.weight == "pweight"
    assert policy.unpublished == ("hhid", "pweight")


@pytest.mark.parametrize(
    ("file", "weight", "households"),
    [
        ("adult_uci/adult_uci.csv", "fnlwgt", ()),
        ("sdcmicro/testdata.csv", "sampling_weight", ("ori_hid",)),
        ("sdcmicro/CASCrefmicrodata.csv", "AFNLWGT", ()),
        ("sdcmicro/Tarragona.csv", None, ()),
        ("fars/fars_subset.csv", None, ()),
        ("cup/cup_subset.csv", None, ()),
    ],
)
def test_weights_and_households_of_public_files(
    shared_data: Path, file: str, weight: str | None, households: tuple[str, ...]
) -> None:
    found = guess_roles(open_table(str(shared_data / file)))
    assert next((n for n, g in found.items() if g.role is ColumnRole.WEIGHT), None) == weight
    assert tuple(n for n, g in found.items() if g.role is ColumnRole.HOUSEHOLD) == households


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("weight", "bare"),
        ("PERWT", "person"),
        ("sample_weight", "survey"),
        ("weight_kg", None),
        ("age", None),
    ],
)
def test_a_name_says_weight_in_one_of_three_ways(name: str, said: str | None) -> None:
    assert weight_name(name) == said
