"""From a statement to leaves and what is computed from them: whose the rows are, and what is paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.answer.aggregates import AggregateKind
from discreet.answer.resolve import resolve_question
from discreet.answer.statement import parse_question
from discreet.errors import InvalidQuestion, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator
    from discreet.answer.question import PrivateQuery, Question

POLICY = """
tables:
  people:
    partitions: {year: value}
    columns:
      year: {role: quasi-identifier}
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
  towns:
    public: true
    columns: {town: {role: insensitive}, region: {role: insensitive}}
  visits:
    unit: who
    limits: {rows-per-unit: 4, groups-per-unit: 2}
    columns:
      who: {role: identifier}
      id: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 100]}
  stays:
    unit: person
    limits: {rows-per-unit: 3}
    columns:
      person: {role: identifier}
      nights: {role: sensitive, bounds: [0, 30]}
  scans:
    columns:
      visit: {role: identifier, references: visits.id}
  wards:
    public: true
    columns: {ward: {role: insensitive}, wing: {role: insensitive}}
"""
TABLES = {
    "people": pa.table({"year": [2024], "age": [3], "sex": ["F"], "town": ["x"]}),
    "towns": pa.table({"town": ["x", "y"], "region": ["n", "n"]}),
    "visits": pa.table({"who": ["p"], "id": [1], "ward": ["a"], "cost": [1.0]}),
    "stays": pa.table({"person": ["p"], "nights": [1]}),
    "scans": pa.table({"visit": [1]}),
    "wards": pa.table({"ward": ["a", "b"], "wing": ["east", "west"]}),
}


@pytest.fixture(scope="module")
def curator() -> Curator:
    return hold(TABLES, POLICY)


@pytest.fixture
def taken_apart(curator: Curator):
    def call(text: str) -> Question:
        return resolve_question(parse_question(text), curator.catalog)

    return call


@pytest.fixture
def leaf(taken_apart):
    def call(text: str) -> PrivateQuery:
        (only,) = taken_apart(text).private_queries
        return only

    return call


def touched(leaf: PrivateQuery) -> list[str]:
    return [touch.held.name for touch in leaf.rows.touches]


def test_a_select_with_aggregates_is_one_leaf(taken_apart):
    found = taken_apart("SELECT sex, count(*), avg(age) / 2 AS half FROM people GROUP BY sex")
    (only,) = found.private_queries
    assert found.is_direct
    assert found.names == ("sex", "count(*)", "half")
    assert [item.ask for item in only.aggregates] == [AggregateKind.COUNT, AggregateKind.AVG]
    assert [key.values for key in only.keys] == [("F", "M")]


def test_equal_aggregates_are_asked_once(leaf):
    text = "SELECT avg(age), avg(people.age) * 2 FROM people HAVING avg(AGE) > 1 ORDER BY avg(age)"
    assert len(leaf(text).aggregates) == 1


def test_every_select_over_rows_is_a_leaf_of_its_own(taken_apart):
    text = "WITH a AS (SELECT count(*) AS n FROM people), b AS (SELECT sum(cost) AS s FROM visits) "
    found = taken_apart(text + "SELECT s / n FROM a, b")
    assert [touched(leaf) for leaf in found.private_queries] == [["people"], ["visits"]]
    assert not found.is_direct


def test_a_scalar_subquery_is_a_leaf_too(taken_apart):
    found = taken_apart("SELECT count(*) * 1.0 / (SELECT count(*) FROM visits) AS x FROM people")
    assert len(found.private_queries) == 2


def test_a_table_of_with_that_is_named_twice_is_paid_for_once(taken_apart):
    text = "WITH a AS (SELECT sex, count(*) AS n FROM people GROUP BY sex) "
    found = taken_apart(text + "SELECT x.n, y.n FROM a x JOIN a y USING (sex)")
    assert len(found.private_queries) == 1


def test_rows_of_rows_are_still_the_same_people(leaf):
    found = leaf("SELECT avg(c) FROM (SELECT cost * 2 AS c FROM (SELECT * FROM visits) v) w")
    assert touched(found) == ["visits"]
    assert len(found.rows.unit) == 1
    assert (found.aggregates[0].argument.low, found.aggregates[0].argument.high) == (0, 200)


def test_where_narrows_the_bounds_of_what_is_summed(leaf):
    found = leaf("SELECT sum(age) FROM people WHERE age BETWEEN 18 AND 65")
    assert (found.aggregates[0].argument.low, found.aggregates[0].argument.high) == (18, 65)


def test_where_under_or_narrows_nothing(leaf):
    found = leaf("SELECT sum(age) FROM people WHERE age < 65 OR sex = 'F'")
    assert (found.aggregates[0].argument.low, found.aggregates[0].argument.high) == (0, 120)


def test_a_condition_that_no_row_meets_leaves_bounds(leaf):
    found = leaf("SELECT sum(age) FROM people WHERE age > 200")
    argument = found.aggregates[0].argument
    assert argument.low < argument.high


def test_grouping_by_the_unit_gives_one_row_for_each_person(leaf):
    text = "SELECT avg(n), max(t) FROM (SELECT who, count(*) AS n, sum(cost) AS t FROM visits "
    found = leaf(text + "GROUP BY who) x")
    assert found.rows.is_single
    bounds = [(item.argument.low, item.argument.high) for item in found.aggregates]
    assert bounds == [(0, 4), (0, 400)]


def test_grouping_by_the_unit_and_more_gives_several_rows_of_a_person(leaf):
    found = leaf("SELECT count(*) FROM (SELECT who, ward FROM visits GROUP BY who, ward) x")
    assert not found.rows.is_single
    assert len(found.rows.unit) == 1


def test_a_join_on_the_unit_multiplies_the_limits(leaf):
    found = leaf("SELECT count(*) FROM visits v JOIN stays s ON v.who = s.person")
    assert touched(found) == ["visits", "stays"]
    assert found.rows.limits.rows_per_unit == 12


def test_the_unit_stays_known_under_another_name(leaf):
    text = (
        "SELECT count(*) FROM (SELECT who AS x, cost FROM visits) v JOIN stays s ON s.person = v.x"
    )
    assert touched(leaf(text)) == ["visits", "stays"]
    assert (
        leaf("SELECT count(DISTINCT x) FROM (SELECT who AS x FROM visits) v").aggregates[0].ask
        is AggregateKind.COUNT_UNITS
    )


def test_what_is_computed_from_the_unit_is_not_the_unit(taken_apart):
    text = "SELECT count(*) FROM (SELECT lower(who) AS x, cost FROM visits) v JOIN stays s "
    with pytest.raises(QuestionRefused, match="whose"):
        taken_apart(text + "ON s.person = v.x")


def test_a_foreign_key_says_whose_a_row_is(leaf):
    found = leaf("SELECT count(*) FROM scans s JOIN visits v ON s.visit = v.id")
    assert touched(found) == ["scans", "visits"]
    assert len(found.rows.unit) == 1


def test_a_public_table_adds_columns_and_no_people(leaf):
    found = leaf("SELECT w.wing, count(*) FROM visits v JOIN wards w USING (ward) GROUP BY w.wing")
    assert touched(found) == ["visits"]
    assert found.keys[0].values == ("east", "west")


def test_a_union_of_rows_counts_each_person_in_both(leaf):
    found = leaf(
        "SELECT sum(a) FROM (SELECT age AS a FROM people UNION ALL SELECT 1 FROM people) x"
    )
    assert found.rows.fan == 2
    assert (found.aggregates[0].argument.low, found.aggregates[0].argument.high) == (0, 120)


def test_only_the_parts_that_where_admits_are_touched(leaf):
    found = leaf("SELECT count(*) FROM people WHERE year = 2024")
    (touch,) = found.rows.touches
    assert touch.cells is not None
    assert len(touch.cells) == 1
    assert leaf("SELECT count(*) FROM people WHERE age = 3").rows.touches[0].cells is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ward, count(*) FROM visits v JOIN wards w USING (ward) GROUP BY ward", '"v"'),
        ("SELECT ward, count(*) FROM visits v LEFT JOIN wards w USING (ward) GROUP BY 1", '"v"'),
        ("SELECT ward, count(*) FROM wards w JOIN visits v USING (ward) GROUP BY ward", '"w"'),
        # Both are the same, and the values of one are public.
        ("SELECT town, count(*) FROM people p JOIN towns t USING (town) GROUP BY town", '"t"'),
        ("SELECT town, count(*) FROM people p LEFT JOIN towns t USING (town) GROUP BY town", '"p"'),
        ("SELECT p.town, count(*) FROM people p JOIN towns t USING (town) GROUP BY p.town", '"p"'),
    ],
)
def test_a_name_in_using_is_one_column(leaf, text: str, expected: str):
    (key,) = leaf(text).keys
    assert key.tree.sql().startswith(expected)
    assert (key.values is None) == ('"p"' in expected)


def test_a_star_lists_a_column_of_using_once(leaf):
    found = leaf(
        "SELECT ward, count(*) FROM (SELECT * FROM visits JOIN wards USING (ward)) x GROUP BY 1"
    )
    assert found.keys[0].values == ("a", "b")


def test_the_unit_in_using_is_still_the_unit(leaf):
    found = leaf("SELECT count(DISTINCT who) FROM visits v JOIN visits u USING (who)")
    assert found.aggregates[0].ask is AggregateKind.COUNT_UNITS


def test_a_number_that_is_always_there_is_missing_where_a_left_join_finds_nothing(leaf):
    found = leaf(
        "SELECT count(s.one) FROM visits v "
        "LEFT JOIN (SELECT who, 1 AS one FROM visits WHERE cost > 5) s USING (who)"
    )
    assert found.aggregates[0].ask is AggregateKind.COUNT_OF


def test_names_are_found_in_any_case_and_quoted_as_they_are(leaf):
    found = leaf('SELECT Count(*) FROM PEOPLE AS P WHERE p."AGE" > 3')
    assert '"P"."age"' in found.rows.frame.sql()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT count(*) FROM peple", "Did you mean 'people'"),
        ("SELECT count(agee) FROM people", "Did you mean 'age'"),
        ("SELECT count(*) FROM people p JOIN people p ON p.age = p.age", "share one name"),
        ("SELECT count(ward) FROM visits v JOIN wards w ON v.ward = w.ward", "several tables"),
        (
            "SELECT count(ward) FROM visits v JOIN wards w USING (ward) JOIN visits u USING (who)",
            "several tables",
        ),
        ("SELECT x.a FROM (SELECT age AS a, sex AS a FROM people) x", "share one name"),
        ("SELECT avg(sum(age)) FROM people", "subquery between"),
        ("SELECT count(*) FROM people WHERE count(*) > 1", "HAVING"),
        (
            "SELECT a.n FROM (SELECT count(*) AS n FROM people) a JOIN people b ON a.n = b.age",
            "Noisy",
        ),
        ("SELECT age FROM people UNION ALL SELECT sex FROM people", "Cast one"),
        ("SELECT age FROM people UNION ALL SELECT age, sex FROM people", "number of columns"),
        ("SELECT count(*) FROM people UNION ALL SELECT age FROM people", "aggregates"),
    ],
)
def test_what_makes_no_sense_is_reported_as_such(taken_apart, text: str, reason: str):
    with pytest.raises((InvalidQuestion, QuestionRefused), match=reason):
        taken_apart(text)


def test_columns_of_an_answer_have_names_and_each_its_own(taken_apart):
    text = "WITH x AS (SELECT sex, count(*) AS n FROM people GROUP BY sex) "
    found = taken_apart(text + "SELECT n, n, max(n) OVER () FROM x")
    assert found.names == ("n", "n_", "max(n) over ()")
    assert taken_apart("SELECT count(*), count(*) FROM people").names == ("count(*)", "count(*)_")
