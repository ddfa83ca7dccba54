"""A server in this process: a real one, on loopback, that leaves nothing behind."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path

import httpx
import psycopg
import pytest

import discreet
from discreet.errors import OutputRefused, WrongUsage
from discreet.stores.timelines import TIMELINES

POLICY = """
tables:
  people:
    source: people.csv
    unit: id
    columns:
      id: identifier
      age: {role: quasi-identifier, bounds: [0, 120]}
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("id,age\n1,31\n2,47\n", "utf-8")
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY, "utf-8")
    return path


def test_clients_of_both_protocols_read_the_tables_of_the_policy(policy: Path):
    with discreet.serve(policy=policy, http_port=0) as server:
        assert server.imported == ("people",)
        with psycopg.connect(**server.parameters()) as connection:
            assert connection.execute("SELECT count(*) FROM people").fetchone() == (2,)
        answer = httpx.post(
            f"{server.url}/v1/query",
            json={"statement": "SELECT current_user"},
            auth=(server.admin, server.password or ""),
            verify=ssl.create_default_context(cafile=server.certificate),
        )
    assert answer.json()["rows"] == [["admin"]]


def test_a_stopped_server_listens_no_more_and_leaves_no_folder(policy: Path):
    server = discreet.serve(policy=policy)
    folder = server.certificate.parents[1] if server.certificate else Path()
    assert folder.is_dir()
    server.stop()
    server.stop()
    assert not server.is_running
    assert not folder.exists()
    with socket.socket() as client:
        assert client.connect_ex((server.host, server.port)) != 0


def test_what_a_process_writes_is_as_open_as_before(policy: Path):
    before = os.umask(0o022)
    try:
        with discreet.serve(policy=policy):
            pass
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_a_folder_is_kept_and_served_again(policy: Path, tmp_path: Path):
    with discreet.serve(tmp_path / "clinic", policy) as first:
        password = first.password
    with (
        discreet.serve(tmp_path / "clinic", policy) as again,
        psycopg.connect(**again.parameters(password=password)) as connection,
    ):
        assert again.password is None
        assert connection.execute("SELECT count(*) FROM people").fetchone() == (2,)


def test_limits_hold(policy: Path):
    limits = {"statement_characters": 1000}
    with (
        discreet.serve(policy=policy, limits=limits) as server,
        psycopg.connect(**server.parameters()) as connection,
        pytest.raises(psycopg.Error, match="too long"),
    ):
        connection.execute(f"SELECT '{'x' * 2000}'")  # type: ignore[arg-type]


def test_a_port_in_use_is_refused_and_nothing_is_left(policy: Path, tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OutputRefused, match="cannot be listened to"):
            discreet.serve(tmp_path / "clinic", policy, port=taken.getsockname()[1])
    with discreet.serve(tmp_path / "clinic", policy) as server:
        assert server.is_running


def test_an_unknown_limit_is_refused():
    with pytest.raises(WrongUsage, match="limits"):
        discreet.serve(limits={"conections": 3})


def test_a_representation_has_no_password(policy: Path):
    with discreet.serve(policy=policy) as server:
        assert server.password
        assert server.password not in repr(server)


def test_the_password_of_the_environment_is_that_of_a_first_start_only(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with discreet.serve(tmp_path / "server", policy) as first:
        generated = first.password
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "another-than-the-generated-one")
    with discreet.serve(tmp_path / "server", policy) as again:
        assert again.password is None
    with discreet.serve(tmp_path / "other", policy) as other:
        assert other.password == "another-than-the-generated-one" != generated
        psycopg.connect(**other.parameters()).close()


def test_a_stopped_server_does_not_bring_its_folder_back(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with discreet.serve(policy=policy) as server:
        folder = server.certificate.parents[1] if server.certificate else Path()
        TIMELINES.see("seen while it was running", 2)
        assert (folder / "timelines.json").is_file()
    TIMELINES.see("seen after it stopped", 2)
    assert not folder.exists()
    assert (tmp_path / "state" / "discreet" / "timelines.json").is_file()
    assert TIMELINES.newest("seen while it was running") == 2
