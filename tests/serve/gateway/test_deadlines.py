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
            assert ended.wait(5)
