"""Rules hold in every row, at every resolution, whatever is measured."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from bench.synthesize import ArrayCounter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.errors import InvalidPolicy, UnreadableSource
from discreet.release.synthesize.model import SyntheticModel
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, PURE, fit_model
from discreet.release.synthesize.rules import (
    DependencyRule,
    ImpossibleRule,
    OrderRule,
    SumRule,
    find_possible_row,
    resolve_rules,
)


def fit(rows, sizes, rules, *, rho=Fraction(1, 2), target=None, ordered=True):
    return fit_model(
        ArrayCounter(np.asarray(rows), list(sizes)),
        [ColumnShape(size, ordered) for size in sizes],
        ZcdpSpending(rho, sensitivity=1),
        target=target,
        settings=FAST,
        chance=np.random.default_rng(5),
        rules=rules,
    )


def holds(rule, row):
    """Return whether a row meets a rule, one row and one definition at a time."""
    match rule:
        case DependencyRule():
            return row[rule.column] == rule.codes[tuple(row[one] for one in rule.determinants)]
        case OrderRule():
            low, high = rule.lower_positions[row[rule.lower]], rule.upper_positions[row[rule.upper]]
            return not (low >= high if rule.is_strict else low > high)
        case ImpossibleRule():
            return not rule.cells[tuple(row[one] for one in rule.columns)]
        case SumRule():
            parts = sum(
                numbers[row[one]] for one, numbers in zip(rule.parts, rule.values, strict=True)
            )
            total = rule.totals[row[rule.column]]
            return bool(np.isnan(parts) and np.isnan(total)) or total == parts


@st.composite
def ruled_tables(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=5))
    columns = list(range(len(sizes)))
    rules = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["dependency", "order", "impossible", "sum"]))
        most = 2 if kind == "order" else min(3, len(sizes))
        some = tuple(draw(st.permutations(columns))[: draw(st.integers(2, most))])
        shape = [sizes[one] for one in some]
        cells = int(np.prod(shape))
        if kind == "impossible":
            bits = draw(st.lists(st.booleans(), min_size=cells, max_size=cells))
            rules.append(ImpossibleRule(some, np.array(bits).reshape(shape)))
        elif kind == "dependency":
            count = cells // shape[0]
            codes = draw(st.lists(st.integers(0, shape[0] - 1), min_size=count, max_size=count))
            rules.append(DependencyRule(some[0], some[1:], np.array(codes).reshape(shape[1:])))
        else:
            numbers = [np.arange(size, dtype=float) for size in shape]
            for one in numbers:
                if draw(st.booleans()):
                    one[-1] = np.nan
            if kind == "order":
                rules.append(OrderRule(*some, *numbers, is_strict=draw(st.booleans())))
            else:
                rules.append(SumRule(some[0], some[1:], numbers[0], tuple(numbers[1:])))
    return sizes, rules, draw(st.sampled_from([None, *columns]))


@given(ruled_tables())
def test_rules_are_refused_exactly_where_no_row_meets_all(case):
    sizes, rules, target = case
    every = itertools.product(*(range(size) for size in sizes))
    if any(all(holds(rule, row) for rule in rules) for row in every):
        assert resolve_rules(rules, sizes, target=target).sizes == tuple(sizes)
    else:
        with pytest.raises(InvalidPolicy):
            resolve_rules(rules, sizes, target=target)


@settings(max_examples=40)
@given(ruled_tables(), st.integers(0, 100))
def test_every_rule_holds_in_every_row(case, seed):
    sizes, rules, target = case
    possible = [
        row
        for row in itertools.product(*(range(size) for size in sizes))
        if all(holds(rule, row) for rule in rules)
    ]
    assume(possible)
    rows = np.random.default_rng(seed).integers(0, sizes, (60, len(sizes)))
    model = fit(rows, sizes, rules, target=target)
    again = SyntheticModel.from_content(json.loads(json.dumps(model.to_content())))
    for one in (model, again):
        drawn = one.sample(50, np.random.default_rng(seed))
        assert {tuple(row) for row in drawn.tolist()} <= set(possible)


def test_an_order_of_days_holds_although_days_are_fitted_coarsely():
    chance = np.random.default_rng(1)
    admission = chance.integers(0, 365, 2000)
    discharge = np.minimum(admission + chance.geometric(0.2, 2000) - 1, 364)
    days = np.arange(365.0)
    model = fit(np.stack([admission, discharge], axis=1), [365, 365], [OrderRule(0, 1, days, days)])
    assert max(model.table.tree.sizes) < 365
    drawn = model.sample(5000, np.random.default_rng(2))
    assert (drawn[:, 0] <= drawn[:, 1]).all()
    assert len(np.unique(drawn[:, 0])) > 300
    # The columns keep their means: 182 ± 105 days in the source, noise aside.
    assert drawn.mean(axis=0) == pytest.approx([admission.mean(), discharge.mean()], abs=15)


def test_a_determined_column_is_not_measured_and_follows():
    rows = np.random.default_rng(3).integers(0, [6, 3, 4], (500, 3))
    rule = DependencyRule(1, (0,), np.array([0, 0, 1, 1, 2, 2]))
    model = fit(rows, [6, 3, 4], [rule])
    assert model.rules.places == (0, 2)
    assert all(1 not in columns for columns in model.measured_columns)
    drawn = model.sample(100, np.random.default_rng(1))
    assert (drawn[:, 1] == drawn[:, 0] // 2).all()


def test_a_target_is_fitted_also_where_others_determine_it():
    rule = DependencyRule(1, (0,), np.array([0, 0, 1, 1]))
    assert resolve_rules([rule], [4, 2], target=1).places == (0, 1)


def test_rules_without_epsilon_and_delta_hold_too():
    rows = np.random.default_rng(4).integers(0, 20, (300, 2))
    steps = np.arange(20.0)
    model = fit_model(
        ArrayCounter(rows, [20, 20]),
        [ColumnShape(20, is_ordered=True)] * 2,
        PureSpending(Fraction(1), sensitivity=1),
        target=None,
        settings=PURE,
        chance=np.random.default_rng(1),
        rules=[OrderRule(0, 1, steps, steps, is_strict=True)],
    )
    drawn = model.sample(200, np.random.default_rng(1))
    assert (drawn[:, 0] < drawn[:, 1]).all()


def test_contradictory_rules_are_refused_before_anything_is_counted():
    steps = np.arange(3.0)
    rules = [OrderRule(0, 1, steps, steps, is_strict=True), OrderRule(1, 0, steps, steps)]
    with pytest.raises(InvalidPolicy, match="contradict"):
        fit_model(
            None,
            [ColumnShape(3, is_ordered=True)] * 2,
            ZcdpSpending(Fraction(1), sensitivity=1),
            target=None,
            settings=FAST,
            chance=np.random.default_rng(1),
            rules=rules,
        )


def test_a_rule_over_too_many_combinations_is_refused():
    rule = DependencyRule(0, (1,), np.zeros(10_000, np.intp))
    order = OrderRule(0, 2, np.arange(5000.0), np.arange(5000.0))
    with pytest.raises(InvalidPolicy, match="combinations"):
        resolve_rules([rule, order], [5000, 10_000, 5000])


def test_a_possible_row_is_found_by_going_back():
    pairs = [ImpossibleRule((one, one + 1), ~np.eye(4, k=1, dtype=bool)) for one in range(3)]
    assert find_possible_row(pairs, [4, 4, 4, 4]).tolist() == [0, 1, 2, 3]


def test_a_saved_model_draws_the_same_rows_and_needs_its_version():
    rows = np.random.default_rng(6).integers(0, [3, 9, 2], (200, 3))
    model = fit(rows, [3, 9, 2], [], target=2)
    content = json.loads(json.dumps(model.to_content()))
    again = SyntheticModel.from_content(content)
    for seed in range(3):
        first, second = (one.sample(80, np.random.default_rng(seed)) for one in (model, again))
        assert (first == second).all()
    assert again.measured_columns == model.measured_columns
    assert again.columns.total == model.columns.total
    with pytest.raises(UnreadableSource):
        SyntheticModel.from_content({**content, "version": 2})


@pytest.mark.parametrize("key", ["columns", "cliques", "order", "levels", "rules"])
def test_damaged_content_of_a_model_is_refused(key):
    rows = np.random.default_rng(6).integers(0, [3, 4], (50, 2))
    content = fit(rows, [3, 4], []).to_content()
    for damage in ({}, [9], [{}], None):
        with pytest.raises(UnreadableSource):
            SyntheticModel.from_content({**content, key: damage})
