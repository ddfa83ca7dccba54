"""Reading a statement is bounded work: counted in its limit, in turns, and never at others' expense."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from bench.verify.parse_bombs import BOMBS, World

from discreet.errors import StatementFailed
from discreet.server.gateway.large_statements import LARGE, ParseQueue

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def go_on() -> None:
    pass


def test_a_user_rests_as_long_as_a_turn_took_and_others_need_not():
    clock = Clock()
    turns = ParseQueue(clock)
    with turns.turn("bomber", seconds=60, check=go_on):
        clock.now += 8

    def wait() -> None:
        clock.now += 1  # one second for each look

    with turns.turn("reader", seconds=60, check=wait):
        assert clock.now == 108
    with turns.turn("bomber", seconds=60, check=wait):
        assert clock.now == 116


def test_waiting_for_a_turn_ends_with_the_limit_or_when_canceled():
    clock = Clock()
    turns = ParseQueue(clock)
    with turns.turn("bomber", seconds=60, check=go_on):
        clock.now += 50

    def wait() -> None:
        clock.now += 10

    with (
        pytest.raises(StatementFailed, match="statement timeout") as late,
        turns.turn("bomber", seconds=20, check=wait),
    ):
        pass
    assert late.value.sqlstate == "57014"

    def cancel() -> None:
        raise StatementFailed("57014", "canceling statement due to user request")

    with (
        pytest.raises(StatementFailed, match="user request"),
        turns.turn("bomber", seconds=20, check=cancel),
    ):
        pass


def test_large_statements_are_read_one_at_a_time():
    turns, inside, most = ParseQueue(), [], []

    def take(user: str) -> None:
        with turns.turn(user, seconds=60, check=go_on):
            inside.append(user)
            most.append(len(inside))
            inside.remove(user)

    threads = [threading.Thread(target=take, args=(f"u{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] * 8


def test_another_user_gets_on_while_bombs_are_read(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    world = World(tmp_path / "data")
    try:
        bombs = [BOMBS[name](LARGE * 2) for name in ("rows", "list", "sum", "in")]
        sent, answered = world.progress(bombs, sessions=3, seconds=1.5)
    finally:
        world.server.close()
    assert sent >= 3
    assert answered >= 3


def test_the_time_to_read_a_statement_counts_in_its_limit(server, connect):
    session = connect(server).session
    session.state.variables.set("statement_timeout", "1ms")
    with pytest.raises(StatementFailed, match="statement timeout") as late:
        session.split("SELECT " + ",".join(["1"] * 1500))
    assert late.value.sqlstate == "57014"


def test_views_of_views_and_wide_results_are_bounded(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE v0 (a integer)")
    for number in range(1, 8):
        before = f"v{number - 1}"
        admin.run(
            f"CREATE VIEW v{number} AS SELECT x.a FROM {before} AS x JOIN {before} AS y ON x.a = y.a"
        )
    for text, sqlstate in (
        ("SELECT x.a FROM v7 AS x, v7 AS y", "54000"),
        ("SELECT " + ", ".join(["a"] * 1665) + " FROM v0", "54011"),
        ("SELECT 1 FROM " + ", ".join(f"v0 AS t{number}" for number in range(257)), "54000"),
    ):
        with pytest.raises(StatementFailed) as failed:
            admin.run(text)
        assert failed.value.sqlstate == sqlstate


def test_subqueries_that_an_engine_cannot_plan_in_time_are_refused(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE v0 (a integer)")
    for number, before in enumerate(("v0", "v1", "v2"), start=1):
        nest = "(SELECT " * 4 + f"max(a) FROM {before}" + ")" * 4
        admin.run(f"CREATE VIEW v{number} AS SELECT {nest} AS a")
    admin.run("SELECT " + "(SELECT " * 9 + "1" + ")" * 9)
    for text in (
        "SELECT " + "(SELECT " * 30 + "1" + ")" * 30,
        "SELECT 1 FROM v0 WHERE " + "EXISTS (SELECT 1 WHERE " * 30 + "true" + ")" * 30,
        "SELECT " + "(SELECT " * 30 + "max(oid)" + ")" * 30 + " FROM pg_class",
        "SELECT (SELECT a FROM v3)",
        "UPDATE v0 SET a = (SELECT a FROM v3)",
    ):
        with pytest.raises(StatementFailed) as failed:
            admin.run(text)
        assert failed.value.sqlstate == "54001"


@pytest.mark.soak
def test_five_thousand_rows_of_ten_values_are_inserted(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE wide (" + ", ".join(f"c{number} text" for number in range(10)) + ")")
    row = "(" + ", ".join(f"'cell {number}'" for number in range(10)) + ")"
    outcome = admin.run("INSERT INTO wide VALUES " + ", ".join([row] * 5000))
    assert outcome.tag == "INSERT 0 5000"
    assert admin.rows("SELECT count(*) FROM wide") == [(5000,)]
