"""Every kernel against a slow, obviously right oracle, along the real path through the engine."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.criteria.histograms import Overall
from discreet.criteria.specs import (
    alpha_k,
    beta_likeness,
    l_diversity,
    t_closeness,
)
from discreet.criteria.specs.delta_disclosure import delta_disclosure as disclosure_kernel
from discreet.measure.classes import histogram
from discreet.measure.evaluate import evaluate_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.measure.classes import Cells, ClassHistograms

# Rows of (quasi-identifier, quasi-identifier, sensitive value); None is a missing value.
rows = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.integers(0, 2),
        st.sampled_from(["a", "b", "c", "d", "e", None]),
    ),
    min_size=1,
    max_size=24,
)
CODES = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, None: 5}
# For each value the groups it is in below the top: itself, then pairs, then halves.
LEVELS = ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 3], [0, 0, 0, 0, 1, 2])

Histogram = Counter[str | None]


def table_of(data) -> pa.Table:
    first, second, ill = zip(*data, strict=True)
    kinds = pa.string(), pa.int64(), pa.string()
    arrays = [pa.array(c, k) for c, k in zip((first, second, ill), kinds, strict=True)]
    return pa.table(arrays, names=["first", "second", "ill"])


def histograms(data) -> dict[tuple, Histogram]:
    found: dict[tuple, Histogram] = defaultdict(Counter)
    for first, second, ill in data:
        found[first, second][ill] += 1
    return found


def shares_of(counts: Histogram) -> dict[str | None, Fraction]:
    whole = sum(counts.values())
    return {value: Fraction(count, whole) for value, count in counts.items()}


def in_order(values) -> list:
    """The values' own order, the missing one last: that of their codes."""
    return sorted(values, key=CODES.__getitem__)


def overall_of(data) -> Overall:
    q = shares_of(Counter(ill for *_, ill in data))
    values = in_order(q)
    codes = [CODES[value] for value in values]
    levels = [np.unique([level[c] for c in codes], return_inverse=True)[1] for level in LEVELS]
    return Overall(
        shares=np.array([float(q[value]) for value in values]),
        ranks=np.arange(len(values)),
        levels=tuple(levels),
    )


def scores_of(
    cells: Cells, kernels: dict[str, Callable[[ClassHistograms], NDArray[np.float64]]]
) -> dict[str, dict[tuple, float]]:
    """Return each kernel's number of each class by its quasi-identifiers."""
    engine = cells.subject.table.engine
    found: dict[str, dict[tuple, float]] = {name: {} for name in kernels}
    for groups in histogram(cells, 0):
        codes = cells.packing.decode(groups.keys)
        names = [
            domain.values(engine, codes[:, i].tolist())
            for i, domain in enumerate(cells.packing.domains)
        ]
        keys = list(zip(*names, strict=True))
        for name, kernel in kernels.items():
            found[name] |= dict(zip(keys, kernel(groups).tolist(), strict=True))
    return found


def moved(p, q, distance: Callable[[str | None, str | None], float]) -> float:
    """The least work that turns p into q: the transport problem, solved as such."""
    values = in_order(q)
    n = len(values)
    cost = [distance(a, b) for a in values for b in values]
    leaves = np.kron(np.eye(n), np.ones(n))
    arrives = np.kron(np.ones(n), np.eye(n))
    supply = [float(p.get(value, 0)) for value in values]
    demand = [float(q[value]) for value in values]
    solved = linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=[*supply, *demand])
    assert solved.success
    return float(solved.fun)


def met(a: str | None, b: str | None) -> float:
    """The level at which two values meet in the hierarchy, over its height."""
    levels = [level[CODES[a]] == level[CODES[b]] for level in LEVELS]
    return (levels.index(True) if True in levels else len(LEVELS)) / len(LEVELS)


def probabilistic(p: Histogram) -> Fraction:
    return 1 / max(shares_of(p).values())


def confidence(p: Histogram) -> Fraction:
    return max(shares_of(p).values())


def entropy(p: Histogram) -> float:
    return math.exp(-sum(float(s) * math.log(s) for s in shares_of(p).values()))


def least_c(p: Histogram, l: int) -> float:
    counts = sorted(p.values(), reverse=True)
    tail = sum(counts[l - 1 :])
    return float(Fraction(counts[0], tail)) if tail else math.inf


@given(data=rows, l=st.integers(1, 6))
@settings(max_examples=60)
def test_every_diversity_is_its_definition(cells_of, data, l):
    cells = cells_of(table_of(data), ["first", "second"], ["ill"])
    found = scores_of(
        cells,
        {
            "distinct": l_diversity.distinct,
            "probabilistic": l_diversity.probabilistic,
            "confidence": alpha_k.guessing_confidence,
            "entropy": l_diversity.entropy,
            "recursive": lambda groups: l_diversity.recursive(groups, l),
        },
    )
    for key, p in histograms(data).items():
        assert {name: scores[key] for name, scores in found.items()} == pytest.approx(
            {
                "distinct": len(p),
                "probabilistic": float(probabilistic(p)),
                "confidence": float(confidence(p)),
                "entropy": entropy(p),
                "recursive": least_c(p, l),
            },
            rel=1e-12,
        )


def equally_far(a: str | None, b: str | None) -> float:
    return float(a != b)


def neighbours(order: list) -> Callable[[str | None, str | None], float]:
    """The distance of two values in an order, the ends being 1 apart."""
    return lambda a, b: abs(order.index(a) - order.index(b)) / max(len(order) - 1, 1)


@given(data=rows, order=st.permutations(["a", "b", "c", "d", "e", None]))
@settings(max_examples=50)
def test_every_closeness_is_the_least_work_of_moving_earth(cells_of, data, order):
    q = shares_of(Counter(ill for *_, ill in data))
    overall, own = overall_of(data), in_order(q)
    other = [value for value in order if value in q]  # an order that is not that of the codes
    reordered = replace(overall, ranks=np.array([other.index(value) for value in own]))
    found = scores_of(
        cells_of(table_of(data), ["first", "second"], ["ill"]),
        {
            "equal": lambda groups: t_closeness.equal(groups, overall),
            "ordered": lambda groups: t_closeness.ordered(groups, overall),
            "reordered": lambda groups: t_closeness.ordered(groups, reordered),
            "hierarchical": lambda groups: t_closeness.hierarchical(groups, overall),
        },
    )
    for key, p in histograms(data).items():
        assert {name: scores[key] for name, scores in found.items()} == pytest.approx(
            {
                "equal": moved(shares_of(p), q, equally_far),
                "ordered": moved(shares_of(p), q, neighbours(own)),
                "reordered": moved(shares_of(p), q, neighbours(other)),
                "hierarchical": moved(shares_of(p), q, met),
            },
            abs=1e-9,
        )


def basic_beta(p, q) -> Fraction:
    return max(max((p[value] - q[value]) / q[value], Fraction(0)) for value in p)


def enhanced_beta(p, q) -> float:
    """The least β with which every gain is at most min(β, -ln q); infinite where none is."""
    gains = {value: max((p[value] - q[value]) / q[value], Fraction(0)) for value in p}
    if any(float(gain) > -math.log(q[value]) + 1e-9 for value, gain in gains.items()):
        return math.inf
    return float(max(gains.values()))


def delta_disclosure(p, q) -> float:
    return max(abs(math.log(p[value] / q[value])) if value in p else math.inf for value in q)


@given(data=rows)
@settings(max_examples=50)
def test_every_likeness_is_its_definition(cells_of, data):
    overall = overall_of(data)
    q = shares_of(Counter(ill for *_, ill in data))
    found = scores_of(
        cells_of(table_of(data), ["first", "second"], ["ill"]),
        {
            "basic": lambda groups: beta_likeness.basic_beta(groups, overall),
            "enhanced": lambda groups: beta_likeness.enhanced_beta(groups, overall),
            "delta": lambda groups: disclosure_kernel(groups, overall),
        },
    )
    for key, histogram_of_class in histograms(data).items():
        p = shares_of(histogram_of_class)
        assert {name: scores[key] for name, scores in found.items()} == pytest.approx(
            {
                "basic": float(basic_beta(p, q)),
                "enhanced": enhanced_beta(p, q),
                "delta": delta_disclosure(p, q),
            },
            rel=1e-12,
            abs=1e-12,
        )


def levels_of(cells: Cells, overall: Overall) -> dict[str, float]:
    return {
        name: tally.level
        for name, tally in evaluate_column(histogram(cells, 0), overall, ()).tallies.items()
    }


@given(data=rows)
@settings(max_examples=60)
def test_the_levels_of_a_table_keep_their_order(cells_of, data):
    """1 <= probabilistic <= entropy <= distinct, since min-entropy <= entropy <= log support.

    The confidence is the inverse of the probabilistic level, c grows with l, and moving mass to a
    neighbour or within a branch is never dearer than moving it across the whole domain.
    """
    found = levels_of(cells_of(table_of(data), ["first", "second"], ["ill"]), overall_of(data))
    slack = 1 + 1e-12
    assert 1 <= found["probabilistic"] <= found["entropy"] * slack
    assert found["entropy"] <= found["distinct"] * slack
    assert found["confidence"] * found["probabilistic"] == pytest.approx(1)
    bounds = [found[f"recursive_{l}"] for l in range(2, 6)]
    assert bounds == sorted(bounds)
    assert found["ordered"] <= found["equal"] * slack + 1e-12
    assert found["hierarchical"] <= found["equal"] * slack + 1e-12
    assert found["basic_beta"] <= found["enhanced_beta"]
    assert found["equal"] <= found["basic_beta"] + 1e-12  # Σ (p - q)+ <= β Σ q
    # A gain of β is a log ratio of ln(1 + β), which δ-disclosure bounds as well.
    assert math.log1p(found["basic_beta"]) <= found["delta_disclosure"] + 1e-12


@given(data=rows)
@settings(max_examples=30)
def test_a_table_that_is_one_class_is_as_its_own_distribution(cells_of, data):
    one = [("x", 0, ill) for *_, ill in data]
    found = levels_of(cells_of(table_of(one), ["first", "second"], ["ill"]), overall_of(one))
    for name in ("equal", "ordered", "hierarchical", "basic_beta", "enhanced_beta"):
        assert found[name] == pytest.approx(0, abs=1e-12)
    assert found["delta_disclosure"] == pytest.approx(0, abs=1e-12)


@given(data=rows, chance=st.randoms())
@settings(max_examples=40)
def test_levels_do_not_depend_on_the_order_of_rows_or_columns(cells_of, data, chance):
    table = table_of(data)
    shuffled = list(data)
    chance.shuffle(shuffled)
    other = table_of(shuffled).select(["ill", "second", "first"])
    overall = overall_of(data)
    found = levels_of(cells_of(table, ["first", "second"], ["ill"]), overall)
    assert levels_of(cells_of(other, ["second", "first"], ["ill"]), overall) == found


@given(data=rows, chance=st.randoms())
@settings(max_examples=30)
def test_levels_do_not_depend_on_the_order_of_a_dictionary(cells_of, data, chance):
    table = table_of(data)
    values = ["x", "y", "never", "a", "b", "c", "d", "e"]
    chance.shuffle(values)
    coded = table
    for name in ("first", "ill"):
        texts = table[name].to_pylist()
        indices = pa.array([None if t is None else values.index(t) for t in texts], pa.int8())
        column = pa.DictionaryArray.from_arrays(indices, pa.array(values))
        coded = coded.set_column(coded.column_names.index(name), name, column)
    overall = overall_of(data)
    found = levels_of(cells_of(table, ["first", "second"], ["ill"]), overall)
    assert levels_of(cells_of(coded, ["first", "second"], ["ill"]), overall) == found


@given(data=rows)
@settings(max_examples=30)
def test_no_level_improves_when_outsiders_know_one_more_column(cells_of, data):
    """Splitting a class never helps: its shares are a mean of its parts' shares.

    Distances and ratios of a mean are at most the largest of the parts', its entropy is at least
    the smallest, and recursive diversity is monotone (Machanavajjhala et al. 2006, lemma 3).
    """
    overall = overall_of(data)
    few = levels_of(cells_of(table_of(data), ["first"], ["ill"]), overall)
    many = levels_of(cells_of(table_of(data), ["first", "second"], ["ill"]), overall)
    slack = 1e-12
    for name in ("distinct", "probabilistic", "entropy"):
        assert many[name] <= few[name] * (1 + slack)
    for name in ("confidence", "equal", "ordered", "hierarchical", "basic_beta", "recursive_2"):
        assert many[name] >= few[name] * (1 - slack) - slack
    for name in ("recursive_3", "recursive_4", "enhanced_beta", "delta_disclosure"):
        assert many[name] >= few[name] * (1 - slack) - slack
