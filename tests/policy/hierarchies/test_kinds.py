"""The labels of each kind of hierarchy, and what each kind refuses."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.numbers import read_numbers
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.hierarchies.values import positions, text_of

if TYPE_CHECKING:
    from discreet.policy.hierarchy import Hierarchy


def labels(hierarchy: Hierarchy, value: Any, type_: pa.DataType | None = None) -> list[str]:
    """Return the labels of `value` from level 0 to the top."""
    values = pa.array([value], type_)
    return [hierarchy.generalize(values, n)[0].as_py() for n in range(hierarchy.height + 1)]


def numbers(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


def test_a_prefix_masks_the_rest() -> None:
    assert labels(Prefix((3, 1)), "47677") == ["47677", "476**", "4****", "*"]


def test_a_prefix_hides_the_length_of_values() -> None:
    values = pa.array(["12345", "123", "1", ""])
    assert Prefix((3,)).generalize(values, 1).to_pylist() == ["123**", "123**", "1****", "*****"]


def test_a_prefix_of_given_length_labels_alike_whatever_else_is_there() -> None:
    assert labels(Prefix((2,), length=6), "123")[1] == labels(Prefix((2,), length=6), "12345678")[1]


@pytest.mark.parametrize("keep", [(), (0,), (1, 3), (3, 3), (-1,)])
def test_prefixes_that_do_not_get_shorter_are_refused(keep: tuple[int, ...]) -> None:
    with pytest.raises(InvalidHierarchy):
        Prefix(keep)


def test_a_length_shorter_than_the_prefix_is_refused() -> None:
    with pytest.raises(InvalidHierarchy, match="`length` 2 is shorter"):
        Prefix((3,), length=2)


def test_intervals_are_half_open_and_written_one_way() -> None:
    hierarchy = Intervals(numbers("5", "10", "20"))
    assert labels(hierarchy, 34) == ["34", "[30, 35)", "[30, 40)", "[20, 40)", "*"]
    assert labels(hierarchy, 35)[1] == "[35, 40)"
    assert labels(hierarchy, -1)[1] == "[-5, 0)"


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (34, pa.int8()),
        (34, pa.uint64()),
        (34.0, pa.float64()),
        (34.0, pa.float32()),
        (Decimal("34.00"), pa.decimal128(10, 2)),
        ("34", pa.string()),
        (" 34.0 ", pa.large_string()),
        ("3.4e1", pa.string()),
    ],
)
def test_the_same_number_has_the_same_interval_in_every_type(
    value: Any, type_: pa.DataType
) -> None:
    assert labels(Intervals(numbers("5")), value, type_)[1] == "[30, 35)"


def test_intervals_may_start_anywhere() -> None:
    assert labels(Intervals(numbers("10"), origin=Decimal(18)), 20)[1] == "[18, 28)"
    assert labels(Intervals(numbers("10"), origin=Decimal(18)), 17)[1] == "[8, 18)"


@pytest.mark.parametrize("tenths", range(-20, 20))
def test_a_float_on_a_limit_belongs_to_the_interval_that_starts_there(tenths: int) -> None:
    label = labels(Intervals(numbers("0.1")), tenths / 10)[1]
    assert label.startswith(f"[{tenths / 10:g}, ")


def test_a_float_of_32_bits_is_read_as_people_see_it() -> None:
    assert labels(Intervals(numbers("0.1")), 0.7, pa.float32())[1] == "[0.7, 0.8)"


def test_the_extremes_of_64_bits_have_intervals() -> None:
    hierarchy = Intervals(numbers("10"))
    assert labels(hierarchy, 2**63 - 1)[1] == "[9223372036854775800, 9223372036854775810)"
    assert labels(hierarchy, -(2**63))[1] == "[-9223372036854775810, -9223372036854775800)"
    assert labels(hierarchy, 2**64 - 1, pa.uint64())[1].startswith("[18446744073709551610")


def test_what_is_no_finite_number_has_a_label_of_its_own() -> None:
    values = pa.array([float("nan"), float("inf"), float("-inf"), None])
    assert Intervals(numbers("5")).generalize(values, 1).to_pylist() == ["NaN", "inf", "-inf", None]
    coded = Intervals(numbers("5"), bottom=Decimal(0), top=Decimal(90))
    assert coded.generalize(values, 1).to_pylist() == ["NaN", ">= 90", "< 0", None]


def test_coded_extremes_stay_coded_and_cut_the_intervals_beside_them() -> None:
    hierarchy = Intervals(numbers("5", "10"), bottom=Decimal(18), top=Decimal(88))
    assert labels(hierarchy, 17) == ["17", "< 18", "< 18", "*"]
    assert labels(hierarchy, 18) == ["18", "[18, 20)", "[18, 20)", "*"]
    assert labels(hierarchy, 87) == ["87", "[85, 88)", "[80, 88)", "*"]
    assert labels(hierarchy, 88) == ["88", ">= 88", ">= 88", "*"]


@pytest.mark.parametrize("steps", [(), ("0",), ("-5",), ("5", "12"), ("10", "5"), ("5", "5")])
def test_steps_that_do_not_nest_are_refused(steps: tuple[str, ...]) -> None:
    with pytest.raises(InvalidHierarchy):
        Intervals(numbers(*steps))


@pytest.mark.parametrize("step", ["1e-16", "1e19", "NaN", "Infinity", "1.0000000000000000001"])
def test_steps_beyond_all_measure_are_refused(step: str) -> None:
    with pytest.raises(InvalidHierarchy):
        Intervals(numbers(step))


def test_a_text_with_a_huge_exponent_is_no_number() -> None:
    values = pa.array(["1e999999999", "5"])
    assert Intervals(numbers("5")).misses(values).to_pylist() == ["1e999999999"]


def test_cuts_nest_by_leaving_cuts_out() -> None:
    hierarchy = Cuts((numbers("0", "10", "20", "30"), numbers("0", "20", "30")))
    assert labels(hierarchy, 12) == ["12", "[10, 20)", "[0, 20)", "*"]
    assert labels(hierarchy, 20.5) == ["20.5", "[20, 30)", "[20, 30)", "*"]


def test_values_outside_the_cuts_are_missed_unless_coded() -> None:
    values = pa.array([-1, 0, 29, 30, None])
    assert Cuts((numbers("0", "30"),)).misses(values).to_pylist() == [-1, 30]
    assert Cuts((numbers("0", "30"),), top=Decimal(30)).misses(values).to_pylist() == [-1]


@pytest.mark.parametrize(
    "levels",
    [(), (("1",),), (("2", "1"),), (("0", "9"), ("0", "5", "9")), (("0", "5", "9"), ("0", "5"))],
)
def test_cuts_that_do_not_nest_are_refused(levels: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(InvalidHierarchy):
        Cuts(tuple(numbers(*level) for level in levels))


def test_coding_of_extremes_keeps_the_rest_as_it_is() -> None:
    hierarchy = Extremes(bottom=Decimal(18), top=Decimal("90.5"))
    assert labels(hierarchy, 17.5) == ["17.5", "< 18", "*"]
    assert labels(hierarchy, 18.0) == ["18", "18", "*"]
    assert labels(hierarchy, 90.5) == ["90.5", ">= 90.5", "*"]


def test_coding_needs_a_limit_and_limits_in_order() -> None:
    with pytest.raises(InvalidHierarchy):
        Extremes()
    with pytest.raises(InvalidHierarchy, match="`bottom` 90 is not below `top` 18"):
        Extremes(bottom=Decimal(90), top=Decimal(18))


def test_a_calendar_has_one_notation() -> None:
    hierarchy = Calendar(("day", "month", "quarter", "year", "decade"))
    expected = ["1967-09-21", "1967-09", "1967-Q3", "1967", "1960s", "*"]
    assert labels(hierarchy, dt.date(1967, 9, 21))[1:] == expected
    assert labels(hierarchy, dt.datetime.fromisoformat("1967-09-21T23:59:00"))[1:] == expected
    assert labels(hierarchy, "1967-09-21T23:59:00.5+02:00")[1:] == expected


def test_text_that_is_no_date_is_missed() -> None:
    odd = ["1967-02-29", "1967-00-10", "1967-04-31", "67-01-01", "1967-01-01x", "01.02.1967", ""]
    assert Calendar(("year",)).misses(pa.array([*odd, "1968-02-29", None])).to_pylist() == odd


@pytest.mark.parametrize("periods", [(), ("year", "month"), ("year", "year"), ("week",)])
def test_periods_that_do_not_get_longer_are_refused(periods: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidHierarchy):
        Calendar(periods)


WORLD = {
    "Europe": ["France", {"Iberia": ["Spain"]}],
    "Asia": {"East": {"Islands": ["Japan"]}, "South": ["India"]},
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Japan", ["Islands", "East", "Asia", "*"]),
        ("India", ["South", "South", "Asia", "*"]),
        ("Spain", ["Iberia", "Iberia", "Europe", "*"]),
        ("France", ["Europe", "Europe", "Europe", "*"]),
    ],
)
def test_a_short_branch_waits_with_the_label_of_its_group(value: str, expected: list[str]) -> None:
    assert labels(build_taxonomy(WORLD), value)[1:] == expected


def test_a_tree_covers_its_leaves_only() -> None:
    assert build_taxonomy(WORLD).misses(pa.array(["Japan", "Asia", "japan", None])).to_pylist() == [
        "Asia",
        "japan",
    ]


def test_a_tree_finds_numbers_and_booleans_by_value() -> None:
    tree = build_taxonomy({"low": ["01", "2.0"], "yes": ["TRUE"]})
    assert labels(tree, 1)[1] == labels(tree, 2.0)[1] == labels(tree, Decimal("2.00"))[1] == "low"
    assert labels(tree, True)[1] == "yes"


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("007", 7),
        ("+7", 7),
        (" 7 ", 7),
        ("7.", 7),
        ("7.000", 7),
        ("-007.50", -7.5),
        (".5", 0.5),
        ("-.50", -0.5),
        ("000", 0),
        ("-0.0", 0),
        ("0.0", 0.0),
        ("1000", 1000),
        ("100.0010", 100.001),
    ],
)
def test_a_number_finds_the_leaf_that_writes_it_another_way(key: str, number: float) -> None:
    assert labels(build_taxonomy({"a": [key, "n/a"]}), number)[1] == "a"


@given(st.lists(st.integers(-(10**6), 10**6), unique=True, min_size=1), st.integers(0, 3))
def test_padded_numbers_are_found_where_they_are(found: list[int], zeros: int) -> None:
    keys = pa.array([f"{'-' if n < 0 else ''}{'0' * zeros}{abs(n)}.{'0' * zeros}" for n in found])
    assert positions(pa.array(found), keys).tolist() == list(range(len(found)))


def test_a_number_that_two_leaves_claim_is_missed() -> None:
    assert len(build_taxonomy({"a": ["01"], "b": ["001"]}).misses(pa.array([1]))) == 1
    assert labels(build_taxonomy({"a": ["01"], "b": ["1"]}), 1)[1] == "b"


@pytest.mark.parametrize(
    "written",
    [
        {},
        {"a": []},
        {"a": {}},
        {"a": "x"},
        {"a": ["x", "x"]},
        {"a": ["x"], "b": ["x"]},
        {"a": {"g": ["x"]}, "b": {"g": ["y"]}},
        {"*": ["x"]},
        {"a": [["x"], "x"]},
    ],
)
def test_trees_with_empty_or_repeated_places_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(InvalidHierarchy):
        build_taxonomy(written)


def test_texts_of_values_have_one_form() -> None:
    cases: list[tuple[Any, pa.DataType | None, str]] = [
        (30.0, None, "30"),
        (-0.0, None, "0"),
        (1e15, None, "1000000000000000"),
        (1e-7, None, "0.0000001"),
        (1e300, None, "1e+300"),
        (float("nan"), None, "NaN"),
        (Decimal("30.50"), None, "30.5"),
        (Decimal("0.00"), None, "0"),
        (True, None, "true"),
        (b"\xff\x00", None, "ff00"),
        (dt.date(1967, 9, 1), None, "1967-09-01"),
        (
            dt.datetime.fromisoformat("1967-09-01T01:02:03"),
            pa.timestamp("ns"),
            "1967-09-01 01:02:03",
        ),
        (dt.datetime.fromisoformat("1967-09-01T01:02:03.500000"), None, "1967-09-01 01:02:03.5"),
        (dt.time(1, 2), None, "01:02:00"),
        ([1, 2], None, "[1, 2]"),
        (dt.timedelta(days=1), None, "1 day, 0:00:00"),
        ("a", pa.string_view(), "a"),
        (b"\xff", pa.binary_view(), "ff"),
        (b"\xff", pa.binary(1), "ff"),
        ("01234", None, "01234"),
    ]
    found = [text_of(pa.array([value], type_))[0].as_py() for value, type_, _ in cases]
    assert found == [text for _, _, text in cases]


@given(st.lists(st.floats(-1e10, 1e10)), st.integers(0, 4))
def test_floats_are_rounded_down_as_their_texts_are(values: list[float], digits: int) -> None:
    as_floats = read_numbers(pa.array(values, pa.float64()), digits=digits)
    as_texts = read_numbers(pa.array([repr(v) for v in values], pa.string()), digits=digits)
    assert as_floats.units.tolist() == as_texts.units.tolist()


@given(st.lists(st.integers(-(10**9), 10**9)), st.integers(0, 4))
def test_decimals_on_the_grid_are_read_exactly(units: list[int], digits: int) -> None:
    reals = pa.array([unit / 10**digits for unit in units], pa.float64())
    assert read_numbers(reals, digits=digits).units.tolist() == units
