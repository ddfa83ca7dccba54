"""Releases measured afresh on what was written: they hold, invent nothing, and depend on no order."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import CriteriaUnreachable, OutputRefused, WrongUsage
from discreet.policy import model
from discreet.policy.hierarchies.intervals import Intervals
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions

if TYPE_CHECKING:
    from discreet.release.release import Release

METHODS = ("local", "full-domain", "mondrian", "relaxed-mondrian", "cells")
COLUMNS = {
    "job": build_taxonomy(
        {"office": ["clerk", "boss"], "field": {"soil": ["farmer"], "sea": ["sailor"]}}
    ),
}


def policy(*criteria: model.Criterion, unit: str | None = None, **release: Any) -> Policy:
    """A policy for the made-up people: a hierarchy of each kind, and a column without."""
    quasi = ColumnRole.QUASI_IDENTIFIER
    columns = (
        ColumnPolicy("name", ColumnRole.IDENTIFIER),
        ColumnPolicy("age", quasi, hierarchy=Intervals((Decimal(10), Decimal(20)))),
        ColumnPolicy("pay", quasi),
        ColumnPolicy("sex", quasi),
        ColumnPolicy("job", quasi, hierarchy=COLUMNS["job"]),
        ColumnPolicy("ill", ColumnRole.SENSITIVE),
    )
    table = model.TablePolicy(
        "people",
        columns,
        criteria=criteria,
        unit=unit,
        release=model.ReleasePolicy(**release),
        tolerance={"default": 1.0},
    )
    return Policy({"people": table})


TEST = "it goes nowhere"
PEOPLE = st.lists(
    st.tuples(
        st.integers(18, 60),
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from(["F", "M", None]),
        st.sampled_from(["clerk", "boss", "farmer", "sailor"]),
        st.sampled_from(["flu", "gout", "acne"]),
    ),
    min_size=6,
    max_size=40,
)


def table_of(rows: list[tuple]) -> pa.Table:
    names = ("age", "pay", "sex", "job", "ill")
    types = (pa.int64(), pa.int64(), pa.string(), pa.string(), pa.string())
    columns = {name: pa.array([row[i] for row in rows], types[i]) for i, name in enumerate(names)}
    return pa.table({"name": [f"person {i}" for i in range(len(rows))], **columns})


def release(
    rows: list[tuple], wanted: Policy, folder: str, name: str = "out.csv", **options: Any
) -> Release:
    return anonymize_source(
        table_of(rows), wanted, output=Path(folder) / name, force=True, **options
    )


SMALL = settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("method", METHODS)
@SMALL
@given(rows=PEOPLE, k=st.integers(1, 4), suppress=st.sampled_from([0.0, 0.1, 0.5]))
def test_what_is_written_meets_its_criteria_and_its_limit(method, rows, k, suppress):
    wanted = policy(model.KAnonymity(k), method=method, suppress=suppress)
    with TemporaryDirectory() as folder:
        found = release(rows, wanted, folder)
        again = discreet.assess(Path(folder) / "out.csv", wanted, depth=0)
    assert again.holds
    if again.k is not None:  # else everybody is hidden in one class
        assert (again.k, again.classes) == (found.k, found.classes)
    assert found.suppressed <= suppress * len(rows)
    assert again.rows == len(rows) - found.withheld
    assert 0 <= found.loss <= 1


CRITERIA = [
    (model.KAnonymity(2), model.LDiversity("ill", 2)),
    (model.LDiversity("ill", 1.5, "entropy"),),
    (model.LDiversity("ill", 1.4, "probabilistic"),),
    (model.LDiversity("ill", 2, "recursive", 4.0),),
    (model.KAnonymity(2), model.TCloseness("ill", 0.4)),
    (model.AlphaK("ill", 0.8, 2),),
    (model.BetaLikeness("ill", 1.5),),
    (model.BetaLikeness("ill", 1.5, "enhanced"),),
    (model.DeltaDisclosure("ill", 1.2),),
]


@pytest.mark.parametrize(
    "criteria", CRITERIA, ids=lambda c: type(c[-1]).__name__ + str(c[-1])[-12:]
)
@pytest.mark.parametrize("method", ["local", "full-domain", "mondrian"])
@settings(SMALL, max_examples=1)
@given(rows=PEOPLE)
def test_every_criterion_is_enforced_or_reported_as_unreachable(method, criteria, rows):
    wanted = policy(*criteria, method=method)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "out.csv"
        try:
            release(rows, wanted, folder)
        except CriteriaUnreachable:
            everyone = table_of(rows).select(["ill"]).append_column("all", [["x"] * len(rows)])
            columns = (
                ColumnPolicy("all", ColumnRole.QUASI_IDENTIFIER),
                ColumnPolicy("ill", ColumnRole.SENSITIVE),
            )
            whole = Policy({"people": model.TablePolicy("people", columns, criteria=criteria)})
            assert not discreet.assess(everyone, whole, depth=0).holds
            assert not place.exists()
            return
        assert discreet.assess(place, wanted, depth=0).holds


def covers(label: str | None, value: Any, name: str) -> bool:
    """Whether a released label may stand for a value, read as the documented notation says."""
    if label == "*" or label == value or (label or "") == ("" if value is None else str(value)):
        return True
    if value is None or label is None:
        return False
    if name == "job":
        return value in {
            "office": {"clerk", "boss"},
            "field": {"farmer", "sailor"},
            "soil": {"farmer"},
            "sea": {"sailor"},
        }.get(label, set())
    low, high = (float(part) for part in label.strip("[])").split(", "))
    return low <= value and (value < high if label.endswith(")") else value <= high)


@pytest.mark.parametrize("method", METHODS)
@settings(SMALL, max_examples=3)
@given(rows=PEOPLE)
def test_every_label_stands_for_a_true_value(method, rows):
    """Each person gets a number as sensitive value, so that rows can be matched with the truth."""
    rows = [(*row[:4], f"case {i:03}") for i, row in enumerate(rows)]
    wanted = policy(model.KAnonymity(2), method=method)
    with TemporaryDirectory() as folder:
        release(rows, wanted, folder)
        types = dict.fromkeys(("age", "pay", "sex", "job", "ill"), pa.string())
        written = pyarrow.csv.read_csv(
            Path(folder) / "out.csv",
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, strings_can_be_null=True
            ),
        ).to_pylist()
    assert sorted(row["ill"] for row in written) == sorted(row[4] for row in rows)
    assert set(written[0]) == {"age", "pay", "sex", "job", "ill"}  # the identifier is gone
    truth = {row[4]: row for row in rows}
    for row in written:
        for name, value in zip(("age", "pay", "sex", "job"), truth[row["ill"]], strict=False):
            assert covers(row[name], value, name), (name, row[name], value)


@pytest.mark.parametrize("method", METHODS)
@settings(SMALL, max_examples=3)
@given(rows=PEOPLE, chance=st.randoms(use_true_random=False))
def test_the_order_of_rows_leaves_no_trace(method, rows, chance):
    wanted = policy(model.KAnonymity(2), method=method, suppress=0.2)
    shuffled = list(rows)
    chance.shuffle(shuffled)
    with TemporaryDirectory() as folder:
        first = release(rows, wanted, folder, "a.csv")
        second = release(shuffled, wanted, folder, "b.csv")
    assert first.sha256 == second.sha256


def test_people_who_share_nothing_are_one_class():
    rows = [(20, 1, "F", "clerk", "flu"), (59, 8, "M", "sailor", "gout")]
    found = anonymize_source(table_of(rows), policy(model.KAnonymity(2)))
    assert (found.k, found.classes, found.suppressed, found.loss) == (2, 1, 0, 1.0)


def test_units_are_counted_once():
    """Ten rows of one person hide no one: people are counted, and the unit is not published."""
    rows = [(30, 1, "F", "clerk", "flu")] * 10 + [(50, 2, "M", "boss", "gout")] * 2
    table = table_of(rows).append_column("id", [[1] * 10 + [2, 3]])
    wanted = policy(model.KAnonymity(3), unit="id")
    with TemporaryDirectory() as folder:
        found = anonymize_source(table, wanted, accept_risk=TEST, output=Path(folder) / "out.csv")
        header = (Path(folder) / "out.csv").read_text().splitlines()[0]
    assert (found.k, found.classes, found.people) == (3, 1, 3)
    assert "id" not in header.split(",")


def test_too_few_suppressed_rows_are_left_out():
    """Anyone who fits no class would be one of them."""
    rows = [(30, 1, "F", "clerk", "flu")] * 9 + [(60, 9, "M", "sailor", "gout")]
    wanted = policy(model.KAnonymity(3), method="full-domain", suppress=0.1)
    with TemporaryDirectory() as folder:
        found = release(rows, wanted, folder)
        again = discreet.assess(Path(folder) / "out.csv", wanted, depth=0)
    assert (found.suppressed, found.withheld, again.rows) == (1, 1, 9)


def test_k_beyond_the_table_says_the_best_and_writes_nothing(tmp_path):
    rows = [(30, 1, "F", "clerk", "flu")] * 5
    with pytest.raises(CriteriaUnreachable, match=r"k = 6 .*The best is k = 5"):
        release(rows, policy(model.KAnonymity(6)), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_l_beyond_the_values_says_the_best_and_writes_nothing(tmp_path):
    rows = [(30, 1, "F", "clerk", "flu"), (31, 1, "F", "clerk", "gout")] * 5
    with pytest.raises(CriteriaUnreachable, match=r"l-diversity of 'ill' .* level is 2"):
        release(rows, policy(model.LDiversity("ill", 3)), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_output_is_not_replaced_without_force(tmp_path):
    place = tmp_path / "out.csv"
    place.write_text("mine\n")
    rows = [(30, 1, "F", "clerk", "flu")] * 5
    with pytest.raises(OutputRefused, match="--force"):
        anonymize_source(table_of(rows), policy(model.KAnonymity(2)), output=place)
    assert place.read_text() == "mine\n"


def test_a_column_that_looks_like_an_identifier_is_left_out_unless_it_has_a_role():
    rows = [(30 + i % 3, 1, "F", "clerk", "flu") for i in range(30)]
    people = table_of(rows).append_column("email", [[f"p{i}@example.org" for i in range(30)]])
    options = AnonymizeOptions(quasi=["age"], sensitive=["ill"], criteria=[model.KAnonymity(5)])
    found = anonymize_source(people, options=options)
    assert {"email", "name"} <= set(found.left_out)
    assert any("looks like an identifier" in caution for caution in found.cautions)


def test_a_hierarchical_distance_that_a_call_asks_for_uses_the_hierarchy_of_the_policy():
    illness = build_taxonomy({"lung": ["flu", "cold"], "skin": ["acne"]})
    columns = (
        model.ColumnPolicy("age", model.ColumnRole.QUASI_IDENTIFIER),
        model.ColumnPolicy("ill", model.ColumnRole.SENSITIVE, hierarchy=illness),
    )
    stated = model.Policy({"people": model.TablePolicy("people", columns)})
    people = pa.table({"age": [30, 30, 30, 40, 40, 40], "ill": ["flu", "cold", "acne"] * 2})
    close = model.TCloseness("ill", 0.1, "hierarchical")
    found = anonymize_source(people, stated, options=AnonymizeOptions(criteria=[close]))
    assert [(one.required["distance"], one.holds) for one in found.criteria] == [
        ("hierarchical", True)
    ]


def test_a_population_criterion_needs_a_population():
    with pytest.raises(WrongUsage, match="--against"):
        anonymize_source(table_of([(30, 1, "F", "clerk", "flu")] * 3), policy(model.KMap(2)))


@settings(SMALL, max_examples=3)
@given(rows=PEOPLE, others=PEOPLE)
def test_k_map_and_presence_are_enforced_against_the_population(rows, others):
    population = table_of([*rows, *others]).drop_columns(["ill"])
    wanted = policy(model.KMap(4), model.DeltaPresence(0.0, 0.9))
    with TemporaryDirectory() as folder:
        place = Path(folder) / "out.csv"
        try:
            found = anonymize_source(table_of(rows), wanted, output=place, against=population)
        except CriteriaUnreachable:
            assert not place.exists()
            return
    assert all(verdict.holds for verdict in found.criteria)
    assert found.method == "full-domain"


@pytest.mark.parametrize("unit", [None, "who"])
def test_columns_named_as_ours_are_released_as_they_are(tmp_path, unit):
    named = {"Discreet Class": ["a", "b"] * 4, "discreet copies": ["c", "d"] * 4}
    people = pa.table({"age": [1, 1, 2, 2] * 2, "who": range(8), **named})
    options = AnonymizeOptions(
        quasi=["age"], sensitive=list(named), unit=unit, criteria=[model.KAnonymity(4)]
    )
    anonymize_source(
        people, options=options, accept_risk=TEST, output=tmp_path / "released.parquet"
    )
    released = pyarrow.parquet.read_table(tmp_path / "released.parquet")
    left_out = ["who"] if unit else []
    assert released.column_names == [n for n in people.column_names if n not in left_out]
    assert all(sorted(released[name].to_pylist()) == sorted(named[name]) for name in named)


def test_labels_that_read_alike_are_not_distinguished_by_the_order_of_rows(tmp_path):
    # The value `*` stays a value, and the two others become the label `*`.
    people = pa.table({"zip": ["*", "*", "x", "y"], "sex": ["F"] * 4, "ill": ["b", "d", "a", "c"]})
    options = AnonymizeOptions(
        quasi=["zip", "sex"], sensitive=["ill"], criteria=[model.KAnonymity(2)]
    )
    anonymize_source(people, options=options, accept_risk=TEST, output=tmp_path / "released.csv")
    released = pyarrow.csv.read_csv(tmp_path / "released.csv")
    assert released["zip"].to_pylist() == ["*"] * 4
    assert released["ill"].to_pylist() == ["a", "b", "c", "d"]


def test_a_class_as_hidden_as_suppressed_rows_stands_among_them(tmp_path):
    # The row that was `*` before is suppressed, those of x and y are a class called `*`.
    people = pa.table({"zip": ["*", "*", "x", "y"], "ill": ["b", "d", "a", "c"]})
    options = AnonymizeOptions(quasi=["zip"], sensitive=["ill"], criteria=[model.KAnonymity(2)])
    anonymize_source(people, options=options, accept_risk=TEST, output=tmp_path / "released.csv")
    released = pyarrow.csv.read_csv(tmp_path / "released.csv")
    assert released["ill"].to_pylist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("suppressed", ["keep", "drop"])
def test_a_release_without_people_is_unreachable(tmp_path, suppressed):
    people = pa.table({"age": [1], "ill": ["flu"]})
    criteria = [model.AlphaK("ill", 0.5, 2)]
    options = AnonymizeOptions(quasi=["age"], sensitive=["ill"], criteria=criteria, suppress=1.0)
    with pytest.raises(CriteriaUnreachable):
        anonymize_source(
            people,
            options=options,
            accept_risk=TEST,
            output=tmp_path / "out.csv",
            suppressed=suppressed,
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suppress", [0.0, 0.4])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", None])
def test_columns_without_labels_are_compared_with_the_population(tmp_path, name, suppress):
    # Numbers and texts of digits that stay as they are, until a suppressed row makes them texts.
    zips = pa.array([10, 10, 10, 20], pa.int64())
    people = pa.table({"zip": zips, "year": ["1967"] * 4, "ill": list("abcd")})
    population = pa.concat_tables([people] * 2)
    criteria = [model.KMap(4 if suppress else 2)]
    options = AnonymizeOptions(
        quasi=["zip", "year"], sensitive=["ill"], criteria=criteria, suppress=suppress
    )
    output = tmp_path / name if name else None
    found = anonymize_source(
        people, options=options, accept_risk=TEST, output=output, against=population
    )
    assert (found.criteria[0].holds, found.suppressed) == (True, 1 if suppress else 0)
    assert found.criteria[0].reached == (6 if suppress else 2)


def test_suppressed_rows_of_too_few_people_are_left_out_however_many_they_are():
    who = [9, 9, 9, 9, *range(8)]
    people = pa.table({"who": who, "zip": ["*"] * 4 + ["a"] * 4 + ["b"] * 4})
    options = AnonymizeOptions(quasi=["zip"], unit="who", criteria=[model.KAnonymity(3)])
    assert anonymize_source(people, options=options).withheld == 4
    two = anonymize_source(
        people, options=AnonymizeOptions(quasi=["zip"], criteria=[model.KAnonymity(3)])
    )
    assert (two.suppressed, two.withheld) == (4, 0)


@pytest.mark.parametrize(("suppress", "hidden"), [(0.0, 0), (0.2, 0), (0.25, 2)])
def test_rows_suppressed_completely_are_within_the_limit(tmp_path, suppress, hidden):
    # Hiding (b, y) and (c, z) in one class would lose less than placing each beside its like.
    pairs = [*["bw"] * 3, *["qz"] * 3, "by", "cz"]
    people = pa.table({name: [pair[i] for pair in pairs] for i, name in enumerate(("one", "two"))})
    options = AnonymizeOptions(
        quasi=["one", "two"], criteria=[model.KAnonymity(2)], suppress=suppress
    )
    found = anonymize_source(people, options=options, accept_risk=TEST, output=tmp_path / "out.csv")
    again = discreet.assess(tmp_path / "out.csv", quasi=["one", "two"], depth=0)
    assert (found.suppressed, again.suppressed, again.k) == (hidden, hidden, 2 if hidden else 4)
    assert not any("in a class whose every" in caution for caution in found.cautions)


@pytest.mark.parametrize("method", ["local", "cells", "relaxed-mondrian"])
def test_a_class_called_by_stars_alone_is_counted_in_a_caution(method):
    people = pa.table({"zip": [*"aaabbb", "c", "d"]})
    options = AnonymizeOptions(quasi=["zip"], criteria=[model.KAnonymity(2)], method=method)
    found = anonymize_source(people, options=options)
    assert (found.k, found.classes, found.suppressed) == (2, 3, 0)
    assert any(
        caution.startswith("2 rows are in a class whose every") for caution in found.cautions
    )


@pytest.mark.parametrize("has_units", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("method", ["local", "full-domain"])
@settings(SMALL, max_examples=4)
@given(rows=PEOPLE)
def test_rows_left_out_change_what_classes_are_compared_with(method, has_units, rows):
    """t-closeness is measured against what was published, without what was not."""
    criteria = (model.KAnonymity(2), model.TCloseness("ill", 0.3), model.BetaLikeness("ill", 2.0))
    unit = "id" if has_units else None
    wanted = policy(*criteria, method=method, suppress=0.5, unit=unit)
    table = table_of(rows).append_column("id", [[i // 2 for i in range(len(rows))]])
    with TemporaryDirectory() as folder:
        place = Path(folder) / "out.csv"
        found = anonymize_source(table, wanted, accept_risk=TEST, output=place, suppressed="drop")
    assert all(verdict.holds for verdict in found.criteria)
    assert found.suppressed <= len(rows) // 2


@pytest.mark.parametrize("copies", [1, 4])
def test_columns_without_labels_keep_their_types(tmp_path, copies):
    # Rows that occur often are released from their groups, others from the table.
    types = (pa.int8(), pa.int32(), pa.uint16(), pa.float32(), pa.float64(), pa.bool_())
    columns = {f"c{i}": pa.array([0, 1] * 2 * copies).cast(kind) for i, kind in enumerate(types)}
    secret = pa.array([0.1, 0.2, 0.3, 0.4] * copies, pa.float32())
    people = pa.table({**columns, "secret": secret})
    options = AnonymizeOptions(
        quasi=list(columns), sensitive=["secret"], criteria=[model.KAnonymity(2)]
    )
    anonymize_source(people, options=options, accept_risk=TEST, output=tmp_path / "out.parquet")
    released = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert released.schema.types == people.schema.types
    assert sorted(released["secret"].to_pylist()) == sorted(people["secret"].to_pylist())


def test_a_column_that_the_policy_protects_is_not_published_in_silence():
    rows = [(30 + i % 2, 1, "F", "clerk", "flu") for i in range(4)]
    wanted = policy(model.KAnonymity(2))
    result = anonymize_source(
        table_of(rows), wanted, options=AnonymizeOptions(quasi=["age", "pay", "job"])
    ).cautions
    assert any("though the policy protects it: 'sex'." in caution for caution in result)
    assert not any("protects" in c for c in anonymize_source(table_of(rows), wanted).cautions)
