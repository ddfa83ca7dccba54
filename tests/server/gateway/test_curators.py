"""Curators are shared between sessions: none is closed while in use, and none stays open."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from discreet.server.gateway.curator_pool import CuratorPool


class Stand:
    """Stands for a curator: knows whether it was closed, and whether its database is lost."""

    def __init__(self) -> None:
        self.engine = SimpleNamespace(is_lost=False)
        self.closed = 0

    def leave(self) -> None:
        self.closed += 1


def test_one_that_is_pushed_out_is_closed_when_the_last_user_is_done():
    curators, first, second = CuratorPool(1), Stand(), Stand()
    with curators.borrow("a", lambda: first):
        with curators.borrow("a", Stand) as same:
            with curators.borrow("b", lambda: second):
                assert same is first
            assert first.closed == 0
        assert first.closed == 0
    assert (first.closed, second.closed) == (1, 0)


def test_one_whose_database_is_lost_is_not_lent_again_and_closed_after_use():
    curators, first, second = CuratorPool(2), Stand(), Stand()
    with curators.borrow("a", lambda: first):
        first.engine.is_lost = True
        with curators.borrow("a", lambda: second) as other:
            assert other is second
        assert first.closed == 0
    assert (first.closed, second.closed) == (1, 0)


def test_closing_closes_each_once_and_those_in_use_later():
    curators, first, second = CuratorPool(2), Stand(), Stand()
    with curators.borrow("a", lambda: first), curators.borrow("b", lambda: second):
        pass
    with curators.borrow("a", Stand):
        curators.close()
        assert (first.closed, second.closed) == (0, 1)
    curators.close()
    assert (first.closed, second.closed) == (1, 1)


def test_what_fails_to_open_leaves_nothing_behind():
    curators = CuratorPool(1)
    with pytest.raises(ZeroDivisionError), curators.borrow("a", lambda: 1 / 0):
        pass
    with curators.borrow("a", Stand) as found:
        assert found.closed == 0


def test_many_threads_with_few_places_never_meet_a_closed_one():
    curators, made, lock = CuratorPool(2), [], threading.Lock()

    def make() -> Stand:
        with lock:
            made.append(Stand())
            return made[-1]

    def use(number: int) -> int:
        with curators.borrow(number % 5, make) as found:
            before = found.closed
            threading.Event().wait(0.0005)
            return before + found.closed

    with ThreadPoolExecutor(8) as pool:
        assert not any(pool.map(use, range(400)))
    curators.close()
    assert all(stand.closed == 1 for stand in made)


def test_askers_who_push_out_each_others_curators_are_all_answered(hospital, connect, monkeypatch):
    monkeypatch.setattr(hospital.server.context.private_answers, "_curators", CuratorPool(1))
    admin = connect(hospital)
    names = ["ann", "ben", "cem", "dot"]
    for name in names:
        admin.run(f"CREATE USER {name}")
        admin.run(f"GRANT AGGREGATE ON patients TO {name} WITH BUDGET (EPSILON 1)")
    clients = [connect(hospital, name) for name in names]

    def ask(client) -> int:
        client.run("SET discreet.epsilon = 0.1")
        found = [
            client.rows(f"SELECT count(*) FROM patients WHERE salary > {step}") for step in range(4)
        ]
        return len(found)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, clients)) == [4, 4, 4, 4]
