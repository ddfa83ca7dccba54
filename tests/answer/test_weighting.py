"""Weighted questions: what pandas computes of the weights, at the price of the weight's public bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.answer.curators import hold, without_noise

from discreet.answer.answer import Answer
from discreet.answer.curator import Curator
from discreet.answer.statement import parse_question
from discreet.answer.weighting import weigh_query
from discreet.errors import NoBounds, QuestionRefused
from discreet.policy.load import parse_policy

CHANCE = np.random.default_rng(5)
ROWS = 4_000
FRAME = pd.DataFrame(
    {
        "age": CHANCE.integers(18, 90, ROWS),
        "income": np.where(CHANCE.random(ROWS) < 0.1, np.nan, CHANCE.uniform(0, 5_000, ROWS)),
        "region": CHANCE.choice(["north", "south"], ROWS),
        "weight": np.round(CHANCE.uniform(20, 400, ROWS), 2),
    }
)
POLICY = """
tables:
  people:
    unit: row
    budget: {{epsilon: 100}}
    columns:
      age: {{role: quasi-identifier, kind: integer, bounds: [0, 120]}}
      income: {{role: sensitive, kind: number, bounds: [0, 5000]}}
      region: {{role: quasi-identifier, kind: text, values: [north, south]}}
      weight: {{role: {role}, kind: number{bounds}}}
"""


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)


def curator(role: str = "weight", bounds: str = ", bounds: [0, 500]") -> Curator:
    policy = parse_policy(POLICY.format(role=role, bounds=bounds))
    return hold({"people": pa.Table.from_pandas(FRAME)}, policy)


def weighted(question: str) -> Answer:
    with curator() as asked:
        return asked.ask(question, epsilon=1, weighted=True)


def test_counts_sums_and_means_are_those_of_pandas() -> None:
    (found,) = weighted(
        "SELECT count(*), count(income), sum(income), avg(income), avg(age) FROM people"
    ).rows
    known = FRAME[FRAME["income"].notna()]
    total = (known["weight"] * known["income"]).sum()
    assert found == pytest.approx(
        [
            FRAME["weight"].sum(),
            known["weight"].sum(),
            total,
            total / known["weight"].sum(),
            np.average(FRAME["age"], weights=FRAME["weight"]),
        ],
        rel=1e-6,
    )


def test_groups_and_conditions_are_those_of_pandas() -> None:
    answer = weighted(
        "SELECT region, count(*) AS n, avg(age) FILTER (WHERE age > 40) AS age, "
        "100 * count(*) FILTER (WHERE income > 1000) / count(*) AS share "
        "FROM people WHERE age < 80 GROUP BY region ORDER BY region"
    )
    younger = FRAME[FRAME["age"] < 80]
    for row, (region, group) in zip(answer.rows, younger.groupby("region"), strict=True):
        older, rich = group[group["age"] > 40], group[group["income"] > 1000]
        assert row[0] == region
        assert row[1:] == pytest.approx(
            [
                group["weight"].sum(),
                np.average(older["age"], weights=older["weight"]),
                100 * rich["weight"].sum() / group["weight"].sum(),
            ],
            rel=1e-6,
        )


def test_columns_are_called_as_they_are_without_weights() -> None:
    question = "SELECT count(*), avg(age) FROM people"
    with curator() as asked:
        plain = asked.ask(question, epsilon=1)
        assert asked.ask(question, epsilon=1, weighted=True).columns == plain.columns


def test_the_error_is_that_of_the_weight_s_bounds() -> None:
    answer = weighted("SELECT count(*) AS n FROM people")
    error = answer.error[0][0]
    # Discrete Laplace noise for a sensitivity of 500 at epsilon 1 has about 500 times sqrt(2).
    assert error.standard_error == pytest.approx(500 * 2**0.5, rel=0.01)
    assert error.low < answer.rows[0][0] < error.high


def test_an_explanation_costs_nothing_and_has_the_same_error() -> None:
    with curator() as asked:
        found = asked.explain("SELECT count(*) AS n FROM people", epsilon=1, weighted=True)
        assert found.expected[0].standard_error == pytest.approx(500 * 2**0.5, rel=0.01)
        assert asked.budget().entries == []


def test_weighted_and_plain_questions_are_two_questions() -> None:
    with curator() as asked:
        plain = asked.ask("SELECT count(*) AS n FROM people", epsilon=1)
        other = asked.ask("SELECT count(*) AS n FROM people", epsilon=1, weighted=True)
        again = asked.ask("SELECT count(*) AS n FROM people", epsilon=1, weighted=True)
    assert plain.rows[0][0] == ROWS
    assert not other.cached
    assert again.cached
    assert again.rows == other.rows


@pytest.mark.parametrize("bounds", ["", ", bounds: {drafted: [0, 500]}"])
def test_a_weight_without_public_bounds_is_refused(bounds: str) -> None:
    with curator(bounds=bounds) as asked, pytest.raises(NoBounds, match="no bounds for 'weight'"):
        asked.ask("SELECT count(*) FROM people", epsilon=1, weighted=True)


def test_a_table_without_a_weight_is_refused() -> None:
    with (
        curator(role="insensitive") as asked,
        pytest.raises(QuestionRefused, match="No column of 'people' has the role 'weight'"),
    ):
        asked.ask("SELECT count(*) FROM people", epsilon=1, weighted=True)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("SELECT median(age) FROM people", "has no weighted answer"),
        ("SELECT max(age) FROM people", "has no weighted answer"),
        ("SELECT stddev(age) FROM people", "has no weighted answer"),
        ("SELECT count(DISTINCT region) FROM people", "has no weighted answer"),
        ("SELECT sum(DISTINCT age) FROM people", "has no weighted answer"),
        ("SELECT count(*) FROM (SELECT * FROM people) x", "one SELECT about tables"),
        ("WITH x AS (SELECT * FROM people) SELECT count(*) FROM x", "one SELECT about tables"),
        ("SELECT count(*) FROM people UNION ALL SELECT 1", "one SELECT about tables"),
        (
            "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)",
            "one SELECT about tables",
        ),
        ("SELECT count(*) FROM people a JOIN people b ON a.age = b.age", "Several of"),
    ],
)
def test_what_has_no_weighted_answer_is_refused_and_costs_nothing(question: str, says: str) -> None:
    with curator() as asked:
        with pytest.raises(QuestionRefused, match=says):
            asked.ask(question, epsilon=1, weighted=True)
        assert asked.budget().entries == []


@pytest.mark.parametrize(
    ("question", "written"),
    [
        ("SELECT count(1) AS n FROM t", 'SELECT SUM("t"."w") AS n FROM t'),
        (
            "SELECT x, sum(y) AS s FROM t a GROUP BY x",
            'SELECT x, SUM("a"."w" * (y)) AS s FROM t AS a GROUP BY x',
        ),
        (
            "SELECT count_if(x > 1) AS n FROM t",
            'SELECT SUM(CASE WHEN x > 1 THEN "t"."w" END) AS n FROM t',
        ),
        (
            "SELECT a.x AS x FROM t a JOIN other b ON a.i = b.i GROUP BY 1 HAVING count(*) > 5",
            'SELECT a.x AS x FROM t AS a JOIN other AS b ON a.i = b.i GROUP BY 1 HAVING SUM("a"."w") > 5',
        ),
    ],
)
def test_a_question_is_written_with_weights(question: str, written: str) -> None:
    found = weigh_query(parse_question(question), lambda table: "w" if table == "t" else None)
    assert found.sql(dialect="duckdb") == written
