"""A server that is spoken to over HTTP, in a thread of its own, with a clerk and an analyst."""

from __future__ import annotations

import asyncio
import shutil
import threading
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.tokens import create_token
from discreet.server.gateway import health
from discreet.server.listener import serve_until_stopped
from discreet.server.settings import ServerLimits, read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.server.startup import OpenedServer

PASSWORD = "correct horse battery"
PATIENCE = 60.0  # seconds that only a broken server takes, however busy the machine is
POLICY = Path(str(files("discreet") / "data" / "hospital" / "policy.yaml"))
RIGHTS = """
CREATE USER clerk; CREATE USER analyst; CREATE USER other; CREATE ROLE staff; GRANT staff TO clerk;
GRANT SELECT (patient_id, insurance) ON patients TO clerk;
GRANT AGGREGATE ON patients TO analyst WITH BUDGET (EPSILON 2, DELTA 1e-6);
GRANT CREATE ON SCHEMA public TO staff
"""


@dataclass
class Web:
    """A server and its address."""

    opened: OpenedServer
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, user: str, *scopes: str) -> str:
        """Return a new token of a user."""
        server = self.opened.server
        text, _ = create_token(
            server.vault.documents, user, now=server.clock(), scopes=scopes or ("query",)
        )
        return text

    def client(self, user: str = "clerk", *scopes: str) -> httpx.Client:
        """Return a client that has a token."""
        bearer = {"Authorization": f"Bearer {self.token(user, *scopes)}"}
        return httpx.Client(base_url=self.url, headers=bearer, timeout=PATIENCE)

    def ask(self, statement: str, user: str = "clerk", **more: Any) -> httpx.Response:
        """Send SQL as a user."""
        with self.client(user) as client:
            return client.post("/v1/query", json={"statement": statement, **more})


@pytest.fixture(scope="module")
def web(
    first_start: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Web]:
    """The hospital over HTTP, with room for many requests."""
    data = tmp_path_factory.mktemp("web") / "data"
    shutil.copytree(first_start(POLICY), data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
        patch.setattr(health, "PROBE_TIMEOUT", PATIENCE)
        limits = ServerLimits(requests_per_minute=100_000, connections=40, connections_per_user=30)
        settings = read_settings(
            data,
            policy=POLICY,
            port=0,
            http_port=0,
            plain=True,
            limits=limits,
        )
        yield from served(open_server(settings))


def served(opened: OpenedServer) -> Iterator[Web]:
    """Give a server that listens until it is not needed any more."""
    session = opened.server.open_session(
        ClientInfo("admin", "127.0.0.1", is_local=True), {}, "test"
    )
    for statement in session.split(RIGHTS):
        session.run(session.prepare(statement))
    session.close()
    server = opened.server
    set_password(server.vault.documents, "clerk", PASSWORD, now=server.clock())
    ports: list[int] = []
    loop, is_open = asyncio.new_event_loop(), threading.Event()
    stop = asyncio.Event()

    def ready(_: int, port: int | None) -> None:
        ports.append(port or 0)
        is_open.set()

    thread = threading.Thread(
        target=lambda: loop.run_until_complete(
            serve_until_stopped(opened, None, ready=ready, stop=stop)
        )
    )
    thread.start()
    assert is_open.wait(PATIENCE)
    yield Web(opened, ports[0])
    loop.call_soon_threadsafe(stop.set)
    thread.join(PATIENCE)
    loop.close()
    server.close()
