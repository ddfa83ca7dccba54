"""Passwords: which are accepted, and argon2id hashes for logins that send them in clear over TLS."""

from __future__ import annotations

import secrets
from functools import cache
from typing import TYPE_CHECKING

from discreet.errors import MissingExtra, WrongUsage
from discreet.guard.identity.scram import normalize_password, saslprep

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST_LENGTH = 8
LONGEST = 1024
# As OWASP recommends for servers (19 MiB, two passes): many logins at once must not fill memory.
_MEMORY_KIB, _PASSES, _LANES = 19_456, 2, 1


def require_acceptable(password: str, *, user: str, least_length: int = LEAST_LENGTH) -> None:
    """Refuse a password that is short, the user's own name, or that clients would send differently."""
    if "\0" in password or saslprep(password) is None:
        raise WrongUsage(
            "The password is empty or holds letters that programs write in different ways, such as "
            "control characters. Choose another one."
        )
    if len(password) < least_length:
        raise WrongUsage(
            f"The password has fewer than {least_length} letters. Choose a longer one."
        )
    if len(password) > LONGEST:
        raise WrongUsage(f"The password has more than {LONGEST} letters. Choose a shorter one.")
    if password.casefold() == user.casefold():
        raise WrongUsage("The password is the user's name. Choose another one.")


def hash_password(password: str) -> str:
    """Return the argon2id hash of a password, with its salt and parameters."""
    return _make_hasher().hash(normalize_password(password))


def matches_password_hash(stored: str | None, password: str) -> bool:
    """Return whether `password` was hashed to `stored`; without one, False after the same work."""
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        _make_hasher().verify(stored or _decoy_hash(), normalize_password(password)[: 4 * LONGEST])
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None


def is_outdated(stored: str) -> bool:
    """Return whether a hash was made with other parameters than the current ones."""
    return _make_hasher().check_needs_rehash(stored)


@cache
def _make_hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError:
        raise MissingExtra(what="Passwords over HTTP", extra="serve") from None
    return PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES)


@cache
def _decoy_hash() -> str:
    return hash_password(secrets.token_hex(16))
