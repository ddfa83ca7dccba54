"""Questions that no one waits for anymore end, wherever they are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.answer.cancellation import CancelToken
from discreet.errors import EngineFailed, StatementFailed

PEOPLE = pa.table({"age": [1, 2, 3]})
POLICY = """
tables:
  people:
    budget: {epsilon: 2}
    columns:
      age: {role: quasi-identifier, bounds: [0, 9]}
"""
PAIRS = (
    "WITH g AS (SELECT age, count(*) AS n FROM people GROUP BY age) SELECT a.n FROM g AS a, g AS b"
)


class Busy:
    """An engine that works until it was interrupted twice: the first time it is between two queries."""

    def __init__(self) -> None:
        self.count, self.done = 0, threading.Event()

    def interrupt(self) -> None:
        self.count += 1
        if self.count == 2:
            self.done.set()


def test_who_waits_for_a_turn_can_be_stopped():
    lock, stop = threading.Lock(), CancelToken()
    lock.acquire()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: stop.turn(lock).__enter__())
        stop.set()
        with pytest.raises(StatementFailed) as stopped:
            waiting.result(60)
    assert stopped.value.sqlstate == "57014"
    assert lock.locked()


def test_an_engine_is_stopped_until_it_stops():
    lock, stop, engine = threading.Lock(), CancelToken(), Busy()
    with stop.turn(lock, engine):
        stop.set()
        assert engine.done.wait(60)
    assert not lock.locked()


def test_a_stopped_question_is_charged_once_and_answered_when_asked_again():
    stop = CancelToken()
    stop.set()
    curator = hold({"people": PEOPLE}, POLICY)
    with pytest.raises(StatementFailed):
        curator.ask("SELECT count(*) FROM people", epsilon=1, stop=stop)
    output = curator.ask("SELECT count(*) FROM people", epsilon=1)
    assert output.remaining["epsilon"] == 1


def test_an_answer_of_too_many_rows_is_charged_and_not_made():
    curator = hold({"people": PEOPLE}, POLICY, most_rows=99)
    for _ in range(2):
        with pytest.raises(EngineFailed, match="too many rows"):
            curator.ask(PAIRS, epsilon=1)
    assert len(curator.ask(f"{PAIRS} LIMIT 99", epsilon=1).rows) == 99
