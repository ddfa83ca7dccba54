"""Health: what cannot be reached is reported, and nothing else."""

from __future__ import annotations

import contextlib
import re
import threading

import httpx
import pytest
from fastapi.testclient import TestClient

import discreet
from discreet.errors import StoreFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.gateway import health
from discreet.server.http.app import make_app
from discreet.server.suspension import suspend_logins


@pytest.fixture
def web(server, monkeypatch) -> TestClient:
    monkeypatch.setattr(health, "PROBE_TIMEOUT", 60.0)  # a busy machine is no failing part
    return TestClient(make_app(server.server, server.authenticator, is_encrypted=False))


def test_a_server_that_works_says_so_part_by_part(web: TestClient):
    result = web.get("/healthz")
    assert result.status_code == 200
    assert result.json() == {
        "status": "ok",
        "parts": dict.fromkeys(("control", "ledger", "journal", "database"), "ok"),
        "unwitnessed": 0,
    }


@pytest.mark.parametrize("part", ["control", "ledger", "journal", "database"])
def test_a_part_that_fails_makes_it_503_without_words(server, web: TestClient, part: str):
    def fail() -> None:
        raise StoreFailed("The store in /srv/secret/place cannot be read.")

    server.server.health_monitor._looks[part] = fail
    result = web.get("/healthz")
    assert result.status_code == 503
    assert result.json()["parts"][part] == "failing"
    assert "secret" not in result.text


def test_a_part_that_hangs_is_down_and_is_asked_once(server, web: TestClient, monkeypatch):
    monkeypatch.setattr(health, "PROBE_TIMEOUT", 0.1)
    monkeypatch.setattr(health, "HEALTH_TTL", 0.0)
    asked, go_on = [], threading.Event()

    def hang() -> None:
        asked.append(1)
        go_on.wait(120)

    server.server.health_monitor._looks["ledger"] = hang
    assert [web.get("/healthz").status_code for _ in range(3)] == [503, 503, 503]
    assert asked == [1]
    go_on.set()


def test_checkpoints_without_a_witness_are_counted(open_server, tmp_path):
    missing = tmp_path / "unplugged" / "witness.txt"
    opened = open_server(audit={"witness": [str(missing)], "checkpoint_entries": 1})
    web = TestClient(make_app(opened.server, opened.authenticator, is_encrypted=True))
    opened.server.open_session(ClientInfo("admin", "127.0.0.1", is_local=True), {}, "test").close()
    assert web.get("/healthz").json()["unwitnessed"] > 0
    result = web.get("/metrics", auth=("admin", "a long password")).text
    assert re.search(r"discreet_unwitnessed_checkpoints [1-9]", result)


def test_a_server_that_stops_is_healthy_but_not_ready(server, web: TestClient):
    assert web.get("/readyz").json()["parts"]["accepting"] == "ok"
    server.server.is_stopping = True
    result = web.get("/readyz")
    assert (result.status_code, result.json()["parts"]["accepting"]) == (503, "failing")
    assert web.get("/healthz").status_code == 200


def test_a_server_whose_logins_are_suspended_is_not_ready(server, web: TestClient):
    suspend_logins(server.server.control, "a drill", at=server.server.clock())
    assert web.get("/readyz").status_code == 503


def test_clients_are_served_while_the_server_says_that_it_stops(tmp_path):
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "server.yaml").write_text("drain_seconds: 3\n")
    served = discreet.serve(tmp_path / "data", plain=True, http_port=0)
    stopping = threading.Thread(target=served.stop)
    stopping.start()
    found: list[httpx.Response] = []
    while stopping.is_alive():
        with contextlib.suppress(httpx.TransportError):  # from the end of the three seconds on
            found.append(httpx.get(f"{served.url}/readyz", timeout=60))
    assert found[0].status_code in (200, 503)
    assert [answer.json()["parts"]["accepting"] for answer in found].count("failing") > 0
