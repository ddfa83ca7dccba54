"""Signing in and out: a password becomes a cookie, under the rules of every other login."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, LoginFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.console.pages import HEADERS, PLACE, make_page
from discreet.server.console.requests import (
    ConsoleRequest,
    console_sessions,
    cookie_name,
    error_page,
    find_session,
    read_form,
    require_same_origin,
    require_token,
)
from discreet.server.http.authentication import AppState, app_state, client_info, limit_rate
from discreet.server.suspension import refuse_suspended

LONGEST_NAME = 63
LONGEST_FORM = 100_000  # bytes; a token of an identity provider has up to 32,768
_TOKEN_SECONDS = 3600


Step = Callable[[Request, Mapping[str, str]], Response]


async def sign_in(request: Request) -> Response:
    """Show the form, or take it."""
    handle = _take_form if request.method == "POST" else _show_form
    return await run_in_threadpool(_handle_sign_in, request, await request.body(), handle)


def _handle_sign_in(request: Request, body: bytes, handle: Step) -> Response:
    try:
        limit_rate(app_state(request).addresses, request.client.host if request.client else "")
        return handle(request, _read_small_form(request, body))
    except Exception as error:  # noqa: BLE001 -- its message may quote what was typed
        return error_page(error)


def _read_small_form(request: Request, body: bytes) -> Mapping[str, str]:
    """Return the fields of a form that anyone may send."""
    if len(body) > LONGEST_FORM:
        raise HTTPException(413, "the request is too large")
    return read_form(request, body)


def _show_form(request: Request, _: Mapping[str, str]) -> Response:
    if find_session(request) is not None:
        return RedirectResponse(f"{PLACE}/", 303, headers=HEADERS)
    return _render_form(request)


def _render_form(request: Request, *, failure: str = "", user: str = "") -> Response:
    """Return the form, with a token that is in a cookie, too: another site can set neither."""
    state = app_state(request)
    token = request.cookies.get(_token_cookie(request)) or secrets.token_urlsafe(32)
    status = 401 if failure else 200
    page = make_page(
        "sign_in.html.j2", status=status, asked=None, csrf=token, failure=failure, user=user
    )
    page.set_cookie(
        _token_cookie(request),
        token,
        max_age=_TOKEN_SECONDS,
        secure=state.is_encrypted,
        httponly=True,
        samesite="strict",
    )
    return page


def _take_form(request: Request, form: Mapping[str, str]) -> Response:
    state, user = app_state(request), form.get("user", "").strip()[:LONGEST_NAME]
    require_same_origin(request)
    require_token(form, request.cookies.get(_token_cookie(request), ""))
    client = replace(client_info(request, user), protocol="console")
    client = state.authenticator.recognize(client)
    try:
        stamp = _check_password(state, client, form.get("password", ""))
    except LoginFailed:
        failure = "Name or password is wrong, or the account is locked for now."
        return _render_form(request, failure=failure, user=user)
    except DiscreetError as error:
        return _render_form(request, failure=str(error), user=user)
    # What the cookie named before ends: an identifier is never taken over.
    console_sessions(request).close(request.cookies.get(cookie_name(state), ""))
    page = RedirectResponse(f"{PLACE}/", 303, headers=HEADERS)
    page.set_cookie(
        cookie_name(state),
        console_sessions(request).open(client, stamp),
        secure=state.is_encrypted,
        httponly=True,
        samesite="strict",
    )
    page.delete_cookie(_token_cookie(request), secure=state.is_encrypted)
    return page


def _check_password(state: AppState, client: ClientInfo, password: str) -> str:
    """Return the stamp of a login with the right password."""
    refuse_suspended(state.server.control)
    with state.checking:
        state.authenticator.check_password(client, password)
    stamp = state.authenticator.login_stamp(client)
    if stamp is None:  # the role was dropped meanwhile
        raise LoginFailed("the user may not log in", sqlstate="28000")
    return stamp


def sign_out(asked: ConsoleRequest) -> Response:
    """End the session."""
    name = cookie_name(asked.state)
    asked.server.audit.record_act(asked.session.client, "console: signed out")
    console_sessions(asked.request).close(asked.request.cookies.get(name, ""))
    page = RedirectResponse(f"{PLACE}/sign-in", 303, headers=HEADERS)
    page.delete_cookie(name, secure=asked.state.is_encrypted, httponly=True, samesite="strict")
    return page


def _token_cookie(request: Request) -> str:
    return f"{cookie_name(app_state(request))}-form"
