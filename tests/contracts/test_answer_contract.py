"""The same question gives the same answer on every engine, and a refused one touches none of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise

from discreet.answer import bounded_queries
from discreet.answer.cut_rows import ONE, exact_bins
from discreet.errors import InvalidQuestion, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

NAN, INF = float("nan"), float("inf")

POLICY = """
tables:
  people:
    budget: {epsilon: 100000, delta: 0.1}
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
      pay: {role: sensitive, bounds: [-1000, 1000]}
      huge: {role: sensitive}
      price: {role: sensitive, bounds: [0, 10]}
      born: {role: quasi-identifier}
      moment: {role: quasi-identifier}
      sick: {role: sensitive}
      word: {role: sensitive, values: ["", "it's", "Ω", 'a"b']}
  nobody:
    budget: {epsilon: 100000, delta: 0.1}
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
  visits:
    unit: who
    budget: {epsilon: 100000, delta: 0.1}
    limits: {rows-per-unit: 4}
    columns:
      who: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b, c]}
      day: {role: quasi-identifier}
      cost: {role: sensitive, bounds: [0, 100]}
  stays:
    unit: who
    budget: {epsilon: 100000, delta: 0.1}
    limits: {groups-per-unit: 2, rows-per-group: 2}
    columns:
      who: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b, c]}
      cost: {role: sensitive, bounds: [0, 100]}
  months:
    unit: {column: who, per: month, on: day}
    budget: {epsilon: 100000, delta: 0.1}
    limits: {rows-per-unit: 1}
    columns:
      who: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b, c]}
      day: {role: quasi-identifier}
      cost: {role: sensitive, bounds: [0, 100]}
  tests:
    budget: {epsilon: 100000, delta: 0.1}
    columns:
      who: {role: identifier, references: patients.who}
      result: {role: sensitive, bounds: [0, 10]}
  patients:
    unit: who
    budget: {epsilon: 100000, delta: 0.1}
    limits: {rows-per-unit: 1}
    columns:
      who: {role: identifier}
      sex: {role: quasi-identifier, values: [F, M]}
  wards:
    public: true
    columns:
      ward: {role: insensitive}
      wing: {role: insensitive}
"""

PEOPLE = pa.table(
    {
        "age": pa.array([10, 20, None, 40, 500, -7]),
        "sex": ["F", "M", "F", None, "X", "M"],
        "town": ["x", "y", "x", "z", "x", None],
        "pay": [1.5, NAN, INF, -5.0, None, -INF],
        "huge": [2**63 - 1, -(2**63), 0, None, 5, 5],
        "price": pa.array([0, 1, 2, 12, None, 3], pa.int32()).cast(pa.decimal128(20, 2)),
        "born": [
            dt.date(2000, 1, 1),
            None,
            dt.date(9999, 12, 31),
            dt.date(1, 1, 1),
            dt.date(2024, 2, 29),
            dt.date(2024, 2, 28),
        ],
        "moment": pa.array(
            [0, 1, 1_709_251_199_999_999, None, -1, 1_709_251_200_000_000], pa.timestamp("us")
        ),
        "sick": [True, False, None, True, True, False],
        "word": ["", "it's", "Ω", 'a"b', None, "other"],
    }
)
DAYS = [dt.date(2024, month, 1) for month in (1, 1, 2, 2, 3, 3, 4, 4, 1, 2, 3)]
VISITS = pa.table(
    {
        "who": ["p"] * 8 + ["q", "q", None],
        "ward": ["a", "a", "a", "a", "b", "b", "c", "c", "c", "c", "a"],
        "day": DAYS,
        "cost": [10.0, 20.0, 30.0, 40.0, 50.0, 50.0, 60.0, 60.0, 90.0, 1000.0, 5.0],
    }
)
TABLES = {
    "people": PEOPLE,
    "nobody": PEOPLE.select(["age", "sex", "town"]).slice(0, 0),
    "visits": VISITS,
    "stays": VISITS.select(["who", "ward", "cost"]),
    "months": VISITS,
    "tests": pa.table({"who": ["p", "p", "q", "z"], "result": [1, 2, 30, 4]}),
    "patients": pa.table({"who": ["p", "q", "r"], "sex": ["F", "M", "M"]}),
    "wards": pa.table({"ward": ["a", "b", "d"], "wing": ["east", "west", "west"]}),
}


def ask(curator: Curator, question: str) -> list[list[Any]]:
    """Return the rows; where a key is private, groups of more than two people are released."""
    private = {"epsilon": 100, "delta": 1e-6} if "/* private */" in question else {"epsilon": 1}
    return curator.ask(question, **private).rows


ROW_UNITS = {
    "SELECT count(*), count(age), sum(age), avg(age), variance(age), stddev_pop(age), sum(price), "
    "avg(price), sum(age) FILTER (WHERE sex = 'F') FROM people": [
        [6, 5, 190, 38, 2320, 43.081, 16, 3.2, 10]
    ],
    # GREATEST passes over NULL, as DuckDB's does.
    "SELECT sum(least(greatest(huge, -5), 5)) FROM people": [[5]],
    "SELECT count_if(huge + huge > 0), count_if(huge - 1 < huge), count_if(1 / age > 0), "
    "count_if(price = 2.00 OR price > 11), count_if(length(word) = 0), count_if(sick) "
    "FROM people": [[3, 3, 4, 2, 1, 3]],
    "SELECT sex, count(*), sum(age) FROM people GROUP BY sex": [["F", 2, 10], ["M", 2, 20]],
    "SELECT count(DISTINCT huge), count(DISTINCT town), count(DISTINCT sick) FROM people": [
        [4, 3, 2]
    ],
    "SELECT upper(word) AS w, sick, count(*) FROM people WHERE word LIKE '%''%' "
    "GROUP BY word, sick": [
        ["", False, 0],
        ["", True, 0],
        ["IT'S", False, 1],
        ["IT'S", True, 0],
        ["Ω", False, 0],
        ["Ω", True, 0],
        ['A"B', False, 0],
        ['A"B', True, 0],
    ],
    "SELECT sex, age // 60 AS x, count(*) FROM people GROUP BY CUBE (sex, x)": [
        ["F", 0, 1],
        ["F", 1, 0],
        ["F", 2, 0],
        ["M", 0, 2],
        ["M", 1, 0],
        ["M", 2, 0],
        ["F", None, 1],
        ["M", None, 2],
        [None, 0, 3],
        [None, 1, 0],
        [None, 2, 0],
        [None, None, 3],
    ],
    "SELECT sum(x) FROM (SELECT age AS x FROM people UNION ALL SELECT age FROM people) u": [[380]],
}
DATES = {
    "SELECT count_if(born < DATE '2001-01-01'), count_if(year(born) = 2024 AND month(born) = 2), "
    "count_if(date_trunc('month', born) = DATE '2024-02-01'), "
    "count_if(moment < TIMESTAMP '2024-03-01 00:00:00'), "
    "count_if(CAST(moment AS DATE) = DATE '1970-01-01'), "
    "count_if(CAST(town AS INTEGER) IS NULL), count_if(CAST('x' || town AS DATE) IS NULL) "
    "FROM people": [[2, 2, 2, 4, 2, 6, 6]],
    "SELECT month(born) AS m, count(*) FROM people GROUP BY m": [
        [month, {1: 2, 2: 2, 12: 1}.get(month, 0)] for month in range(1, 13)
    ],
    "SELECT count(DISTINCT born), count(DISTINCT moment) FROM people": [[5, 5]],
}
REALS = {
    "SELECT count(pay), count_if(pay > 0), count_if(pay = pay), count_if(pay IS NULL), "
    "count_if(sqrt(pay) > 1), sum(pay * 2) FILTER (WHERE pay < 100) FROM people": [
        [4, 2, 4, 2, 2, -2007]
    ],
    "SELECT pay > 0 AS p, count(*) FROM people GROUP BY p": [[False, 2], [True, 2]],
    # NaN is missing, infinities are the bounds.
    "SELECT count(*), count(pay), sum(pay), avg(pay), median(pay) FROM people": [
        [6, 4, -3.5, -0.875, -4.8828]
    ],
    "SELECT sum(pay) AS s FROM people": [[-3.5]],
    "SELECT var_pop(pay) / 1000000 AS v FROM people": [[0.500006]],
    "SELECT sum(p), count(p), count(*) FROM (SELECT pay AS p FROM people) x": [[-3.5, 4, 6]],
}
PRIVATE_KEYS = {
    "SELECT town, count(*) FROM people GROUP BY town /* private */": [["x", 3]],
    "SELECT huge, count(*) FROM people GROUP BY huge /* private */": [[5, 2]],
    "SELECT year(born) AS y, count(*) FROM people GROUP BY y /* private */": [[2024, 2]],
    "SELECT town, sum(age), median(age) FROM people GROUP BY town /* private */": [["x", 130, 10]],
    "SELECT coalesce(town, 'x') AS t, count(*) FROM people GROUP BY t /* private */": [["x", 4]],
    "SELECT sick, born, count(*) FROM people GROUP BY ALL /* private */": [],
    "SELECT ward, count(*) FROM (SELECT ward FROM visits) v GROUP BY ward /* private */": [
        ["a", 2],
        ["b", 1],
        ["c", 3],
    ],
    "SELECT day, count(*) FROM visits GROUP BY day /* private */": [],
}
UNITS = {
    # p has 8 rows of which 4 count: each of them counts for half.
    "SELECT count(*), sum(cost), count(DISTINCT who) FROM visits": [[6, 350, 2]],
    "SELECT ward, count(*), sum(cost) FROM visits GROUP BY ward": [
        ["a", 2, 50],
        ["b", 1, 50],
        ["c", 3, 250],
    ],
    "SELECT count(DISTINCT ward), count(DISTINCT cost) FROM visits": [[3, 6]],
    "SELECT median(cost), min(cost), max(cost) FROM visits": None,
    "SELECT ward, quantile_cont(cost, 0.9) FROM visits GROUP BY ward": [
        ["a", 39.99],
        ["b", 50],
        ["c", 100],
    ],
    # Which two of its three wards p counts in is drawn, but not how many of them.
    "SELECT sum(n) FROM (SELECT ward, count(DISTINCT who) AS n FROM stays GROUP BY ward) x": [[3]],
    "SELECT ward, count(*), avg(cost) FROM stays GROUP BY ward": [
        ["a", 2, 25],
        ["b", 1, 50],
        ["c", 3, 83.333],
    ],
    "SELECT count(*) FROM stays": [[4]],
    "SELECT ward, count(*), sum(cost) FROM months GROUP BY ward": [
        ["a", 2, 50],
        ["b", 1, 50],
        ["c", 3, 250],
    ],
}
JOINS = {
    "SELECT p.sex, count(*), sum(v.cost) FROM visits v JOIN patients p ON v.who = p.who "
    "GROUP BY p.sex": [["F", 4, 160], ["M", 2, 190]],
    "SELECT count(*) FROM patients p LEFT JOIN visits v USING (who)": [[7]],
    "SELECT w.wing, count(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.wing": [
        ["east", 3],
        ["west", 1],
    ],
    "SELECT count(w.wing) FROM visits v LEFT JOIN wards w ON v.ward = w.ward": [[3]],
    "SELECT p.sex, sum(t.result) FROM tests t JOIN patients p ON t.who = p.who GROUP BY p.sex": [
        ["F", 1.5],
        ["M", 10],
    ],
    "SELECT count(*) FROM (SELECT who, cost FROM visits UNION ALL SELECT who, cost FROM stays) u": [
        [8]
    ],
}
PER_PERSON = {
    "SELECT avg(n), sum(t), avg(a), avg(d) FROM (SELECT who, count(*) AS n, sum(cost) AS t, "
    "avg(cost) AS a, count(DISTINCT ward) AS d FROM visits GROUP BY who) x": [[3, 510, 67.5, 2]],
    "SELECT x.k, count(*) FROM (SELECT who, count(*) > 3 AS k FROM visits GROUP BY who) x "
    "GROUP BY x.k": [[False, 1], [True, 1]],
    "SELECT count(*) FROM (SELECT who FROM visits GROUP BY who HAVING sum(cost) > 200) x": [[1]],
    "SELECT ward, count(*) FROM (SELECT who, ward FROM visits GROUP BY who, ward) x "
    "GROUP BY ward": [["a", 1], ["b", 1], ["c", 2]],
    "SELECT max(m), min(m), median(m) FROM (SELECT who, max(cost) AS m FROM visits "
    "GROUP BY who) x": None,
}
EMPTY = {
    "SELECT count(*), sum(age), count(DISTINCT age), avg(age), variance(age) FROM nobody": [
        [0, 0, 0, None, None]
    ],
    "SELECT town, median(age) FROM nobody GROUP BY town /* private */": [],
    "SELECT sex, count(*), avg(age) FROM nobody GROUP BY ROLLUP (sex)": [
        ["F", 0, None],
        ["M", 0, None],
        [None, 0, None],
    ],
    "SELECT max(n) AS m FROM (SELECT sex, count(*) AS n FROM nobody GROUP BY sex) x": [[0]],
}
QUESTIONS = {
    "row units": ROW_UNITS,
    "dates": DATES,
    "reals": REALS,
    "private keys": PRIVATE_KEYS,
    "units": UNITS,
    "joins": JOINS,
    "per person": PER_PERSON,
    "empty": EMPTY,
}


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither noise nor chance: groups of a person are taken in the same order everywhere."""
    without_noise(monkeypatch)
    monkeypatch.setattr(
        bounded_queries, "secrets", SimpleNamespace(token_hex=lambda size: "0" * 2 * size)
    )


@pytest.fixture(scope="module")
def on_duckdb() -> Curator:
    return hold(TABLES, POLICY)


@pytest.fixture(scope="module")
def held() -> dict[int, Curator]:
    return {}


@pytest.fixture
def curator(any_engine, held: dict[int, Curator]) -> Curator:
    """The tables on each engine in turn; Spark is the same for all tests, and keeps its tables."""
    if id(any_engine) not in held:
        held[id(any_engine)] = hold(TABLES, POLICY, engine=any_engine)
    return held[id(any_engine)]


@pytest.mark.parametrize("group", QUESTIONS)
@pytest.mark.usefixtures("exact")
def test_every_engine_gives_the_same_answer(curator: Curator, on_duckdb: Curator, group: str):
    for question, expected in QUESTIONS[group].items():
        found = ask(curator, question)
        assert found == ask(on_duckdb, question), question
        if expected is not None:
            near = [[pytest.approx(cell, abs=2e-3) for cell in row] for row in expected]
            assert found == near, question


@pytest.mark.parametrize(
    "question",
    [
        "SELECT count(*) FROM visits",
        "SELECT ward, count(DISTINCT who) FROM stays GROUP BY ward",
    ],
)
def test_every_engine_counts_the_rows_that_limits_cut_off(curator: Curator, question: str):
    """Of 8 rows of one person 4 count, and both rows of another one."""
    (leaf,) = curator.plan(question, epsilon=1)[0].private_queries
    assert leaf.cut is not None
    bins = exact_bins(curator.engine.run(leaf.cut.query))
    assert bins.tolist() == [ONE // 2, ONE // 3, ONE - ONE // 3, *[0] * 10]


def test_every_engine_finds_the_same_bounds(any_engine, monkeypatch: pytest.MonkeyPatch):
    """Powers of two belong to the bin that they end, in numbers of every kind."""
    without_noise(monkeypatch)
    numbers = {
        "whole": pa.array([-4] * 200 + [9] * 200, pa.int64()),
        "real": pa.array([0.5] * 200 + [1000.5] * 200, pa.float64()),
        "exact": pa.array([Decimal("0.00")] * 200 + [Decimal("64.00")] * 200, pa.decimal128(9, 2)),
        "odd": pa.array([NAN] * 200 + [-INF] * 199 + [None], pa.float64()),
    }
    columns = ", ".join(f"{name}: {{role: sensitive, bounds: private}}" for name in numbers)
    policy = f"tables: {{t: {{budget: {{epsilon: 1000}}, columns: {{{columns}}}}}}}"
    curator = hold({"t": pa.table(numbers)}, policy, engine=any_engine)
    aggregates = ", ".join(f"sum({name})" for name in numbers)
    answer = curator.ask(f"SELECT {aggregates} FROM t", epsilon=100)
    result = [caution for caution in answer.cautions if "found privately" in caution]
    assert [caution.partition("question: ")[2].partition(". Numbers")[0] for caution in result] == [
        "0 to 64",
        "-4,611,686,018,427,387,904 to -2,305,843,009,213,693,952",
        "0.25 to 1,024",
        "-4 to 16",
    ]
    assert answer.rows[0][:3] == [pytest.approx(v, rel=1e-3) for v in (1000, 200_200, 12_800)]


REFUSED = (
    "SELECT * FROM people",
    "SELECT age FROM people LIMIT 1",
    "SELECT sum(huge) FROM people",
    "SELECT town, count(*) FROM people GROUP BY town",
    "SELECT count(*) FROM people WHERE random() < 0.5",
    "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)",
    "SELECT count(*) FROM people p JOIN people q ON p.age = q.age",
    "SELECT count(*) FROM (SELECT * FROM people LIMIT 1) x",
    "SELECT row_number() OVER () FROM people",
    "SELECT count(*) FROM information_schema.tables",
    "SELECT count(*) FROM pg_catalog.pg_class",
    "SELECT count(*) FROM people; DROP TABLE people",
    "SELECT lower(count(*)) FROM people",
)


def test_a_refused_question_touches_no_engine(curator: Curator):
    before = len(curator.engine.queries)
    for question in REFUSED:
        with pytest.raises((QuestionRefused, InvalidQuestion)):
            curator.ask(question, epsilon=1)
    assert len(curator.engine.queries) == before
