"""The hospital's console over HTTP, with an analyst, a clerk and names that are markup."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.http.conftest import PASSWORD, PATIENCE, POLICY, Web, served

from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.settings import ServerLimits, read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MARKUP = "<img src=x onerror=alert(1)>"
EXTRA = f"""
CREATE TABLE "{MARKUP}" (id integer, "{MARKUP}" text);
INSERT INTO "{MARKUP}" VALUES (1, '{MARKUP}');
GRANT SELECT ON "{MARKUP}" TO clerk;
CREATE USER nurse;
GRANT SELECT (visit_id, patient_id, ward) ON visits TO nurse;
ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_ward ON visits FOR SELECT TO nurse USING (ward = 'oncology');
CREATE MASK number_end ON visits (patient_id) TO nurse USING ('…' || right(patient_id, 2));
"""


@dataclass
class Console:
    """A server whose console is used without a browser."""

    web: Web

    def client(self) -> httpx.Client:
        """Return a browser without script, and without cookies yet."""
        return httpx.Client(base_url=f"{self.web.url}/console", timeout=PATIENCE)

    @contextmanager
    def sign_in(self, user: str) -> Iterator[httpx.Client]:
        """Yield the client of a user who is signed in."""
        with self.client() as client:
            assert send_password(client, user, PASSWORD).status_code == 303
            yield client

    def run(self, statement: str) -> None:
        """Run a statement as the administrator."""
        session = self.web.opened.server.open_session(
            ClientInfo("admin", "127.0.0.1", is_local=True), {}, "test"
        )
        try:
            for one in session.split(statement):
                session.run(session.prepare(one))
        finally:
            session.close()


def token_of(page: httpx.Response) -> str:
    """Return the token in the forms of a page."""
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None, page.text
    return found[1]


def send_password(client: httpx.Client, user: str, password: str) -> httpx.Response:
    """Return what a browser gets that opened the form, and sent it."""
    form = {"csrf": token_of(client.get("/sign-in")), "user": user, "password": password}
    return client.post("/sign-in", data=form)


@pytest.fixture(scope="module")
def console(
    first_start: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Console]:
    """The hospital with its console."""
    data = tmp_path_factory.mktemp("console") / "data"
    shutil.copytree(first_start(POLICY), data)
    limits = ServerLimits(requests_per_minute=100_000, connections=40, connections_per_user=30)
    settings = read_settings(data, policy=POLICY, port=0, plain=True, limits=limits, epsilon="0.01")
    for web in served(open_server(settings)):
        console = Console(web)
        console.run(EXTRA)
        server = web.opened.server
        for user in ("analyst", "admin", "nurse"):
            set_password(server.vault.documents, user, PASSWORD, now=server.clock())
        yield console
