"""Sensitivities, against every small table there is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from discreet.dp.calculate.sensitivity import derive_sensitivity
from discreet.errors import InvalidMechanism

BOUNDS = (Fraction(-2), Fraction(3))
GRID = (Fraction(-2), Fraction(0), Fraction(1, 2), Fraction(3))


def total(values: tuple[Fraction, ...]) -> Fraction:
    return sum(values, Fraction(0))


def mean(values: tuple[Fraction, ...]) -> Fraction:
    return total(values) / len(values)


def variance(values: tuple[Fraction, ...]) -> Fraction:
    return mean(tuple((value - mean(values)) ** 2 for value in values))


def count(values: tuple[Fraction, ...]) -> Fraction:
    return Fraction(sum(value > 0 for value in values))


def histogram_distance(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> Fraction:
    return Fraction(sum(abs(first.count(value) - second.count(value)) for value in GRID))


def bounded(n: int):
    for values in product(GRID, repeat=n):
        for other in GRID:
            yield values, (other, *values[1:])


def unbounded(n: int):
    for values in product(GRID, repeat=n):
        yield values, values[1:]


STATISTICS = {"count": count, "sum": total, "mean": mean, "variance": variance}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_between_bounded_neighbors_the_bound_is_reached(statistic: str, n: int):
    calculate = STATISTICS[statistic]
    largest = max(abs(calculate(first) - calculate(second)) for first, second in bounded(n))
    claimed = derive_sensitivity(statistic, neighbors="bounded", bounds=BOUNDS, n=n)
    assert Fraction(claimed.sensitivity).limit_denominator(10**6) == largest


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_between_unbounded_neighbors_the_bound_is_reached(statistic: str, n: int):
    calculate = STATISTICS[statistic]
    pairs = [*unbounded(n), *unbounded(n + 1)]  # who leaves n people, who joins them
    largest = max(abs(calculate(first) - calculate(second)) for first, second in pairs)
    claimed = derive_sensitivity(statistic, neighbors="unbounded", bounds=BOUNDS, n=n)
    assert Fraction(claimed.sensitivity).limit_denominator(10**6) == largest


@pytest.mark.parametrize("statistic", ["mean", "variance"])
def test_without_a_public_number_of_people_the_bound_holds_for_all(statistic: str):
    claimed = derive_sensitivity(statistic, neighbors="unbounded", bounds=BOUNDS).sensitivity
    for n in (1, 2, 3, 7, 100):
        assert (
            derive_sensitivity(statistic, neighbors="unbounded", bounds=BOUNDS, n=n).sensitivity
            <= claimed
        )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_histogram_changes_in_two_cells_or_one(n: int):
    assert max(histogram_distance(*pair) for pair in bounded(n)) == 2
    assert max(histogram_distance(*pair) for pair in unbounded(n)) == 1
    assert derive_sensitivity("histogram", neighbors="bounded").sensitivity == 2
    assert derive_sensitivity("histogram", neighbors="unbounded").sensitivity == 1


@pytest.mark.parametrize("statistic", ["sum", "mean", "variance"])
def test_without_bounds_there_is_no_sensitivity(statistic: str):
    with pytest.raises(InvalidMechanism, match="--bounds"):
        derive_sensitivity(statistic, neighbors="unbounded", n=3)


@pytest.mark.parametrize("statistic", ["mean", "variance"])
def test_between_bounded_neighbors_the_number_of_people_is_needed(statistic: str):
    with pytest.raises(InvalidMechanism, match="--n"):
        derive_sensitivity(statistic, neighbors="bounded", bounds=BOUNDS)


@pytest.mark.parametrize(
    "choices",
    [{"bounds": (Fraction(1), Fraction(0))}, {"n": 0}, {"epsilon": Fraction(0)}],
)
def test_what_makes_no_sense_is_refused(choices):
    with pytest.raises(InvalidMechanism):
        derive_sensitivity("sum", neighbors="bounded", **{"bounds": BOUNDS, **choices})


def test_each_derivation_is_reported_in_words():
    for statistic in (*STATISTICS, "histogram"):
        for neighbors in ("bounded", "unbounded"):
            found = derive_sensitivity(statistic, neighbors=neighbors, bounds=BOUNDS, n=5)
            assert len(found.why.split()) > 8
