"""The first start of a server when something is in its way: no one is locked out by that."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.flows.conftest import Discreet

SHOWN = "The password of admin, shown this once:\n  "


@pytest.fixture
def port():
    """A port that another user listens to."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        yield taken.getsockname()[1]


def test_a_first_start_shows_the_password_also_when_the_port_is_taken(
    discreet: Discreet, port: int
):
    first, second = (discreet("serve", "--port", port, "--data", "new") for _ in range(2))
    assert (first.code, first.error) == (second.code, second.error) == (2, "output-refused")
    assert SHOWN in first.err
    assert SHOWN not in second.err
    assert f"Port {port} of 127.0.0.1 cannot be listened to: Address already in use." in first.err


def test_a_first_start_shows_the_password_also_when_a_table_is_not_there(
    folder: Path, discreet: Discreet
):
    (folder / "policy.yaml").write_text("tables:\n  gone:\n    columns: {age: insensitive}\n")
    refused = discreet("serve", "--data", "new", "--policy", "policy.yaml")
    assert refused.error == "no-such-source"
    assert SHOWN in refused.err


@pytest.mark.postgres
def test_a_missing_database_is_reported_at_start(discreet: Discreet):
    refused = discreet("serve", "--data", "new", "--database", "postgresql://a:hush@127.0.0.1:1/x")
    assert refused.error == "no-such-source"
    assert "Is it running" in refused.err
    assert "hush" not in refused.err
