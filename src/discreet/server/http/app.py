"""The HTTP interface: the same sessions as over the PostgreSQL protocol, in JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError, StatementFailed
from discreet.guard.identity.rule_authenticator import RuleAuthenticator
from discreet.server.http import bodies, routes
from discreet.server.http.authentication import AppState
from discreet.server.http.documentation import add_documentation
from discreet.server.http.rate_limits import RateLimiter
from discreet.server.http.timeouts import MOST_BODY_BYTES, BodyLimiter
from discreet.server.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from discreet.server.gateway.server import Server

# By SQLSTATE or its class; everything else is a wrong statement.
_STATUS = {
    "28": 401,
    "42501": 403,
    "53400": 403,  # the budget is spent
    "40001": 409,
    "40P01": 409,
    "53": 503,
    "58": 503,
    "57014": 408,
    "XX": 500,
}
_STATES = {401: "28000", 404: "02000", 405: "0A000", 408: "57014", 413: "54000", 429: "53400"}


def make_app(server: Server, authenticator: RuleAuthenticator, *, is_encrypted: bool) -> FastAPI:
    """Return the application; it does not listen itself."""
    app = FastAPI(
        title="discreet",
        version="1",
        description="Runs SQL and returns what you may see: rows, noisy aggregates, or the reason for a refusal.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    rate = server.settings.limits.requests_per_minute
    app.state.discreet = AppState(
        server, authenticator, is_encrypted, RateLimiter(rate), RateLimiter(rate)
    )
    app.include_router(routes.router)
    add_documentation(app)
    app.middleware("http")(_limit_body)
    app.add_middleware(BodyLimiter, fault=_message_response)
    app.exception_handler(DiscreetError)(_handle_known_error)
    app.exception_handler(HTTPException)(_handle_http_error)
    app.exception_handler(RequestValidationError)(_handle_invalid_body)
    app.exception_handler(Exception)(_handle_unexpected)
    return app


async def _limit_body(
    request: Request, go_on: Callable[[Request], Awaitable[Response]]
) -> Response:
    length = request.headers.get("content-length", "0")
    # A body without a length is read before authentication, and may never end.
    is_endless = "transfer-encoding" in request.headers
    if is_endless or not length.isdecimal() or int(length[:20]) > MOST_BODY_BYTES:
        return _error_response(413, StatementFailed("54000", "the request is too large"))
    response = await go_on(request)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


async def _handle_known_error(_: Request, error: DiscreetError) -> Response:
    known = as_statement_failed(error)
    return _error_response(status_code(known), known)


async def _handle_http_error(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_allowed_methods(request))
    return _message_response(error.status_code, str(error.detail), headers)


def _message_response(status: int, words: str, headers: Any = None) -> JSONResponse:
    return _error_response(status, StatementFailed(_STATES.get(status, "22023"), words), headers)


def _allowed_methods(request: Request) -> list[str]:
    """Return the methods of a path: of all its routes, not only of the first one."""
    schema: dict[str, Any] = request.app.openapi()["paths"]
    parts = request.url.path.split("/")
    return sorted(
        method.upper()
        for path, methods in schema.items()
        for method in methods
        if len(path.split("/")) == len(parts)
        and all(
            part.startswith("{") or part == given
            for part, given in zip(path.split("/"), parts, strict=True)
        )
    )


async def _handle_invalid_body(_: Request, error: RequestValidationError) -> Response:
    """Report where a body is wrong, without its content."""
    places = sorted({".".join(str(part) for part in fault["loc"]) for fault in error.errors()})
    return _error_response(
        422, StatementFailed("22023", "the request is wrong", detail=", ".join(places))
    )


async def _handle_unexpected(_: Request, error: Exception) -> Response:
    return _error_response(500, as_statement_failed(error))


def status_code(error: StatementFailed) -> int:
    """Return the HTTP status of a failure, by its SQLSTATE."""
    for beginning in (error.sqlstate, error.sqlstate[:2]):
        if beginning in _STATUS:
            return _STATUS[beginning]
    return 400


def _error_response(status: int, error: StatementFailed, headers: Any = None) -> JSONResponse:
    body = bodies.ErrorResponse(
        sqlstate=error.sqlstate, message=str(error), detail=error.detail, hint=error.hint
    )
    extra = dict(headers or {})
    if status == 401:
        extra["WWW-Authenticate"] = 'Bearer, Basic realm="discreet"'
    return JSONResponse(body.model_dump(), status, headers=extra)
