"""Failures make waits longer; no wait is forever, and strangers cannot keep an administrator out."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.guard.identity.conftest import PASSWORD, START, IdentityFixture

from discreet.errors import LoginFailed
from discreet.guard.control import ControlStore
from discreet.guard.identity.lockout import KIND, Lockout, LockoutLimits, LoginAttempt

if TYPE_CHECKING:
    from pathlib import Path

STRANGER = "198.51.100.66"
LIMITS = LockoutLimits(free=3, most=6, lock=timedelta(minutes=15), shared=5)


class Gate:
    """A lockout whose clock tests move."""

    def __init__(self, documents: ControlStore, limits: LockoutLimits = LIMITS) -> None:
        self.lockout = Lockout(documents, secret=b"s" * 32, limits=limits)
        self.now: datetime = START

    def fail(self, user: str = "alice", address: str = STRANGER, **more: bool) -> bool:
        return self.lockout.settle(
            LoginAttempt(user, address, **more), is_right=False, now=self.now
        )

    def succeed(self, user: str = "alice", address: str = STRANGER, **more: bool) -> bool:
        return self.lockout.settle(LoginAttempt(user, address, **more), is_right=True, now=self.now)

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)


@pytest.fixture
def gate(documents: ControlStore) -> Gate:
    return Gate(documents)


def test_a_few_failures_are_free_and_success_forgets_them(gate: Gate):
    for _ in range(5):
        gate.fail()
        gate.fail()
        assert gate.succeed()


def test_waits_double_and_then_lock_for_a_while(gate: Gate):
    waits = []
    for _ in range(6):
        gate.fail("alice", "203.0.113.1")
        start = gate.now
        while gate.lockout.is_blocked(LoginAttempt("alice", STRANGER), now=gate.now):
            gate.wait(seconds=1)
        waits.append((gate.now - start).total_seconds())
    assert waits == [0, 0, 1, 2, 4, 900]


def test_the_right_password_does_not_end_a_wait(gate: Gate):
    for _ in range(3):
        gate.fail()
    assert not gate.succeed()
    gate.wait(seconds=1)
    assert gate.succeed()


def test_tries_during_a_wait_do_not_lengthen_it(gate: Gate):
    for _ in range(50):
        gate.fail()
    gate.wait(seconds=1)
    assert gate.succeed()


def test_a_stranger_cannot_keep_a_user_out_of_where_they_come_from(gate: Gate):
    assert gate.succeed(address="192.0.2.7")
    for _ in range(100):
        gate.fail(address=STRANGER)
        gate.wait(seconds=8)
    assert not gate.succeed(address=STRANGER)
    assert gate.succeed(address="192.0.2.7")


def test_no_user_is_locked_out_forever(gate: Gate):
    for _ in range(6):
        gate.fail(address="203.0.113.1")
        gate.wait(seconds=5)
    assert not gate.succeed()
    gate.wait(minutes=15)
    assert gate.succeed()


def test_a_clock_that_is_set_back_locks_no_user_out_for_longer(gate: Gate):
    for _ in range(20):
        gate.fail("alice")
        gate.wait(seconds=90)
    gate.fail("alice")
    gate.wait(days=-3)
    assert gate.succeed("alice")
    assert not any(gate.fail("bob") for _ in range(2))
    assert gate.succeed("bob")  # whose address was not charged with three days


def test_after_a_lock_waits_begin_with_the_first_failure(gate: Gate):
    for _ in range(6):
        gate.fail(address="203.0.113.1")
        gate.wait(seconds=5)
    gate.wait(minutes=15)
    gate.fail(address="203.0.113.2")
    assert gate.lockout.is_blocked(LoginAttempt("alice", STRANGER), now=gate.now)


def test_an_address_that_fails_with_many_users_must_wait(gate: Gate):
    for number in range(30):
        gate.fail(f"user{number}")
        gate.wait(seconds=0.1)
    assert not gate.succeed("bob")
    assert gate.succeed("bob", "203.0.113.9")


def test_people_who_share_an_address_may_mistype_now_and_then(gate: Gate):
    for number in range(200):
        gate.fail(f"user{number}")
        gate.wait(minutes=1)
    assert gate.succeed("bob")


def test_neighbors_in_one_ipv6_network_are_one_address(gate: Gate):
    for number in range(40):
        gate.fail(f"user{number}", f"2001:db8:0:1::{number:x}")
    assert not gate.succeed("bob", "2001:db8:0:1:ffff::1")
    assert gate.succeed("bob", "2001:db8:0:2::1")


def test_unknown_users_are_counted_alike_and_fill_no_store(gate: Gate, documents: ControlStore):
    for _ in range(3):
        gate.fail("eve", is_known=False)
    assert gate.lockout.is_blocked(LoginAttempt("eve", "192.0.2.1", is_known=False), now=gate.now)
    assert not any("eve" in name for name in documents.names(KIND))


def test_what_is_old_is_swept(gate: Gate, documents: ControlStore):
    gate.fail("bob")
    gate.succeed("alice", "192.0.2.7")
    gate.wait(days=2)
    gate.lockout.sweep(now=gate.now)
    assert documents.names(KIND) == ["user alice"]


def test_many_guesses_at_once_are_worth_no_more_than_in_turn(tmp_path: Path):
    """The right one among them counts only if it comes before the free failures are used up."""
    control = ControlStore(tmp_path / "control.sqlite")
    gate = Gate(control)
    for _ in range(3):
        gate.fail("alice", "203.0.113.5")
    entered: list[bool] = []

    def guess() -> None:
        entered.append(gate.succeed("alice", STRANGER))

    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    control.close()
    assert entered == [False] * 8


def test_a_lock_holds_for_both_front_ends(identity: IdentityFixture):
    authenticator = identity.authenticator(limits=LIMITS)
    for _ in range(3):
        with pytest.raises(LoginFailed):
            authenticator.check_password(identity.client(), "wrong")
    with pytest.raises(LoginFailed):
        authenticator.check_password(identity.client(), PASSWORD)
    assert identity.decisions[-1].reason == "right, but after too many failures"
    identity.wait(seconds=1)
    assert authenticator.check_password(identity.client(), PASSWORD) == "password"
