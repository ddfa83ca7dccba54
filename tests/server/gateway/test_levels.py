"""Labels behind a whole server: nothing that is read above is written below."""

from __future__ import annotations

import secrets

import pytest

from discreet.errors import AccessDenied, StatementFailed

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def people(request, open_server, connect):
    """A user cleared low and a user cleared high; `m` has labels, `p` has none."""
    settings = {}
    if request.param == "postgresql":
        import psycopg

        url, name = request.getfixturevalue("postgres_16_url"), f"l_{secrets.token_hex(4)}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        settings = {"database": url.replace("/postgres?", f"/{name}?")}
    server = open_server(**settings)
    admin = connect(server)
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S | nato'")
    admin.run("CREATE USER low; CREATE USER high; GRANT CREATE ON SCHEMA public TO low, high")
    admin.run("SECURITY LABEL FOR mls ON ROLE low IS 'U'")
    admin.run("SECURITY LABEL FOR mls ON ROLE high IS 'S {nato}'")
    admin.run("CREATE TABLE m (id int PRIMARY KEY, x text, n int)")
    admin.run("SECURITY LABEL FOR mls ON TABLE m IS 'cells'")
    admin.run("CREATE TABLE p (id int PRIMARY KEY, x text); INSERT INTO p VALUES (7, 'seven')")
    admin.run("GRANT ALL ON m, p TO low, high")
    high = connect(server, "high")
    high.run("INSERT INTO m VALUES (1, 'secret', 7)")
    high.run("CREATE VIEW v AS SELECT id, x FROM m")
    return connect(server, "low"), high


def test_what_is_read_above_is_not_written_to_a_plain_table(people):
    low, high = people
    for text in (
        "INSERT INTO p SELECT id, x FROM m",
        "INSERT INTO p SELECT id, x FROM v",
        "INSERT INTO p VALUES (1, (SELECT max(x) FROM m))",
        "UPDATE p SET x = (SELECT max(x) FROM m)",
        "UPDATE p SET x = 'found' WHERE EXISTS (SELECT 1 FROM m WHERE n = 7)",
        "DELETE FROM p WHERE id IN (SELECT n FROM m)",
        "CREATE TABLE q AS SELECT * FROM m",
        "CREATE TABLE q AS SELECT count(*) AS n FROM v",
        "CREATE ANONYMIZED VIEW q AS SELECT n, x FROM m WITH (k = 1, quasi = 'n')",
    ):
        for clearance in ("S {nato}", "C", "U {nato}"):
            high.run(f"SET discreet.clearance = '{clearance}'")
            with pytest.raises(AccessDenied, match="table without labels"):
                high.run(text)
    assert low.rows("SELECT * FROM p") == [(7, "seven")]


def test_at_the_bottom_what_everybody_sees_is_copied(people):
    low, high = people
    low.run("INSERT INTO m VALUES (2, 'open', 8)")
    high.run("SET discreet.clearance = 'U'")
    high.run("INSERT INTO p SELECT id, x FROM m; CREATE TABLE q AS SELECT x FROM m")
    assert high.rows("SELECT x FROM q") == [("open",)]
    assert low.rows("SELECT x FROM p ORDER BY id") == [("open",), ("seven",)]


def test_a_trigger_of_a_plain_table_is_no_spy_in_a_table_with_labels(people):
    low, high = people
    low.run("CREATE TABLE trap (id int); GRANT ALL ON trap TO high")
    low.run(
        "CREATE TRIGGER spy BEFORE INSERT ON trap FOR EACH STATEMENT "
        "WHEN (EXISTS (SELECT 1 FROM m WHERE n = 7)) RAISE 'seven'"
    )
    with pytest.raises(AccessDenied, match="table without labels"):
        high.run("INSERT INTO trap VALUES (1)")
    high.run("UPDATE m SET n = 8")
    with pytest.raises(AccessDenied, match="table without labels"):
        high.run("INSERT INTO trap VALUES (1)")
    high.run("SET discreet.clearance = 'U'")
    assert high.run("INSERT INTO trap VALUES (1)").tag == "INSERT 0 1"
    low.run("INSERT INTO m VALUES (1, 'open', 7)")
    with pytest.raises(StatementFailed, match="seven"):
        low.run("INSERT INTO trap VALUES (2)")


def test_a_prepared_write_is_decided_again_at_another_clearance(people):
    low, high = people
    high.run("SET discreet.clearance = 'U'")
    high.run("PREPARE copying AS INSERT INTO p SELECT id, x FROM m")
    (statement,) = high.session.split("INSERT INTO p SELECT id, x FROM m")
    prepared = high.session.prepare(statement)
    high.run("RESET discreet.clearance")
    for run in (lambda: high.session.run(prepared), lambda: high.run("EXECUTE copying")):
        with pytest.raises(AccessDenied, match="table without labels"):
            run()
    assert low.rows("SELECT id FROM p") == [(7,)]


def test_numbers_of_sequences_carry_nothing_down(people):
    """A number that is given can be seen by everybody: so only what is at the bottom decides on it."""
    low, high = people
    low.run(
        "CREATE SEQUENCE s; CREATE TABLE q (id serial, x int); GRANT ALL ON q, s, q_id_seq TO high"
    )
    low.run("SELECT nextval('s')")
    for text in (
        "SELECT setval('s', n) FROM m",
        "SELECT setval('s', (SELECT max(n) FROM m))",
        "SELECT nextval('s'), (SELECT max(n) FROM m)",
        "INSERT INTO p VALUES (nextval('s'), (SELECT max(x) FROM m))",
        "INSERT INTO m VALUES (nextval('s'), 'a', 1)",
        "INSERT INTO q (x) SELECT n FROM m",
    ):
        with pytest.raises(AccessDenied, match="table without labels"):
            high.run(text)
    assert low.rows("SELECT nextval('s')") == [(2,)]
    with pytest.raises(StatementFailed) as failed:
        low.run(
            "CREATE TABLE r (id serial PRIMARY KEY); SECURITY LABEL FOR mls ON TABLE r IS 'cells'"
        )
    assert failed.value.sqlstate in ("0A000", "42501")
