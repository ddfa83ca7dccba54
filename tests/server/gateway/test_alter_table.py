"""ALTER TABLE and actions of foreign keys under rights, masks, labels, keys and triggers, on both engines."""

from __future__ import annotations

import secrets

import psycopg
import pytest

from discreet.errors import AccessDenied, StatementFailed

PLACES = ("duckdb", pytest.param("postgresql", marks=pytest.mark.postgres))


@pytest.fixture(params=PLACES)
def admin(request, open_server, connect):
    settings = {}
    if request.param == "postgresql":
        url, name = request.getfixturevalue("postgres_16_url"), f"a_{secrets.token_hex(4)}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        settings = {"database": url.replace("/postgres?", f"/{name}?")}
    server = open_server(**settings)
    found = connect(server)
    found.run("CREATE USER bob")
    found.bob, found.opened = connect(server, "bob"), server
    return found


def fails(client, text: str, sqlstate: str) -> None:
    with pytest.raises(StatementFailed) as failed:
        client.run(text)
    assert failed.value.sqlstate == sqlstate, (text, failed.value)


def test_what_protects_a_column_follows_it_and_keeps_it_from_being_dropped(admin):
    admin.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int)")
    admin.run("INSERT INTO t VALUES (1, 10, 0), (2, 20, 1)")
    admin.run("GRANT SELECT, UPDATE ON t TO bob; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run(
        "CREATE POLICY p ON t USING (b = 0); CREATE MASK m ON t (a) TO bob USING (a - b * 0 - 9)"
    )
    admin.run("CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW WHEN (NEW.b > 7) RAISE 'no'")
    for text in ("DROP COLUMN b", "DROP COLUMN b CASCADE", "DROP b, ADD b int"):
        fails(admin, f"ALTER TABLE t {text}", "2BP01")
    fails(admin, "ALTER TABLE t ALTER a TYPE bigint", "0A000")
    admin.run("ALTER TABLE t RENAME b TO c; ALTER TABLE t RENAME a TO b; ALTER TABLE t RENAME TO u")
    assert admin.bob.rows("SELECT id, b, c FROM u") == [(1, 1, 0)]
    fails(admin.bob, "UPDATE u SET c = 8", "P0001")
    admin.run("CREATE TABLE t (id int); ALTER TABLE u DROP COLUMN b, ADD COLUMN b int")
    assert admin.rows("SELECT b FROM u") == [(None,), (None,)]
    with pytest.raises(AccessDenied):
        admin.bob.run("ALTER TABLE u ADD COLUMN d int")


def test_rights_of_a_dropped_column_are_not_those_of_a_new_one(admin):
    admin.run("CREATE TABLE t (id int, a int); GRANT SELECT (a) ON t TO bob")
    admin.bob.run("SELECT a FROM t")
    admin.run("ALTER TABLE t DROP a; ALTER TABLE t ADD a int DEFAULT 5")
    fails(admin.bob, "SELECT a FROM t", "42501")


def test_an_action_fires_the_triggers_of_the_table_it_changes(admin):
    admin.run("CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE kept (id int PRIMARY KEY)")
    admin.run("CREATE TABLE c (p int REFERENCES p ON DELETE CASCADE, x int)")
    admin.run("INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (1, 1), (2, 2)")
    admin.run("CREATE TRIGGER g BEFORE DELETE ON c FOR EACH ROW WHEN (OLD.x = 2) RAISE 'kept'")
    admin.run("GRANT SELECT, DELETE ON p TO bob; ALTER TABLE c ENABLE ROW LEVEL SECURITY")
    fails(admin.bob, "DELETE FROM p", "P0001")
    admin.bob.run("DELETE FROM p WHERE id = 1")
    assert admin.rows("SELECT p FROM c") == [(2,)]
    fails(admin.bob, "DELETE FROM c", "42501")


def test_a_table_with_labels_reveals_nothing_by_a_change_of_its_form(admin, connect):
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < S'; CREATE USER high")
    admin.run(
        "SECURITY LABEL FOR mls ON ROLE high IS 'S'; SECURITY LABEL FOR mls ON ROLE bob IS 'U'"
    )
    admin.run("CREATE TABLE t (id int PRIMARY KEY, a int, b int); GRANT ALL ON t TO high, bob")
    admin.run("SECURITY LABEL FOR mls ON TABLE t IS 'cells'; ALTER TABLE t OWNER TO bob")
    admin.run("GRANT CREATE ON SCHEMA public TO bob; CREATE SEQUENCE s; GRANT ALL ON s TO bob")
    high = connect(admin.opened, "high")
    high.run("INSERT INTO t VALUES (1, NULL, 5)")
    for text in (
        *("ALTER a SET NOT NULL", "ADD UNIQUE (a)", "ADD CHECK (a > 0)", "ALTER b TYPE bigint"),
        "ALTER a SET DEFAULT nextval('s')",
        *("ADD c int NOT NULL", "ADD c int DEFAULT 5", "ADD c int REFERENCES t"),
        *("DROP CONSTRAINT t_pkey", "DROP COLUMN id"),
    ):
        fails(admin.bob, f"ALTER TABLE t {text}", "0A000")
    bob = admin.bob
    bob.run("ALTER TABLE t ADD c int; ALTER TABLE t RENAME b TO d; ALTER TABLE t RENAME TO u")
    assert bob.rows("SELECT id, a, d, c FROM u") == []
    assert high.rows("SELECT id, a, d, c, d_label FROM u") == [(1, None, 5, None, "S")]
    bob.run("INSERT INTO u VALUES (1, 2, 3, 4)")
    bob.run("ALTER TABLE u DROP a; ALTER TABLE u ADD a int; ALTER TABLE u DROP d, ADD d int")
    assert bob.rows("SELECT id, a, c, d FROM u") == [(1, None, 4, None)]
    found = sorted(high.rows("SELECT id, a, c, d FROM u"), key=str)
    assert found == [(1, None, 4, None), (1, None, None, None)]  # one key at each level
    admin.run("CREATE TABLE w (id int PRIMARY KEY, x int REFERENCES w ON DELETE CASCADE)")
    fails(admin, "SECURITY LABEL FOR mls ON TABLE w IS 'cells'", "0A000")


def test_a_new_column_takes_no_numbers_of_a_sequence_of_another(admin):
    admin.run("CREATE SEQUENCE s; GRANT CREATE ON SCHEMA public TO bob")
    admin.bob.run("CREATE TABLE own (id int); INSERT INTO own VALUES (1), (2)")
    fails(admin.bob, "ALTER TABLE own ADD COLUMN n int DEFAULT nextval('s')", "42501")
    assert admin.rows("SELECT nextval('s')") == [(1,)]
    admin.bob.run("ALTER TABLE own ADD COLUMN n serial")
    assert sorted(admin.rows("SELECT n FROM own")) == [(1,), (2,)]


def test_a_temporary_table_is_the_sessions_own_and_deceives_no_rule(admin, connect):
    admin.run("CREATE TABLE staff (id int); CREATE TABLE t (a int); GRANT ALL ON t TO bob")
    admin.run("INSERT INTO staff VALUES (1); GRANT SELECT ON staff TO bob")
    admin.run(
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH STATEMENT "
        "WHEN (EXISTS (SELECT 1 FROM staff)) RAISE 'staff is there'"
    )
    admin.run("CREATE VIEW v AS SELECT id FROM staff; GRANT SELECT ON v TO bob")
    admin.run(
        "CREATE TABLE r (a int); ALTER TABLE r ENABLE ROW LEVEL SECURITY; GRANT ALL ON r TO bob"
    )
    admin.run(
        "CREATE POLICY p ON r USING (a IN (SELECT id FROM staff)); INSERT INTO r VALUES (1), (2)"
    )
    bob = admin.bob
    bob.run("CREATE TEMP TABLE staff (id int); INSERT INTO staff VALUES (2), (3)")
    assert bob.rows("SELECT count(*) FROM staff") == [(2,)]
    assert bob.rows("SELECT id FROM v") == [(1,)]
    assert bob.rows("SELECT a FROM r") == [(1,)]
    fails(bob, "INSERT INTO t VALUES (1)", "P0001")
    admin.run("CREATE TEMP TABLE own (id int)")
    fails(admin, "CREATE VIEW w AS SELECT id FROM own", "0A000")
    fails(admin, "SECURITY LABEL FOR mls ON TABLE own IS 'cells'", "0A000")
    other = connect(admin.opened, "bob")
    assert other.rows("SELECT count(*) FROM staff") == [(1,)]
    fails(other, "SELECT * FROM pg_temp.staff", "42P01")
    assert ("pg_temp", "staff") not in admin.session.state.control.authority().relations


def test_a_rename_makes_no_budget_whole_and_hides_no_earlier_release(hospital, connect):
    admin = connect(hospital)
    admin.run("CREATE TABLE t (age int, zip text, x text)")
    rows = ", ".join(f"({20 + n % 3}, '100{n % 2}', 'a')" for n in range(40))
    admin.run(f"INSERT INTO t VALUES {rows}; CREATE VIEW v AS SELECT age, zip, x FROM t")
    admin.run(
        "BEGIN; CREATE ANONYMIZED VIEW a WITH (k = 2, quasi = 'age, zip') AS SELECT age, zip FROM v; ROLLBACK"
    )
    fails(admin, "ALTER TABLE patients RENAME TO people", "0A000")
    fails(admin, "ALTER TABLE patients RENAME salary TO pay", "0A000")
    fails(admin, "ALTER TABLE t RENAME age TO years", "0A000")
    fails(admin, "ALTER VIEW v RENAME TO w", "0A000")
    admin.run("ALTER TABLE t ADD COLUMN y int")
    admin.run("CREATE TABLE c (a int); CREATE CONTROL k ON c TO admin WITH (size = 5)")
    fails(admin, "ALTER TABLE c RENAME TO d", "0A000")
