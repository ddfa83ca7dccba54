"""Who is alone on all columns that stay, whatever their role."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.connect import open_table
from discreet.measure.assess import assess
from discreet.measure.joint import measure_joint
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy

ROWS = st.lists(
    st.tuples(*(st.sampled_from([None, "a", "b", "c"]) for _ in range(4))), min_size=1, max_size=14
)


def alone(rows: list[tuple], columns: list[int]) -> int:
    counts = Counter(tuple(row[i] for i in columns) for row in rows)
    return sum(1 for size in counts.values() if size == 1)


@settings(max_examples=15, deadline=None)
@given(rows=ROWS)
def test_joint_uniqueness_is_that_of_plain_counting(rows: list[tuple]):
    table = pa.table(
        {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate("wxyz")}
    )
    found = assess(table, quasi=["w"], sensitive=["y", "z"], depth=0).joint
    assert (found.columns, found.unique) == (4, alone(rows, [0, 1, 2, 3]))
    assert found.exposed == max(alone(rows, [0, 1, 3]), alone(rows, [0, 1, 2]))
    if found.exposed:
        enough = ["wxyz".index(name) for name in found.enough]
        assert found.secret not in found.enough
        assert found.enough_unique == alone(rows, enough) >= 0.9 * found.exposed


UNITS = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 2, 3, 4, 5, 6]),
        *(st.sampled_from([None, "a", "b"]) for _ in range(2)),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(rows=UNITS)
def test_joint_uniqueness_of_units_is_that_of_plain_counting(rows: list[tuple]):
    """Rows without a unit are one person's; who is alone with one of several rows is alone."""
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("unit", "x", "y"))}
    kinds = pa.schema({"unit": pa.int64(), "x": pa.string(), "y": pa.string()})
    found = measure_joint(
        bind_roles(open_table(pa.table(columns, schema=kinds)), quasi=["x"], unit="unit")
    )
    owners: dict[tuple, set] = {}
    for unit, *values in rows:
        owners.setdefault(tuple(values), set()).add(unit)
    expected = {unit for units in owners.values() if len(units) == 1 for unit in units}
    assert (found.people, found.unique) == (len({row[0] for row in rows}), len(expected))


@pytest.mark.parametrize("needed", [1, 2, 3, 4, 5, 6, 7])
def test_the_fewest_columns_of_a_ranking_are_found(needed: int):
    """A person is alone on `needed` columns of the same number of values, and on no fewer."""
    people = [
        [(row >> bit) & 1 for bit in range(needed)] + [0] * (7 - needed) for row in range(2**needed)
    ]
    table = pa.table({f"c{index}": [row[index] for row in people] for index in range(7)})
    found = measure_joint(bind_roles(open_table(table), quasi=["c6"]))
    assert found.enough == tuple(f"c{index}" for index in range(needed))
    assert found.enough_unique == 2**needed


def test_identifiers_and_the_unit_do_not_stay():
    table = pa.table(
        {"id": [1, 1, 2, 3], "name": list("abcd"), "age": [4] * 4, "pet": list("ccdd")}
    )
    columns = (
        ColumnPolicy("name", ColumnRole.IDENTIFIER),
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
    )
    policy = Policy({"t": model.TablePolicy("t", columns, unit="id")})
    found = assess(table, policy, table="t", depth=0).joint
    # The one person with a cat has two rows; of the two with a dog no one is alone.
    assert (found.columns, found.unique) == (2, 1)


def test_unlisted_columns_stay():
    table = pa.table({"age": [4] * 4, "iris": list("abcd")})
    assert assess(table, quasi=["age"], depth=0).joint.unique == 4


# --- A missing sensitive value is unknown, unless a criterion says that it is a value.

GAPS = pa.table(
    {"zip": ["1"] * 4 + ["2"] * 4, "ill": ["flu", "flu", None, None, "a", "b", "a", "b"]}
)


def verdict(criterion: model.Criterion, table: pa.Table = GAPS) -> Any:
    columns = (
        ColumnPolicy("zip", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    policy = Policy({"t": model.TablePolicy("t", columns, criteria=(criterion,))})
    return assess(table, policy, table="t", depth=0).criteria[0]


@pytest.mark.parametrize(
    ("criterion", "known", "with_gaps"),
    [
        (model.LDiversity("ill", 2), 1, 2),
        (model.LDiversity("ill", 2, "probabilistic"), 1, 2),
        (model.LDiversity("ill", 2, "entropy"), 1, 2),
        (model.LDiversity("ill", 2, "recursive", 2.0), float("inf"), 1),
        (model.AlphaK("ill", 0.5, 2), 1, 0.5),
        # Among the known values flu is 2 of 6: the class is 2/3 away. With gaps it is 1/2 away.
        (model.TCloseness("ill", 0.5), 2 / 3, 0.5),
        (model.BetaLikeness("ill", 1.5), 2, 1),
    ],
    ids=["distinct", "probabilistic", "entropy", "recursive", "alpha", "t", "beta"],
)
def test_missing_values_do_not_count_as_a_value_unless_wanted(criterion, known, with_gaps):
    found = verdict(criterion)
    assert (found.holds, found.reached) == (False, pytest.approx(known))
    assert "missing" not in found.required
    wanted = verdict(replace(criterion, missing="value"))
    assert (wanted.holds, wanted.reached) == (True, pytest.approx(with_gaps))
    assert wanted.required["missing"] == "value"


def test_a_class_without_any_known_value_is_not_diverse():
    table = pa.table({"zip": ["1"] * 2 + ["2"] * 2, "ill": pa.array([None, None, "a", "b"])})
    assert verdict(model.LDiversity("ill", 2), table).reached == 0
    columns = assess(table, quasi=["zip"], sensitive=["ill"], depth=0).sensitive
    assert columns["ill"].homogeneous == 0
