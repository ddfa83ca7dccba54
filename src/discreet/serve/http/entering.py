"""Who asks over HTTP: by a token, or by name and password, and not too often."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from math import ceil
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBasic, HTTPBearer

from discreet.errors import AccessDenied, LoginFailed
from discreet.guard.identity.door import Visitor
from discreet.serve.http.throttle import Places

if TYPE_CHECKING:
    from collections.abc import Generator

    from discreet.guard.identity.doorkeeper import Doorkeeper
    from discreet.serve.gateway.house import House
    from discreet.serve.http.throttle import Throttle

AT_ONCE = 8  # requests of one user, so that threads are left for others
PASSWORDS_AT_ONCE = 4  # each takes 64 MiB and a third of a second to check
_bearer = HTTPBearer(auto_error=False, description="A token of `discreet user token`")
_basic_scheme = HTTPBasic(auto_error=False)

_NEEDED = {"/v1/query": "query", "/metrics": "metrics"}  # scopes of a token


@dataclass(frozen=True)
class Desk:
    """What every request needs; it is the application's state."""

    house: House
    keeper: Doorkeeper
    is_encrypted: bool
    users: Throttle
    addresses: Throttle
    busy: Places = field(default_factory=lambda: Places(AT_ONCE))
    checking: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(PASSWORDS_AT_ONCE))


def desk_of(request: Request) -> Desk:
    """Return the state of the application that a request came to."""
    return request.app.state.desk


def enter(
    request: Request,
    _token: Annotated[Any, Depends(_bearer)],
    _password: Annotated[Any, Depends(_basic_scheme)],
) -> Generator[Visitor]:
    """Give who asks, who has one of their places until the answer is there.

    Raises:
        LoginFailed: nobody we know.
    """
    desk = desk_of(request)
    address = request.client.host if request.client else ""
    _slow_down(desk.addresses, address)
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found = desk.keeper.check_token(_visitor(request, ""), secret.strip())
        needed = _NEEDED.get(request.url.path, "admin")
        visitor = desk.keeper.recognize(_visitor(request, found.user))
        if not {needed, "admin"} & set(found.scopes):
            raise _denied(desk, visitor, f"this token has no scope '{needed}'")
    else:
        user, password = _basic(scheme, secret)
        visitor = desk.keeper.recognize(_visitor(request, user))
        with desk.checking:
            desk.keeper.check_password(visitor, password)
    _slow_down(desk.users, visitor.user)
    if not desk.busy.take(visitor.user):
        raise HTTPException(429, "too many requests at once", headers={"Retry-After": "1"})
    try:
        yield visitor
    finally:
        desk.busy.leave(visitor.user)


Entered = Annotated[Visitor, Depends(enter)]


def enter_as_superuser(request: Request, visitor: Entered) -> Visitor:
    """Return who asks, if nothing is kept from them: what others do would tell of hidden rows.

    Raises:
        AccessDenied: they are no superuser.
    """
    desk = desk_of(request)
    role = desk.house.control.authority().roles.get(visitor.user)
    if role is None or not role.superuser:
        raise _denied(desk, visitor, "only superusers may know what everybody does")
    return visitor


Superuser = Annotated[Visitor, Depends(enter_as_superuser)]


def _denied(desk: Desk, visitor: Visitor, words: str) -> AccessDenied:
    """Return a refusal that the journal knows of."""
    desk.house.record_act(visitor, words, "denied")
    return AccessDenied(words)


def _visitor(request: Request, user: str) -> Visitor:
    address = request.client.host if request.client else ""
    return Visitor(
        user,
        address,
        protocol="http",
        is_encrypted=desk_of(request).is_encrypted,
        is_local=address in ("127.0.0.1", "::1"),
    )


def _slow_down(throttle: Throttle, key: str) -> None:
    seconds = throttle.wait(key)
    if seconds:
        raise HTTPException(
            429, "too many requests", headers={"Retry-After": str(max(1, ceil(seconds)))}
        )


def _basic(scheme: str, secret: str) -> tuple[str, str]:
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
