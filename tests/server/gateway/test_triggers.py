"""Whose rights triggers ask with, and what no one learns from them."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, StatementFailed

PROBE = "CREATE TRIGGER probe BEFORE DELETE ON pay FOR EACH ROW WHEN (OLD.salary > 50) RAISE 'more'"


@pytest.fixture
def payroll(server, connect):
    """A table whose owner lets bob attach triggers and delete rows."""
    admin = connect(server)
    admin.run("CREATE USER ann; CREATE USER bob; GRANT CREATE ON SCHEMA public TO ann")
    ann = connect(server, "ann")
    ann.run("CREATE TABLE pay (id int PRIMARY KEY, salary int); INSERT INTO pay VALUES (1, 99)")
    ann.run("GRANT SELECT, DELETE, TRIGGER ON pay TO bob")
    return admin, ann, connect(server, "bob")


@pytest.mark.parametrize(
    "change",
    [
        "REVOKE SELECT ON pay FROM bob",
        "REVOKE TRIGGER ON pay FROM bob",
        "ALTER TABLE pay ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON pay FOR DELETE USING (true)",
        "CREATE MASK m ON pay (salary) USING (0)",
    ],
)
def test_a_trigger_reveals_nothing_to_a_user_who_lost_the_right_to_attach_it(payroll, change):
    _, ann, bob = payroll
    bob.run(PROBE)
    with pytest.raises(StatementFailed, match="more"):
        bob.run("DELETE FROM pay")
    ann.run(change)
    for salary in (99, 1):
        ann.run(f"UPDATE pay SET salary = {salary}")
        with pytest.raises(AccessDenied, match="lost the rights it was attached with"):
            bob.run("DELETE FROM pay")
    ann.run("DROP TRIGGER probe ON pay")
    assert bob.run("DELETE FROM pay").tag == "DELETE 1"


def test_a_trigger_stays_with_its_table_when_the_rights_of_its_maker_do(payroll, server, connect):
    admin, ann, bob = payroll
    bob.run(PROBE)
    admin.run("ALTER ROLE bob NOLOGIN; ALTER ROLE bob RENAME TO robert")
    with pytest.raises(StatementFailed, match="more"):
        ann.run("DELETE FROM pay")


def test_a_trigger_of_the_owner_outlives_no_owner(payroll, server, connect):
    admin, ann, _ = payroll
    ann.run("CREATE TABLE most (salary int); INSERT INTO most VALUES (100)")
    ann.run(
        "CREATE TRIGGER bound AFTER UPDATE ON pay FOR EACH ROW "
        "WHEN (NEW.salary > (SELECT max(salary) FROM most)) RAISE 'too much'"
    )
    with pytest.raises(StatementFailed, match="too much"):
        ann.run("UPDATE pay SET salary = 101")
    admin.run("CREATE USER eve; GRANT CREATE ON SCHEMA public TO eve")
    admin.run("ALTER TABLE pay OWNER TO eve")
    with pytest.raises(AccessDenied, match="permission denied for table most"):
        connect(server, "eve").run("UPDATE pay SET salary = 2")


def test_in_a_trigger_current_user_is_who_writes(payroll, server, connect):
    _, ann, bob = payroll
    ann.run("GRANT INSERT ON pay TO bob")
    ann.run(
        "CREATE TRIGGER own BEFORE INSERT ON pay FOR EACH ROW "
        "WHEN (current_user <> 'bob' OR session_user <> 'bob') RAISE 'not bob'"
    )
    assert bob.run("INSERT INTO pay VALUES (2, 1)").tag == "INSERT 0 1"
    with pytest.raises(StatementFailed, match="not bob"):
        ann.run("INSERT INTO pay VALUES (3, 1)")
