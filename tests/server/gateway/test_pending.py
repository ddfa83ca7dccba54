"""A crash between the engine's commit and the control store's: rows and rights stay together."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from discreet.errors import StatementFailed, StoreFailed


class Crash(BaseException):
    """The end of the process, as far as the transaction can tell."""


@contextmanager
def crashing(server):
    """Let the next change of rights stop after the engine has committed, as `kill -9` would."""
    control, changing = server.control, server.control.changing

    @contextmanager
    def cut_off(*arguments, **words):
        with changing(*arguments, **words) as result:
            yield result
            raise Crash

    control.changing = cut_off
    try:
        yield
    finally:
        control.changing = changing


def crash(opened, client, text: str) -> None:
    with crashing(opened.server), pytest.raises(Crash):
        client.run(text)


@pytest.mark.parametrize("on_postgresql", [False, pytest.param(True, marks=pytest.mark.postgres)])
def test_a_table_made_before_a_crash_is_known_after_the_next_start(
    open_server, connect, on_postgresql: bool, request
):
    where = {"database": request.getfixturevalue("postgres_url")} if on_postgresql else {}
    opened = open_server(**where)
    admin = connect(opened)
    admin.run("CREATE TABLE made (a int); GRANT SELECT ON made TO PUBLIC; DROP TABLE made")
    crash(opened, admin, "CREATE TABLE made (a int)")
    with pytest.raises(StatementFailed) as unknown:
        admin.run("SELECT * FROM made")
    assert unknown.value.sqlstate == "42P01"
    opened.server.close()
    admin = connect(open_server(**where))
    admin.run("INSERT INTO made VALUES (1)")
    assert admin.rows("SELECT a FROM made") == [(1,)]
    admin.run("DROP TABLE made")


def test_a_table_dropped_before_a_crash_is_gone_after_it(open_server, connect):
    opened = open_server()
    admin = connect(opened)
    admin.run("CREATE TABLE t (a int)")
    crash(opened, admin, "DROP TABLE t")
    opened.server.close()
    admin = connect(open_server())
    admin.run("CREATE TABLE t (b text)")
    assert admin.rows("SELECT b FROM t") == []


def test_a_gateway_that_lives_on_makes_up_for_one_that_crashed(server, connect):
    admin, other = connect(server), connect(server)
    crash(server, admin, "CREATE TABLE a (x int)")
    other.run("CREATE TABLE b (x int)")
    assert other.rows("SELECT x FROM a") == []
    assert other.rows("SELECT x FROM b") == []


def test_a_gateway_that_defines_nothing_makes_up_for_one_that_crashed(server, connect):
    admin, other = connect(server), connect(server)
    crash(server, admin, "CREATE TABLE a (x int)")
    assert server.server.recover()
    assert other.rows("SELECT x FROM a") == []
    assert not server.server.recover()


def test_rows_and_rights_of_one_transaction_survive_together(open_server, connect):
    opened = open_server()
    admin = connect(opened)
    admin.run("CREATE TABLE t (a int); CREATE USER clerk")
    admin.run("BEGIN; INSERT INTO t VALUES (1); GRANT SELECT ON t TO clerk")
    crash(opened, admin, "COMMIT")
    opened.server.close()
    again = open_server()
    assert connect(again, "clerk").rows("SELECT a FROM t") == [(1,)]


def test_a_control_store_older_than_its_data_is_refused(open_server, connect, tmp_path):
    opened = open_server()
    admin = connect(opened)
    opened.server.control.close()
    older = (tmp_path / "data" / "control.sqlite").read_bytes()
    admin.run("CREATE TABLE t (a int); CREATE TABLE u (a int)")
    admin.run("CREATE TABLE v (a int)")
    opened.server.close()
    (tmp_path / "data" / "control.sqlite").write_bytes(older)
    for pattern in ("journal.sqlite*", "ledger*"):
        for path in (tmp_path / "data").glob(pattern):
            path.unlink()  # which would know it, too
    with pytest.raises(StoreFailed, match="goes with the data"):
        open_server()


def test_an_import_that_was_cut_off_is_finished(open_server, connect, monkeypatch):
    from tests.server.gateway.conftest import HOSPITAL

    from discreet.server import startup

    real = startup._import_table

    def cut_off(server, table):
        real(server, table)
        raise KeyboardInterrupt

    monkeypatch.setattr(startup, "_import_table", cut_off)
    with pytest.raises(KeyboardInterrupt):
        open_server(policy=HOSPITAL / "policy.yaml")
    monkeypatch.setattr(startup, "_import_table", real)
    admin = connect(open_server(policy=HOSPITAL / "policy.yaml"))
    assert admin.rows("SELECT count(*) FROM patients") == [(2000,)]
