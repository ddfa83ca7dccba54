"""Counts from reports: unbiased, with intervals that cover, consistent where asked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.dp.local.collect import estimate_frequencies, perturb_column, project_to_simplex
from discreet.dp.local.hadamard import hadamard_transform
from discreet.dp.local.protocol import design_protocol
from discreet.errors import InvalidMechanism, UnknownColumn, UnreadableSource

TRUTH = {"a": 900, "b": 80, "c": 20, "d": 0}
COLUMN = pa.array([value for value, count in TRUTH.items() for _ in range(count)])
METHODS = ("grr", "oue", "olh", "hadamard")
RUNS = 300


def asked(method: str, epsilon: Fraction = Fraction(1)):
    return design_protocol(list(TRUTH), epsilon=epsilon, method=method)


@pytest.mark.statistics
@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_unbiased_and_their_intervals_cover(method: str):
    # 300 runs over 1,000 people; means by a t test and coverage by a binomial one, alpha 1e-8 each.
    found = [
        estimate_frequencies(perturb_column(COLUMN, asked(method)), asked(method))
        for _ in range(RUNS)
    ]
    for index, (value, truth) in enumerate(TRUTH.items()):
        counts = np.array([run.values[index].count for run in found])
        assert found[0].values[index].value == value
        assert stats.ttest_1samp(counts, truth).pvalue > 1e-8
        covered = sum(
            run.values[index].lower - 1e-9 <= truth <= run.values[index].upper + 1e-9
            for run in found
        )
        assert stats.binomtest(covered, RUNS, 0.95, alternative="less").pvalue > 1e-8
        # The standard error is that of the runs: a chi-square of their variance, alpha 1e-8.
        claimed = np.mean([run.values[index].standard_error for run in found])
        ratio = (RUNS - 1) * counts.var(ddof=1) / claimed**2
        assert 1e-8 < stats.chi2.cdf(ratio, RUNS - 1) < 1 - 1e-8


@pytest.mark.statistics
def test_an_estimator_for_another_epsilon_is_noticed():
    found = [
        estimate_frequencies(perturb_column(COLUMN, asked("grr")), asked("grr", Fraction(3, 2)))
        for _ in range(RUNS)
    ]
    counts = np.array([run.values[0].count for run in found])
    assert stats.ttest_1samp(counts, TRUTH["a"]).pvalue < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_consistent_counts_are_not_negative_and_add_up(method: str):
    for _ in range(20):
        reports = perturb_column(COLUMN, asked(method, Fraction(1, 4)))
        found = estimate_frequencies(reports, asked(method, Fraction(1, 4)), consistent=True)
        assert min(item.count for item in found.values) >= 0
        assert sum(item.count for item in found.values) == pytest.approx(1000)
        assert found.is_consistent


@given(st.lists(st.floats(-500, 1500), min_size=1, max_size=8))
def test_the_nearest_consistent_counts_are_found(raw: list[float]):
    counts = np.array(raw)
    found = project_to_simplex(counts, 1000)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1000)
    # The nearest point of a convex set: no other vertex lies in the direction of what was lost.
    for vertex in np.eye(len(raw)) * 1000:
        assert (counts - found) @ (vertex - found) <= 1e-3


def test_a_large_epsilon_gives_the_counts_themselves():
    for method in ("grr", "hadamard"):
        protocol = asked(method, Fraction(30))
        found = estimate_frequencies(perturb_column(COLUMN, protocol), protocol)
        slack = 1e-3 if method == "grr" else 200
        for item, truth in zip(found.values, TRUTH.values(), strict=True):
            assert item.count == pytest.approx(truth, abs=slack)


@pytest.mark.parametrize("method", METHODS)
def test_no_reports_give_counts_of_zero(method: str):
    empty = perturb_column(pa.array([], pa.string()), asked(method))
    found = estimate_frequencies(empty, asked(method))
    assert [item.count for item in found.values] == [0, 0, 0, 0]


def test_the_transform_is_the_product_with_the_matrix():
    counts = np.arange(8)
    matrix = [[1 - 2 * ((x & y).bit_count() % 2) for y in range(8)] for x in range(8)]
    assert (hadamard_transform(counts) == np.array(matrix) @ counts).all()


@pytest.mark.parametrize(
    ("method", "table"),
    [
        ("grr", pa.table({"report": ["a", "x"]})),
        ("grr", pa.table({"report": ["a", None]})),
        ("oue", pa.table({"report": ["b0101", "b010"]})),
        ("oue", pa.table({"report": ["b0101", "b01x1"]})),
        ("oue", pa.table({"report": ["b0101", "00101"]})),
        ("olh", pa.table({"seed": [1, 2], "report": [0, 99]})),
        ("olh", pa.table({"seed": [1, -2], "report": [0, 1]})),
        ("hadamard", pa.table({"report": [0, 8]})),
        ("hadamard", pa.table({"report": ["b", "0"]})),
    ],
)
def test_reports_of_another_protocol_are_refused_and_not_quoted(method: str, table: pa.Table):
    with pytest.raises(UnreadableSource, match="another method"):
        estimate_frequencies(table, asked(method))


def test_reports_without_their_columns_are_refused():
    with pytest.raises(UnknownColumn, match="seed"):
        estimate_frequencies(pa.table({"report": [1]}), asked("olh"))


def test_a_confidence_is_between_zero_and_one():
    with pytest.raises(InvalidMechanism):
        estimate_frequencies(
            perturb_column(COLUMN, asked("grr")), asked("grr"), confidence=Fraction(1)
        )


def test_a_higher_confidence_has_a_wider_interval():
    protocol = asked("grr", Fraction(4))
    reports = perturb_column(COLUMN, protocol)
    usual = estimate_frequencies(reports, protocol).values[0]
    sure = estimate_frequencies(reports, protocol, confidence=Fraction(999, 1000)).values[0]
    assert sure.lower < usual.lower < usual.count < usual.upper < sure.upper
