"""A workload of the server's policy: its queries are asked one by one, and paid for once."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, StatementFailed

POLICY = """
tables:
  visits:
    source: visits.csv
    unit: person
    budget: {epsilon: 8, delta: 1e-3}
    limits: {rows-per-unit: 3}
    columns:
      person: {role: identifier}
      ward: {role: sensitive, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 10]}
  staff:
    source: staff.csv
    unit: row
    columns: {ward: {role: sensitive, values: [a, b]}}
workloads:
  dashboard:
    queries:
      - SELECT count(*) AS n FROM visits
      - SELECT ward, count(*) AS n FROM visits GROUP BY ward
      - SELECT avg(cost) AS m FROM visits
    epsilon: 1
    delta: 1e-6
  both: {queries: [SELECT count(*) AS n FROM visits, SELECT count(*) AS n FROM staff], epsilon: 1, delta: 1e-6}
  broken: {queries: [SELECT count(*) AS n FROM visits, SELECT FROM WHERE], epsilon: 1, delta: 1e-6}
"""
TOTAL = "SELECT count(*) AS n FROM visits"
BY_WARD = "select ward, COUNT(*) as n from public.visits group by ward"


@pytest.fixture
def served(open_server, tmp_path):
    rows = [f"{number},{number % 5},{'ab'[number % 2]},{number % 10}" for number in range(30)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,person,ward,cost", *rows]))
    (tmp_path / "staff.csv").write_text("ward\na\nb\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return open_server(policy=tmp_path / "policy.yaml", epsilon="0.5")


@pytest.fixture
def ann(served, connect):
    admin = connect(served)
    admin.run("CREATE USER ann")
    admin.run("GRANT AGGREGATE ON visits TO ann WITH BUDGET (EPSILON 2, DELTA 0.0001)")
    return connect(served, "ann")


def test_its_queries_are_paid_for_once(ann):
    ann.run("SET discreet.workload = 'dashboard'")
    first = ann.run(TOTAL)
    assert "Spent epsilon 1 and delta 1e-6" in first.notices[0].message
    second = ann.run(BY_WARD)
    assert "free" in second.notices[0].message
    assert "free" in ann.run("SELECT avg(cost) AS m FROM visits").notices[0].message
    assert first.table.schema.field("n").type == "double"
    assert [row[0] for row in ann.rows(TOTAL)] == first.table.column("n").to_pylist()


def test_another_query_is_asked_alone(ann):
    ann.run("SET discreet.workload = 'dashboard'")
    assert "Spent epsilon 0.5." in ann.run("SELECT sum(cost) FROM visits").notices[0].message
    ann.run("RESET discreet.workload")
    assert "Spent epsilon 0.5." in ann.run(TOTAL).notices[0].message


def test_explain_says_what_all_of_it_costs(ann):
    ann.run("SET discreet.workload = 'dashboard'")
    lines = [line for (line,) in ann.rows(f"EXPLAIN {BY_WARD}")]
    assert lines[0].startswith("3 questions cost epsilon 1 and delta 1e-6 together")
    assert lines[1].startswith("count: ±")


def test_a_query_prepared_before_gets_rounded_counts(ann):
    ann.run(f"PREPARE total AS {TOTAL}")
    ann.run("SET discreet.workload = 'dashboard'")
    assert isinstance(ann.rows("EXECUTE total")[0][0], (int, float))


def test_all_of_its_tables_must_be_permitted(ann):
    ann.run("SET discreet.workload = 'both'")
    with pytest.raises(AccessDenied, match="statement 2"):
        ann.run(TOTAL)


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing", "declares no workload"), ("broken", "statement 2 of the workload")],
)
def test_a_workload_that_cannot_be_asked_is_refused(ann, name, words):
    ann.run(f"SET discreet.workload = '{name}'")
    with pytest.raises(StatementFailed, match=words):
        ann.run("SELECT count(*) AS m FROM visits")
