"""No result, and nothing that a session keeps open, takes more memory than it may."""

from __future__ import annotations

import itertools
import threading

import pytest
from starlette.testclient import TestClient

from discreet.engines.duckdb.connection import DuckDBConnection
from discreet.errors import StatementFailed
from discreet.server.gateway import memory_monitor
from discreet.server.http import routes
from discreet.server.http.app import make_app

LONG = "x" * 50_000
NUMBERS = "VALUES " + ", ".join(f"({number})" for number in range(1000))


@pytest.fixture
def server(open_server, connect):
    """One where a result may take a megabyte; with a table of a hundred rows."""
    server = open_server(limits={"result_bytes": 1 << 20})
    admin = connect(server)
    admin.run("CREATE TABLE t (id int PRIMARY KEY, s text)")
    admin.run(f"INSERT INTO t VALUES {', '.join(f'({number}, NULL)' for number in range(100))}")
    return server


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT '{LONG}' || id FROM t",
        f"UPDATE t SET s = '{LONG}' || id RETURNING s",
        f"DECLARE c CURSOR WITH HOLD FOR SELECT '{LONG}' || id FROM t",
        f"COPY (SELECT '{LONG}' || id FROM t) TO STDOUT",
    ],
    ids=["select", "update", "cursor", "copy"],
)
def test_a_result_of_long_texts_is_refused(server, connect, statement):
    admin = connect(server)
    with pytest.raises(StatementFailed) as refused:
        admin.run(statement)
    assert refused.value.sqlstate == "54000"
    assert str(refused.value) == "the result is larger than 1 MiB"
    assert admin.rows("SELECT count(*), count(s) FROM t") == [(100, 0)]
    assert len(admin.rows(f"SELECT '{LONG}' || id FROM t LIMIT 15")) == 15


def test_a_catalog_of_long_texts_is_refused(server, connect):
    with pytest.raises(StatementFailed) as refused:
        connect(server).run(f"SELECT '{LONG}' || a.oid FROM pg_type a, pg_type b")
    assert refused.value.sqlstate == "54000"


def test_cursors_together_hold_no_more_than_one_result(server, connect):
    admin = connect(server)
    admin.run(f"DECLARE a CURSOR WITH HOLD FOR SELECT '{LONG}' || id FROM t LIMIT 15")
    with pytest.raises(StatementFailed) as refused:
        admin.run(f"DECLARE b CURSOR WITH HOLD FOR SELECT '{LONG}' || id FROM t LIMIT 15")
    assert refused.value.sqlstate == "54000"


def test_statements_end_before_the_memory_does(open_server, connect, monkeypatch):
    admin = connect(open_server())
    admin.run("CREATE TABLE n (x int)")
    admin.run(f"INSERT INTO n {NUMBERS}")
    # Memory that grows without end, once the statement runs.
    grown = itertools.count(1 << 40, 1 << 39)
    read = DuckDBConnection.run
    is_short = threading.Event()

    def run(self, *args, **options):
        is_short.set()
        return read(self, *args, **options)

    monkeypatch.setattr(DuckDBConnection, "run", run)
    monkeypatch.setattr(
        memory_monitor, "used_memory", lambda: next(grown) if is_short.is_set() else 0
    )
    monkeypatch.setattr(memory_monitor, "_PATIENCE", 0.1)
    with pytest.raises(StatementFailed) as ended:
        admin.run("SELECT count(*) FROM n a, n b, n c, n d WHERE a.x < b.x + c.x + d.x")
    assert ended.value.sqlstate == "53200"


def test_less_goes_over_http(server, monkeypatch):
    monkeypatch.setattr(routes, "LARGEST", 1 << 16)
    app = make_app(server.server, server.authenticator, is_encrypted=False)
    with TestClient(app, client=("127.0.0.1", 1)) as client:
        client.auth = ("admin", "a long password")
        statement = f"UPDATE t SET s = '{LONG}' WHERE id < 3 RETURNING s"
        answer = client.post("/v1/query", json={"statement": statement})
        assert answer.status_code == 400
        assert answer.json()["sqlstate"] == "54000"
        asked = {"statement": "SELECT count(s) FROM t"}
        assert client.post("/v1/query", json=asked).json()["rows"] == [[0]]
