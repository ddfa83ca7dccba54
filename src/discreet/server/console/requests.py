"""Requests of signed-in users: session, forged requests, limits, and errors as pages."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import AccessDenied, DiscreetError, StatementFailed
from discreet.guard.access.reach import is_superuser
from discreet.guard.statements.statement import Explain
from discreet.server.console.pages import HEADERS, PLACE, make_page
from discreet.server.console.sessions import ConsoleSession, ConsoleSessions
from discreet.server.gateway.audit import log_bug
from discreet.server.http.app import status_code
from discreet.server.http.authentication import AppState, app_state, limit_rate
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from discreet.server.gateway.server import Server
    from discreet.server.session import Outcome, PrivacyCost, Session

MOST_FIELDS = 100
_FORGED = (
    "The request did not come from a page of this console. Open the page again, and repeat it."
)


@dataclass(frozen=True)
class ConsoleRequest:
    """A request of a user who is signed in; `form` holds the fields of a POST, else those of the address."""

    request: Request
    state: AppState
    session: ConsoleSession
    form: Mapping[str, str]

    @property
    def server(self) -> Server:
        """The server."""
        return self.state.server

    @property
    def user(self) -> str:
        """The user's name."""
        return self.session.client.user

    @property
    def is_superuser(self) -> bool:
        """Whether nothing is hidden from the user."""
        return is_superuser(self.server.control.authority(), self.user)

    @property
    def is_partial(self) -> bool:
        """Whether htmx asks, which puts the answer into the page that is open."""
        return self.request.headers.get("hx-request") == "true"

    def require_superuser(self, what: str) -> None:
        """Refuse other users, and record it."""
        if not self.is_superuser:
            self.server.audit.record_act(self.session.client, f"console: {what}", "denied")
            raise AccessDenied(
                f"only superusers may {what}", hint="Ask a custodian of this server."
            )

    def render(self, template: str, *, status: int = 200, **parts: Any) -> Response:
        """Return a page with the user's navigation and form token."""
        return make_page(template, status=status, asked=self, csrf=self.session.csrf, **parts)

    @contextmanager
    def open_session(self, settings: Mapping[str, str] | None = None) -> Generator[Session]:
        """Yield a session of the gateway: that of any other client of this user."""
        session = self.server.open_session(self.session.client, settings or {}, "console")
        try:
            yield session
        finally:
            session.close()


Handler = Callable[[ConsoleRequest], Response]


def run_text(session: Session, text: str) -> Outcome:
    """Run the one statement of a text that the console itself wrote."""
    (statement,) = session.split(text)
    return session.run(session.prepare(statement))


def explain_privacy(session: Session, text: str) -> PrivacyCost | None:
    """Return what the one statement of a text costs; None if it costs nothing."""
    statements = session.split(text)
    if len(statements) != 1:
        raise StatementFailed(
            "42601", "the price is that of one statement", hint="Ask one statement at a time."
        )
    explained = Explain(statements[0], privacy=True, text=f"EXPLAIN PRIVACY {statements[0].text}")
    return session.run(session.prepare(explained)).cost


def rows_of(outcome: Outcome) -> list[tuple[Any, ...]]:
    """Return the rows of an outcome as values of Python."""
    if outcome.table is None:
        return []
    return list(zip(*(column.to_pylist() for column in outcome.table.columns), strict=True))


def cookie_name(state: AppState) -> str:
    """Return the cookie's name: with TLS no other host, and no page without TLS, can set it."""
    return "__Host-discreet" if state.is_encrypted else "discreet"


def guard_endpoint(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for signed-in users; without a session it leads to the sign-in."""

    async def serve(request: Request) -> Response:
        return await run_in_threadpool(_handle_request, request, await request.body(), handler)

    return serve


def _handle_request(request: Request, body: bytes, handler: Handler) -> Response:
    state = app_state(request)
    asked: ConsoleRequest | None = None
    try:
        limit_rate(state.addresses, request.client.host if request.client else "")
        session = find_session(request)
        if session is None:
            return _lead_to_sign_in(request)
        asked = ConsoleRequest(request, state, session, read_form(request, body))
        if request.method == "POST":
            require_same_origin(request)
            require_token(asked.form, session.csrf)
        with _hold_slot(state, session.client.user):
            return handler(asked)
    except Exception as error:  # noqa: BLE001 -- its message may quote data
        return error_page(error, asked)


@contextmanager
def _hold_slot(state: AppState, user: str) -> Generator[None]:
    """Count a request of a user, who has only so many at once."""
    limit_rate(state.users, user)
    if not state.concurrency.acquire(user):
        raise HTTPException(429, "too many requests at once")
    try:
        yield
    finally:
        state.concurrency.release(user)


def error_page(error: Exception, asked: ConsoleRequest | None = None) -> Response:
    """Return what happened as a page; the message of an unexpected error is withheld."""
    if isinstance(error, HTTPException):
        status, message, hint = error.status_code, str(error.detail), None
    else:
        if not isinstance(error, DiscreetError):
            log_bug(error)
        known = as_statement_failed(error)
        status, message, hint = status_code(known), str(known), known.hint
    parts = {"status_number": status, "message": message, "hint": hint}
    if asked is None:
        return make_page("error.html.j2", status=status, asked=None, **parts)
    return asked.render("error.html.j2", status=status, **parts)


def find_session(request: Request) -> ConsoleSession | None:
    """Return the session of a request, if its user may still log in."""
    state, sessions = app_state(request), console_sessions(request)
    identifier = request.cookies.get(cookie_name(state), "")
    session = sessions.find(identifier) if identifier else None
    if session is None:
        return None
    stamp = state.authenticator.login_stamp(session.client)
    if stamp is None or not hmac.compare_digest(stamp, session.stamp):
        sessions.close(identifier)
        return None
    return session


def console_sessions(request: Request) -> ConsoleSessions:
    """Return the open sessions."""
    return request.app.state.sessions


def read_form(request: Request, body: bytes) -> dict[str, str]:
    """Return the fields of a request; of several with one name the last one.

    Megabytes take a second to read: only for those who are signed in, and never in the event loop.
    """
    if request.method != "POST":
        return dict(request.query_params)
    try:
        return dict(
            parse_qsl(
                body.decode("utf-8"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MOST_FIELDS,
            )
        )
    except ValueError:
        return {}  # without a token, which is refused


def require_same_origin(request: Request) -> None:
    """Refuse what the page of another site sent, as browsers report it."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    scheme = "https" if app_state(request).is_encrypted else "http"
    own = f"{scheme}://{request.headers.get('host', '')}"
    if site != "same-origin" or request.headers.get("origin", own) != own:
        raise HTTPException(403, _FORGED)


def require_token(form: Mapping[str, str], token: str) -> None:
    """Refuse a form without the token of its session."""
    if not token or not hmac.compare_digest(form.get("csrf", "").encode(), token.encode()):
        raise HTTPException(403, _FORGED)


def _lead_to_sign_in(request: Request) -> Response:
    place = f"{PLACE}/sign-in"
    if request.headers.get("hx-request") == "true":  # which would put the sign-in into the page
        return Response(status_code=401, headers={**HEADERS, "HX-Redirect": place})
    return RedirectResponse(place, 303, headers=HEADERS)
