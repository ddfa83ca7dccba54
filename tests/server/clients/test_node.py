"""Node.js programs talk to the server through node-postgres."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.server.pg.served import Served


@pytest.fixture(scope="module")
def result(server: Served, people: str, node_modules: Path) -> dict[str, Any]:
    """What the program of this folder printed."""
    script = Path(__file__).with_name("client.cjs")
    arguments = (server.host, str(server.port), server.user, server.password, server.database)
    done = subprocess.run(
        ["node", str(script), *arguments, str(server.authority)],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "NODE_PATH": str(node_modules / "node_modules"), "TZ": "UTC"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_rows_have_their_types(result: dict[str, Any]):
    first, second = result["rows"]
    assert first == {
        "id": 1,
        "name": "person 1",
        "born": "1980-01-31",
        "weight": "70.50",
        "is_active": True,
        "score": 0.5,
    }
    assert set(second.values()) == {2, None}
    assert result["oids"] == [23, 25, 25, 1700, 16, 701]


def test_parameters_come_back_as_they_went(result: dict[str, Any]):
    assert result["typed"] == {
        "a": 42,
        "b": "Grüße",
        "c": True,
        "d": "2024-02-29T01:02:03.000Z",
        "e": None,
        "f": "00ff",
    }


def test_a_named_statement_is_used_again(result: dict[str, Any]):
    assert result["named"] == ["person 1", "person 3", "person 5"]


def test_a_failure_has_its_sqlstate_and_a_transaction_is_undone(result: dict[str, Any]):
    assert (result["failure"], result["count"]) == ("42P01", 500)


def test_several_statements_have_several_results(result: dict[str, Any]):
    assert result["several"] == [1, 2]
