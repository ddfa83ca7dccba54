"""GROUP BY: by name, position and alias, in every notation, with keys that are public or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise

from discreet.answer.resolve import resolve_question
from discreet.answer.statement import parse_question
from discreet.errors import InvalidQuestion, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

POLICY = """
tables:
  people:
    budget: {epsilon: 100000, delta: 0.1}
    columns:
      age: {role: quasi-identifier, bounds: [0, 119]}
      sex: {role: quasi-identifier, values: [F, M]}
      ill: {role: sensitive}
      town: {role: quasi-identifier}
      born: {role: quasi-identifier}
"""
PEOPLE = pa.table(
    {
        "age": [5, 15, 25, 100, None],
        "sex": ["F", "M", "F", "F", "F"],
        "ill": [True, False, None, True, True],
        "town": ["x", "x", "y", None, "x"],
        "born": pa.array([0, 1, 2, 3, None], pa.date32()),
    }
)


@pytest.fixture
def curator(monkeypatch: pytest.MonkeyPatch) -> Curator:
    without_noise(monkeypatch)
    return hold({"people": PEOPLE}, POLICY)


@pytest.fixture
def grouped(curator: Curator):
    def call(text: str):
        (leaf,) = resolve_question(parse_question(text), curator.catalog).private_queries
        return [key.values for key in leaf.keys], leaf.sets

    return call


SEXES = ("F", "M")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, count(*) FROM people GROUP BY sex",
        "SELECT sex, count(*) FROM people GROUP BY 1",
        "SELECT sex AS s, count(*) FROM people GROUP BY s",
        "SELECT sex, count(*) FROM people GROUP BY ALL",
        "SELECT p.sex, count(*) FROM people p GROUP BY p.SEX",
        "SELECT count(*) FROM people GROUP BY (sex)",
        "SELECT sex, count(*) FROM people GROUP BY sex, people.sex, 1",
    ],
)
def test_a_key_is_the_same_however_it_is_written(grouped, text: str):
    assert grouped(text) == ([SEXES], ((0,),))


def test_an_input_column_wins_over_an_alias(grouped):
    keys, _ = grouped("SELECT upper(sex) AS sex, count(*) FROM people GROUP BY sex")
    assert keys == [SEXES]


@pytest.mark.parametrize(
    ("by", "sets"),
    [
        ("ROLLUP (sex, ill)", ((0, 1), (0,), ())),
        ("CUBE (sex, ill)", ((0, 1), (0,), (1,), ())),
        ("GROUPING SETS ((sex, ill), (ill), ())", ((0, 1), (1,), ())),
        ("sex, ROLLUP (ill)", ((0, 1), (0,))),
        ("ROLLUP ((sex, ill))", ((0, 1), ())),
        ("ROLLUP (sex), ROLLUP (ill)", ((0, 1), (0,), (1,), ())),
    ],
)
def test_every_grouping_is_made_from_the_finest(grouped, by: str, sets):
    keys, found = grouped(f"SELECT count(*) FROM people GROUP BY {by}")
    assert keys == [SEXES, (False, True)]
    assert found == sets


def test_grouping_sets_without_the_finest_are_refused(grouped):
    with pytest.raises(QuestionRefused, match="all 2 columns"):
        grouped("SELECT count(*) FROM people GROUP BY GROUPING SETS ((sex), (ill))")


@pytest.mark.parametrize(
    "by", ["CUBE (sex, ill, age, town, born, sex, ill)", "CUBE (sex), " * 7 + "ill"]
)
def test_too_many_groupings_are_refused(grouped, by: str):
    with pytest.raises(QuestionRefused, match="groupings"):
        grouped(f"SELECT count(*) FROM people GROUP BY {by}")


@pytest.mark.parametrize("by", ["0", "3", "99999999999999999999"])
def test_a_position_that_is_not_there_is_invalid(grouped, by: str):
    with pytest.raises(InvalidQuestion, match="no such column"):
        grouped(f"SELECT sex, count(*) FROM people GROUP BY {by}")


def test_keys_are_public_by_values_bounds_kind_and_what_is_computed_from_these(grouped):
    text = "SELECT count(*) FROM people GROUP BY sex, ill, age // 40, age > 17, month(born), "
    keys, _ = grouped(text + "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END, coalesce(sex, '-')")
    assert [key and set(key) for key in keys] == [
        {"F", "M"},
        {False, True},
        {0, 1, 2},
        {False, True},
        set(range(1, 13)),
        {"child", "adult"},
        {"F", "M", "-"},
    ]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("born >= DATE '1969-05-01' AND born < DATE '1972-01-01'", (1969, 1970, 1971)),
        ("born BETWEEN '1970-01-01' AND '1970-06-30' AND age > 3", (1970,)),
        ("born > DATE '1969-05-01'", None),
        ("born >= DATE '1969-05-01' OR born < DATE '1972-01-01'", None),
        ("born BETWEEN DATE '9999-12-31' AND DATE '9999-12-31' AND born > DATE '9999-12-31'", None),
        ("born < DATE '0001-01-01' AND born > DATE '0001-01-01'", None),
    ],
)
def test_years_between_the_dates_of_a_condition_are_public(grouped, where: str, expected):
    keys, _ = grouped(f"SELECT year(born) AS y, count(*) FROM people WHERE {where} GROUP BY y")
    assert keys == [expected]


def test_all_years_between_the_dates_of_a_condition_are_released(curator: Curator):
    where = "born BETWEEN DATE '1969-01-01' AND DATE '1970-01-03'"
    result = curator.ask(
        f"SELECT year(born) AS y, count(*) FROM people WHERE {where} GROUP BY y", epsilon=1
    )
    assert result.rows == [[1969, 0], [1970, 3]]


@pytest.mark.parametrize("limits", ["", "limits: {rows-per-unit: 2}, "])
def test_a_capped_count_per_person_is_a_public_key(monkeypatch, limits: str):
    without_noise(monkeypatch)
    policy = f"tables: {{t: {{unit: who, {limits}columns: {{who: identifier}}}}}}"
    curator = hold({"t": pa.table({"who": ["p", "p", "p", "q"]})}, policy)
    inner = "SELECT who, least(count(*), 4) AS n FROM t GROUP BY who"
    result = curator.ask(f"SELECT n, count(*) FROM ({inner}) x GROUP BY n", epsilon=1)
    assert result.rows == [[n, count] for n, count in enumerate([0, 1, 0, 1, 0])]


@pytest.mark.parametrize("by", ["town", "born", "sex || town", "year(born)", "age, town"])
def test_other_keys_are_private(grouped, by: str):
    keys, _ = grouped(f"SELECT count(*) FROM people GROUP BY {by}")
    assert None in keys


def test_a_public_value_beyond_64_bits_is_refused_before_anyone_pays():
    policy = POLICY.replace("values: [F, M]", f"values: [1, {2**64}]")
    held = hold({"people": PEOPLE.set_column(1, "sex", pa.array([1, 2, 3, 4, 5]))}, policy)
    with pytest.raises(QuestionRefused, match="64 bits"):
        held.ask("SELECT sex, count(*) FROM people GROUP BY sex", epsilon=1)


def test_totals_add_up(curator: Curator):
    text = "SELECT sex, age // 60 AS half, count(*) AS n, sum(age) AS s FROM people GROUP BY "
    result = curator.ask(text + "ROLLUP (sex, half)", epsilon=1)
    assert result.rows == [
        ["F", 0, 2, 30.0],
        ["F", 1, 1, 100.0],
        ["M", 0, 1, 15.0],
        ["M", 1, 0, 0.0],
        ["F", None, 3, 130.0],
        ["M", None, 1, 15.0],
        [None, None, 4, 145.0],
    ]


@pytest.mark.parametrize("aggregate", ["median(age)", "min(age)", "count(DISTINCT town)"])
def test_what_does_not_add_up_has_no_totals(curator: Curator, aggregate: str):
    with pytest.raises(QuestionRefused, match="add up"):
        curator.ask(f"SELECT sex, {aggregate} FROM people GROUP BY ROLLUP (sex)", epsilon=1)


def test_people_in_several_groups_are_not_added_up(monkeypatch: pytest.MonkeyPatch):
    without_noise(monkeypatch)
    policy = """
tables:
  visits:
    unit: who
    limits: {rows-per-unit: 4}
    columns: {who: {role: identifier}, ward: {role: insensitive, values: [a, b]}}
"""
    visits = pa.table({"who": ["p", "p"], "ward": ["a", "b"]})
    curator = hold({"visits": visits}, policy)
    with pytest.raises(QuestionRefused, match="people"):
        curator.ask(
            "SELECT ward, count(DISTINCT who) FROM visits GROUP BY ROLLUP (ward)", epsilon=1
        )


def test_private_groups_have_no_totals(curator: Curator):
    with pytest.raises(QuestionRefused, match="public groups"):
        curator.ask(
            "SELECT town, count(*) FROM people GROUP BY ROLLUP (town)", epsilon=1, delta=1e-6
        )


def test_a_null_key_is_a_group_where_keys_are_private_and_none_where_they_are_public(
    curator: Curator,
):
    many = pa.table({"town": [None] * 9 + ["x"] * 9, "age": [1] * 18})
    other = hold({"people": many}, "tables: {people: {columns: {town: quasi-identifier}}}")
    result = other.ask("SELECT town, count(*) FROM people GROUP BY town", epsilon=9, delta=1e-5)
    assert result.rows == [["x", 9], [None, 9]]
    result = curator.ask("SELECT ill, count(*) FROM people GROUP BY ill", epsilon=1)
    assert result.rows == [[False, 1], [True, 3]]
    assert any("missing" in caution for caution in result.cautions)


def test_groups_are_released_in_the_order_of_their_keys(curator: Curator):
    rows = [{"town": name, "age": 1} for name in ("b", "c", "a") for _ in range(20)]
    other = hold({"people": pa.Table.from_pylist(rows)})
    result = other.ask("SELECT town, count(*) FROM people GROUP BY town", epsilon=9, delta=1e-5)
    assert [row[0] for row in result.rows] == ["a", "b", "c"]


def test_only_keys_can_be_asked_for(curator: Curator):
    assert curator.ask("SELECT DISTINCT sex FROM people GROUP BY sex", epsilon=1).rows == [
        ["F"],
        ["M"],
    ]
