"""Individual and household risk of surveys, with the numbers that sdcMicro and its users publish."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.measure.risk.weighted import individual_risk

# The example of Capobianchi, Polettini & Lucarelli (francdat): keys, weights, f, F and risk as
# sdcMicro's manual and its README have them.
KEYS = ["Key1", "Key2", "Key3", "Key4"]
FRANC_F = [2, 2, 2, 1, 1, 1, 1, 2]
FRANC_POPULATION = [110.0, 84.5, 84.5, 17.0, 541.0, 8.0, 5.0, 110.0]
FRANC_RISK = [
    *(0.01714426, 0.02204233, 0.02204233, 0.17707583),
    *(0.01165448, 0.29706308, 0.40235948, 0.01714426),
]

# sdcMicro, tests/testthat/test_freqCalc.R and test_indivRisk.R: eight rows without missing values.
ROWS = pa.table(
    {
        "A": [2, 3, 2, 2, 3, 3, 1, 2],
        "B": [3, 3, 3, 3, 3, 3, 4, 3],
        "C": [1, 3, 1, 2, 1, 1, 1, 1],
        "weight": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
    }
)
ROWS_F = [3, 1, 3, 1, 2, 2, 1, 3]
ROWS_POPULATION = [108.0, 45.5, 108.0, 17.0, 100.0, 100.0, 123.5, 108.0]
ROWS_RISK = [
    *(0.01369863, 0.08579129, 0.01369863, 0.17707583),
    *(0.01877883, 0.01877883, 0.03931625, 0.01369863),
]


@pytest.mark.parametrize(
    ("people", "population", "risk"),
    [(FRANC_F, FRANC_POPULATION, FRANC_RISK), (ROWS_F, ROWS_POPULATION, ROWS_RISK)],
)
def test_individual_risk_is_that_of_sdcmicro(
    people: list[int], population: list[float], risk: list[float]
) -> None:
    found = individual_risk(np.array(people), np.array(population))
    np.testing.assert_allclose(found, risk, atol=5e-9)


# "SDC report" of the Integrated Household Survey of Sierra Leone (Statistics Sierra Leone, catalog 16, section
# 1C): combinations with the highest risk, by frequency and grossed-up frequency.
@pytest.mark.parametrize(
    ("people", "population", "risk"),
    [
        (12, 1316.701, 0.0008278),
        (10, 2595.686, 0.0004279),
        (7, 5079.996, 0.0002296),
        (15, 5300.859, 0.0002021),
        (42, 5343.714, 0.0001917),
        (41, 15809.289, 0.0000648),
    ],
)
def test_individual_risk_is_that_of_a_published_report(
    people: int, population: float, risk: float
) -> None:
    (found,) = individual_risk(np.array([people]), np.array([population]))
    assert found == pytest.approx(risk, abs=5e-8)


def test_francdat_is_assessed_as_sdcmicro_does(shared_data: Path) -> None:
    found = discreet.assess(
        str(shared_data / "sdcmicro" / "francdat.csv"), quasi=KEYS, weight="w"
    ).weighted
    assert found is not None
    assert found.population == pytest.approx(765.5)
    assert found.worst == pytest.approx(max(FRANC_RISK), abs=5e-9)
    assert found.expected_people == pytest.approx(sum(FRANC_RISK), abs=5e-8)
    assert found.people_at_risk == sum(risk > 0.2 for risk in FRANC_RISK)


def test_rows_are_assessed_as_sdcmicro_does() -> None:
    found = discreet.assess(ROWS, quasi=["A", "B", "C"], weight="weight")
    assert found.weighted is not None
    assert found.weighted.expected_people == pytest.approx(sum(ROWS_RISK), abs=5e-8)
    assert found.risk.journalist.worst == pytest.approx(max(ROWS_RISK), abs=5e-9)
    assert found.risk.marketer.expected_people == found.weighted.expected_people


def test_a_household_is_found_with_its_most_exposed_members() -> None:
    """Templ, Kowarik & Meindl (2015), 3.3: one minus the chance that no member is found."""
    homes = [1, 1, 2, 2, 2, 3, 3, 3]
    table = ROWS.append_column("home", [homes])
    found = discreet.assess(table, quasi=["A", "B", "C"], weight="weight", household="home")
    chances = {
        home: 1 - np.prod([1 - r for h, r in zip(homes, ROWS_RISK, strict=True) if h == home])
        for home in set(homes)
    }
    assert found.weighted is not None
    household = found.weighted.household
    assert household is not None
    assert household.households == 3
    assert household.worst == pytest.approx(max(chances.values()), abs=5e-8)
    assert household.expected_people == pytest.approx(sum(chances[h] for h in homes), abs=1e-7)
