"""How a client proves who they are: as the door decides, and nothing but passwords before."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from discreet.errors import StatementFailed
from discreet.guard.identity.door import Admitted, AskPassword, AskScram
from discreet.serve.pg.limits import BEFORE_LOGIN_BYTES
from discreet.serve.pg.messages import Body, authentication, cstring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Protocol

    from discreet.guard.identity.door import Door, Exchange, Visitor
    from discreet.serve.pg.wire import Wire

    T = TypeVar("T")

    class InThread(Protocol):
        """Runs what blocks elsewhere."""

        def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
            """Return what it gives, once it has."""
            ...


CLEARTEXT, SASL, SASL_CONTINUE, SASL_FINAL = 3, 10, 11, 12


async def authenticate(wire: Wire, visitor: Visitor, door: Door, in_thread: InThread) -> str:
    """Return by which method a visitor was let in.

    Raises:
        LoginFailed: as the door says, which is the same whatever the reason.
        StatementFailed: 28000 when a password would go over this wire in clear; 08P01 for any
            message that is no part of a login.
    """
    ask = await in_thread(lambda: door.knock(visitor))
    if isinstance(ask, Admitted):
        return ask.method
    if isinstance(ask, AskScram):
        return await _scram(wire, ask.exchange, in_thread)
    return await _password(wire, ask, visitor, in_thread)


async def _reply(wire: Wire) -> Body:
    """Return the client's next message, which must be part of its login."""
    frame = await wire.frame(limit=BEFORE_LOGIN_BYTES)
    if frame.kind != b"p":
        raise StatementFailed(
            "08P01", f"expected password response, got message type {frame.kind[0]}"
        )
    return Body(frame.body)


async def _scram(wire: Wire, exchange: Exchange, in_thread: InThread) -> str:
    offered = exchange.mechanisms
    wire.write(authentication(SASL, b"".join(map(cstring, offered)) + b"\0"))
    body = await _reply(wire)
    mechanism, first = body.text(), body.sized()
    body.end()
    if mechanism not in offered or first is None:
        raise StatementFailed("08P01", "client selected an invalid SASL authentication mechanism")
    answer = await in_thread(lambda: exchange.first(mechanism, first))
    wire.write(authentication(SASL_CONTINUE, answer))
    proof = (await _reply(wire)).rest()
    signature = await in_thread(lambda: exchange.final(proof))
    wire.write(authentication(SASL_FINAL, signature))
    return mechanism.lower()


async def _password(wire: Wire, ask: AskPassword, visitor: Visitor, in_thread: InThread) -> str:
    if not visitor.is_encrypted and not visitor.is_local:
        raise StatementFailed("28000", "this login needs TLS", hint="sslmode=require")
    wire.write(authentication(CLEARTEXT))
    body = await _reply(wire)
    password = body.text()
    body.end()
    return await in_thread(lambda: ask.check(password))
