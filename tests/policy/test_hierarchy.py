"""What every kind of hierarchy promises, on random values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Bug, InvalidHierarchy
from discreet.policy.hierarchies.calendar import PERIODS, Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import Taxonomy, build_taxonomy
from discreet.policy.hierarchy import (
    TOP,
    Hierarchy,
    codes,
    find_nesting_fault,
    require_covers,
)

numbers = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda v: pa.array(v, pa.int64())),
    st.lists(st.none() | st.integers(0, 2**64 - 1)).map(lambda v: pa.array(v, pa.uint64())),
    st.lists(st.none() | st.integers(-300, 300)).map(lambda v: pa.array(v, pa.int16())),
    st.lists(st.none() | st.floats()).map(lambda v: pa.array(v, pa.float64())),
    st.lists(st.none() | st.floats(-200, 200, width=32)).map(lambda v: pa.array(v, pa.float32())),
    st.lists(st.none() | st.decimals(-(10**6), 10**6, places=3)).map(
        lambda v: pa.array(v, pa.decimal128(20, 3))
    ),
    st.lists(st.none() | st.decimals(-(10**6), 10**6, places=3).map(str)).map(
        lambda v: pa.array(v, pa.string())
    ),
)
steps = st.lists(st.integers(2, 5), min_size=0, max_size=3).flatmap(
    lambda factors: st.sampled_from(["1", "5", "0.1", "0.25", "30"]).map(
        lambda first: tuple(
            Decimal(first) * int(np.prod(factors[:i], dtype=int)) for i in range(len(factors) + 1)
        )
    )
)
limits = st.none() | st.decimals(-100, 0, places=1)


@st.composite
def interval_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    bottom = draw(limits)
    top = draw(st.none() | st.decimals(1, 100, places=2))
    origin = draw(st.decimals(-50, 50, places=1))
    return Intervals(draw(steps), origin=origin, bottom=bottom, top=top), draw(numbers)


@st.composite
def cut_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    finest = draw(st.lists(st.decimals(-100, 100, places=1), min_size=2, unique=True).map(sorted))
    levels = [finest]
    for _ in range(draw(st.integers(0, 2))):
        inner = [cut for cut in levels[-1][1:-1] if draw(st.booleans())]
        levels.append([finest[0], *inner, finest[-1]])
    hierarchy = Cuts(tuple(map(tuple, levels)), bottom=finest[0], top=finest[-1])
    return hierarchy, draw(numbers)


@st.composite
def extreme_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    return Extremes(bottom=draw(limits), top=Decimal(7)), draw(numbers)


@st.composite
def prefix_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    keep = draw(st.lists(st.integers(1, 6), min_size=1, unique=True))
    length = draw(st.none() | st.integers(6, 9))
    texts = st.lists(st.none() | st.text(st.sampled_from("a1*é 𝄞"), max_size=8))
    values = draw(st.one_of(texts.map(lambda v: pa.array(v, pa.string())), numbers))
    return Prefix(tuple(sorted(keep, reverse=True)), length=length), values


@st.composite
def calendar_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    chosen = draw(st.sets(st.sampled_from(PERIODS), min_size=1))
    days = draw(st.lists(st.none() | st.dates()))
    as_type = draw(
        st.sampled_from(
            [
                lambda days: pa.array(days, pa.date32()),
                lambda days: pa.array(days, pa.date32()).cast(pa.timestamp("ms")),
                lambda days: pa.array([day and day.isoformat() for day in days], pa.string()),
            ]
        )
    )
    return Calendar(tuple(p for p in PERIODS if p in chosen)), as_type(days)


def _tree(draw: st.DrawFn, names: list[str], depth: int) -> Any:
    if depth == 0 or draw(st.booleans()):
        return [names.pop() for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        return [names.pop(), {names.pop(): _tree(draw, names, depth - 1)}]
    return {names.pop(): _tree(draw, names, depth - 1) for _ in range(draw(st.integers(1, 3)))}


@st.composite
def tree_cases(draw: st.DrawFn) -> tuple[Hierarchy, pa.Array]:
    names = [f"n{i}" for i in range(400)]
    tree = build_taxonomy(
        {names.pop(): _tree(draw, names, 3) for _ in range(draw(st.integers(1, 3)))}
    )
    leaves = [leaf for group in tree.groups for leaf, _ in group.leaves(())]
    return tree, pa.array(draw(st.lists(st.none() | st.sampled_from(leaves))), pa.string())


cases = st.one_of(
    interval_cases(), cut_cases(), extreme_cases(), prefix_cases(), calendar_cases(), tree_cases()
)


@given(cases)
def test_levels_nest(case: tuple[Hierarchy, pa.Array]) -> None:
    hierarchy, values = case
    levels = codes(hierarchy, values)
    assert len(levels) == hierarchy.height + 1
    assert find_nesting_fault(levels) is None


@given(cases)
def test_every_value_has_a_text_label_on_every_level(
    case: tuple[Hierarchy, pa.Array],
) -> None:
    hierarchy, values = case
    for level in range(hierarchy.height):
        labels = hierarchy.generalize(values, level)
        assert labels.type == pa.string()
        assert labels.is_null().to_pylist() == values.is_null().to_pylist()
    assert set(hierarchy.generalize(values, hierarchy.height).to_pylist()) <= {TOP}


@given(cases)
def test_values_of_the_right_kind_are_never_missed(case: tuple[Hierarchy, pa.Array]) -> None:
    hierarchy, values = case
    require_covers(hierarchy, values, column="c")


@given(cases)
def test_labels_do_not_depend_on_the_order_of_the_values(case: tuple[Hierarchy, pa.Array]) -> None:
    hierarchy, values = case
    turned = pa.array(np.arange(len(values))[::-1])
    for level in range(hierarchy.height + 1):
        labels = hierarchy.generalize(values, level)
        assert hierarchy.generalize(values.take(turned), level) == labels.take(turned)


KINDS = [
    Prefix((2, 1)),
    Intervals((Decimal(5),)),
    Cuts(((Decimal(0), Decimal(5)),)),
    Extremes(top=Decimal(5)),
    Calendar(("year",)),
    build_taxonomy({"a": ["1"]}),
]


@pytest.mark.parametrize("hierarchy", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([], pa.string()),
        pa.array([], pa.int64()),
        pa.array([None, None], pa.string()),
        pa.array([None], pa.null()),
        pa.array([None], pa.float64()),
        pa.array([None], pa.date32()),
        pa.array([None], pa.binary()),
        pa.array([None], pa.list_(pa.int64())),
        pa.array([None, None], pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=lambda values: str(values.type),
)
def test_no_values_and_nulls_are_always_covered(hierarchy: Hierarchy, values: pa.Array) -> None:
    require_covers(hierarchy, values, column="c")
    assert hierarchy.generalize(values, 1).to_pylist() == [None] * len(values)
    assert hierarchy.generalize(values, hierarchy.height).to_pylist() == [TOP] * len(values)


def test_null_is_a_group_of_its_own_below_the_top() -> None:
    levels = codes(Prefix((1,)), pa.array(["a", None, "b", "ab", None]))
    assert [level.tolist() for level in levels] == [[0, 1, 2, 3, 1], [0, 1, 2, 0, 1], [0] * 5]


def test_missing_values_are_counted_but_not_shown() -> None:
    tree = build_taxonomy({"a": ["x"]})
    with pytest.raises(InvalidHierarchy, match="column 'c' misses 2 of 3 distinct") as caught:
        require_covers(tree, pa.array(["x", "Alice Meier", None, "secret"]), column="c")
    assert "Alice" not in str(caught.value)
    assert caught.value.missing == ("Alice Meier", "secret")


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (build_taxonomy({"a": ["x"]}), ["Zoe"]),
        (Intervals((Decimal(5),)), ["n/a"]),
        (Cuts(((Decimal(0), Decimal(5)),)), ["537"]),
        (Extremes(top=Decimal(5)), ["n/a"]),
        (Calendar(("year",)), ["1967-13-01"]),
    ],
)
def test_generalizing_a_missed_value_is_refused_without_showing_it(
    hierarchy: Hierarchy, values: list[str]
) -> None:
    with pytest.raises(InvalidHierarchy) as caught:
        hierarchy.generalize(pa.array(values), 1)
    assert caught.value.missing == tuple(values)
    assert values[0] not in str(caught.value)
    assert hierarchy.generalize(pa.array(values), hierarchy.height).to_pylist() == [TOP]


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_does_not_exist_is_a_bug_of_the_caller(level: int) -> None:
    with pytest.raises(Bug):
        Prefix((3, 1)).generalize(pa.array(["a"]), level)


def test_levels_that_do_not_nest_are_found() -> None:
    fine, coarse = np.array([0, 1, 1, 2]), np.array([0, 0, 1, 1])
    assert find_nesting_fault((fine, coarse)) == (0, 2)


@given(cases)
def test_a_hierarchy_is_a_value(case: tuple[Hierarchy, pa.Array]) -> None:
    hierarchy, _ = case
    assert hash(hierarchy) == hash(hierarchy)
    if isinstance(hierarchy, Taxonomy):
        assert hierarchy == Taxonomy(hierarchy.groups)


def test_dates_before_the_epoch_and_of_leap_years_have_their_labels() -> None:
    values = pa.array([dt.date(1600, 2, 29), dt.date(1, 1, 1)])
    assert Calendar(("day",)).generalize(values, 1).to_pylist() == ["1600-02-29", "0001-01-01"]
