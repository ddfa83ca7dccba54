"""Fail closed: what has no private answer is refused by its text, before any row is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.answer.curators import hold, without_noise

from discreet.errors import DiscreetError, EngineFailed, InvalidQuestion, NoBounds, QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.curator import Curator

POLICY = """
tables:
  people:
    budget: {epsilon: 100000, delta: 0.1}
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
      pay: {role: sensitive}
  visits:
    unit: who
    budget: {epsilon: 100000, delta: 0.1}
    limits: {rows-per-unit: 2}
    columns:
      who: {role: identifier}
      cost: {role: sensitive, bounds: [0, 100]}
      nurse: {role: insensitive, references: staff.nurse}
  loose:
    unit: who
    columns: {who: {role: identifier}, cost: {role: sensitive, bounds: [0, 100]}}
  staff:
    unit: nurse
    limits: {rows-per-unit: 1}
    columns: {nurse: {role: identifier}}
  towns:
    public: true
    columns: {town: {role: insensitive}, region: {role: insensitive}, size: {role: insensitive}}
"""
VISITS = pa.table({"who": ["p", "p", "q"], "cost": [1.0, 2.0, 3.0], "nurse": ["n"] * 3})
STAFF = pa.table({"nurse": ["n"]})
TOWNS = pa.table({"town": ["x", "y"], "region": ["n", "n"], "size": [1.0, 2.0]})


def people(rows: list[dict[str, Any]] | None = None) -> pa.Table:
    schema = pa.schema(
        {"age": pa.int64(), "sex": pa.string(), "town": pa.string(), "pay": pa.float64()}
    )
    some = [{"age": 3, "sex": "F", "town": "x", "pay": 1.5}]
    return pa.Table.from_pylist(some if rows is None else rows, schema)


def curator_of(rows: list[dict[str, Any]] | None = None) -> Curator:
    tables = {"people": people(rows), "visits": VISITS, "loose": VISITS, "towns": TOWNS}
    tables["staff"] = STAFF
    return hold(tables, POLICY)


@pytest.fixture(scope="module")
def curator() -> Curator:
    return curator_of()


# Each item of the list of what must fail closed, with what its refusal says.
REFUSED = {
    # No bounds, no limits, no public keys
    "SELECT sum(pay) FROM people": "bounds",
    "SELECT avg(pay * age) FROM people": "bounds",
    "SELECT median(pay) FROM people": "bounds",
    "SELECT max(pay) FROM people": "bounds",
    "SELECT count(*) FROM loose": "limits",
    "SELECT town, count(*) FROM people GROUP BY town": "not public",
    "SELECT age + pay AS k, count(*) FROM people GROUP BY k": "not public",
    # Unknown, random and side-effecting functions
    "SELECT frobnicate(age) FROM people": "frobnicate",
    "SELECT count(*) FROM people WHERE frobnicate(age) = 1": "frobnicate",
    "SELECT count(*) FROM people WHERE random() < 0.5": "chance",
    "SELECT sum(random()) FROM people": "chance",
    "SELECT count(*) FROM people WHERE uuid() IS NULL": "",
    "SELECT count(*) FROM people WHERE nextval('s') > 1": "chance",
    "SELECT count(*) FROM people WHERE setseed(0.5) IS NULL": "chance",
    "SELECT count(*) FROM people WHERE now() > TIMESTAMP '2024-01-01'": "clock",
    "SELECT count(*) FROM people WHERE getenv('HOME') = ''": "getenv",
    "SELECT count(*) FROM people WHERE current_setting('x') = ''": "",
    "SELECT count(*) FROM people WHERE pg_sleep(10) IS NULL": "pg_sleep",
    "SELECT count(*) FROM people WHERE error('x') IS NULL": "error",
    "SELECT getenv('HOME'), count(*) FROM people": "getenv",
    "WITH x AS (SELECT count(*) AS n FROM people) SELECT n, random() FROM x": "rand",
    "WITH x AS (SELECT count(*) AS n FROM people) SELECT read_text('x') FROM x": "read_text",
    # Expressions that can take very long
    "SELECT count(*) FROM people WHERE regexp_matches(town, '(a+)+$')": "long",
    "SELECT count(*) FROM people WHERE town SIMILAR TO '(a+)+'": "long",
    "SELECT count(*) FROM people WHERE repeat(town, 1000000) = 'x'": "",
    # Rows chosen by other rows, before they are aggregated
    "SELECT age FROM people LIMIT 1": "other people",
    "SELECT count(*) FROM (SELECT * FROM people LIMIT 2) x": "other people",
    "SELECT count(*) FROM (SELECT * FROM people OFFSET 2) x": "other people",
    "SELECT count(*) FROM (SELECT * FROM people ORDER BY age) x": "other people",
    "SELECT count(*) FROM (SELECT DISTINCT town FROM people) x": "other people",
    "SELECT count(*) FROM (SELECT who, count(*) AS n FROM visits GROUP BY who LIMIT 1) x": "other",
    "SELECT count(*) FROM people USING SAMPLE 10%": "chance",
    "SELECT age FROM people UNION SELECT age FROM people": "UNION ALL",
    # Window functions over people
    "SELECT row_number() OVER (ORDER BY age) FROM people": "other people",
    "SELECT sum(age) OVER (PARTITION BY sex) FROM people": "other people",
    "SELECT count(*) FROM (SELECT lag(age) OVER (ORDER BY age) AS a FROM people) x": "other people",
    "SELECT sex, rank() OVER (ORDER BY count(*)) FROM people GROUP BY sex": "subquery",
    # Subqueries that look at other people
    "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)": "other people",
    "SELECT count(*) FROM people WHERE age IN (SELECT age FROM people)": "other people",
    "SELECT count(*) FROM people WHERE EXISTS (SELECT 1 FROM visits)": "other people",
    "SELECT count(*) FROM people WHERE age > ALL (SELECT age FROM people)": "other people",
    "SELECT sum((SELECT max(cost) FROM visits)) FROM people": "",
    "SELECT (SELECT cost FROM visits) FROM people GROUP BY ()": "aggregate",
    # Joins that would say nothing about whose the rows are, or multiply them
    "SELECT count(*) FROM people p, people q": "every row",
    "SELECT count(*) FROM people p JOIN people q ON true": "every row",
    "SELECT count(*) FROM people p JOIN people q ON p.age = q.age": "do not identify the person",
    "SELECT count(*) FROM people p JOIN visits v ON p.town = v.who": "do not identify the person",
    "SELECT count(*) FROM visits a JOIN visits b ON a.cost = b.cost": "do not identify the person",
    "SELECT count(*) FROM visits a JOIN visits b ON a.who = b.who OR a.cost = b.cost": "every row",
    "SELECT count(*) FROM visits v JOIN staff s ON v.nurse = s.nurse": "'who'.*'nurse'.* two people",
    "SELECT count(*) FROM people p FULL JOIN towns t ON p.town = t.town": "belong to no person",
    "SELECT count(*) FROM towns t LEFT JOIN people p ON p.town = t.town": "belong to no person",
    "SELECT count(*) FROM people p JOIN towns t ON p.town = t.region": "several rows",
    "SELECT count(*) FROM people p JOIN towns t ON t.town = t.town": "several rows",
    "SELECT count(*) FROM people p JOIN towns t ON t.town = concat(p.town, t.region)": "several",
    "SELECT count(*) FROM people p JOIN towns t ON t.town = coalesce(p.town, t.town)": "several",
    "SELECT count(*) FROM people p JOIN towns t ON p.pay = t.size": "several rows",
    "SELECT count(*) FROM people p JOIN (SELECT town FROM towns) t ON p.town = t.town": "public",
    "SELECT count(*) FROM (SELECT age FROM people UNION ALL SELECT cost FROM visits) x": "",
    # Functions whose answer would be a person's own value
    "SELECT * FROM people": "aggregates",
    "SELECT age, count(*) FROM people GROUP BY sex": "one person's value",
    "SELECT first(age) FROM people": "no private answer",
    "SELECT any_value(age) FROM people": "no private answer",
    "SELECT list(age) FROM people": "people's own",
    "SELECT string_agg(town, ',') FROM people": "people's own",
    "SELECT arg_max(town, age) FROM people": "no private answer",
    "SELECT max(town) FROM people": "not a number",
    "SELECT bool_or(age > 3) FROM people": "no private answer",
    "SELECT sum(DISTINCT age) FROM people": "DISTINCT",
    "SELECT quantile_cont(age, age) FROM people": "constant",
    "SELECT who, count(*) FROM visits GROUP BY who": "rows of people",
    # Tables that no one declared, files and table functions
    "SELECT count(*) FROM information_schema.tables": "system tables",
    "SELECT count(*) FROM pg_catalog.pg_class": "system tables",
    "SELECT count(*) FROM duckdb_tables()": "no table",
    "SELECT count(*) FROM read_csv('people.csv')": "no table",
    "SELECT count(*) FROM read_parquet('*')": "no table",
    "SELECT count(*) FROM glob('*')": "no table",
    "SELECT count(*) FROM query('SELECT 1')": "no table",
    "SELECT count(*) FROM query_table('people')": "no table",
    "SELECT count(*) FROM generate_series(1, 10)": "no table",
    "SELECT count(*) FROM (VALUES (1)) x": "no table",
    "SELECT count(*) FROM people, unnest([1, 2, 3])": "no table",
    "SELECT count(*) FROM people, LATERAL (SELECT 1) x": "",
    "SELECT count(*) FROM towns": "public",
    "SELECT 1": "FROM",
    # Parameters
    "SELECT count(*) FROM people WHERE age > ?": "does not contain",
    "SELECT count(*) FROM people WHERE age > $1": "does not contain",
    "SELECT count(*) FROM people WHERE age > :limit": "does not contain",
    # Statements other than SELECT
    "COPY people TO 'people.csv'": "COPY",
    "ATTACH 'x.db'": "ATTACH",
    "PRAGMA database_list": "PRAGMA",
    "SET memory_limit = '1GB'": "SET",
    "EXPLAIN SELECT count(*) FROM people": "explain",
}
INVALID = {
    "SELECT count(*) FROM sqlite_master": "no table",
    "SELECT count(*) FROM duckdb_settings": "no table",
    "SELECT count(*) FROM 'people.csv'": "no table",
    'SELECT count(*) FROM "../people.parquet"': "no table",
    "SELECT count(*) FROM discreet_q1": "no table",
    "SELECT count(*) FROM people HAVING EXISTS (SELECT 1 FROM sqlite_master)": "no table",
    "WITH x AS (SELECT count(*) AS n FROM people) SELECT n FROM x, sqlite_master": "no table",
    "WITH x AS (SELECT count(*) AS n FROM people) SELECT n FROM x "
    "WHERE n > ALL (SELECT 1 FROM sqlite_master)": "no table",
    "SELECT count(*) FROM people p WHERE x.age = 1": "no table",
    "SELECT sex, (SELECT count(*) FROM people q WHERE q.sex = p.sex) FROM people p GROUP BY sex": (
        "no table 'p'"
    ),
    "SELECT count(rowid) FROM people": "no column",
    "SELECT people FROM people": "no column",
    "SELECT count(*) FROM people; DROP TABLE people": "one SQL statement",
    "SELECT count(*) FROM people ORDER BY 5": "cannot be computed",
    "SELECT lower(count(*)) FROM people": "cannot be computed",
    "SELECT count(*) FROM people GROUP BY 7": "no such column",
}


def reads_people(curator: Curator) -> bool:
    """Whether the engine was ever asked about a protected table; public ones may be looked at."""
    protected = {
        curator.catalog.find(name).table.relation.name for name in ("people", "visits", "loose")
    }
    asked = {table.name for query in curator.engine.queries for table in query.find_all(exp.Table)}
    return bool(asked & protected)


@pytest.mark.parametrize("question", [*REFUSED, *INVALID])
def test_it_is_refused_by_its_text_and_nothing_is_read_or_spent(curator: Curator, question: str):
    reason = REFUSED.get(question, INVALID.get(question))
    error = QuestionRefused if question in REFUSED else InvalidQuestion
    with pytest.raises(error, match=reason or None):
        curator.ask(question, epsilon=1)
    assert not reads_people(curator)
    assert curator.ledger.entries(None, limit=5) == []


def test_an_answer_does_read_people():
    curator = curator_of()
    curator.ask("SELECT count(*) FROM people", epsilon=1)
    assert reads_people(curator)


def test_a_union_does_not_read_what_its_order_names(curator: Curator):
    counts = "SELECT count(*) FROM people UNION ALL SELECT count(*) FROM people"
    with pytest.raises(QuestionRefused, match="sqlite_master"):
        curator.ask(f"{counts} ORDER BY (SELECT 1 FROM sqlite_master)", epsilon=1)


def test_tables_written_out_again_and_again_are_refused(curator: Curator):
    doubled = "x{} AS (SELECT age FROM x{} UNION ALL SELECT age FROM x{})"
    tables = ["x0 AS (SELECT age FROM people)"]
    tables += [doubled.format(n, n - 1, n - 1) for n in range(1, 30)]
    with pytest.raises(InvalidQuestion, match="SELECTs"):
        curator.ask(f"WITH {', '.join(tables)} SELECT count(*) FROM x29", epsilon=1)


def test_a_cube_of_thirty_columns_is_refused_at_once(curator: Curator):
    with pytest.raises(QuestionRefused, match="groupings"):
        curator.ask(
            f"SELECT count(*) FROM people GROUP BY CUBE ({', '.join(['sex'] * 30)})", epsilon=1
        )


def test_without_bounds_the_error_says_so_in_its_code(curator: Curator):
    with pytest.raises(NoBounds) as refused:
        curator.ask("SELECT sum(pay) FROM people", epsilon=1)
    assert (refused.value.code, refused.value.exit_code) == ("no-bounds", 4)


# What would fail on some rows is made total: it is answered, whatever the rows are.
TOTAL = [
    (
        "SELECT count_if(1 / age > 0), count_if(age % 0 = 1), count_if(CAST(town AS INTEGER) = 1), "
        "count_if(CAST(town AS DATE) > DATE '2024-01-01'), count_if(CAST(pay AS INTEGER) = 1), "
        "count_if(age * age * age * age > 1), count_if(-age > 0 OR abs(age) > 3), "
        "count_if(sqrt(pay) > 1), count_if(substring(town, 2, 3) = 'x'), "
        "count_if(town LIKE '%\\_%'), sum(least(greatest(pay, 0), 10)) FROM people"
    ),
    "SELECT sum(age), variance(age), median(age), min(age), max(age) FROM people",
    "SELECT sex, count(DISTINCT town), avg(age * 2) FROM people GROUP BY sex",
    "SELECT town, count(*), avg(age) FROM people GROUP BY town /* private */",
    "SELECT age // 10 AS decade, count(pay) FROM people GROUP BY decade",
]
CELLS = {
    "age": st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 130),
    "sex": st.none() | st.sampled_from(["F", "M", "X", ""]),
    "town": st.none() | st.text(alphabet="ab1-_%\\'\x01é", max_size=6),
    "pay": st.none() | st.floats() | st.sampled_from([0.0, -0.0, 1e308, 5e-324]),
}
ROWS = st.lists(st.fixed_dictionaries(CELLS), max_size=4)


def price(question: str) -> dict[str, float]:
    return {"epsilon": 1, "delta": 1e-6} if "/* private */" in question else {"epsilon": 1}


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(rows=ROWS)
def test_no_row_makes_an_answer_fail(rows: list[dict[str, Any]]):
    curator = curator_of(rows)
    for question in TOTAL:
        assert curator.ask(question, **price(question)).columns
    curator.close()


def fate(curator: Curator, question: str) -> object:
    """Return everything that is decided before a row is read: a refusal, or a plan and its price."""
    try:
        plan, text = curator.plan(question, **price(question))
    except DiscreetError as error:
        return type(error), str(error)
    queries = [leaf.query.sql() for leaf in plan.private_queries if leaf.query is not None]
    thresholds = [leaf.threshold for leaf in plan.private_queries]
    return text, plan.price, plan.noise, plan.event, thresholds, queries


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, first=st.integers(0, 5))
def test_whether_and_how_it_is_answered_does_not_depend_on_the_data(rows, first: int):
    one, other = curator_of([]), curator_of(rows)
    # Every sixth, since each takes its time.
    for question in [*REFUSED, *INVALID, *TOTAL][first::6]:
        assert fate(one, question) == fate(other, question)
    one.close()
    other.close()


def test_a_computation_that_fails_on_noise_fails_the_same_way_for_ever(monkeypatch):
    """Otherwise an asker could draw new noise for nothing, and learn something from each failure."""
    curator = curator_of()
    without_noise(monkeypatch)
    question = "SELECT (count(*) + 5) * 9223372036854775807 FROM people"
    result = []
    for _ in range(3):
        with pytest.raises(EngineFailed, match="charged") as failed:
            curator.ask(question, epsilon=1)
        result.append(str(failed.value))
    assert len(set(result)) == 1
    assert len(curator.engine.queries) == 1
    assert len(curator.ledger.entries("table:people", limit=10)) == 2  # reserved and committed


def test_a_root_or_logarithm_of_a_negative_number_is_null(monkeypatch):
    curator = curator_of([])
    without_noise(monkeypatch)
    nothing = (
        "sqrt(n - 1), ln(n), log(n - 1), log(2, n), log(n + 1, 2), power(n - 1, 0.5), log10(n), "
        "CAST(n + 40000 AS SMALLINT), sqrt(sum(n) - 1), ln((SELECT max(n) FROM c)), power(ln(n), 2)"
    )
    known = "sqrt(n), ln(n + 1), log(2, n + 8), power(n - 2, 2), sqrt(sqrt(n + 16)), log(n + 100)"
    result = curator.ask(
        f"WITH c AS (SELECT count(*) AS n FROM people) SELECT {nothing}, {known} FROM c GROUP BY n",
        epsilon=1,
    )
    assert result.rows == [[*[None] * 11, 0, 0, 3, 4, 2, 2]]
    direct = "SELECT sqrt(count(*) - 9), sqrt(count(*) + 9) FROM people"
    (row,), (errors,) = (found := curator.ask(direct, epsilon=1)).rows, found.error
    assert row == [None, 3]
    assert errors[0] is None
    assert errors[1].standard_error > 0


@pytest.mark.parametrize("name", ["sqrt", "ln", "nullif"])
def test_what_grows_with_its_depth_is_refused_when_it_is_deep(name: str, monkeypatch):
    without_noise(monkeypatch)
    curator = curator_of([])
    end = ", 7)" if name == "nullif" else ")"
    assert curator.ask(f"SELECT {name}({name}(count(*){end}{end} FROM people", epsilon=1).rows
    deep = f"{name}(" * 5 + "count(*)" + end * 5
    with pytest.raises(QuestionRefused, match="nested"):
        curator.plan(f"SELECT {deep} FROM people", epsilon=1)


@pytest.mark.parametrize("rows", [[], [{"age": None, "sex": None, "town": None, "pay": None}]])
def test_a_table_of_no_one_or_nothing_has_answers_like_any_other(rows, monkeypatch):
    without_noise(monkeypatch)
    curator = curator_of(rows)
    result = curator.ask(
        "SELECT sum(age) AS s, avg(age) AS a, count(age) AS n FROM people", epsilon=1
    )
    assert result.rows == [[0.0, None, 0]]
    result = curator.ask("SELECT sex, count(*) AS n FROM people GROUP BY sex", epsilon=1)
    assert result.rows == [["F", 0], ["M", 0]]
    result = curator.ask("SELECT town, count(*) FROM people GROUP BY town", epsilon=1, delta=1e-6)
    assert result.rows == []
    assert result.columns == ("town", "count(*)")


def test_types_of_an_answer_say_nothing_about_the_data():
    question = "SELECT sex, count(*) AS n, sum(age) AS s, avg(age) AS a FROM people GROUP BY sex"
    private = "SELECT town, count(*) AS n FROM people GROUP BY town"
    many = [{"age": 2**62, "sex": "F", "town": "x", "pay": 1.0}] * 100
    found = []
    for rows in ([], many):
        curator = curator_of(rows)
        plain = curator.ask(question, epsilon=1).to_arrow().schema
        found.append((plain, curator.ask(private, epsilon=1, delta=1e-6).to_arrow().schema))
    assert found[0] == found[1]
