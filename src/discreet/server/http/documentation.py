"""The documentation at `/docs`: the site that `make docs` builds. No request of its pages leaves the machine."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.responses import Response

SITE = Path(str(files("discreet"))) / "data" / "site"
# A page may load what this server has (its search reads the pages), and nothing else; no other page may frame it.
CONTENT_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"),
        *(
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ),
    )
)
MISSING = (
    "This installation has no documentation: run `make docs` in a checkout, or read docs/ there"
)


class _Pages(StaticFiles):
    """Files of the site, with the policy of content of a page."""

    async def check_config(self) -> None:
        if not SITE.is_dir():
            raise HTTPException(404, MISSING)

    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = CONTENT_POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def add_documentation(app: FastAPI) -> None:
    """Let an application show the documentation. It is public: no sign-in, and nothing of the server in it."""
    app.mount("/docs", _Pages(directory=SITE, html=True, check_dir=False), name="documentation")
