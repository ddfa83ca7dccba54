"""The same server over PostgreSQL: rows, rights, labels, triggers and questions are the same."""

from __future__ import annotations

import secrets

import pytest

from discreet.errors import AccessDenied, StatementFailed

pytestmark = pytest.mark.postgres

POLICY = """
tables:
  people:
    unit: id
    budget: {epsilon: 5}
    limits: {rows-per-unit: 1}
    columns:
      id: {role: identifier}
      age: {role: quasi-identifier, bounds: [0, 120]}
"""


@pytest.fixture
def place(postgres_16_url: str) -> str:
    import psycopg

    name = f"served_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_16_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = postgres_16_url.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE people (id int PRIMARY KEY, age int, name text)")
        connection.execute(
            "INSERT INTO people SELECT i, i % 90, 'name ' || i FROM generate_series(1, 1000) AS i"
        )
    return url


@pytest.fixture
def opened(place: str, open_server, tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY)
    return open_server(database=place, policy=tmp_path / "policy.yaml")


def test_a_table_of_postgresql_is_served_with_rights_and_questions(opened, connect):
    admin = connect(opened)
    assert admin.rows("SELECT count(*), max(name) FROM people WHERE age < $1", 10) == [
        (119, "name 999")
    ]
    admin.run("CREATE USER analyst; GRANT AGGREGATE ON people TO analyst WITH BUDGET (EPSILON 1)")
    analyst = connect(opened, "analyst", **{"discreet.epsilon": "1"})
    ((count,),) = analyst.rows("SELECT count(*) FROM people WHERE age < 10")
    assert 90 < count < 150
    with pytest.raises(AccessDenied):
        connect(opened, "analyst").run("DELETE FROM people")


def test_rows_are_written_checked_and_filtered(opened, connect):
    admin = connect(opened)
    admin.run("CREATE USER clerk; GRANT SELECT, INSERT, UPDATE ON people TO clerk")
    admin.run("ALTER TABLE people ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY young ON people TO clerk USING (age < 3) WITH CHECK (age < 3)")
    admin.run(
        "CREATE TRIGGER age_check BEFORE INSERT OR UPDATE ON people FOR EACH ROW "
        "WHEN (NEW.age >= 150) RAISE 'Invalid age'"
    )
    clerk = connect(opened, "clerk")
    assert clerk.rows("SELECT count(*) FROM people") == [(35,)]
    assert clerk.run("INSERT INTO people VALUES (2001, 1, 'new')").tag == "INSERT 0 1"
    for text, state in (
        ("INSERT INTO people VALUES (2002, 50, 'old')", "42501"),
        ("UPDATE people SET age = 400 WHERE id = 2001", "P0001"),
        ("INSERT INTO people VALUES (2001, 2, 'twice')", "23505"),
    ):
        with pytest.raises(StatementFailed) as refused:
            clerk.run(text)
        assert refused.value.sqlstate == state
    assert clerk.run("UPDATE people SET name = 'seen' WHERE age < 90").tag == "UPDATE 36"


def test_labels_work_on_postgresql(opened, connect):
    admin = connect(opened)
    admin.run("CREATE USER low; CREATE USER high")
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < S'")
    admin.run(
        "SECURITY LABEL FOR mls ON ROLE low IS 'U'; SECURITY LABEL FOR mls ON ROLE high IS 'S'"
    )
    admin.run("CREATE TABLE ships (name text PRIMARY KEY, cargo text)")
    admin.run("GRANT SELECT, INSERT, UPDATE ON ships TO low, high")
    admin.run("SECURITY LABEL FOR mls ON TABLE ships IS 'cells'")
    low, high = connect(opened, "low"), connect(opened, "high")
    low.run("INSERT INTO ships VALUES ('Ark', 'food')")
    high.run("UPDATE ships SET cargo = 'arms' WHERE name = 'Ark'")
    assert low.rows("SELECT name, cargo FROM ships") == [("Ark", "food")]
    assert high.rows("SELECT cargo, tc FROM ships ORDER BY tc") == [("arms", "S"), ("food", "U")]
