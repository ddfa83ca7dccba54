"""The interface of authentication: what a front end knows of a client, and what it must request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ClientInfo:
    """A client that wants to log in, as far as the connection shows.

    `certificate` is the client's certificate in DER if TLS verified one; `binding` is the hash of the
    server's own certificate (tls-server-end-point), for SCRAM-SHA-256-PLUS. `identity` is the role
    had the user's name when the login began: if it was dropped meanwhile, the session is invalid. `sasl`
    is how the client wants to send a token: `oauthbearer` or `password`, None as the server has it.
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
    sasl: str | None = None


class ScramExchange(Protocol):
    """One SCRAM conversation."""

    mechanisms: tuple[str, ...]  # in the server's order of preference

    def first(self, mechanism: str, message: bytes) -> bytes:
        """Return the server's first message for the client's."""
        ...

    def final(self, message: bytes) -> bytes:
        """Check the proof and return the server's signature.

        Raises:
            LoginFailed: the proof is wrong, the user does not exist, or may not log in.
        """
        ...


@dataclass(frozen=True)
class AuthenticationOk:
    """No further request; `method` is for the journal."""

    method: str


@dataclass(frozen=True)
class ScramChallenge:
    """A password that the client proves to know."""

    exchange: ScramExchange


@dataclass(frozen=True)
class PasswordChallenge:
    """A password in clear, over TLS only: `check` returns the method or raises `LoginFailed`."""

    check: Callable[[str], str]


@dataclass(frozen=True)
class TokenChallenge:
    """A token of an identity provider: `check` returns the method or raises `LoginFailed`.

    It is sent as OAUTHBEARER (RFC 7628), where clients without a token are referred to the provider,
    or as a password in clear, over TLS only.
    """

    check: Callable[[str], str]
    configuration: str
    scope: str
    is_bearer: bool


class Authenticator(Protocol):
    """Decides how a client authenticates, and records every decision in the journal."""

    def recognize(self, client: ClientInfo) -> ClientInfo:
        """Return the client with the identity of the role that has their name now, if any."""
        ...

    def authenticate(
        self, client: ClientInfo
    ) -> AuthenticationOk | ScramChallenge | PasswordChallenge | TokenChallenge:
        """Return the request for credentials; unknown users get the same as known ones.

        Raises:
            LoginFailed: not allowed over this connection, or too many attempts.
        """
        ...
