"""A cancelled or killed question asked again has the noise that was drawn first."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.answer.curators import hold

from discreet.answer import finish, payment
from discreet.answer.cancellation import CancelToken
from discreet.answer.curator import open_curator
from discreet.answer.perturb import ReleasedTable
from discreet.answer.released_format import pack_released, unpack_released
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.noise import system_noise
from discreet.errors import EngineFailed, StatementFailed
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.answer.curator import Curator

PEOPLE = pa.table({"age": [number % 10 for number in range(200)]})
POLICY = """
tables:
  people:
    budget: {epsilon: 2}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 9]}
"""
COUNTS = "SELECT age, count(*) AS n FROM people GROUP BY age"
# An outer query whose time depends on a noisy number: 10 to the power of 9 pairs, or none.
SLOW = f"""
WITH g AS ({COUNTS})
SELECT sum(a.n * b.n) AS s FROM g AS a, g AS b, g AS c, g AS d, g AS e, g AS f, g AS h, g AS i, g AS j
WHERE j.n + a.n > -1000
"""
# In a process of its own: killed when the noise is in the ledger and the outer query is to run.
KILLED = """
import os, signal, sys
from discreet.answer import curator, finish
from types import SimpleNamespace
from discreet.policy.load import parse_policy
kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
curator.finish = SimpleNamespace(**{**vars(finish), "compute_answer": kill})  # not where it plans
held = curator.open_curator(sys.argv[1], parse_policy(sys.argv[3]), ledger=sys.argv[2])
held.ask(sys.argv[4], epsilon=1)
"""


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count how often noise is begun to be drawn, and draw it."""
    found: list[int] = []

    def drawn() -> Any:
        found.append(1)
        return system_noise()

    monkeypatch.setattr(payment, "system_noise", drawn)
    return found


def left(curator: Curator) -> float:
    (account,) = curator.ledger.remaining(curator.ledger.accounts())
    return float(account.epsilon.left)


def test_a_question_cancelled_in_the_outer_query_has_the_same_noise_when_asked_again(draws):
    curator, stop = hold({"people": PEOPLE}, POLICY), CancelToken()
    run = curator._home.run

    def stopped(*arguments: Any, **options: Any) -> Any:
        stop.set()
        return run(*arguments, **options)

    with pytest.MonkeyPatch.context() as slow:
        curator.plan(SLOW, epsilon=1)
        slow.setattr(curator._home, "run", stopped)
        with pytest.raises(StatementFailed) as cancelled:
            curator.ask(SLOW, epsilon=1, stop=stop)
    assert cancelled.value.sqlstate == "57014"
    with pytest.MonkeyPatch.context() as quick:
        quick.setattr(
            finish,
            "compute_answer",
            lambda *_, **__: (_ for _ in ()).throw(EngineFailed("late")),
        )
        with pytest.raises(EngineFailed, match="was charged"):
            curator.ask(SLOW, epsilon=1)
    assert len(draws) == 1
    assert left(curator) == 1


def test_a_cancel_while_noise_is_drawn_waits_until_the_ledger_has_it(monkeypatch):
    curator, stop = hold({"people": PEOPLE}, POLICY), CancelToken()
    drawn: list[int] = []

    def stopping() -> Any:
        drawn.append(1)
        stop.set()
        return system_noise()

    monkeypatch.setattr(payment, "system_noise", stopping)
    with pytest.raises(StatementFailed):
        curator.ask(COUNTS, epsilon=1, stop=stop)
    assert curator.ask(COUNTS, epsilon=1).cached
    assert len(drawn) == 1


@pytest.mark.parametrize("error", [MemoryError, ValueError, KeyboardInterrupt])
def test_noise_that_cannot_be_drawn_is_not_drawn_again(monkeypatch, error: type[BaseException]):
    curator = hold({"people": PEOPLE}, POLICY)
    drawn: list[int] = []

    def failing() -> Any:
        drawn.append(1)
        raise error

    monkeypatch.setattr(payment, "system_noise", failing)
    with pytest.raises((EngineFailed, KeyboardInterrupt)):
        curator.ask(COUNTS, epsilon=1)
    with pytest.raises(EngineFailed, match="could not be added"):
        curator.ask(COUNTS, epsilon=1)
    assert len(drawn) == 1


def test_a_question_killed_before_the_outer_query_has_the_same_noise(tmp_path: Path, draws):
    source, ledger_path = tmp_path / "people.csv", tmp_path / "ledger.db"
    source.write_text("age\n" + "\n".join(map(str, PEOPLE["age"].to_pylist())))
    question = f"SELECT n FROM ({COUNTS}) AS g ORDER BY n"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, source, ledger_path, POLICY, question], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    ledger = Ledger(ledger_path)
    (entry,) = [entry for entry in ledger.entries() if entry.state != "limit"]
    assert entry.state == "committed"
    with open_curator(source, parse_policy(POLICY), ledger=ledger_path) as curator:
        result = curator.ask(question, epsilon=1)
    assert result.cached
    assert result.remaining["epsilon"] == 1
    assert not draws


def test_two_processes_that_ask_the_same_release_the_same_noise(tmp_path: Path, monkeypatch):
    both = threading.Barrier(2, timeout=60)

    def drawn() -> Any:
        both.wait()
        return system_noise()

    monkeypatch.setattr(payment, "system_noise", drawn)
    curators = [hold({"people": PEOPLE}, POLICY) for _ in range(2)]
    for curator in curators:
        curator.ledger = Ledger(tmp_path / "ledger.db")
    with ThreadPoolExecutor(2) as pool:
        result = list(pool.map(lambda curator: curator.ask(COUNTS, epsilon=1), curators))
    assert result[0].rows == result[1].rows
    assert result[0].remaining["epsilon"] == 1


def test_a_limit_of_rows_is_no_oracle_about_fresh_noise(draws):
    question = f"SELECT n FROM ({COUNTS}) AS g WHERE n > 19"
    curator = hold({"people": PEOPLE}, POLICY, most_rows=1)
    outcomes = set()
    for _ in range(5):
        curator._answers.clear()
        try:
            outcomes.add(str(curator.ask(question, epsilon=1).rows))
        except EngineFailed:
            outcomes.add("too many")
    assert len(outcomes) == len(draws) == 1


def test_released_tables_come_back_as_they_were():
    leaves = {
        "leaf": ReleasedTable(pa.table({"k0": ["a", None], "a0": [1, -2], "a0_0": [1.5, 2.5]}), 1),
        "other": ReleasedTable(pa.table({"discreet_nothing": pa.nulls(3)}), 0),
        "none": ReleasedTable(pa.table({"a0": pa.array([], pa.float64())}), 2),
    }
    found = unpack_released(pack_released(leaves))
    assert list(found) == list(leaves)
    assert all(found[name].table.equals(leaf.table) for name, leaf in leaves.items())
    assert all(found[name].shifts == leaf.shifts for name, leaf in leaves.items())
