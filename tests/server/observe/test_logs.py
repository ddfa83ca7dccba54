"""Logs say what happened and where; no line holds a value, nor the message of an error."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import json
import logging

import pytest

from discreet.errors import DiscreetError
from discreet.server.observe.logs import configure_logs, log_event

CANARY = "canary-4711"


@pytest.fixture
def written(monkeypatch):
    """Return what configures logs and what they wrote."""
    root, own = logging.getLogger(), logging.getLogger("discreet")
    handlers, levels = list(root.handlers), (root.level, own.level)
    stream = io.StringIO()

    def start(form: str, level: str = "info") -> io.StringIO:
        configure_logs(form, level, stream)
        return stream

    yield start
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


def lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_its_fields(written):
    stream = written("json")
    log_event("listening", port=5433)
    (line,) = lines(stream)
    assert (line["event"], line["port"], line["level"]) == ("listening", 5433, "info")


def test_a_level_leaves_out_what_is_less_important(written):
    stream = written("json", "warning")
    log_event("listening")
    assert lines(stream) == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_message_of_an_exception_is_left_out_and_its_place_is_kept(written, form):
    stream = written(form)
    try:
        int(CANARY)
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in application %s", CANARY)
        logging.getLogger("discreet.server").exception("an error")
    assert CANARY not in stream.getvalue()
    assert stream.getvalue().count("ValueError") == 2
    assert "test_logs.py" in stream.getvalue()


def test_an_exception_that_a_task_dropped_is_logged_without_its_message(written):
    stream = written("json")

    async def fail() -> None:
        raise ValueError(CANARY)

    async def drop() -> None:
        task = asyncio.get_running_loop().create_task(fail())
        await asyncio.wait([task])

    asyncio.run(drop())
    gc.collect()
    assert CANARY not in stream.getvalue()


def test_a_line_break_makes_no_second_line(written):
    stream = written("text")
    log_event("slow statement", statement="SELECT\n2026-01-01 ERROR forged")
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * FROM patients WHERE name = '{CANARY}'",
        f'SELECT 1 AS "{CANARY}" -- {CANARY}',
        f"SELECT $${CANARY}$$",
        f"SET discreet.note = '{CANARY}'",
    ],
)
def test_a_slow_statement_is_logged_without_its_literals(
    written, first_start, open_server, connect, text
):
    stream = written("json")
    client = connect(open_server(log={"slow_seconds": 0}))
    with contextlib.suppress(DiscreetError):  # what fails is slow, too
        client.run(text)
    client.run("SELECT 1 + 1")
    assert CANARY not in stream.getvalue()
    last = lines(stream)[-1]
    assert last["event"] == "slow statement"
    assert (last["kind"], last["outcome"]) == ("query", "allowed")
    assert last["statement"] == "SELECT ? + ?"
    assert last["session"] == client.session.id


def test_a_quick_statement_is_not_logged(written, server, connect):
    stream = written("json")
    connect(server).run("SELECT 1")
    assert lines(stream) == []
