"""The door: what a front end tells of a visitor, and what it must ask before it lets them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ClientInfo:
    """Who knocks, as far as the wire tells.

    `certificate` is the client's certificate in DER if TLS verified one; `binding` is the hash of the
    server's own certificate (tls-server-end-point), for SCRAM-SHA-256-PLUS. `identity` is who had the
    user's name when the login began: the session is theirs, and nobody's if they are gone meanwhile.
    """

    user: str
    address: str
    protocol: str = "postgresql"
    database: str = ""
    is_encrypted: bool = False
    is_local: bool = False
    certificate: bytes | None = None
    binding: bytes | None = None
    identity: str | None = None


class ScramExchange(Protocol):
    """One SCRAM conversation."""

    mechanisms: tuple[str, ...]  # what the server offers, best first

    def first(self, mechanism: str, message: bytes) -> bytes:
        """Take the client's first message and return the server's."""
        ...

    def final(self, message: bytes) -> bytes:
        """Take the proof and return the server's signature.

        Raises:
            LoginFailed: the proof is wrong, or there is no such user, or they may not come in.
        """
        ...


@dataclass(frozen=True)
class AuthenticationOk:
    """Nothing more to ask; `method` is for the journal."""

    method: str


@dataclass(frozen=True)
class ScramChallenge:
    """A password that the client proves to know."""

    exchange: ScramExchange


@dataclass(frozen=True)
class PasswordChallenge:
    """A password in clear, which only goes over TLS: `check` returns the method or raises `LoginFailed`."""

    check: Callable[[str], str]


class Authenticator(Protocol):
    """Decides how a visitor is asked. Every verdict is told to the journal by the door."""

    def recognize(self, visitor: ClientInfo) -> ClientInfo:
        """Return the visitor with the identity of the role that has their name now, if any."""
        ...

    def authenticate(
        self, visitor: ClientInfo
    ) -> AuthenticationOk | ScramChallenge | PasswordChallenge:
        """Return what to ask; unknown users are asked as known ones are.

        Raises:
            LoginFailed: not over this wire, or too many tries.
        """
        ...
