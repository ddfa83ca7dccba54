"""A mechanism of several steps is paid once, stored once, and the same when it is asked for again."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.answer.curators import hold

from discreet.answer.cancellation import CancelToken
from discreet.answer.curator import open_curator
from discreet.answer.mechanism import mechanism_terms, release_mechanism
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.budget import Price
from discreet.dp.ledger.ledger import Ledger
from discreet.errors import (
    BudgetExceeded,
    Bug,
    EngineFailed,
    QuestionRefused,
    StatementFailed,
    UndeclaredUnit,
    WrongUsage,
)
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.answer.coded_counts import CodedCounter
    from discreet.answer.mechanism import MechanismResult

PEOPLE = pa.table({"age": [number % 10 for number in range(200)]})
POLICY = """
tables:
  people:
    unit: row
    budget: {epsilon: 2, delta: 1e-6}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 9]}
"""
PRICE = Price(Fraction(1), Fraction(0), Fraction(1, 2), Fraction(0))
# In a process of its own: killed when budget is reserved and counts were taken.
KILLED = """
import os, signal, sys
from tests.answer.test_mechanism import ask
from discreet.answer.curator import open_curator
from discreet.policy.load import parse_policy
def killed(counter):
    counter.count([(0,)], None)
    os.kill(os.getpid(), signal.SIGKILL)
ask(open_curator(sys.argv[1], parse_policy(sys.argv[3]), ledger=sys.argv[2]), killed)
"""


def whole_number(cell: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=cell, expressions=[exp.Literal.number(0)])


def count_ages(counter: CodedCounter) -> bytes:
    (counts,) = counter.count([(0,)], None)
    return ",".join(map(str, counts)).encode()


def ask(
    curator: Any,
    mechanism: Callable[[CodedCounter], bytes] = count_ages,
    request: str = "{}",
    price: Price = PRICE,
    **options: Any,
) -> MechanismResult:
    return release_mechanism(
        curator,
        options.pop("table", "people"),
        [("age", whole_number, 10)],
        price=price,
        request=request,
        question="synthesize people",
        mechanism=mechanism,
        **options,
    )


def left(curator: Any) -> float:
    (account,) = curator.ledger.remaining(curator.ledger.accounts())
    return float(account.epsilon.left)


def test_the_same_request_is_free_and_the_same():
    with hold({"people": PEOPLE}, POLICY) as curator:
        first, again = ask(curator), ask(curator, lambda _: b"another draw")
        assert first.content == again.content == b"20" + b",20" * 9
        assert (first.cached, again.cached) == (False, True)
        assert (first.spent["epsilon"], again.spent["epsilon"]) == (1.0, 0.0)
        assert left(curator) == 1
        (entry,) = [one for one in curator.ledger.entries() if one.state != "limit"]
        assert (entry.question, entry.state) == ("synthesize people", "committed")


@pytest.mark.parametrize(
    "other", [{"request": "[]"}, {"price": Price(Fraction(1), Fraction(0), None, Fraction(0))}]
)
def test_another_request_is_paid_for(other):
    with hold({"people": PEOPLE}, POLICY) as curator:
        ask(curator)
        assert not ask(curator, **other).cached
        assert left(curator) == 0


def test_gaussian_noise_is_charged_as_that_of_a_question():
    epsilon, delta = Fraction(1), Fraction(1, 10**7)
    with hold({"people": PEOPLE}, POLICY) as curator:
        plan, _ = curator.plan(
            "SELECT count(*) FROM people", epsilon=1, delta="1e-7", noise="gaussian"
        )
    rho = rho_of_epsilon(epsilon, delta=delta)
    assert (plan.price.epsilon, plan.price.delta) == (epsilon, delta)
    assert plan.price.rho is not None
    assert rho * Fraction(99, 100) < plan.price.rho <= rho


def test_what_is_too_expensive_reads_nothing():
    with hold({"people": PEOPLE}, POLICY) as curator:
        with pytest.raises(BudgetExceeded):
            ask(curator, price=Price(Fraction(3), Fraction(0), None, Fraction(0)))
        assert curator.engine.queries == []
        assert curator.ledger.accounts() == []


def test_terms_are_known_before_anything_is_read():
    with hold({"people": PEOPLE}, POLICY) as curator:
        terms = mechanism_terms(curator, "people", [("age", whole_number, 10)])
        assert (terms.rows_per_unit, terms.remaining["epsilon"]) == (1, 2.0)
        assert curator.engine.queries == []
        assert curator.ledger.accounts() == []


def test_a_failure_before_the_first_count_can_be_repeated_for_free():
    def fail_early(_: CodedCounter) -> bytes:
        raise EngineFailed("early")

    with hold({"people": PEOPLE}, POLICY) as curator:
        with pytest.raises(EngineFailed, match="early"):
            ask(curator, fail_early)
        assert ask(curator).spent["epsilon"] == 0
        assert left(curator) == 1


@pytest.mark.parametrize(
    "error", [EngineFailed("late"), ValueError("quotes a cell"), MemoryError()]
)
def test_a_failure_after_noise_is_stored_and_quotes_nothing(error: Exception):
    def fail_late(counter: CodedCounter) -> bytes:
        counter.count([(0,)], None)
        raise error

    with hold({"people": PEOPLE}, POLICY) as curator:
        for mechanism in (fail_late, count_ages):
            with pytest.raises(EngineFailed, match="another epsilon") as raised:
                ask(curator, mechanism)
            assert "quotes" not in str(raised.value)
        assert left(curator) == 1


def test_an_unexpected_failure_before_noise_quotes_nothing():
    def fail_early(_: CodedCounter) -> bytes:
        raise ValueError("quotes a cell")

    with hold({"people": PEOPLE}, POLICY) as curator, pytest.raises(Bug) as raised:
        ask(curator, fail_early)
    assert "quotes" not in str(raised.value)


def test_an_interrupt_after_noise_is_stored_as_a_failure():
    def interrupted(counter: CodedCounter) -> bytes:
        counter.count([(0,)], None)
        raise KeyboardInterrupt

    with hold({"people": PEOPLE}, POLICY) as curator:
        with pytest.raises(KeyboardInterrupt):
            ask(curator, interrupted)
        with pytest.raises(EngineFailed, match="not tried again"):
            ask(curator)


def test_what_is_stopped_before_it_counts_is_charged_once_and_asked_again():
    stopped, late = CancelToken(), CancelToken()
    stopped.set()

    def stop_late(counter: CodedCounter) -> bytes:
        late.set()
        return count_ages(counter)

    with hold({"people": PEOPLE}, POLICY) as curator:
        for mechanism, stop in ((count_ages, stopped), (stop_late, late)):
            with pytest.raises(StatementFailed) as raised:
                ask(curator, mechanism, stop=stop)
            assert raised.value.sqlstate == "57014"
        assert ask(curator).content.startswith(b"20")
        assert left(curator) == 1


def test_what_is_stopped_between_looks_is_charged_and_not_tried_again():
    stop, looks = CancelToken(), []

    def stop_between(counter: CodedCounter) -> bytes:
        for _ in range(3):
            counter.count([(0,)], None)
            looks.append(1)
            stop.set()
        return b"done"

    with hold({"people": PEOPLE}, POLICY) as curator:
        with pytest.raises(StatementFailed, match="canceling") as raised:
            ask(curator, stop_between, stop=stop)
        assert "was charged" in raised.value.hint
        assert len(looks) == 1
        with pytest.raises(EngineFailed, match="was stopped after noise was drawn"):
            ask(curator)
        assert left(curator) == 1


def test_what_is_stopped_after_its_last_look_is_kept():
    stop = CancelToken()

    def stop_at_the_end(counter: CodedCounter) -> bytes:
        found = count_ages(counter)
        stop.set()
        return found

    with hold({"people": PEOPLE}, POLICY) as curator:
        assert ask(curator, stop_at_the_end, stop=stop).content.startswith(b"20")


def test_coded_rows_are_dropped_at_the_end():
    dropped: list[Any] = []
    with hold({"people": PEOPLE}, POLICY) as curator:
        drop = curator.engine._engine.drop
        curator.engine.drop = lambda relation: (dropped.append(relation), drop(relation))
        ask(curator)
    assert len(dropped) == 1


def test_two_processes_that_ask_the_same_pay_once_and_get_the_same(tmp_path: Path):
    both, draws = threading.Barrier(2, timeout=60), iter("ab")

    def drawn(counter: CodedCounter) -> bytes:
        both.wait()
        return count_ages(counter) + next(draws).encode()

    curators = [hold({"people": PEOPLE}, POLICY) for _ in range(2)]
    for curator in curators:
        curator.ledger = Ledger(tmp_path / "ledger.db")
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda curator: ask(curator, drawn), curators))
    assert found[0].content == found[1].content
    assert sorted(one.spent["epsilon"] for one in found) == [0, 1]
    assert left(curators[0]) == 1


def test_a_killed_process_has_paid_and_is_completed_for_free(tmp_path: Path):
    source, ledger = tmp_path / "people.csv", tmp_path / "ledger.db"
    source.write_text("age\n" + "\n".join(map(str, PEOPLE["age"].to_pylist())))
    killed = subprocess.run([sys.executable, "-c", KILLED, source, ledger, POLICY], check=False)
    assert killed.returncode == -signal.SIGKILL
    with open_curator(source, parse_policy(POLICY), ledger=ledger) as curator:
        assert left(curator) == 1
        found = ask(curator)
        assert found.content.startswith(b"20")
        assert (found.spent["epsilon"], found.cached, left(curator)) == (0, False, 1)
        assert ask(curator).cached


def test_a_table_whose_unit_is_in_doubt_is_refused_before_it_is_paid():
    people = PEOPLE.append_column("person_id", PEOPLE["age"])
    policy = POLICY.replace("    unit: row\n", "").replace(
        "    columns:", "    columns:\n      person_id: {role: identifier, kind: integer}"
    )
    with hold({"people": people}, policy) as curator:
        with pytest.raises(UndeclaredUnit):
            ask(curator)
        assert curator.ledger.accounts() == []


def test_a_public_table_and_an_unnamed_one_are_refused():
    public = "tables: {people: {public: true, columns: {age: {role: insensitive, kind: integer}}}}"
    with hold({"people": PEOPLE}, public) as curator, pytest.raises(QuestionRefused):
        ask(curator)
    with hold({"people": PEOPLE}, POLICY) as curator, pytest.raises(WrongUsage, match="people"):
        ask(curator, table=None)
