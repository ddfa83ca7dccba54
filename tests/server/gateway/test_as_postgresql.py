"""What PostgreSQL 16 does in corners that matter for rights and transactions, done here, too."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from discreet.errors import AccessDenied, DiscreetError
from discreet.server.gateway import shown_views
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each line is sent alone; what comes of it is compared: its tag, or its SQLSTATE.
SCRIPTS = {
    "row_security": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, 2);
        GRANT SELECT, UPDATE ON t TO {role}; ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON t USING (a = 1); SET ROLE {role}; SELECT id FROM t;
        SET row_security = off; SELECT id FROM t; UPDATE t SET a = 3; SHOW row_security;
        SET row_security = on; SELECT id FROM t; SET row_security = maybe;
        RESET ROLE; SET row_security = off; SELECT id FROM t
    """,
    "row_security of a view": """
        CREATE TABLE t (id integer); ALTER TABLE t ENABLE ROW LEVEL SECURITY;
        CREATE VIEW v AS SELECT id FROM t; CREATE VIEW w WITH (security_invoker) AS SELECT id FROM t;
        GRANT SELECT ON t, v, w TO {role}; SET ROLE {role}; SET row_security = off;
        SELECT id FROM v; SELECT id FROM w; SELECT id FROM t
    """,
    "a row hit twice": """
        CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1);
        INSERT INTO t VALUES (1, 2), (1, 3) ON CONFLICT (id) DO UPDATE SET a = excluded.a;
        INSERT INTO t VALUES (7, 2), (7, 3) ON CONFLICT (id) DO UPDATE SET a = excluded.a;
        INSERT INTO t VALUES (7, 2), (7, 3) ON CONFLICT (id) DO NOTHING;
        INSERT INTO t VALUES (1, 2), (2, 3) ON CONFLICT (id) DO UPDATE SET a = excluded.a
    """,
    "policies that ask each other": """
        CREATE TABLE x (a integer); CREATE TABLE y (a integer); GRANT ALL ON x, y TO {role};
        ALTER TABLE x ENABLE ROW LEVEL SECURITY; ALTER TABLE y ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON x USING (a IN (SELECT a FROM y));
        CREATE POLICY p ON y USING (a IN (SELECT a FROM x));
        SELECT a FROM x; SET ROLE {role}; SELECT a FROM x; UPDATE y SET a = 1; DELETE FROM x
    """,
    "read only stays": """
        CREATE TABLE t (a integer); BEGIN; SET TRANSACTION READ ONLY; SELECT 1;
        SET TRANSACTION READ WRITE; ROLLBACK; BEGIN READ ONLY; SELECT 1;
        SET transaction_read_only = off; ROLLBACK; SET default_transaction_read_only = on; BEGIN;
        SELECT a FROM t; SET TRANSACTION READ WRITE; ROLLBACK; BEGIN; SET TRANSACTION READ WRITE;
        INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (1)
    """,
    "session authorization": """
        CREATE TABLE t (a integer); SET SESSION AUTHORIZATION {role}; SELECT a FROM t;
        SELECT session_user, current_user; CREATE ROLE x; SET ROLE nobody_there;
        SET SESSION AUTHORIZATION nobody_there; RESET ROLE; SELECT a FROM t;
        RESET SESSION AUTHORIZATION; SELECT a FROM t; BEGIN; SET LOCAL SESSION AUTHORIZATION {role};
        SELECT a FROM t; ROLLBACK; SELECT a FROM t; BEGIN; SET LOCAL ROLE {role}; COMMIT;
        SELECT a FROM t; BEGIN; SET SESSION AUTHORIZATION {role}; ROLLBACK; SELECT a FROM t;
        SET SESSION AUTHORIZATION DEFAULT
    """,
    "the tag of CREATE TABLE AS": """
        CREATE TABLE a AS SELECT 1 AS x UNION SELECT 2; CREATE TABLE b AS VALUES (1), (2), (3);
        CREATE TABLE IF NOT EXISTS a AS SELECT 5 AS x; SELECT x FROM a; CREATE TABLE a AS SELECT 5 AS x
    """,
}


@pytest.fixture
def oracle(postgres_16_url: str) -> Iterator[tuple[Any, str]]:
    name = f"c{secrets.token_hex(4)}"
    with psycopg.connect(postgres_16_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute(f"CREATE ROLE {name}")
    with psycopg.connect(postgres_16_url, dbname=name, autocommit=True) as connection:
        yield connection, name
    with psycopg.connect(postgres_16_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name}")
        connection.execute(f"DROP ROLE {name}")


@pytest.mark.postgres
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_same_comes_of_it_as_on_postgresql_16(oracle, server, connect, name: str):
    postgres, role = oracle
    admin = connect(server)
    admin.run(f"CREATE ROLE {role}")

    def theirs(text: str) -> str:
        try:
            return str(postgres.execute(text).statusmessage)
        except psycopg.Error as error:
            return str(error.sqlstate)

    def ours(text: str) -> str:
        try:
            return admin.run(text).tag
        except DiscreetError as error:
            if admin.session.transaction_status == "I":
                admin.session.state.transaction.rollback()
            return as_statement_failed(error).sqlstate

    lines = [line.strip() for line in SCRIPTS[name].format(role=role).split(";")]
    assert [(line, ours(line)) for line in lines] == [(line, theirs(line)) for line in lines]


def test_create_table_if_not_exists_as_writes_into_no_table_that_is_there(server, connect):
    admin = connect(server)
    admin.run("CREATE USER eve; GRANT CREATE ON SCHEMA public TO eve; CREATE TABLE t (a integer)")
    connect(server, "eve").run("CREATE TABLE IF NOT EXISTS t AS SELECT 5 AS a")
    assert admin.rows("SELECT a FROM t") == []


def test_row_security_off_refuses_masks_and_prepared_statements_too(server, connect):
    admin = connect(server)
    admin.run("CREATE USER bob; CREATE TABLE t (a integer); GRANT SELECT ON t TO bob")
    admin.run("CREATE MASK m ON t (a) TO bob USING (0)")
    bob = connect(server, "bob")
    bob.run("PREPARE q AS SELECT a FROM t")
    bob.run("EXECUTE q; SET row_security = off")
    with pytest.raises(AccessDenied, match="would be affected"):
        bob.run("EXECUTE q")


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET a = (SELECT x.a FROM t AS x WHERE x.id = t.id)",
        "UPDATE t SET b = (SELECT max(c) FROM (SELECT a AS c FROM t) AS z)",
        "UPDATE t SET a = (SELECT v.a FROM v WHERE v.id = t.id)",
        "INSERT INTO t SELECT id, a, b FROM t ON CONFLICT (id) DO UPDATE SET a = excluded.a",
        "INSERT INTO t SELECT id, a, b FROM v ON CONFLICT (id) DO UPDATE SET b = excluded.a + 1",
        "INSERT INTO t VALUES (1, 5, 5) ON CONFLICT (id) DO UPDATE SET a = (SELECT max(a) FROM t)",
    ],
)
def test_a_mask_is_not_stored_through_a_subquery_or_excluded(server, connect, text: str):
    admin = connect(server)
    admin.run("CREATE USER bob; CREATE TABLE t (id integer PRIMARY KEY, a integer, b integer)")
    admin.run("INSERT INTO t VALUES (1, 10, 20)")
    admin.run("CREATE VIEW v WITH (security_invoker) AS SELECT id, a, b FROM t")
    admin.run("GRANT ALL ON t TO bob; GRANT SELECT ON v TO bob")
    admin.run("CREATE MASK m ON t (a) TO bob USING (0)")
    bob = connect(server, "bob")
    with pytest.raises(AccessDenied, match=r"would be stored|cannot be made of"):
        bob.run(text)
    bob.run("UPDATE t SET b = 21 WHERE a = 0")
    bob.run("INSERT INTO t VALUES (1, 11, 1) ON CONFLICT (id) DO UPDATE SET a = excluded.a")
    assert admin.rows("SELECT id, a, b FROM t") == [(1, 11, 21)]


def test_a_role_whose_membership_was_revoked_is_not_acted_as(server, connect):
    admin = connect(server)
    admin.run("CREATE USER bob; CREATE ROLE grp; GRANT grp TO bob; CREATE TABLE t (a integer)")
    admin.run("GRANT SELECT ON t TO grp")
    bob = connect(server, "bob")
    bob.run("SET ROLE grp; PREPARE q AS SELECT a FROM t")
    admin.run("REVOKE grp FROM bob")
    for text in ("SELECT a FROM t", "EXECUTE q", "SET ROLE grp", "SELECT 1"):
        with pytest.raises(AccessDenied, match="permission denied to set role"):
            bob.run(text)
    bob.run("RESET ROLE")
    assert bob.rows("SELECT current_user") == [("bob",)]


def test_an_anonymized_view_that_was_read_and_rolled_back_is_an_earlier_release(hospital, connect):
    admin = connect(hospital)
    admin.run(
        "BEGIN; CREATE ANONYMIZED VIEW one WITH (k = 5) AS SELECT sex, diagnosis FROM patients"
    )
    shown = admin.rows("SELECT sex, diagnosis FROM one")
    admin.run("ROLLBACK")
    session, base = admin.session.state, {("public", "patients")}
    (found,) = shown_views.rolled_back_views(session, base)
    assert sorted(
        zip(*(column.to_pylist() for column in found.rows.columns), strict=True)
    ) == sorted(shown)
    assert list(shown_views.earlier_views(session, base)) == []
    admin.run("CREATE ANONYMIZED VIEW two WITH (k = 5) AS SELECT sex, diagnosis FROM patients")
    assert (
        len(list(shown_views.rolled_back_views(session, base))) == 1
    )  # the kept one is read where it is
    assert len(list(shown_views.earlier_views(session, base))) == 1


def test_quantiles_are_answered_to_those_who_may_only_ask(hospital, connect):
    admin = connect(hospital)
    admin.run("CREATE USER ann; GRANT AGGREGATE ON patients TO ann WITH BUDGET (EPSILON 3)")
    ann = connect(hospital, "ann")
    ann.run("SET discreet.epsilon = 0.5")
    for text in (
        "SELECT median(salary) FROM patients",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) FROM patients",
        "SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY salary DESC) FROM public.patients",
    ):
        ((value,),) = ann.rows(text)
        assert 0 <= value <= 1_000_000
    with pytest.raises(DiscreetError, match=r"is not supported|not on the list"):
        ann.run("SELECT pg_read_file(name) FROM patients")


def test_session_authorization_is_for_superusers_who_keep_their_clearance_and_name(server, connect):
    admin = connect(server)
    admin.run("CREATE USER eve; CREATE USER bob; SECURITY LABEL FOR mls ON DATABASE IS 'U < S'")
    admin.run("SECURITY LABEL FOR mls ON ROLE bob IS 'S'")
    with pytest.raises(AccessDenied, match="set session authorization"):
        connect(server, "eve").run("SET SESSION AUTHORIZATION bob")
    admin.run("SET SESSION AUTHORIZATION bob")
    assert admin.session.state.clearance is None
    assert admin.session.user == "admin"
    connect(server).run("CREATE USER root SUPERUSER; ALTER ROLE eve SUPERUSER")
    eve = connect(server, "eve")
    eve.run("SET SESSION AUTHORIZATION bob")
    connect(server).run("ALTER ROLE eve NOSUPERUSER")
    with pytest.raises(AccessDenied, match="set session authorization"):
        eve.run("SELECT 1")


def test_columns_of_a_result_name_their_relation(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (a integer, b integer); CREATE VIEW v AS SELECT b FROM t")
    oids = dict(admin.rows("SELECT relname, oid FROM pg_class WHERE relname IN ('t', 'v')"))

    def result(text: str) -> list[tuple[int, int]]:
        return [(field.table, field.place) for field in admin.run(text).fields or ()]

    assert result("SELECT b, a AS x, a + 1, * FROM t") == [
        *((oids["t"], 2), (oids["t"], 1), (0, 0)),
        *((oids["t"], 1), (oids["t"], 2)),
    ]
    assert result("SELECT b FROM v") == [(oids["v"], 1)]
    assert result("WITH w AS (SELECT b FROM t) SELECT q.c FROM (SELECT b AS c FROM w) AS q") == [
        (oids["t"], 2)
    ]
    assert result("SELECT a FROM t UNION SELECT a FROM t") == [(0, 0)]
    assert result("INSERT INTO t VALUES (1, 2) RETURNING b, a + b") == [(oids["t"], 2), (0, 0)]
