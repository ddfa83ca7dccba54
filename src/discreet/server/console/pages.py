"""Pages of the console: templates, their filters, and the headers that guard them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from discreet.answer.wording import format_short
from discreet.formatting import format_count
from discreet.report.page import code

PLACE = "/console"
# `connect-src` is for htmx; nothing is loaded from elsewhere, and no page can be framed.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# Address, name, and whether all users have it or superusers only.
NAVIGATION = (
    ("/", "Home", True),
    ("/ask", "Ask", True),
    ("/guard", "Guard", False),
    ("/journal", "Journal", False),
)
_KINDS = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "htmx.min.js": "text/javascript",
}


@dataclass(frozen=True)
class SameAs:
    """How to do elsewhere what a page does: on the command line, in Python, and in SQL."""

    command: str
    python: str
    sql: str


@dataclass(frozen=True)
class BudgetGauge:
    """A budget as a bar: shares of the whole that are spent and that a question would take."""

    label: str
    spent: float
    planned: float = 0.0

    @property
    def spent_width(self) -> str:
        """The width of the spent part."""
        return f"{100 * min(max(self.spent, 0.0), 1.0):.2f}%"

    @property
    def planned_width(self) -> str:
        """The width of the planned part, which ends within the bar."""
        return f"{100 * min(max(self.planned, 0.0), max(1 - self.spent, 0.0)):.2f}%"


def make_page(template: str, *, status: int = 200, **parts: Any) -> HTMLResponse:
    """Return a page; every value in it is escaped by its template."""
    text = _make_environment().get_template(template).render(place=PLACE, **parts)
    return HTMLResponse(text, status, headers=HEADERS)


def serve_file(name: str) -> Response | None:
    """Return one of the console's own files; None if it has no such file."""
    if name not in _KINDS:
        return None
    return Response(
        _read_file(name),
        media_type=_KINDS[name],
        headers={**HEADERS, "Cache-Control": "public, max-age=3600"},
    )


@cache
def _read_file(name: str) -> bytes:
    return (files("discreet.server.console") / "static" / name).read_bytes()


def _file_address(name: str) -> str:
    """Return the address of a file, which changes with its content."""
    return f"{PLACE}/static/{name}?{hashlib.sha256(_read_file(name)).hexdigest()[:12]}"


@cache
def _make_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet.server.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["short"], made.filters["code"] = format_short, code
    names: dict[str, Any] = {
        "file": _file_address,
        "version": version("discreet"),
        "count": format_count,
        "pages": NAVIGATION,
    }
    made.globals.update(names)
    return made
