"""Who floods or stalls over HTTP harms no one else."""

from __future__ import annotations

import select
import shutil
import socket
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.http.conftest import PATIENCE, POLICY, Web, served

from discreet.server.gateway import health
from discreet.server.http import timeouts
from discreet.server.settings import ServerLimits, read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def small(
    first_start: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Web]:
    """A server with little patience and few places."""
    shutil.copytree(first_start(POLICY), tmp_path / "data")
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    monkeypatch.setattr(timeouts, "IDLE_TIMEOUT", 1.0)
    monkeypatch.setattr(timeouts, "BODY_TIMEOUT", 1.0)
    monkeypatch.setattr(health, "PROBE_TIMEOUT", PATIENCE)
    limits = ServerLimits(
        requests_per_minute=60, connections=20, connections_per_user=12, statement_seconds=5
    )
    settings = read_settings(
        tmp_path / "data", policy=POLICY, port=0, http_port=0, plain=True, limits=limits
    )
    yield from served(open_server(settings))


def connected(web: Web) -> socket.socket:
    return socket.create_connection(("127.0.0.1", web.port), timeout=PATIENCE)


def is_closed(place: socket.socket) -> bool:
    try:
        while place.recv(4096):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_connections_that_say_nothing_are_ended(small: Web):
    silent = [connected(small) for _ in range(12)]
    silent[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: x")
    assert all(is_closed(place) for place in silent)
    assert httpx.get(f"{small.url}/healthz", timeout=PATIENCE).status_code == 200


def test_one_address_does_not_get_all_places(small: Web, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        timeouts, "IDLE_TIMEOUT", 2 * PATIENCE
    )  # no one is sent away for saying nothing
    many = [connected(small) for _ in range(40)]
    assert wait_for(lambda: len(select.select(many, [], [], 0)[0]) >= 28)
    for place in many:
        place.close()
    assert wait_for(lambda: is_well(small))


def wait_for(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE
    while not (is_met := condition()) and time.monotonic() < until:
        time.sleep(0.05)
    return is_met


def is_well(web: Web) -> bool:
    try:
        return httpx.get(f"{web.url}/healthz", timeout=PATIENCE).status_code == 200
    except httpx.TransportError:  # there is no place yet
        return False


def test_a_body_that_does_not_come_is_given_up(small: Web):
    token = small.token("clerk")
    place = connected(small)
    head = f"POST /v1/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    place.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{{".encode())
    assert small.ask("SELECT 1").status_code == 200
    assert b" 408 " in place.recv(4096)


def test_a_flood_is_slowed_down_with_a_time_to_retry(small: Web):
    with small.client("clerk") as client:
        asking = (client.post("/v1/query", json={"statement": "SELECT 1"}) for _ in range(60))
        refused = next(answer for answer in asking if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["sqlstate"] == "53400"


def test_slow_statements_of_one_user_leave_places_for_others(web: Web):
    slow = "SELECT count(*) FROM voters a, voters b, voters c, voters d"
    settings = {"statement_timeout": "3000"}
    client = web.client("admin")  # one for all: making it takes time
    answers: list[int] = []

    def ask() -> None:
        body = {"statement": slow, "settings": settings}
        answers.append(client.post("/v1/query", json=body).status_code)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    assert web.ask("SELECT 1").status_code == 200
    for thread in threads:
        thread.join()
    client.close()
    assert answers.count(429) >= 1
    assert set(answers) <= {408, 429}


def test_slow_statements_of_many_users_leave_threads_for_others(first_start, tmp_path, monkeypatch):
    shutil.copytree(first_start(POLICY), tmp_path / "data")
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    monkeypatch.setattr(health, "PROBE_TIMEOUT", PATIENCE)
    limits = ServerLimits(requests_per_minute=10_000, connections=100, connections_per_user=100)
    settings = read_settings(
        tmp_path / "data", policy=POLICY, port=0, http_port=0, plain=True, limits=limits
    )
    starting = served(open_server(settings))
    web = next(starting)
    server, is_over = web.opened.server, threading.Event()
    users = [f"u{number}" for number in range(6)]
    assert web.ask("; ".join(f"CREATE USER {user}" for user in users), "admin").status_code == 200
    opening = server.open_session

    def slowly(client, *rest):
        if client.user in users:
            is_over.wait(3 * PATIENCE)
        return opening(client, *rest)

    monkeypatch.setattr(server, "open_session", slowly)
    tokens = [web.token(user) for user in users]
    threads = [
        threading.Thread(target=send, args=(web, token)) for token in tokens for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        assert httpx.get(f"{web.url}/healthz", timeout=PATIENCE).status_code == 200
        assert web.ask("SELECT 1", "admin").json()["rows"] == [[1]]
    finally:
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
        next(starting, None)


def send(web: Web, token: str) -> None:
    bearer = {"Authorization": f"Bearer {token}"}
    httpx.post(
        f"{web.url}/v1/query", json={"statement": "SELECT 1"}, headers=bearer, timeout=3 * PATIENCE
    )
