"""The application of the console, below /console of the HTTP interface."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from discreet.server.console.ask import show_ask, show_price, take_question
from discreet.server.console.assess import show_assess_page, take_assessment
from discreet.server.console.guard import show_guard
from discreet.server.console.home import show_home
from discreet.server.console.journal import (
    send_entries,
    send_proof,
    show_journal,
    show_verification,
)
from discreet.server.console.pages import PLACE, serve_file
from discreet.server.console.requests import error_page, guard_endpoint
from discreet.server.console.see_as import show_see_as
from discreet.server.console.sessions import ConsoleSessions
from discreet.server.console.sign_in import sign_in, sign_out


def mount_console(app: Starlette) -> None:
    """Add the console to the HTTP interface; the root leads to it."""
    console = Starlette(
        routes=[
            Route("/", guard_endpoint(show_home), methods=["GET"]),
            Route("/sign-in", sign_in, methods=["GET", "POST"]),
            Route("/sign-out", guard_endpoint(sign_out), methods=["POST"]),
            Route("/ask", guard_endpoint(show_ask), methods=["GET"]),
            Route("/ask", guard_endpoint(take_question), methods=["POST"]),
            Route("/ask/price", guard_endpoint(show_price), methods=["POST"]),
            Route("/assess", guard_endpoint(show_assess_page), methods=["GET"]),
            Route("/assess", guard_endpoint(take_assessment), methods=["POST"]),
            Route("/guard", guard_endpoint(show_guard), methods=["GET"]),
            Route("/guard/see-as", guard_endpoint(show_see_as), methods=["GET", "POST"]),
            Route("/journal", guard_endpoint(show_journal), methods=["GET"]),
            Route("/journal/verify", guard_endpoint(show_verification), methods=["POST"]),
            Route("/journal/export", guard_endpoint(send_entries), methods=["POST"]),
            Route("/journal/proof", guard_endpoint(send_proof), methods=["POST"]),
            Route("/static/{name}", _send_file, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _show_http_error},
    )
    console.state.discreet, console.state.sessions = app.state.discreet, ConsoleSessions()
    app.mount(PLACE, console)
    app.add_route("/", _lead_to_console, methods=["GET"], include_in_schema=False)


async def _lead_to_console(_: Request) -> Response:
    return RedirectResponse(f"{PLACE}/", 307)


async def _send_file(request: Request) -> Response:
    found = serve_file(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "there is no such page")
    return found


async def _show_http_error(_: Request, error: Exception) -> Response:
    return error_page(error)
