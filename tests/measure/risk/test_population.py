from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import WrongUsage
from discreet.measure.risk.population import PopulationUniques, population_uniques

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

FRACTIONS = [0.1, 0.01, 0.0001]


@pytest.fixture(scope="module")
def adult(shared_data: Path) -> tuple[Integers, Integers]:
    """Class sizes of Adult with the eight quasi-identifiers ARX was run with."""
    table = duckdb.read_csv(str(shared_data / "adult" / "adult.csv"), delimiter=";")
    columns = '"age", "education", "marital-status", "native-country", "race", "salary-class", '
    columns += '"sex", "workclass"'
    sizes = table.aggregate("count(*) AS size", columns).fetchnumpy()["size"]
    return np.unique(sizes, return_counts=True)


@pytest.fixture(scope="module")
def golden(shared_data: Path) -> dict[float, dict[str, str]]:
    """What ARX 3.9.2 printed, by fraction."""
    lines = (shared_data / "golden_arx" / "risk_adult.txt").read_text().splitlines()
    found = [
        re.search(
            r"fraction (\S+) .*dankar (?P<dankar>\S+) \(model (?P<chosen>\w+)\) "
            r"pitman (?P<pitman>\S+) zayatz (?P<zayatz>\S+) .*"
            r"fractions pitman (?P<pitman_share>\S+) zayatz (?P<zayatz_share>\S+)",
            line,
        )
        for line in lines
    ]
    return {float(match[1]): match.groupdict() for match in found if match}


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_adult_gives_the_numbers_of_arx(
    fraction: float, adult: tuple[Integers, Integers], golden: dict[float, dict[str, str]]
) -> None:
    found = population_uniques(*adult, fraction=fraction)

    assert {
        "dankar": f"{found.uniques:.4f}",
        "chosen": str(found.chosen).upper(),
        "pitman": f"{found.pitman.uniques:.4f}",
        "zayatz": f"{found.zayatz.uniques:.4f}",
        "pitman_share": f"{found.pitman.share:.8f}",
        "zayatz_share": f"{found.zayatz.share:.8f}",
    } == golden[fraction]


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_snb_answers_on_adult_where_arx_returns_zero(
    fraction: float, adult: tuple[Integers, Integers]
) -> None:
    found = population_uniques(*adult, fraction=fraction)

    assert found.snb.converged
    assert found.snb.uniques is not None
    assert 0 < found.snb.uniques < found.zayatz.uniques


def test_snb_reproduces_the_numbers_of_classes_it_was_fitted_to() -> None:
    # 1 + NB(1, 1/2) thinned by 1/2: the generating function is (1 + s) / 2 * 2 / (3 - s), so of
    # 9000 classes a third is empty, 4/9 have one member and 4/27 two, and half are truly unique.
    # The sizes above 2 follow, but Shlosser's estimate of the 9000 is only near.
    sizes = np.arange(1, 9)
    classes = np.array([4000, 1333, 444, 148, 49, 16, 5, 2])

    found = population_uniques(sizes, classes, fraction=0.5)

    assert found.snb.uniques == pytest.approx(4500, rel=0.05)


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.0001, float("nan"), float("inf")])
def test_a_fraction_outside_its_range_is_refused(fraction: float) -> None:
    with pytest.raises(WrongUsage, match="fraction"):
        population_uniques(np.array([1]), np.array([1]), fraction=fraction)


def test_the_whole_population_needs_no_estimate() -> None:
    found = population_uniques(np.array([1, 2, 5]), np.array([7, 3, 1]), fraction=1)

    assert found.chosen == "exact"
    assert found.population == 18
    assert {found.uniques, found.pitman.uniques, found.zayatz.uniques, found.snb.uniques} == {7.0}
    assert found.share == 7 / 18


@pytest.mark.parametrize(("sizes", "classes"), [([2, 3], [4, 1]), ([50], [1])])
def test_no_unique_in_the_sample_means_none_is_estimated(
    sizes: list[int], classes: list[int]
) -> None:
    found = population_uniques(np.array(sizes), np.array(classes), fraction=0.05)

    assert (found.sample_uniques, found.uniques, found.share) == (0, 0.0, 0.0)


def test_an_all_unique_sample_defeats_pitman_and_snb_but_not_zayatz() -> None:
    found = population_uniques(np.array([1]), np.array([40]), fraction=0.1)

    assert not found.pitman.converged
    assert found.pitman.uniques is None
    assert "Every record is unique" in str(found.pitman.reason)
    assert not found.snb.converged
    assert found.snb.uniques is None
    assert "two members" in str(found.snb.reason)
    assert found.chosen == "zayatz"
    assert found.share == pytest.approx(1.0)


def test_snb_without_a_solution_says_so_instead_of_zero() -> None:
    found = population_uniques(np.array([1, 2]), np.array([5, 1]), fraction=1e-9)

    assert found.snb.to_dict() == {
        "uniques": None,
        "share": None,
        "converged": False,
        "reason": "The model's equations have no solution: the class sizes do not fit it.",
    }


def test_an_empty_table_has_no_estimate() -> None:
    found = population_uniques(np.array([], int), np.array([], int), fraction=0.5)

    assert found.chosen is None
    assert found.uniques is None
    assert found.zayatz.reason == "The table has no rows."


def test_above_a_tenth_the_smaller_of_zayatz_and_snb_is_chosen(
    adult: tuple[Integers, Integers],
) -> None:
    at_third, at_half = (population_uniques(*adult, fraction=f) for f in (0.3, 0.5))

    assert at_third.chosen == "snb"
    assert at_third.uniques == at_third.snb.uniques < at_third.zayatz.uniques
    assert at_half.chosen == "zayatz"
    assert at_half.uniques == at_half.zayatz.uniques < at_half.snb.uniques


@given(
    st.dictionaries(st.integers(1, 500), st.integers(1, 2000), min_size=1, max_size=12),
    st.floats(1e-6, 1),
)
def test_every_estimate_is_a_number_of_people_or_a_reason(
    histogram: dict[int, int], fraction: float
) -> None:
    sizes = np.array(sorted(histogram))
    found = population_uniques(sizes, np.array([histogram[s] for s in sizes]), fraction=fraction)

    for estimate in (found.pitman, found.zayatz, found.snb):
        assert estimate.converged == (estimate.uniques is not None) == (estimate.reason is None)
        assert estimate.uniques is None or 0 <= estimate.uniques <= found.population * 1.000001
    assert found.uniques is not None


def test_a_class_of_ten_million_costs_neither_memory_nor_warnings() -> None:
    found = population_uniques(np.array([1, 10_000_000]), np.array([5, 2]), fraction=0.05)

    assert found.zayatz.uniques == pytest.approx(100)


def grow_pitman(people: int, theta: float, alpha: float, rng: np.random.Generator) -> Integers:
    """Return class sizes of Pitman's process, one person after the other."""
    chances = rng.random((people, 2))
    home: list[int] = []
    is_first: list[bool] = []
    classes = 0
    for person in range(people):
        if chances[person, 0] * (theta + person) < theta + classes * alpha:
            home.append(classes)
            is_first.append(True)
            classes += 1
            continue
        # A class of n members draws with weight n - alpha: its first member counts 1 - alpha.
        other = int(chances[person, 1] * person)
        while is_first[other] and rng.random() < alpha:
            other = int(rng.integers(person))
        home.append(home[other])
        is_first.append(False)
    return np.bincount(home)


def survey(population: Integers, fraction: float, rng: np.random.Generator) -> PopulationUniques:
    """Return the estimates from a simple random sample of the population."""
    people = np.repeat(np.arange(len(population)), population)
    drawn = rng.choice(people, round(len(people) * fraction), replace=False)
    counts = np.bincount(drawn)
    return population_uniques(*np.unique(counts[counts > 0], return_counts=True), fraction=fraction)


# Each claim below is one seeded draw. A tolerance is the bias plus three standard deviations seen
# over twenty seeds, so that a changed random stream fails with a chance near one in a hundred.


@pytest.mark.statistics
@pytest.mark.parametrize(("fraction", "tolerance"), [(0.05, 0.21), (0.1, 0.09)])
def test_pitman_finds_the_uniques_of_a_pitman_population(fraction: float, tolerance: float) -> None:
    rng = np.random.default_rng(20010)
    population = grow_pitman(100_000, 300, 0.6, rng)

    found = survey(population, fraction, rng)

    assert found.chosen == "pitman"
    assert found.uniques == pytest.approx(np.sum(population == 1), rel=tolerance)


@pytest.mark.statistics
@pytest.mark.parametrize(("fraction", "tolerance"), [(0.3, 0.28), (0.5, 0.21), (0.8, 0.09)])
def test_snb_finds_the_uniques_of_an_snb_population(fraction: float, tolerance: float) -> None:
    rng = np.random.default_rng(1998)
    population = 1 + rng.negative_binomial(1.5, 0.2, size=20_000)

    found = survey(population, fraction, rng)

    assert found.snb.uniques == pytest.approx(np.sum(population == 1), rel=tolerance)


@pytest.mark.statistics
@pytest.mark.parametrize(("fraction", "tolerance"), [(0.5, 0.07), (0.8, 0.025)])
def test_zayatz_is_near_when_most_of_a_skewed_population_is_sampled(
    fraction: float, tolerance: float
) -> None:
    rng = np.random.default_rng(1991)
    population = np.minimum(rng.zipf(1.8, size=20_000), 5_000)

    found = survey(population, fraction, rng)

    assert found.zayatz.uniques == pytest.approx(np.sum(population == 1), rel=tolerance)


@pytest.mark.statistics
def test_even_classes_have_a_pitman_estimate_with_negative_alpha() -> None:
    # Zayatz is five times too high here, so it matters that Pitman's does not give up.
    rng = np.random.default_rng(7)
    population = rng.geometric(0.3, size=30_000)

    found = survey(population, 0.1, rng)

    assert found.chosen == "pitman"
    assert found.uniques == pytest.approx(np.sum(population == 1), rel=0.45)
    assert found.zayatz.uniques > 4 * np.sum(population == 1)
