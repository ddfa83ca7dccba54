"""How sessions are counted, opened and ended."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import StatementFailed, StoreFailed
from discreet.server.settings import read_settings
from discreet.server.startup import open_server


def fail(_: object) -> None:
    """Be a journal that takes nothing."""
    raise StoreFailed("The journal is full.")


@pytest.fixture
def admin(server, connect):
    client = connect(server)
    client.run("CREATE USER one CONNECTION LIMIT 1")
    return client


def test_two_who_come_at_once_do_not_both_get_the_last_place(
    admin, server, connect, monkeypatch: pytest.MonkeyPatch
):
    both, opened = threading.Barrier(2, timeout=10), server.server.database.connect

    def wait_for_the_other():
        both.wait()
        return opened()

    monkeypatch.setattr(server.server.database, "connect", wait_for_the_other)
    with ThreadPoolExecutor(2) as pool:
        entering = [pool.submit(connect, server, "one") for _ in range(2)]
        failures = [each.exception() for each in entering]
    refused = next(each for each in failures if each is not None)
    assert isinstance(refused, StatementFailed)
    assert refused.sqlstate == "53300"
    assert None in failures


def test_a_place_is_free_again_when_its_session_ends(admin, server, connect):
    connect(server, "one").session.close()
    connect(server, "one")


def test_a_session_that_the_journal_cannot_take_is_not_open(
    admin, server, connect, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as broken:
        broken.setattr(server.server.journal, "record", fail)
        with pytest.raises(StoreFailed):
            connect(server, "one")
    assert server.server.sessions == 1
    connect(server, "one")


def test_a_server_that_ends_without_its_journal_lets_go_of_its_data(tmp_path, connect, monkeypatch):
    settings = read_settings(tmp_path / "data", port=0)
    first = open_server(settings)
    connect(first)
    connect(first)
    monkeypatch.setattr(first.server.journal, "record", fail)
    with pytest.raises(StoreFailed):
        first.server.close()
    assert first.server.sessions == 0
    open_server(settings).server.close()


def test_records_of_reads_that_are_answered_together_become_durable_together(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE t (n int)")
    read, write = (
        admin.session.prepare(admin.session.split(text)[0])
        for text in ("SELECT n FROM t", "INSERT INTO t VALUES (1)")
    )
    journal = server.server.journal
    admin.session.run(read)
    before = journal.size()
    admin.session.defer_records()
    for _ in range(5):
        admin.session.run(read)
    assert journal.size() == before
    admin.session.settle()
    assert journal.size() == before + 5
    admin.session.defer_records()
    admin.session.run(read)
    admin.session.run(write)  # on record before it is committed, with what came before
    assert journal.size() == before + 7
    admin.session.settle()
