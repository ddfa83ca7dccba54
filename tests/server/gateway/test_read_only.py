"""Transactions that only read, however that is set."""

from __future__ import annotations

import pytest

from discreet.errors import StatementFailed

WRITES = (
    "INSERT INTO t VALUES (2)",
    "UPDATE t SET id = 3",
    "DELETE FROM t",
    "TRUNCATE t",
    "CREATE TABLE u (id int)",
    "CREATE VIEW v AS SELECT id FROM t",
    "DROP TABLE t",
    "CREATE ROLE r",
    "GRANT SELECT ON t TO PUBLIC",
    "EXECUTE add",
)


@pytest.fixture
def admin(server, connect):
    client = connect(server)
    client.run("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    client.run("PREPARE add AS INSERT INTO t VALUES (2)")
    return client


def refusal(client, text: str) -> str:
    with pytest.raises(StatementFailed) as refused:
        client.run(text)
    return refused.value.sqlstate


@pytest.mark.parametrize("write", WRITES)
def test_a_read_only_transaction_changes_neither_rows_nor_rights(admin, write):
    admin.run("BEGIN READ ONLY")
    assert admin.rows("SELECT id FROM t") == [(1,)]
    assert refusal(admin, write) == "25006"
    admin.run("ROLLBACK")
    assert admin.rows("SELECT id FROM t") == [(1,)]


def test_a_session_may_only_read_unless_a_transaction_says_otherwise(admin):
    admin.run("SET default_transaction_read_only = on")
    assert admin.session.reported["default_transaction_read_only"] == "on"
    for begun in ("", "BEGIN;"):
        assert refusal(admin, f"{begun} INSERT INTO t VALUES (2)") == "25006"
        admin.run("ROLLBACK")
    admin.run("BEGIN READ WRITE; INSERT INTO t VALUES (2); COMMIT")
    admin.run("BEGIN; SET TRANSACTION READ WRITE; INSERT INTO t VALUES (3); COMMIT")
    admin.run("SET default_transaction_read_only = off; INSERT INTO t VALUES (4)")
    assert admin.rows("SELECT count(*) FROM t") == [(4,)]


def test_a_transaction_is_set_to_read_only_and_the_next_one_is_not(admin):
    admin.run("BEGIN; SET TRANSACTION READ ONLY")
    assert admin.rows("SHOW transaction_read_only") == [("on",)]
    admin.run("RESET ALL; SET default_transaction_read_only = off")
    assert refusal(admin, "INSERT INTO t VALUES (2)") == "25006"
    admin.run("ROLLBACK")
    assert admin.rows("SHOW transaction_read_only") == [("off",)]
    admin.run("INSERT INTO t VALUES (2)")


def test_a_transaction_that_began_read_only_stays_so(admin):
    admin.run("BEGIN READ ONLY")
    assert refusal(admin, "SET TRANSACTION READ WRITE") == "25001"
    admin.run("ROLLBACK")
    assert refusal(admin, "SET default_transaction_read_only = perhaps") == "22023"


def test_a_commit_that_fails_closes_the_cursors_of_its_transaction(admin, server, connect):
    admin.run("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t; CREATE ROLE mine")
    connect(server).run("CREATE ROLE other")
    assert refusal(admin, "COMMIT") == "40001"
    assert refusal(admin, "FETCH c") == "34000"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("5000", "5s"),
        ("'1.5s'", "1500ms"),
        ("'60 s'", "1min"),
        ("'90min'", "90min"),
        ("'24h'", "1d"),
        ("'0s'", "0"),
    ],
)
def test_times_are_shown_with_their_unit(admin, value, shown):
    for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
        admin.run(f"SET {name} = {value}")
        assert admin.rows(f"SHOW {name}") == [(shown,)]


@pytest.mark.parametrize("value", ["'\u00b2'", "'5 weeks'", "-1", "2147483648", "'9e9'"])
def test_what_is_no_time_is_refused(admin, value):
    assert refusal(admin, f"SET statement_timeout = {value}") == "22023"
