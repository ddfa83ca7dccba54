"""What takes too long is ended, whatever else goes wrong."""

from __future__ import annotations

import threading
from contextlib import closing

from discreet.server.gateway.deadlines import Deadlines


def test_an_action_that_fails_leaves_the_others_their_end():
    ended = threading.Event()

    def fail() -> None:
        raise RuntimeError

    with closing(Deadlines()) as deadlines:
        with deadlines.limit(0.01, fail):
            ended.wait(0.1)
        with deadlines.limit(0.01, ended.set):
            assert ended.wait(60)


def test_an_interrupt_that_had_no_effect_is_repeated():
    """An engine is interrupted between two queries, and goes on with the second."""
    result, ended = list[int](), threading.Event()

    def stop() -> None:
        result.append(len(result))
        if len(result) == 3:
            ended.set()

    with closing(Deadlines()) as deadlines, deadlines.limit(0.01, stop):
        assert ended.wait(60)


def test_an_action_that_takes_long_keeps_only_its_own_statement_waiting():
    acting, may_end, order = threading.Event(), threading.Event(), []

    def end_slowly() -> None:
        acting.set()
        may_end.wait(60)
        order.append("ended")

    def run() -> None:
        with deadlines.limit(0.001, end_slowly):
            acting.wait(60)
        order.append("next statement")

    def run_beside() -> None:
        with deadlines.limit(60, end_slowly):
            pass

    with closing(Deadlines()) as deadlines:
        slow = threading.Thread(target=run)
        slow.start()
        assert acting.wait(60)
        other = threading.Thread(target=run_beside)
        other.start()
        other.join(60)
        is_stuck = other.is_alive()
        may_end.set()
        slow.join(60)
    assert not is_stuck
    assert order == ["ended", "next statement"]
