"""Questions and the queries that the engine runs for them, as pairs in tests/fixtures/sql.

The first statement of a file is the question; those after it are the engine's queries, in their
order. A line `-- delta: 1e-6` gives the question a delta. `python -m tests.answer.test_rewriting`
writes the files anew: read what changed before you keep it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from tests.answer.curators import hold

FOLDER = Path(__file__).parents[1] / "fixtures" / "sql"
POLICY = """
tables:
  people:
    columns:
      age: {role: quasi-identifier, bounds: [0, 120]}
      pay: {role: sensitive, bounds: [-1000, 1000]}
      sex: {role: quasi-identifier, values: [F, M]}
      town: {role: quasi-identifier}
  visits:
    unit: who
    limits: {rows-per-unit: 8, groups-per-unit: 4}
    columns: &columns
      who: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b]}
      code: {role: sensitive}
      cost: {role: sensitive, bounds: [0, 100]}
  registered:
    unit: who
    limits: {rows-per-unit: 8}
    columns: *columns
  wards:
    public: true
    columns: {ward: {role: insensitive}, wing: {role: insensitive}}
"""
VISITS = pa.table({"who": ["p"], "ward": ["a"], "code": ["x"], "cost": [1.0]})
TABLES = {
    "people": pa.table({"age": [3], "pay": [1.5], "sex": ["F"], "town": ["x"]}),
    "visits": VISITS,
    "registered": VISITS.append_column("discreet_rank", [[1]]),
    "wards": pa.table({"ward": ["a", "b"], "wing": ["east", "west"]}),
}
SECRET = re.compile(r"'[0-9a-f]{32}'")


def rewritten(text: str) -> list[str]:
    """Return the queries of a question, with tables by their names and without the secret."""
    delta = re.search(r"^-- delta: (\S+)$", text, re.MULTILINE)
    curator = hold(TABLES, POLICY, ranks={"registered": "discreet_rank"})
    plan, _ = curator.plan(text, epsilon=1, delta=delta[1] if delta else 0)
    names = {curator.catalog.find(name).table.relation.name: name for name in TABLES}
    curator.close()
    found: list[str] = []
    for leaf in plan.private_queries:
        trees = [leaf.query, *(probe.query for probe in (*leaf.distincts, *leaf.ranks))]
        for tree in trees:
            if tree is not None:
                result = SECRET.sub("'secret'", tree.sql(dialect="duckdb", pretty=True))
                for relation, name in names.items():
                    result = result.replace(f'"{relation}"', f'"{name}"')
                found.append(result)
    return found


def statements(path: Path) -> list[str]:
    return [part.strip() for part in path.read_text("utf-8").split(";\n") if part.strip()]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.sql")), ids=lambda path: path.stem)
def test_the_engine_runs_what_the_fixture_says(path: Path):
    question, *expected = statements(path)
    assert rewritten(question) == expected


def test_there_are_fixtures():
    assert len(list(FOLDER.glob("*.sql"))) >= 10


def test_the_secret_is_another_one_each_time():
    curator = hold(TABLES, POLICY)
    question = "SELECT code, count(*) FROM visits GROUP BY code"
    secrets = set()
    for epsilon in (1, 2, 3):
        plan, _ = curator.plan(question, epsilon=epsilon, delta=1e-6)
        secrets |= set(SECRET.findall(plan.private_queries[0].query.sql()))
    assert len(secrets) == 3


if __name__ == "__main__":
    for place in sorted(FOLDER.glob("*.sql")):
        first = statements(place)[0]
        place.write_text(";\n\n".join([first, *rewritten(first)]) + ";\n", "utf-8")
