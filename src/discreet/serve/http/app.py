"""The HTTP interface: the same sessions as over the PostgreSQL protocol, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError, StatementFailed
from discreet.serve.http import bodies, routes
from discreet.serve.http.entering import Desk
from discreet.serve.http.patience import LARGEST, Bounded
from discreet.serve.http.throttle import Throttle
from discreet.serve.pg.failures import as_statement_failed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fastapi import Request, Response

    from discreet.guard.identity.doorkeeper import Doorkeeper
    from discreet.serve.gateway.house import House

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


def make_app(house: House, keeper: Doorkeeper, *, is_encrypted: bool) -> FastAPI:
    """Return the application; it listens to nothing by itself."""
    app = FastAPI(
        title="discreet",
        version="1",
        description="SQL in, what you may see out: rows, noisy aggregates, or a reason why not.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    rate = house.settings.limits.requests_per_minute
    app.state.desk = Desk(house, keeper, is_encrypted, Throttle(rate), Throttle(rate))
    app.include_router(routes.router)
    app.middleware("http")(_bounded)
    app.add_middleware(Bounded, fault=_told)
    app.exception_handler(DiscreetError)(_failed)
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(RequestValidationError)(_unread)
    app.exception_handler(Exception)(_unforeseen)
    return app


async def _bounded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    length = request.headers.get("content-length", "0")
    # A body without a length is read before anybody is asked who they are, and may never end.
    is_endless = "transfer-encoding" in request.headers
    if is_endless or not length.isdecimal() or int(length[:20]) > LARGEST:
        return _fault(413, StatementFailed("54000", "the request is too large"))
    response = await go_on(request)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


async def _failed(_: Request, error: DiscreetError) -> Response:
    known = as_statement_failed(error)
    return _fault(_status(known), known)


async def _refused(request: Request, error: HTTPException) -> Response:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
    return _told(error.status_code, str(error.detail), headers)


def _told(status: int, words: str, headers: Any = None) -> JSONResponse:
    return _fault(status, StatementFailed(_STATES.get(status, "22023"), words), headers)


def _methods(request: Request) -> list[str]:
    """Return what can be done at a place: by all of its routes, not by the first one only."""
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


async def _unread(_: Request, error: RequestValidationError) -> Response:
    """Tell where a body is wrong, and nothing of what is there."""
    places = sorted({".".join(str(part) for part in fault["loc"]) for fault in error.errors()})
    return _fault(422, StatementFailed("22023", "the request is wrong", detail=", ".join(places)))


async def _unforeseen(_: Request, error: Exception) -> Response:
    return _fault(500, as_statement_failed(error))


def _status(error: StatementFailed) -> int:
    for beginning in (error.sqlstate, error.sqlstate[:2]):
        if beginning in _STATUS:
            return _STATUS[beginning]
    return 400


def _fault(status: int, error: StatementFailed, headers: Any = None) -> JSONResponse:
    body = bodies.Fault(
        sqlstate=error.sqlstate, message=str(error), detail=error.detail, hint=error.hint
    )
    extra = dict(headers or {})
    if status == 401:
        extra["WWW-Authenticate"] = 'Bearer, Basic realm="discreet"'
    return JSONResponse(body.model_dump(), status, headers=extra)
