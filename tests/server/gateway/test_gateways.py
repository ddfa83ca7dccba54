"""Two gateways over one PostgreSQL: what one of them acknowledges is in force at the other."""

from __future__ import annotations

import secrets
import threading
import time

import pytest

from discreet.errors import AccessDenied

pytestmark = pytest.mark.postgres

READERS = 3
ROUNDS = 12


@pytest.fixture
def gateways(postgres_16_url: str, open_server, tmp_path):
    import psycopg

    name = f"shared_{secrets.token_hex(4)}"
    with psycopg.connect(postgres_16_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = postgres_16_url.replace("/postgres?", f"/{name}?")
    stores = dict.fromkeys(("database", "control", "ledger", "journal"), url)
    first = open_server(data=tmp_path / "first", **stores)
    return first, open_server(data=tmp_path / "second", **stores)


class Reader:
    """Asks without a pause, and notes when each statement had begun that was allowed, or denied."""

    def __init__(self, client, statement: str) -> None:
        self._client, self._statement = client, statement
        self.allowed: list[float] = []
        self.denied: list[float] = []
        self.is_over = False
        self.thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        prepared = self._client.session.prepare(self._client.session.split(self._statement)[0])
        while not self.is_over:
            began = time.monotonic()
            try:
                self._client.session.run(prepared)
            except AccessDenied:
                self.denied.append(began)
            else:
                self.allowed.append(began)


def wait_for_more(lists: list[list[float]]) -> None:
    """Wait until each list has grown."""
    before = [len(each) for each in lists]
    while any(len(each) <= old for each, old in zip(lists, before, strict=True)):
        time.sleep(0.001)


def test_a_revoke_is_in_force_at_another_gateway_before_it_is_acknowledged(gateways, connect):
    first, second = gateways
    admin = connect(first)
    admin.run("CREATE TABLE notes (id int, word text); INSERT INTO notes VALUES (1, 'a')")
    admin.run("CREATE USER reader; GRANT SELECT ON notes TO reader")
    readers = [Reader(connect(second, "reader"), "SELECT word FROM notes") for _ in range(READERS)]
    revoked: list[tuple[float, float]] = []
    for reader in readers:
        reader.thread.start()
    try:
        for _ in range(ROUNDS):
            wait_for_more([reader.allowed for reader in readers])
            admin.run("REVOKE SELECT ON notes FROM reader")
            acknowledged = time.monotonic()
            wait_for_more([reader.denied for reader in readers])
            revoked.append((acknowledged, time.monotonic()))
            admin.run("GRANT SELECT ON notes TO reader")
    finally:
        for reader in readers:
            reader.is_over = True
            reader.thread.join()
    begun = [moment for reader in readers for moment in reader.allowed]
    assert not [moment for moment in begun for start, end in revoked if start <= moment <= end]
