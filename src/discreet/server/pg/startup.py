"""The startup of a connection: TLS, cancel request or login, version, settings, authentication."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from discreet.errors import LoginFailed, StatementFailed
from discreet.guard.identity.authenticator import (
    AuthenticationOk,
    Authenticator,
    ClientInfo,
    PasswordChallenge,
    ScramChallenge,
    ScramExchange,
    TokenChallenge,
)
from discreet.server.pg.limits import BEFORE_LOGIN_BYTES
from discreet.server.pg.messages import (
    CANCEL_REQUEST,
    GSSENC_REQUEST,
    PROTOCOL_3_0,
    SSL_REQUEST,
    Body,
    authentication,
    encode_cstring,
    negotiate,
)
from discreet.server.pg.tls import Tls
from discreet.server.pg.wire import Wire

if TYPE_CHECKING:

    class ThreadRunner(Protocol):
        """Runs blocking calls in another thread."""

        def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
            """Return the call's result."""
            ...


T = TypeVar("T")


OAUTHBEARER = "OAUTHBEARER"
# The characters of a token are those of RFC 6750.
_BEARER = re.compile(
    rb"[ny],,\x01(?:[A-Za-z]+=[^\x01]*\x01)*?auth=(?:[Bb]earer +([A-Za-z0-9._~+/-]+=*))?\x01"
    rb"(?:[A-Za-z]+=[^\x01]*\x01)*\x01"
)
CLEARTEXT, SASL, SASL_CONTINUE, SASL_FINAL = 3, 10, 11, 12
_UTF8 = re.compile(r"'?(utf-?8|unicode|sql_ascii|auto)'?", re.IGNORECASE)


@dataclass(frozen=True)
class Startup:
    """A login request: the user and the settings."""

    user: str
    database: str
    parameters: dict[str, str]
    sasl: str | None = None


@dataclass(frozen=True)
class CancelRequest:
    """A request to cancel another connection's statement."""

    process: int
    secret: bytes


async def read_startup(
    wire: Wire, *, tls: Tls | None, require_tls: bool, within: float
) -> Startup | CancelRequest:
    """Return a client's request, after the requested encryption was set up.

    Raises:
        StatementFailed: the client is disconnected, with this reason.
    """
    asked: set[int] = set()
    while True:
        body = Body(await wire.startup())
        version = body.uint32()
        if version in (SSL_REQUEST, GSSENC_REQUEST):
            if version in asked or wire.is_encrypted:
                raise StatementFailed("08P01", "encryption was requested twice")
            asked.add(version)
            body.end()
            await _negotiate_tls(wire, tls if version == SSL_REQUEST else None, within)
        elif version == CANCEL_REQUEST:
            process, secret = body.uint32(), body.take(4)
            body.end()
            return CancelRequest(process, secret)
        else:
            if require_tls and not wire.is_encrypted and not wire.is_unix:
                raise StatementFailed("28000", "this server requires TLS", hint="sslmode=require")
            return _read_parameters(wire, version, body)


async def _negotiate_tls(wire: Wire, tls: Tls | None, within: float) -> None:
    # Bytes sent before the response were not encrypted, yet would be treated as encrypted.
    if wire.has_buffered:
        raise StatementFailed("08P01", "received unencrypted data after SSL request")
    if tls is None or wire.is_unix:
        wire.write(b"N")
    else:
        await wire.start_tls(tls, within=within)


def _read_parameters(wire: Wire, version: int, body: Body) -> Startup:
    if version >> 16 != 3:
        raise StatementFailed(
            "0A000",
            f"unsupported frontend protocol {version >> 16}.{version & 0xFFFF}: server supports 3.0",
        )
    given: dict[str, str] = {}
    while name := body.text():
        given[name] = body.text()
    body.end()
    unknown = [name for name in given if name.startswith("_pq_.")]
    if version > PROTOCOL_3_0 or unknown:
        wire.write(negotiate(unknown))
    for name in unknown:
        del given[name]
    return _make_startup(given)


def _make_startup(given: dict[str, str]) -> Startup:
    user = given.pop("user", "")
    database = given.pop("database", "") or user
    if not user:
        raise StatementFailed("28000", "no PostgreSQL user name specified in startup packet")
    if given.pop("replication", "false").lower() not in ("false", "off", "no", "0"):
        raise StatementFailed("0A000", "replication is not supported")
    encoding = given.pop("client_encoding", "UTF8")
    if not _UTF8.fullmatch(encoding):
        raise StatementFailed("22023", 'client_encoding must be "UTF8"')
    parameters = {
        **parse_startup_options(given.pop("options", "")),
        **given,
        "client_encoding": "UTF8",
    }
    sasl = parameters.pop("discreet.login", None)
    if sasl not in (None, "password", "oauthbearer"):
        raise StatementFailed("22023", "discreet.login is one of: password, oauthbearer")
    return Startup(user, database, parameters, sasl)


def parse_startup_options(text: str) -> dict[str, str]:
    r"""Return the settings of a client's `options`, such as `-c TimeZone=UTC --search_path=public`.

    >>> parse_startup_options(r"-c a=1 --b-c=x\ y -cd=2")
    {'a': '1', 'b_c': 'x y', 'd': '2'}
    """
    try:
        words = shlex.split(text.replace("'", "\\'").replace('"', '\\"'))
    except ValueError:
        raise StatementFailed("22023", "invalid command-line options") from None
    settings: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word = "-c" + words.pop(0)
        name, is_given, value = word[2:].partition("=")
        if word[:2] not in ("-c", "--") or not is_given or not name:
            raise StatementFailed("22023", "invalid command-line options")
        settings[name.replace("-", "_")] = value
    return settings


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
    if isinstance(ask, TokenChallenge):
        if ask.is_bearer:
            return await _authenticate_bearer(wire, ask, in_thread)
        ask = PasswordChallenge(ask.check)
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


async def _authenticate_bearer(wire: Wire, ask: TokenChallenge, in_thread: ThreadRunner) -> str:
    """Take a token by OAUTHBEARER (RFC 7628), as PostgreSQL 18 does."""
    wire.write(authentication(SASL, encode_cstring(OAUTHBEARER) + b"\0"))
    body = await _read_login_message(wire)
    mechanism, first = body.text(), body.sized()
    body.end()
    if mechanism != OAUTHBEARER or first is None:
        raise StatementFailed("08P01", "client selected an invalid SASL authentication mechanism")
    token = read_bearer_token(first)
    if token:
        try:
            return await in_thread(lambda: ask.check(token))
        except LoginFailed as error:
            failure = error
    else:
        failure = LoginFailed("a token of the identity provider is needed", sqlstate="28000")
    status = {
        "status": "invalid_token",
        "openid-configuration": ask.configuration,
        "scope": ask.scope,
    }
    wire.write(authentication(SASL_CONTINUE, json.dumps(status).encode()))
    await _read_login_message(wire)
    raise failure


def read_bearer_token(message: bytes) -> str:
    r"""Return the token in a client's first message, empty if it only asks for the provider.

    >>> read_bearer_token(b"n,,\x01auth=Bearer eyJ.e30.c2ln\x01\x01")
    'eyJ.e30.c2ln'
    >>> read_bearer_token(b"n,,\x01auth=\x01\x01")
    ''
    """
    found = _BEARER.fullmatch(message)
    if found is None:
        raise StatementFailed("08P01", "malformed OAUTHBEARER message")
    return (found[1] or b"").decode("ascii")


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
