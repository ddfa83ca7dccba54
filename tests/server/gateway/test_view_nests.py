"""Views in views, row policies and masks: whose rights count at each depth, as in PostgreSQL 16."""

from __future__ import annotations

import pytest
from bench.verify.view_nests import differences

from discreet.errors import AccessDenied, StatementFailed

WORLD = """
CREATE USER ann, bob, eve; GRANT CREATE ON SCHEMA public TO ann, bob;
CREATE TABLE t (a integer, c text); ALTER TABLE t OWNER TO ann;
INSERT INTO t VALUES (1, 'ann'), (2, 'bob'), (3, 'eve');
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON t USING (c = current_user);
GRANT SELECT ON t TO bob;
SET ROLE ann; CREATE VIEW inner_view WITH (security_invoker) AS SELECT a, c FROM t; RESET ROLE;
GRANT SELECT ON inner_view TO bob, ann;
SET ROLE ann; CREATE VIEW outer_view AS SELECT a FROM inner_view;
CREATE VIEW outermost WITH (security_invoker) AS SELECT a FROM outer_view; RESET ROLE;
GRANT SELECT ON outer_view, outermost TO bob, eve;
"""


@pytest.fixture
def nests(server, connect):
    connect(server).run(WORLD)
    return server


def test_an_invoker_view_inside_an_ordinary_view_is_checked_as_who_asks(nests, connect):
    # Ann owns the table and is exempt; Bob asks through her view and sees his own row only.
    for view in ("inner_view", "outer_view", "outermost"):
        assert connect(nests, "bob").rows(f"SELECT a FROM {view}") == [(2,)]
        assert len(connect(nests, "ann").rows(f"SELECT a FROM {view}")) == 3
    for view in ("outer_view", "outermost"):  # Eve has no right on the table
        with pytest.raises(AccessDenied, match="permission denied for table t"):
            connect(nests, "eve").rows(f"SELECT a FROM {view}")


def test_writes_and_prepared_statements_read_nests_as_who_asks(nests, connect):
    admin, bob = connect(nests), connect(nests, "bob")
    admin.run("CREATE TABLE log (a integer); GRANT INSERT, SELECT ON log TO bob")
    bob.run("PREPARE q AS SELECT a FROM outer_view")
    bob.run("INSERT INTO log SELECT a FROM outer_view")
    assert admin.rows("SELECT a FROM log") == [(2,)]
    assert bob.rows("EXECUTE q") == [(2,)]
    admin.run("REVOKE SELECT ON t FROM bob")
    with pytest.raises(AccessDenied):
        bob.run("EXECUTE q")


def test_a_mask_is_seen_through_a_nest_as_who_asks(nests, connect):
    connect(nests).run("CREATE MASK m ON t (a) TO bob USING (0)")
    assert connect(nests, "bob").rows("SELECT a FROM outermost") == [(0,)]
    assert len(connect(nests, "ann").rows("SELECT a FROM outermost WHERE a > 0")) == 3


def test_a_policy_asks_other_tables_with_the_rights_of_who_reads(nests, connect):
    admin, bob = connect(nests), connect(nests, "bob")
    admin.run("CREATE TABLE known (c text); INSERT INTO known VALUES ('bob')")
    admin.run("CREATE POLICY more ON t AS RESTRICTIVE USING (c IN (SELECT c FROM known))")
    with pytest.raises(AccessDenied, match="permission denied for table known"):
        bob.rows("SELECT a FROM t")
    admin.run("GRANT SELECT ON known TO bob")
    assert bob.rows("SELECT a FROM t") == [(2,)]


def test_mutually_recursive_policies_fail_with_42p17(server, connect):
    admin = connect(server)
    admin.run("CREATE USER bob; CREATE TABLE x (a integer); CREATE TABLE y (a integer)")
    admin.run("GRANT SELECT, UPDATE ON x, y TO bob")
    for one, other in (("x", "y"), ("y", "x")):
        admin.run(f"ALTER TABLE {one} ENABLE ROW LEVEL SECURITY")
        admin.run(f"CREATE POLICY p ON {one} USING (a IN (SELECT a FROM {other}))")
    for text in ("SELECT a FROM x", "SELECT a FROM y", "UPDATE x SET a = 1"):
        with pytest.raises(StatementFailed, match="infinite recursion") as failed:
            connect(server, "bob").run(text)
        assert failed.value.sqlstate == "42P17"


@pytest.mark.postgres
def test_nests_of_views_answer_as_postgresql_16_does(postgres_16_url: str):
    assert differences(101, postgres_16_url) == []


@pytest.mark.postgres
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2000, 2040))
def test_many_nests_of_views_answer_as_postgresql_16_does(postgres_16_url: str, seed: int):
    assert differences(seed, postgres_16_url) == []
