"""The textbook examples of access control against a whole server: rights, labels, triggers, transactions."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, StatementFailed


@pytest.fixture
def admin(server, connect):
    return connect(server)


def test_owners_grant_delegate_and_revoke(server, connect, admin):
    admin.run("CREATE USER a1; CREATE USER a2")
    admin.run("GRANT CREATE USER TO a1")
    a1 = connect(server, "a1")
    a1.run("CREATE USER a3")
    admin.run("GRANT CREATE TABLE TO a2")
    a2, a3 = connect(server, "a2"), connect(server, "a3")
    a2.run(
        "CREATE TABLE Employee (Name text PRIMARY KEY, SIN text, DOB date, Address text, "
        "Salary integer, Dpt text)"
    )
    a2.run("INSERT INTO employee VALUES ('Ann', '123', '1990-01-02', 'Main St', 50000, 'CS')")
    with pytest.raises(AccessDenied):
        a3.run("SELECT name FROM employee")
    a2.run("GRANT SELECT ON Employee TO A3 WITH GRANT OPTION")
    assert a3.rows("SELECT name FROM employee") == [("Ann",)]
    a3.run("GRANT SELECT ON Employee TO A1")
    assert a1.rows("SELECT salary FROM employee") == [(50000,)]
    # The owner takes back what another has granted on.
    a2.run("REVOKE SELECT ON Employee FROM A1")
    with pytest.raises(AccessDenied):
        a1.run("SELECT salary FROM employee")


def test_views_and_columns_show_and_change_a_part(server, connect, admin):
    admin.run('CREATE USER a3; CREATE ROLE "DptAdmin", "CompanyHR"')
    admin.run("CREATE TABLE employee (name text PRIMARY KEY, address text, salary int, dpt text)")
    admin.run("INSERT INTO employee VALUES ('Ann','x',1,'CS'), ('Bob','y',2,'EE')")
    admin.run("CREATE VIEW cs AS SELECT name, address FROM employee WHERE dpt = 'CS'")
    admin.run('GRANT "DptAdmin" TO a3; GRANT SELECT ON cs TO "DptAdmin"')
    admin.run('GRANT "CompanyHR" TO a3; GRANT UPDATE ON employee (address) TO "CompanyHR"')
    admin.run('GRANT SELECT (name) ON employee TO "CompanyHR"')
    a3 = connect(server, "a3")
    assert a3.rows("SELECT * FROM cs") == [("Ann", "x")]
    assert a3.run("UPDATE employee SET address = 'z' WHERE name = 'Ann'").tag == "UPDATE 1"
    with pytest.raises(AccessDenied):
        a3.run("UPDATE employee SET salary = 9 WHERE name = 'Ann'")
    assert a3.rows("SELECT * FROM cs") == [("Ann", "z")]


@pytest.fixture
def labeled(server, connect, admin):
    admin.run("CREATE USER u; CREATE USER c; CREATE USER s; CREATE USER officer")
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'")
    for name in ("u", "c", "s"):
        admin.run(f"SECURITY LABEL FOR mls ON ROLE {name} IS '{name.upper()}'")
    admin.run("SECURITY LABEL FOR mls ON ROLE officer IS 'S'; GRANT security_officer TO officer")
    admin.run("CREATE TABLE employee (name text PRIMARY KEY, salary int, performance text)")
    admin.run("GRANT SELECT, INSERT, UPDATE, DELETE ON employee TO u, c, s, officer")
    admin.run("SECURITY LABEL FOR mls ON TABLE employee IS 'cells'")
    u, c, s = (connect(server, name) for name in ("u", "c", "s"))
    u.run("INSERT INTO employee (name) VALUES ('Smith')")
    c.run("UPDATE employee SET salary = 40000 WHERE name = 'Smith'")
    s.run("UPDATE employee SET performance = 'Fair' WHERE name = 'Smith'")
    c.run("INSERT INTO employee (name, performance) VALUES ('Brown', 'Good')")
    s.run("UPDATE employee SET salary = 80000 WHERE name = 'Brown'")
    return u, c, s, connect(server, "officer")


SEEN = (
    "SELECT name, name_label, salary, salary_label, performance, performance_label, tc "
    "FROM employee ORDER BY name, tc, performance"
)


def test_each_clearance_sees_its_own_reality(labeled):
    u, c, s, _ = labeled
    assert s.rows(SEEN) == [
        ("Brown", "C", 80000, "S", "Good", "C", "S"),
        ("Smith", "U", 40000, "C", "Fair", "S", "S"),
    ]
    assert c.rows(SEEN) == [
        ("Brown", "C", None, "C", "Good", "C", "C"),
        ("Smith", "U", 40000, "C", None, "C", "C"),
    ]
    assert u.rows(SEEN) == [("Smith", "U", None, "U", None, "U", "U")]


def test_low_writes_are_polyinstantiated_and_an_officer_merges(labeled):
    _, c, s, officer = labeled
    assert c.run("UPDATE employee SET performance = 'Great' WHERE name = 'Smith'").tag == "UPDATE 1"
    assert [row for row in s.rows(SEEN) if row[0] == "Smith"] == [
        ("Smith", "U", 40000, "C", "Great", "C", "C"),
        ("Smith", "U", 40000, "C", "Fair", "S", "S"),
    ]
    s.run("UPDATE employee SET performance = 'Bad' WHERE name = 'Brown'")
    assert len([row for row in s.rows(SEEN) if row[0] == "Brown"]) == 2
    with pytest.raises(AccessDenied):
        s.run("DECLASSIFY salary ON employee FROM 'S' TO 'C' WHERE name = 'Brown'")
    officer.run("DECLASSIFY salary ON employee FROM 'S' TO 'C' WHERE name = 'Brown'")
    assert ("Brown", "C", 80000, "C", "Good", "C", "C") in c.rows(SEEN)


def test_triggers_keep_elements_sensible(admin):
    admin.run("CREATE TABLE employee (name text PRIMARY KEY, age int, title text, salary int)")
    admin.run(
        "CREATE TRIGGER age_check BEFORE INSERT OR UPDATE ON employee FOR EACH ROW "
        "WHEN (NEW.age >= 150) RAISE 'Invalid age'"
    )
    admin.run(
        "CREATE TRIGGER one_ceo AFTER INSERT OR UPDATE ON employee FOR EACH STATEMENT "
        "WHEN ((SELECT count(*) FROM employee WHERE title = 'CEO') > 1) RAISE 'At most one CEO'"
    )
    admin.run(
        "CREATE TRIGGER fair BEFORE UPDATE ON employee FOR EACH ROW "
        "WHEN (NEW.salary > 2 * OLD.salary) RAISE 'A raise of at most 100 %'"
    )
    admin.run("INSERT INTO employee VALUES ('Ann', 40, 'CEO', 100), ('Bob', 30, 'clerk', 50)")
    for text, words in (
        ("INSERT INTO employee VALUES ('Old', 400, 'clerk', 1)", "Invalid age"),
        ("UPDATE employee SET title = 'CEO' WHERE name = 'Bob'", "At most one CEO"),
        ("UPDATE employee SET salary = 101 WHERE name = 'Bob'", "A raise of at most 100 %"),
    ):
        with pytest.raises(StatementFailed, match=words) as refused:
            admin.run(text)
        assert refused.value.sqlstate == "P0001"
    assert admin.rows("SELECT name, title, salary FROM employee ORDER BY name") == [
        ("Ann", "CEO", 100),
        ("Bob", "clerk", 50),
    ]


def test_an_airport_that_families_refer_to_stays(admin):
    admin.run("CREATE TABLE airportinfo (zip text PRIMARY KEY, airport text)")
    admin.run(
        "CREATE TABLE familyinfo (last text PRIMARY KEY, zip text REFERENCES airportinfo (zip))"
    )
    admin.run("INSERT INTO airportinfo VALUES ('43210', 'CMH'), ('60603', 'ORD')")
    admin.run("INSERT INTO familyinfo VALUES ('ADAMS', '43210')")
    with pytest.raises(StatementFailed) as refused:
        admin.run("DELETE FROM airportinfo WHERE zip = '43210'")
    assert refused.value.sqlstate == "23503"
    assert admin.run("DELETE FROM airportinfo WHERE zip = '60603'").tag == "DELETE 1"


def test_a_transaction_is_all_or_nothing(admin):
    admin.run("CREATE TABLE ledger (name text PRIMARY KEY, balance int CHECK (balance >= 0))")
    admin.run("INSERT INTO ledger VALUES ('Alice', 150), ('Bob', 0)")
    admin.run("BEGIN")
    admin.run("UPDATE ledger SET balance = balance + 200 WHERE name = 'Bob'")
    with pytest.raises(StatementFailed) as refused:
        admin.run("UPDATE ledger SET balance = balance - 200 WHERE name = 'Alice'")
    assert refused.value.sqlstate == "23514"
    assert admin.session.transaction_status == "E"
    with pytest.raises(StatementFailed) as refused:
        admin.run("SELECT 1")
    assert refused.value.sqlstate == "25P02"
    assert admin.run("COMMIT").tag == "ROLLBACK"
    assert admin.rows("SELECT name, balance FROM ledger ORDER BY name") == [
        ("Alice", 150),
        ("Bob", 0),
    ]


def test_rights_and_tables_of_a_transaction_are_undone_together(server, connect, admin):
    admin.run("CREATE USER x")
    admin.run("BEGIN; CREATE TABLE t (a int); GRANT SELECT ON t TO x; ROLLBACK")
    with pytest.raises(StatementFailed) as refused:
        connect(server, "x").run("SELECT a FROM t")
    assert refused.value.sqlstate == "42P01"
    admin.run("BEGIN; CREATE TABLE t (a int); GRANT SELECT ON t TO x; COMMIT")
    assert connect(server, "x").rows("SELECT a FROM t") == []


def test_two_withdrawals_cannot_lose_one(server, connect, admin):
    admin.run("CREATE TABLE ledger (name text PRIMARY KEY, balance int)")
    admin.run("INSERT INTO ledger VALUES ('Alice', 300)")
    one, two = connect(server), connect(server)
    for client in (one, two):
        client.run("BEGIN")
        assert client.rows("SELECT balance FROM ledger WHERE name = 'Alice'") == [(300,)]
    one.run("UPDATE ledger SET balance = 300 - 100 WHERE name = 'Alice'; COMMIT")
    with pytest.raises(StatementFailed) as refused:
        two.run("UPDATE ledger SET balance = 300 - 100 WHERE name = 'Alice'; COMMIT")
    assert refused.value.sqlstate == "40001"
    two.run("ROLLBACK")
    assert admin.rows("SELECT balance FROM ledger") == [(200,)]
