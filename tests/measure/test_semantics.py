"""What missing values, suppressed cells, suppressed rows and units mean: docs/explanation/semantics.md."""

from __future__ import annotations

import math

import duckdb
import pyarrow as pa
import pytest

import discreet
from discreet.errors import EmptySource, InvalidCriterion, UnreadableSource
from discreet.policy import model
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy


def assess(columns: dict, sensitive=(), unit=None, policy=None) -> discreet.Assessment:
    quasi = [name for name in columns if name not in (*sensitive, unit)]
    return discreet.assess(
        pa.table(columns), policy, quasi=quasi, sensitive=list(sensitive), unit=unit, depth=0
    )


def policy(*criteria, **columns) -> Policy:
    listed = (ColumnPolicy("zip", ColumnRole.QUASI_IDENTIFIER), *columns.values())
    return Policy({"t": TablePolicy("t", listed, criteria=criteria)})


def test_missing_is_a_value_of_its_own_and_matches_nothing_else():
    found = assess({"zip": ["1", "1", None, None, None, ""]})
    assert (found.classes, found.k, found.class_sizes) == (3, 1, {1: 1, 2: 2, 3: 3})


def test_the_class_of_missing_values_is_shown_as_missing():
    found = assess({"zip": ["1", "1", None]})
    assert (found.smallest[0].values, found.smallest[0].size) == ({"zip": None}, 1)


def test_a_missing_sensitive_value_is_no_value():
    found = assess({"zip": ["1", "1"], "ill": ["flu", None]}, ["ill"]).sensitive["ill"]
    assert (found.values, found.missing, found.l.distinct) == (2, 1, 1)
    assert found.l.entropy == pytest.approx(1, rel=1e-12)
    assert found.homogeneous == 2


def test_a_missing_sensitive_value_comes_last_in_an_order():
    # Places 10 < 20 < missing: the first class sits at one end, the second at the other.
    found = assess({"zip": ["1", "2"], "pay": pa.array([10, None])}, ["pay"]).sensitive["pay"]
    assert found.t.ordered == 0.5
    columns = {"zip": ["1", "2", "3"], "pay": pa.array([10, None, 20])}
    worst = assess(columns, ["pay"]).sensitive["pay"].worst["ordered"]
    levels = {view.values["zip"]: view.level for view in worst}
    # Among the known values, 10 and 20 are the two ends; with the missing one, 20 is in the middle.
    assert levels == pytest.approx({"1": 0.5, "2": 0.5, "3": 0.5}, rel=1e-12)


def test_a_missing_sensitive_value_is_alone_in_a_hierarchy_below_the_top():
    tree = build_taxonomy({"lung": ["flu", "cold"], "skin": ["acne"]})
    rules = policy(ill=ColumnPolicy("ill", ColumnRole.SENSITIVE, hierarchy=tree))
    columns = {"zip": ["1", "2", "3", "4"], "ill": ["flu", "cold", "acne", None]}
    worst = assess(columns, ["ill"], policy=rules).sensitive["ill"].worst["hierarchical"]
    levels = {view.values["zip"]: view.level for view in worst}
    # Height 2: 'acne' and the missing value are 1 from all others, 'flu' and 'cold' 1/2 apart.
    assert levels["3"] == levels["4"] == pytest.approx(3 / 4, rel=1e-12)


def test_a_star_is_a_value_of_its_own_while_another_cell_says_something():
    found = assess({"zip": ["*", "*", "1"], "age": [30, 30, 30]})
    assert (found.suppressed, found.class_sizes) == (0, {1: 1, 2: 2})


def test_suppressed_rows_are_a_class_to_anyone_who_reads_them():
    found = assess({"zip": ["*", "*", "1", "1"], "sex": ["*", "*", "F", "F"]})
    assert (found.rows, found.suppressed, found.classes, found.k) == (4, 2, 2, 2)


def test_a_missing_value_beside_a_star_is_a_value_an_outsider_can_know():
    """Three people without an age share a secret: that their zips are hidden does not hide it."""
    columns = {
        "age": pa.array([None] * 3 + [30] * 3),
        "zip": ["*"] * 3 + ["1"] * 3,
        "ill": ["HIV"] * 3 + ["flu", "gout", "acne"],
    }
    found = assess(columns, ["ill"])
    assert (found.suppressed, found.classes, found.k) == (0, 2, 3)
    assert found.sensitive["ill"].homogeneous == 3
    assert "The ill of 3 people of 6 (50.0 %) follows from their class" in found.verdict


def test_a_row_that_misses_every_value_is_not_suppressed():
    found = assess({"zip": [None, "*"], "age": pa.array([None, None], pa.int64())})
    assert (found.suppressed, found.classes, found.unique) == (0, 2, 2)


def test_suppressed_rows_count_in_the_overall_distribution():
    columns = {"zip": ["1", "1", "*", "*"], "ill": ["flu", "flu", "acne", "acne"]}
    found = assess(columns, ["ill"]).sensitive["ill"]
    assert (found.values, found.t.equal) == (2, 0.5)
    assert found.delta_disclosure == math.inf


def test_suppressed_rows_are_judged_with_the_others():
    columns = {"zip": ["1", "1", "*"], "ill": ["flu", "acne", "acne"]}
    found = assess(columns, ["ill"])
    assert (found.k, found.sensitive["ill"].l.distinct) == (1, 1)
    assert any(caution.startswith("1 row is suppressed") for caution in found.cautions)


def test_a_table_that_is_all_suppressed_is_one_class():
    criteria = model.KAnonymity(2), model.LDiversity("ill", 2), model.TCloseness("ill", 0.1)
    rules = policy(*criteria, ill=ColumnPolicy("ill", ColumnRole.SENSITIVE))
    found = assess({"zip": ["*", "*"], "ill": ["flu", "acne"]}, ["ill"], policy=rules)
    assert (found.classes, found.k, found.unique, found.suppressed) == (1, 2, 0, 2)
    assert [(verdict.holds, verdict.reached) for verdict in found.criteria] == [
        (True, 2),
        (True, 2),
        (True, 0),
    ]
    assert found.verdict.startswith("Every one of the 2 rows of Table is suppressed.")


def test_with_a_unit_a_class_counts_people():
    columns = {"who": [1, 1, 1, 2, 3], "zip": ["1", "1", "1", "1", "2"]}
    found = assess(columns, unit="who")
    assert (found.rows, found.people, found.class_sizes) == (5, 3, {1: 1, 2: 2})


def test_rows_without_a_known_person_are_one_person():
    columns = {"who": [None, None, None, 7], "zip": ["1", "1", "1", "1"]}
    found = assess({**columns, "who": pa.array(columns["who"], pa.int64())}, unit="who")
    assert (found.people, found.k) == (2, 2)


def test_a_person_is_unique_who_is_alone_in_at_least_one_class():
    columns = {"who": [1, 1, 1, 2, 2], "zip": ["1", "2", "3", "3", "3"]}
    found = assess(columns, unit="who")
    # Person 1 is alone in two classes, and counts once.
    assert (found.classes, found.unique, found.class_sizes) == (3, 1, {1: 2, 2: 2})


def test_a_person_in_several_failing_classes_fails_once():
    criteria = model.KAnonymity(2), model.LDiversity("ill", 2), model.TCloseness("ill", 0.2)
    rules = policy(*criteria, ill=ColumnPolicy("ill", ColumnRole.SENSITIVE))
    columns = {
        "who": [1, 1, 1, 2, 2],
        "zip": ["1", "2", "3", "3", "3"],
        "ill": ["flu", "acne", "flu", "flu", "acne"],
    }
    found = assess(columns, ["ill"], "who", policy=rules)
    assert [(v.failing_classes, v.failing_people) for v in found.criteria] == [(2, 1)] * 3


def test_a_person_with_several_values_counts_for_each_of_them():
    columns = {"who": [1, 1, 2], "zip": ["1"] * 3, "ill": ["flu", "acne", "flu"]}
    found = assess(columns, ["ill"], "who").sensitive["ill"]
    assert (found.alpha, found.l.probabilistic) == (1.0, 1.0)  # everybody in the class has flu
    assert found.t.equal == 0


def test_a_level_that_equals_its_threshold_holds():
    third = 1 / 3
    criteria = (
        model.LDiversity("ill", 3, "entropy"),
        model.LDiversity("ill", 3, "probabilistic"),
        model.AlphaK("ill", third, 3),
        model.TCloseness("ill", 0.0),
        model.BetaLikeness("ill", 0.0),
    )
    rules = policy(*criteria, ill=ColumnPolicy("ill", ColumnRole.SENSITIVE))
    columns = {"zip": ["1"] * 3 + ["2"] * 3, "ill": ["a", "b", "c"] * 2}
    found = assess(columns, ["ill"], policy=rules)
    assert [verdict.holds for verdict in found.criteria] == [True] * 5


def test_a_strict_criterion_does_not_hold_at_its_threshold():
    columns = {"zip": ["1", "1", "1", "2", "2", "2"], "ill": ["a", "a", "b", "a", "b", "b"]}
    level = assess(columns, ["ill"]).sensitive["ill"].delta_disclosure
    nearly = math.nextafter(level, math.inf)  # what rounding alone could pass
    criteria = (
        model.DeltaDisclosure("ill", nearly),
        model.DeltaDisclosure("ill", level * 1.01),
        model.LDiversity("ill", 2, "recursive", 2.0),
        model.LDiversity("ill", 2, "recursive", 2.01),
    )
    rules = policy(*criteria, ill=ColumnPolicy("ill", ColumnRole.SENSITIVE))
    found = assess(columns, ["ill"], policy=rules)
    assert [verdict.holds for verdict in found.criteria] == [False, True, False, True]


def test_an_order_written_in_the_policy_gives_words_a_distance():
    rules = policy(
        pay=ColumnPolicy("pay", ColumnRole.SENSITIVE, values=("low", "mid", "high", "never"))
    )
    columns = {"zip": ["1", "2", "3"], "pay": ["high", "low", "mid"]}
    found = assess(columns, ["pay"], policy=rules).sensitive["pay"]
    assert found.t.ordered == 0.5
    assert found.worst["ordered"][-1].level == pytest.approx(1 / 3, rel=1e-12)


def test_an_order_of_numbers_may_be_written_in_the_policy():
    rules = policy(pay=ColumnPolicy("pay", ColumnRole.SENSITIVE, values=("3", "1", "2.5")))
    columns = {"zip": ["1", "2", "3"], "pay": [3.0, 1.0, 2.5]}
    found = assess(columns, ["pay"], policy=rules).sensitive["pay"]
    levels = {view.values["zip"]: view.level for view in found.worst["ordered"]}
    assert levels == pytest.approx({"1": 0.5, "2": 1 / 3, "3": 0.5}, rel=1e-12)


def test_the_ordered_distance_of_words_without_an_order_is_refused():
    rules = policy(
        model.TCloseness("ill", 0.1, "ordered"), ill=ColumnPolicy("ill", ColumnRole.SENSITIVE)
    )
    with pytest.raises(InvalidCriterion, match="have no order"):
        assess({"zip": ["1"], "ill": ["flu"]}, ["ill"], policy=rules)


def test_a_table_without_rows_is_refused():
    with pytest.raises(EmptySource):
        assess({"zip": pa.array([], pa.string())})


def test_one_row_is_one_unique_person():
    found = assess({"zip": ["1"], "ill": ["flu"]}, ["ill"])
    assert (found.k, found.unique, found.classes) == (1, 1, 1)
    assert found.verdict == "1 of 1 person is unique on zip (100 %)."
    assert assess({"zip": ["1", "2", "2"]}).verdict == "1 of 3 people is unique on zip (33.3 %)."
    assert found.sensitive["ill"].t.equal == 0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("DATE", "infinity"),
        ("DATE", "12000-01-01"),
        ("TIMESTAMP", "-infinity"),
        ("TIMESTAMPTZ", "12000-01-01 00:00:00"),
    ],
)
def test_a_day_that_python_cannot_hold_is_shown_as_text(kind: str, value: str):
    days = duckdb.sql(f"SELECT CAST('{value}' AS {kind}) AS day, 1 AS ill UNION ALL SELECT NULL, 2")
    found = discreet.assess(days, quasi=["day"], sensitive=["ill"])
    assert (found.classes, found.k) == (2, 1)
    shown = [view.values["day"] for view in found.smallest]
    assert shown[0].startswith(value.partition(" ")[0])
    assert shown[1] is None


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_less_than_a_microsecond_apart_are_never_one_class(zone: str | None):
    moments = pa.table({"at": pa.array([1, 2, None], pa.timestamp("ns", zone))})
    if zone:  # DuckDB would round them
        with pytest.raises(UnreadableSource, match="microsecond"):
            discreet.assess(moments, quasi=["at"])
        return
    found = discreet.assess(moments, quasi=["at"], sensitive=[])
    assert (found.classes, len(found.smallest)) == (3, 3)
    assert "nan" not in str(found.to_dict())


@pytest.mark.parametrize("values", range(2, 12))
def test_no_distance_is_below_zero(values: int):
    found = assess({"zip": ["1"] * values, "ill": range(values)}, ["ill"])
    closeness = found.sensitive["ill"].t
    assert 0 <= closeness.ordered < 1e-12
    assert 0 <= closeness.equal < 1e-12


@pytest.mark.parametrize("empty", ["", " ", "   "])
def test_an_empty_text_is_no_sensitive_value(empty):
    table = {"zip": ["1"] * 4, "ill": ["flu", "flu", empty, None]}
    found = assess(table, sensitive=["ill"]).sensitive["ill"]
    assert (found.l.distinct, found.homogeneous, found.missing) == (1, 4, 2)
    # Quasi-identifiers are what an outsider sees: there it is a text of its own.
    assert assess({"zip": [empty, empty, None, "1"]}).class_sizes == {1: 2, 2: 2}


def test_a_release_is_not_diverse_by_empty_texts(tmp_path):
    rows = ["age,ill", *["30,flu", '30,""', '30," "'] * 4, *["60,flu", "60,cold", "60,angina"] * 4]
    (tmp_path / "people.csv").write_text("\n".join([*rows, ""]))
    release = discreet.anonymize(
        tmp_path / "people.csv", quasi=["age"], sensitive=["ill"], k=2, l=2, suppress=0.5
    )
    found = assess({name: release.frame[name] for name in ("age", "ill")}, ["ill"])
    assert set(release.frame["age"].to_pylist()) != {"30", "60"}
    assert found.sensitive["ill"].l.distinct >= 2
