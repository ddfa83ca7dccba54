"""Ways around the guarantees that a reviewer found; each is closed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from discreet.errors import AccessDenied, StatementFailed
from discreet.server.http.app import make_app


@pytest.fixture
def labeled(server, connect):
    """A multi-level table with one top secret row."""
    admin = connect(server)
    admin.run("SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S < TS'")
    admin.run("CREATE USER low; CREATE USER high; CREATE USER uncleared")
    admin.run("SECURITY LABEL FOR mls ON ROLE low IS 'U'")
    admin.run("SECURITY LABEL FOR mls ON ROLE high IS 'TS'")
    admin.run("CREATE TABLE m (id int PRIMARY KEY, x text)")
    admin.run("SECURITY LABEL FOR mls ON TABLE m IS 'cells'")
    admin.run("GRANT ALL ON m TO low, high, uncleared")
    connect(server, "high").run("INSERT INTO m VALUES (1, 'top secret')")
    return admin


@pytest.mark.parametrize("user", ["low", "uncleared"])
@pytest.mark.parametrize(
    "parameters", [{"discreet.clearance": "TS"}, {"options": "-c discreet.clearance=TS"}]
)
def test_no_user_gets_a_clearance_by_connecting_with_it(labeled, server, connect, user, parameters):
    with pytest.raises(AccessDenied):
        connect(server, user, **parameters)
    assert connect(server, "high", **parameters).rows("SELECT id FROM m") == [(1,)]


def test_a_session_keeps_no_clearance_that_its_user_lost(labeled, server, connect):
    high = connect(server, "high")
    high.run("SET discreet.clearance = 'TS'")
    assert high.rows("SELECT id FROM m") == [(1,)]
    labeled.run("SECURITY LABEL FOR mls ON ROLE high IS 'U'")
    assert high.rows("SELECT id FROM m") == []


def test_a_decision_that_rests_on_a_setting_is_not_for_other_sessions(server, connect):
    admin = connect(server)
    admin.run("CREATE USER app; CREATE TABLE t (id int, tenant text); GRANT SELECT ON t TO app")
    admin.run("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t USING (tenant = current_setting('application_name'))")
    first = connect(server, "app", application_name="one")
    assert first.rows("SELECT id FROM t") == [(1,)]
    assert connect(server, "app", application_name="two").rows("SELECT id FROM t") == [(2,)]
    prepared = first.session.prepare(first.session.split("SELECT id FROM t")[0])
    first.run("SET application_name = 'two'")
    assert first.session.run(prepared).table.column(0).to_pylist() == [2]


def test_a_statement_with_numbers_of_a_sequence_is_decided_and_noted_at_each_run(server, connect):
    admin = connect(server)
    admin.run("CREATE USER app; CREATE TABLE t (id int, tenant text); GRANT SELECT ON t TO app")
    admin.run("INSERT INTO t VALUES (1, 'one'), (2, 'two'); CREATE SEQUENCE s")
    admin.run("GRANT ALL ON SEQUENCE s TO app; ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t USING (tenant = current_setting('application_name'))")
    user = connect(server, "app", application_name="one")
    user.run("SELECT nextval('s')")
    prepared = user.session.prepare(user.session.split("SELECT currval('s'), id FROM t")[0])
    seen: list[object] = []
    for name in ("one", "two"):
        user.run(f"SET application_name = '{name}'")
        seen += user.session.run(prepared).table.column(1).to_pylist()
        *_, last = (entry.event for entry in server.server.journal.entries())
        seen.append("public.t" in last.reads)
    assert seen == [1, True, 2, True]
    admin.run("DROP POLICY p ON t; CREATE POLICY p ON t USING (id = 1)")
    for _ in range(2):
        prepared = user.session.prepare(user.session.split("SELECT currval('s'), id FROM t")[0])
        user.session.run(prepared)
        *_, last = (entry.event for entry in server.server.journal.entries())
        assert set(last.reads.get("public.t", ())) >= {"id"}


def test_time_goes_on_in_policies_and_views(server, connect, monkeypatch):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE t (id int, until timestamp); GRANT SELECT ON t TO u")
    admin.run("INSERT INTO t VALUES (1, '2030-01-01')")
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t USING (until > localtimestamp)")
    admin.run("CREATE VIEW v AS SELECT localtimestamp AS y; GRANT SELECT ON v TO u")
    user = connect(server, "u")
    seen = []
    for year in (2029, 2031):
        monkeypatch.setattr(
            user.session.state, "clock", lambda year=year: datetime(year, 1, 1, tzinfo=UTC)
        )
        ((moment,),) = user.rows("SELECT y FROM v")
        seen += [user.rows("SELECT id FROM t"), moment.year]
    assert seen == [[(1,)], 2029, [], 2031]


def test_rights_taken_while_a_definition_is_open_are_gone(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
    admin.run("CREATE TABLE t (x int); GRANT SELECT ON t TO u")
    user = connect(server, "u")
    user.run("BEGIN; CREATE TABLE mine (a int)")
    assert user.rows("SELECT x FROM t") == []
    admin.run("REVOKE SELECT ON t FROM u")
    with pytest.raises(StatementFailed) as stopped:
        user.run("SELECT x FROM t")
    assert stopped.value.sqlstate == "40001"
    user.run("ROLLBACK")


def test_a_new_right_does_not_show_what_was_there_before_it(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE secret (x int); INSERT INTO secret VALUES (42)")
    user = connect(server, "u")
    user.run("BEGIN; SELECT 1")
    admin.run("DROP TABLE secret; CREATE TABLE secret (x int); GRANT SELECT ON secret TO u")
    with pytest.raises(StatementFailed) as stopped:
        user.run("SELECT x FROM secret")
    assert stopped.value.sqlstate == "40001"
    user.run("ROLLBACK")
    assert user.rows("SELECT x FROM secret") == []


@pytest.mark.parametrize(
    ("right", "question"),
    [
        ("GRANT readers TO u", "SELECT x FROM t"),
        ("GRANT readers TO u WITH INHERIT FALSE", "SET ROLE readers; SELECT x FROM t"),
        ("GRANT readers TO u", "CREATE TABLE mine AS SELECT x FROM t"),
        ("ALTER ROLE u BYPASSRLS", "SELECT x FROM t"),
        ("GRANT readers TO maker", "SELECT x FROM v"),
        ("GRANT USAGE ON SCHEMA s TO u", "SELECT x FROM s.t"),
    ],
)
def test_who_becomes_more_is_not_shown_what_was_there_before(server, connect, right, question):
    admin = connect(server)
    admin.run("CREATE ROLE readers; CREATE USER u; CREATE ROLE maker; CREATE SCHEMA s")
    admin.run("CREATE TABLE s.t AS SELECT 42 AS x; CREATE TABLE t AS SELECT 42 AS x")
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t TO readers USING (true); CREATE VIEW v AS SELECT x FROM t")
    admin.run("ALTER VIEW v OWNER TO maker; GRANT SELECT ON t TO readers")
    admin.run("GRANT SELECT ON t, s.t, v TO u; GRANT CREATE ON SCHEMA public TO u")
    user = connect(server, "u")
    user.run("BEGIN; SELECT 1")
    admin.run(f"DELETE FROM t; DELETE FROM s.t; {right}")
    with pytest.raises(StatementFailed) as stopped:
        user.run(question)
    assert stopped.value.sqlstate == "40001"
    user.run("ROLLBACK")
    assert user.run(question).tag == "SELECT 0"


def test_who_is_cleared_for_more_is_not_shown_what_was_there_before(labeled, server, connect):
    low = connect(server, "low")
    low.run("BEGIN; SELECT id FROM m")
    connect(server, "high").run("DELETE FROM m")
    labeled.run("SECURITY LABEL FOR mls ON ROLE low IS 'TS'")
    with pytest.raises(StatementFailed) as stopped:
        low.run("SELECT id FROM m")
    assert stopped.value.sqlstate == "40001"
    low.run("ROLLBACK")
    assert low.rows("SELECT id FROM m") == []


def test_a_view_reveals_nothing_of_schemas_that_its_maker_may_not_use(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
    admin.run("CREATE SCHEMA hidden; CREATE TABLE hidden.t (code int)")
    user = connect(server, "u")
    with pytest.raises(AccessDenied):
        user.run("CREATE VIEW v AS SELECT * FROM hidden.t")


@pytest.mark.parametrize("query", ["SELECT * FROM t", "SELECT s.* FROM t AS s", "TABLE t"])
def test_a_view_does_not_list_columns_that_its_maker_may_not_know(server, connect, query):
    admin = connect(server)
    admin.run("CREATE USER u; GRANT CREATE ON SCHEMA public TO u")
    admin.run("CREATE TABLE t (id int, pay int); GRANT SELECT (id) ON t TO u")
    user = connect(server, "u")
    with pytest.raises(AccessDenied):
        user.run(f"CREATE VIEW v AS {query}")
    user.run("CREATE VIEW v AS SELECT id, count(*) AS n FROM t GROUP BY id")
    admin.run("GRANT UPDATE ON t TO u")
    user.run(f"CREATE VIEW w AS {query}")


def test_a_body_without_a_length_is_not_read(server):
    client = TestClient(make_app(server.server, server.authenticator, is_encrypted=True))
    assert client.post("/v1/query", content=iter([b"{", b"}"])).status_code == 413
    assert client.post("/v1/query", content=b"{}").status_code in (401, 422)


def test_the_schema_of_anonymized_views_belongs_to_no_user(server, connect):
    with pytest.raises(StatementFailed) as refused:
        connect(server).run('CREATE SCHEMA "Anonymized"')
    assert refused.value.sqlstate == "42939"


def test_the_policy_is_about_its_own_tables_only(hospital, connect):
    admin = connect(hospital)
    admin.run("CREATE USER u; CREATE SCHEMA s; GRANT USAGE ON SCHEMA s TO u")
    admin.run("CREATE TABLE s.patients AS SELECT * FROM patients")
    admin.run("GRANT AGGREGATE ON s.patients TO u WITH BUDGET (EPSILON 1)")
    user = connect(hospital, "u")
    user.run("SET discreet.epsilon = 1")
    with pytest.raises(StatementFailed) as refused:
        user.run("SELECT count(*) FROM s.patients")
    assert refused.value.sqlstate == "55000"


def test_cursors_together_hold_no_more_rows_than_one_result(open_server, connect):
    admin = connect(open_server(limits={"rows": 100}))
    admin.run("CREATE TABLE t (x int)")
    for _ in range(6):
        admin.run("INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)")
    admin.run("DECLARE a CURSOR WITH HOLD FOR SELECT x FROM t")
    with pytest.raises(StatementFailed) as refused:
        admin.run("DECLARE b CURSOR WITH HOLD FOR SELECT x FROM t")
    assert refused.value.sqlstate == "54000"


def test_a_view_has_no_mask_that_would_not_hold(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (pay int); CREATE VIEW v AS SELECT pay FROM t")
    with pytest.raises(StatementFailed) as refused:
        admin.run("CREATE MASK m ON v (pay) TO PUBLIC USING (0)")
    assert refused.value.sqlstate == "42809"


@pytest.mark.parametrize(
    "rule",
    [
        "POLICY p ON t USING (EXISTS (SELECT 1 FROM friends WHERE name = current_user))",
        "POLICY p ON t WITH CHECK (EXISTS (SELECT 1 FROM friends WHERE name = current_user))",
        "MASK m ON t (x) TO u USING ((SELECT max(level) FROM friends))",
    ],
)
def test_no_user_creates_the_table_that_a_rule_names_already(server, connect, rule):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE t (x int)")
    with pytest.raises(StatementFailed) as refused:
        admin.run(f"CREATE {rule}")
    assert refused.value.sqlstate == "42P01"
    admin.run("CREATE TABLE friends (name text, level int)")
    admin.run(f"CREATE {rule}")
    with pytest.raises(StatementFailed) as refused:
        admin.run("DROP TABLE friends")
    assert refused.value.sqlstate == "2BP01"


def test_an_accent_in_a_name_gets_no_user_past_a_rule(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE Écoles (id int PRIMARY KEY, État int CHECK (État >= 0))")
    admin.run(
        "INSERT INTO Écoles VALUES (1, 1), (2, 1), (3, 2), (4, 2); GRANT SELECT (id) ON Écoles TO u"
    )
    admin.run("CREATE CONTROL c ON Écoles TO u WITH (size = 2)")
    user = connect(server, "u")
    assert user.rows("SELECT count(*) FROM Écoles WHERE État = 1") == [(2,)]
    assert user.rows("SELECT conname FROM pg_constraint WHERE contype = 'c'") == []
    admin.run("CREATE MASK m ON Écoles (État) TO u USING (0)")
    for name in ("État", "ÉTAT", '"État"'):
        with pytest.raises(AccessDenied):
            user.run(f"SELECT count(*) FROM Écoles WHERE {name} = 1")
    admin.run("CREATE TABLE t (x int)")
    admin.run("CREATE POLICY p ON t USING (EXISTS (SELECT 1 FROM ÉCOLES))")
    with pytest.raises(StatementFailed) as refused:
        admin.run("DROP TABLE Écoles")
    assert refused.value.sqlstate == "2BP01"


def test_a_plan_names_no_table_that_only_owners_of_views_and_policies_know(server, connect):
    admin = connect(server)
    admin.run("CREATE USER u; CREATE TABLE base (x int); CREATE TABLE t (x int)")
    admin.run("CREATE VIEW v AS SELECT x FROM base; GRANT SELECT ON v, t TO u")
    admin.run("ALTER TABLE t ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY p ON t USING (x IN (SELECT x FROM v))")
    query = "EXPLAIN SELECT x FROM v UNION SELECT x FROM t"
    assert connect(server, "u").rows(query)[1:] == [("Reads public.t",), ("Reads public.v",)]
    assert ("Reads public.base",) in admin.rows(query)
