"""What takes too long is ended, whatever else goes wrong."""

from __future__ import annotations

import threading
from contextlib import closing

from discreet.serve.gateway.deadlines import Deadlines


def test_an_action_that_fails_leaves_the_others_their_end():
    ended = threading.Event()

    def fail() -> None:
        raise RuntimeError

    with closing(Deadlines()) as deadlines:
        with deadlines.limit(0.01, fail):
            ended.wait(0.1)
        with deadlines.limit(0.01, ended.set):
            assert ended.wait(60)


def test_what_heard_nothing_the_first_time_is_told_again():
    """An engine is interrupted between two queries, and goes on with the second."""
    told, ended = list[int](), threading.Event()

    def stop() -> None:
        told.append(len(told))
        if len(told) == 3:
            ended.set()

    with closing(Deadlines()) as deadlines, deadlines.limit(0.01, stop):
        assert ended.wait(60)
