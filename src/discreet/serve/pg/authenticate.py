"""Authentication of a client, as the authenticator decides; only login messages are accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from discreet.errors import StatementFailed
from discreet.guard.identity.authenticator import (
    AuthenticationOk,
    Authenticator,
    ClientInfo,
    PasswordChallenge,
    ScramChallenge,
    ScramExchange,
)
from discreet.serve.pg.limits import BEFORE_LOGIN_BYTES
from discreet.serve.pg.messages import Body, authentication, encode_cstring
from discreet.serve.pg.wire import Wire

if TYPE_CHECKING:

    class ThreadRunner(Protocol):
        """Runs blocking calls in another thread."""

        def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
            """Return the call's result."""
            ...


T = TypeVar("T")


CLEARTEXT, SASL, SASL_CONTINUE, SASL_FINAL = 3, 10, 11, 12


async def authenticate_client(
    wire: Wire, client: ClientInfo, authenticator: Authenticator, in_thread: ThreadRunner
) -> str:
    """Return the method by which a client was authenticated.

    Raises:
        LoginFailed: the login was refused, with the same message for every reason.
        StatementFailed: 28000 when a password would be sent in clear; 08P01 for any
            message that is not part of a login.
    """
    ask = await in_thread(lambda: authenticator.authenticate(client))
    if isinstance(ask, AuthenticationOk):
        return ask.method
    if isinstance(ask, ScramChallenge):
        return await _authenticate_scram(wire, ask.exchange, in_thread)
    return await _authenticate_password(wire, ask, client, in_thread)


async def _read_login_message(wire: Wire) -> Body:
    """Return the client's next message, which must be part of its login."""
    frame = await wire.frame(limit=BEFORE_LOGIN_BYTES)
    if frame.kind != b"p":
        raise StatementFailed(
            "08P01", f"expected password response, got message type {frame.kind[0]}"
        )
    return Body(frame.body)


async def _authenticate_scram(wire: Wire, exchange: ScramExchange, in_thread: ThreadRunner) -> str:
    offered = exchange.mechanisms
    wire.write(authentication(SASL, b"".join(map(encode_cstring, offered)) + b"\0"))
    body = await _read_login_message(wire)
    mechanism, first = body.text(), body.sized()
    body.end()
    if mechanism not in offered or first is None:
        raise StatementFailed("08P01", "client selected an invalid SASL authentication mechanism")
    answer = await in_thread(lambda: exchange.first(mechanism, first))
    wire.write(authentication(SASL_CONTINUE, answer))
    proof = (await _read_login_message(wire)).rest()
    signature = await in_thread(lambda: exchange.final(proof))
    wire.write(authentication(SASL_FINAL, signature))
    return mechanism.lower()


async def _authenticate_password(
    wire: Wire, ask: PasswordChallenge, client: ClientInfo, in_thread: ThreadRunner
) -> str:
    if not client.is_encrypted and not client.is_local:
        raise StatementFailed("28000", "this login needs TLS", hint="sslmode=require")
    wire.write(authentication(CLEARTEXT))
    body = await _read_login_message(wire)
    password = body.text()
    body.end()
    return await in_thread(lambda: ask.check(password))
