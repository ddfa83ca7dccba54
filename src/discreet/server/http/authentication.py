"""Authentication over HTTP: by a token, or by name and password, with rate limits."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Generator
from dataclasses import dataclass, field
from math import ceil
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBasic, HTTPBearer

from discreet.errors import AccessDenied, LoginFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.rule_authenticator import RuleAuthenticator
from discreet.server.http.rate_limits import ConcurrencyLimiter, RateLimiter

if TYPE_CHECKING:
    from discreet.server.gateway.server import Server

REQUESTS_AT_ONCE = 8  # requests of one user, so that threads remain for others
PASSWORDS_AT_ONCE = 4  # each takes 64 MiB and a third of a second to check
_bearer = HTTPBearer(auto_error=False, description="A token of `discreet user token`")
_basic_scheme = HTTPBasic(auto_error=False)

_NEEDED = {"/v1/query": "query", "/metrics": "metrics"}  # scopes of a token


@dataclass(frozen=True)
class AppState:
    """The application's state, which every request uses."""

    server: Server
    authenticator: RuleAuthenticator
    is_encrypted: bool
    users: RateLimiter
    addresses: RateLimiter
    concurrency: ConcurrencyLimiter = field(
        default_factory=lambda: ConcurrencyLimiter(REQUESTS_AT_ONCE)
    )
    checking: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(PASSWORDS_AT_ONCE))


def app_state(request: Request) -> AppState:
    """Return the state of a request's application."""
    return request.app.state.discreet


def authenticate_request(
    request: Request,
    _token: Annotated[Any, Depends(_bearer)],
    _password: Annotated[Any, Depends(_basic_scheme)],
) -> Generator[ClientInfo]:
    """Yield the authenticated user, who holds one of their slots until the response is complete.

    Raises:
        LoginFailed: the credentials are wrong.
    """
    state = app_state(request)
    address = request.client.host if request.client else ""
    limit_rate(state.addresses, address)
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = state.authenticator.check_token(client_info(request, ""), secret.strip())
        needed = _NEEDED.get(request.url.path, "admin")
        client = state.authenticator.recognize(client_info(request, found.user))
        if not {needed, "admin"} & set(found.scopes):
            raise _record_denial(state, client, f"this token has no scope '{needed}'")
    else:
        user, password = _read_basic_header(scheme, secret)
        client = state.authenticator.recognize(client_info(request, user))
        with state.checking:
            state.authenticator.check_password(client, password)
    limit_rate(state.users, client.user)
    if not state.concurrency.acquire(client.user):
        raise HTTPException(429, "too many requests at once", headers={"Retry-After": "1"})
    try:
        yield client
    finally:
        state.concurrency.release(client.user)


AuthenticatedClient = Annotated[ClientInfo, Depends(authenticate_request)]


def authenticate_superuser(request: Request, client: AuthenticatedClient) -> ClientInfo:
    """Return the user, if nothing is hidden from them: others' activity would reveal hidden rows.

    Raises:
        AccessDenied: they are not a superuser.
    """
    state = app_state(request)
    role = state.server.control.authority().roles.get(client.user)
    if role is None or not role.superuser:
        raise _record_denial(state, client, "only superusers may see the activity of all users")
    return client


SuperuserClient = Annotated[ClientInfo, Depends(authenticate_superuser)]


def _record_denial(state: AppState, client: ClientInfo, words: str) -> AccessDenied:
    """Return a refusal that is recorded in the journal."""
    state.server.audit.record_act(client, words, "denied")
    return AccessDenied(words)


def client_info(request: Request, user: str) -> ClientInfo:
    """Return what a request shows of the client that sent it."""
    address = request.client.host if request.client else ""
    return ClientInfo(
        user,
        address,
        protocol="http",
        is_encrypted=app_state(request).is_encrypted,
        is_local=address in ("127.0.0.1", "::1"),
    )


def limit_rate(throttle: RateLimiter, key: str) -> None:
    """Count a request, or refuse it with 429 and the seconds to wait."""
    seconds = throttle.wait(key)
    if seconds:
        raise HTTPException(
            429, "too many requests", headers={"Retry-After": str(max(1, ceil(seconds)))}
        )


def _read_basic_header(scheme: str, secret: str) -> tuple[str, str]:
    """Return name and password of a Basic header."""
    if scheme.lower() == "basic":
        try:
            user, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            colon = ""
        else:
            if colon and user:
                return user, password
    raise LoginFailed("authentication is needed: a token, or name and password", sqlstate="28000")
