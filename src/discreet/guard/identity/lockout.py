"""Lockout: repeated failures cause longer and longer waits, up to a quarter of an hour.

A password is always checked, and counts only if there were not too many failures meanwhile: many
guesses at once gain no more than one after the other, and a wait takes as long as a wrong password.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

KIND = "attempts"
_PLACES = 4096  # counters for unknown users, which must not fill the store
_ADDRESSES_KNOWN = 8
_FORGOTTEN_AFTER = timedelta(days=1)
_SWEPT_ONE_IN = 256


@dataclass(frozen=True)
class LockoutLimits:
    """How many failures have no effect, after how many more it locks, and for how long.

    An address may fail `shared` times as often as a user: many people can share one.
    """

    free: int = 3
    most: int = 10
    lock: timedelta = timedelta(minutes=15)
    shared: int = 5

    def wait(self, failures: int, *, times: int = 1) -> timedelta:
        """Return how long logins are refused after so many failures."""
        free, most = self.free * times, self.most * times
        if failures < free:
            return timedelta()
        if failures >= most:
            return self.lock
        return min(timedelta(seconds=2 ** min(failures - free, 20)), self.lock)


@dataclass(frozen=True)
class LoginAttempt:
    """A login attempt: its user and address; `is_known` is whether the user exists."""

    user: str
    address: str
    is_known: bool = True


class Lockout:
    """Counts failures per user and per address, in the control store.

    A user's lock does not apply to addresses from which they logged in before, so that a stranger
    cannot lock out an administrator; the address has a counter of its own.
    """

    def __init__(
        self, documents: Documents, *, secret: bytes, limits: LockoutLimits | None = None
    ) -> None:
        self._documents, self._secret = documents, secret
        self._limits = LockoutLimits() if limits is None else limits

    def settle(self, attempt: LoginAttempt, *, is_right: bool, now: datetime) -> bool:
        """Count an attempt that was checked; return whether it may be accepted."""
        if self.is_blocked(attempt, now=now):
            return False
        if is_right:
            self._record_success(attempt, now=now)
            return True
        for name, times in self._attempt_counters(attempt):
            self._count_failure(name, times=times, now=now)
        if secrets.randbelow(_SWEPT_ONE_IN) == 0:
            self.sweep(now=now)
        return False

    def is_blocked(self, attempt: LoginAttempt, *, now: datetime) -> bool:
        """Return whether this user, or this address, must wait."""
        user, address = (
            self._documents.get(KIND, name) for name, _ in self._attempt_counters(attempt)
        )
        # Both are read, whatever the first result.
        is_user_blocked = self._is_waiting(user, now) and attempt.address not in _known_addresses(
            user
        )
        return self._is_waiting(address, now) or is_user_blocked

    def fail_address(self, address: str, *, now: datetime) -> None:
        """Count a failure that names no user, such as a wrong token."""
        self._count_failure(self._address_counter(address), times=self._limits.shared, now=now)

    def is_address_blocked(self, address: str, *, now: datetime) -> bool:
        """Return whether this address must wait."""
        return self._is_waiting(self._documents.get(KIND, self._address_counter(address)), now)

    def clear(self, user: str) -> None:
        """Delete a user's failures."""
        self._documents.delete(KIND, self._user_counter(LoginAttempt(user, "")))

    def sweep(self, *, now: datetime) -> None:
        """Delete counters that did not change for a day."""
        for name in self._documents.names(KIND):
            found = self._documents.get(KIND, name)
            if found and not found.get("known") and _is_stale(found, now):
                self._documents.update(
                    KIND, name, lambda old: None if old and _is_stale(old, now) else old
                )

    def _attempt_counters(self, attempt: LoginAttempt) -> tuple[tuple[str, int], tuple[str, int]]:
        return (
            (self._user_counter(attempt), 1),
            (self._address_counter(attempt.address), self._limits.shared),
        )

    def _user_counter(self, attempt: LoginAttempt) -> str:
        if attempt.is_known:
            return f"user {attempt.user}"
        name = attempt.user.encode("utf-8", "surrogatepass")
        place = int.from_bytes(hmac.digest(self._secret, name, hashlib.sha256)[:4], "big") % _PLACES
        return f"unknown {place}"

    def _address_counter(self, address: str) -> str:
        """Return the counter of an address; IPv6 is counted by /64, of which one client has all."""
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"address {address[:100]}"
        if found.version == 6 and found.ipv4_mapped is None:
            return f"address {ipaddress.ip_network((found, 64), strict=False)}"
        return f"address {getattr(found, 'ipv4_mapped', None) or found}"

    def _count_failure(self, name: str, *, times: int, now: datetime) -> None:
        def change(old: Mapping[str, Any] | None) -> Mapping[str, Any]:
            least = self._limits.free * times
            is_over = not self._is_waiting(old, now)
            failures = _counted_failures(
                old, now=now, least=least, is_shared=times > 1, is_over=is_over
            )
            wait = self._limits.wait(failures + 1, times=times)
            return {
                "failures": failures + 1,
                "at": now.isoformat(),
                "until": (now + wait).isoformat(),
                "is_locked": failures + 1 >= self._limits.most * times,
                "known": list(_known_addresses(old)),
            }

        self._documents.update(KIND, name, change)

    def _is_waiting(self, found: Mapping[str, Any] | None, now: datetime) -> bool:
        """Return whether a wait is not over; a wait that is far too long means a clock was set back."""
        if found is None:
            return False
        return now < datetime.fromisoformat(found["until"]) <= now + 2 * self._limits.lock

    def _record_success(self, attempt: LoginAttempt, *, now: datetime) -> None:
        name = self._user_counter(attempt)
        found = self._documents.get(KIND, name)
        if (
            found is not None
            and not found["failures"]
            and attempt.address in _known_addresses(found)
        ):
            return

        def change(old: Mapping[str, Any] | None) -> Mapping[str, Any]:
            others = [address for address in _known_addresses(old) if address != attempt.address]
            known = [*others, attempt.address][-_ADDRESSES_KNOWN:]
            return {"failures": 0, "at": now.isoformat(), "until": now.isoformat(), "known": known}

        self._documents.update(KIND, name, change)


def _counted_failures(
    old: Mapping[str, Any] | None, *, now: datetime, least: int, is_shared: bool, is_over: bool
) -> int:
    """Return how many failures still count.

    After a lock, waits start at once and grow again. A shared address is forgiven one failure each
    minute: some of its users always mistype.
    """
    if old is None or _is_stale(old, now):
        return 0
    count = int(old["failures"])
    if old.get("is_locked") and is_over:
        count = min(count, least)
    if is_shared:
        count -= max((now - datetime.fromisoformat(old["at"])) // timedelta(minutes=1), 0)
    return max(count, 0)


def _is_stale(found: Mapping[str, Any], now: datetime) -> bool:
    return now - datetime.fromisoformat(found["at"]) > _FORGOTTEN_AFTER


def _known_addresses(found: Mapping[str, Any] | None) -> tuple[str, ...]:
    return () if found is None else tuple(found.get("known", ()))
