"""A whole server without a wire: sessions are opened as front ends open them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.settings import read_settings
from discreet.server.startup import open_server as start_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.server.gateway.session import GatewaySession
    from discreet.server.session import Outcome
    from discreet.server.startup import OpenedServer

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))


@dataclass
class Client:
    """A user who is logged in and types SQL."""

    session: GatewaySession

    def run(self, text: str, *values: object) -> Outcome:
        """Run a text and return what its last statement gave."""
        statements = self.session.split(text)
        outcome = None
        for statement in statements:
            outcome = self.session.run(self.session.prepare(statement), values)
        assert outcome is not None
        return outcome

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        table = self.run(text, *values).table
        assert table is not None
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.fixture
def open_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., OpenedServer]]:
    """Open servers; they are closed at the end."""
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    opened: list[OpenedServer] = []

    def start(**settings: Any) -> OpenedServer:
        settings.setdefault("port", 0)
        found = start_server(read_settings(settings.pop("data", tmp_path / "data"), **settings))
        opened.append(found)
        return found

    yield start
    for item in opened:
        item.server.close()


@pytest.fixture
def server(
    first_start: Callable[..., Path], open_server: Callable[..., OpenedServer], tmp_path: Path
) -> OpenedServer:
    """An empty server."""
    shutil.copytree(first_start(None), tmp_path / "data")
    return open_server()


@pytest.fixture
def hospital(
    first_start: Callable[..., Path], open_server: Callable[..., OpenedServer], tmp_path: Path
) -> OpenedServer:
    """A server with the tables of the made-up hospital."""
    policy = HOSPITAL / "policy.yaml"
    shutil.copytree(first_start(policy), tmp_path / "data")
    return open_server(policy=policy)


@pytest.fixture
def connect() -> Callable[..., Client]:
    """Return how a user who was let in gets a session."""

    def enter(opened: OpenedServer, user: str = "admin", **parameters: str) -> Client:
        client = ClientInfo(user, "127.0.0.1", is_local=True, is_encrypted=True)
        return Client(opened.server.open_session(client, parameters, "test"))

    return enter
