"""Questions end when their time is over or are canceled, and do not affect others."""

from __future__ import annotations

import threading

import pytest

from discreet.engines.duckdb import call_duckdb
from discreet.engines.duckdb.served import DuckDBReader
from discreet.errors import StatementFailed

QUESTION = "SELECT count(*) FROM patients"
LONG = "SELECT count(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range < b.range"


@pytest.fixture
def analyst(hospital, connect):
    """A user who may only ask."""
    admin = connect(hospital)
    admin.run("CREATE USER analyst")
    admin.run("GRANT AGGREGATE ON patients TO analyst WITH BUDGET (EPSILON 2, DELTA 1e-6)")
    return lambda: connect(hospital, "analyst", **{"discreet.epsilon": "0.5"})


@pytest.fixture
def slow(monkeypatch):
    """Let the engine of questions work for hours, until the test says otherwise."""
    started, is_slow, run = threading.Event(), [True], DuckDBReader.run

    def slowly(self, query):
        if is_slow[0]:
            started.set()
            call_duckdb(lambda: self._connection.execute(LONG).fetchall())
        return run(self, query)

    monkeypatch.setattr(DuckDBReader, "run", slowly)
    return started, is_slow


def test_a_question_ends_with_its_time_and_costs_once(analyst, slow):
    client = analyst()
    client.run("SET statement_timeout = '200ms'")
    with pytest.raises(StatementFailed) as failed:
        client.run(QUESTION)
    assert failed.value.sqlstate == "57014"
    assert str(failed.value) == "canceling statement due to statement timeout"
    slow[1][0] = False
    client.run("RESET statement_timeout")
    assert "Left: epsilon 1.5" in client.run(QUESTION).notices[0].message


def test_canceling_a_waiting_statement_stops_only_that_one(analyst, slow):
    first, second = analyst(), analyst()
    result: list[StatementFailed] = []

    def ask() -> None:
        try:
            first.run(QUESTION)
        except StatementFailed as error:
            result.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert slow[0].wait(60)
    second.run("SET statement_timeout = '200ms'")
    with pytest.raises(StatementFailed) as failed:
        second.run(QUESTION)
    assert failed.value.sqlstate == "57014"
    assert not result
    assert thread.is_alive()
    first.session.cancel()
    thread.join(60)
    assert [error.sqlstate for error in result] == ["57014"]
