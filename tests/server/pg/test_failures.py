"""What a client learns of failures: known ones by their SQLSTATE, others without details."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet import errors
from discreet.server.pg.failures import SQLSTATES, as_statement_failed, error_response

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "wire.md"


@pytest.mark.parametrize(("kind", "sqlstate"), SQLSTATES, ids=lambda each: str(each)[-20:])
def test_an_error_has_its_sqlstate_in_code_and_reference(
    kind: type[errors.DiscreetError], sqlstate: str
):
    error = kind.__new__(kind)
    Exception.__init__(error, "what to do")
    assert as_statement_failed(error).sqlstate == sqlstate
    assert f"| `{sqlstate}` |" in PAGE.read_text("utf-8")


def test_a_login_has_the_sqlstate_that_the_authenticator_gave_it():
    assert as_statement_failed(errors.LoginFailed("no")).sqlstate == "28P01"
    assert as_statement_failed(errors.LoginFailed("no", sqlstate="28000")).sqlstate == "28000"


@pytest.mark.parametrize(
    "error",
    [ValueError("Alice"), errors.Bug("Alice"), errors.DiscreetError("Alice"), KeyError("Alice")],
)
def test_what_is_not_in_the_table_has_no_words(error: Exception):
    result = error_response(error)
    assert b"Alice" not in result
    assert b"CXX000\0Minternal error\0" in result


def test_running_out_of_memory_or_stack_is_a_limit():
    assert as_statement_failed(MemoryError()).sqlstate == "53200"
    assert as_statement_failed(RecursionError()).sqlstate == "54001"


def test_detail_and_hint_are_reported():
    result = error_response(errors.StatementFailed("42601", "no", detail="why", hint="what else"))
    assert b"Dwhy\0Hwhat else\0" in result


def test_zero_bytes_cannot_break_a_message():
    result = error_response(errors.StatementFailed("42601", "a\0b"))
    assert b"Mab\0" in result


def test_every_sqlstate_of_this_package_is_in_the_reference():
    package = Path(as_statement_failed.__code__.co_filename).parent
    used = {
        state
        for path in package.glob("*.py")
        for state in re.findall(r'"([0-9A-Z]{2}[0-9A-Z]{3})"', path.read_text("utf-8"))
        if re.fullmatch(r"(?:\d\d|XX|F0|0A|P0)[0-9A-Z]{3}", state)
    }
    page = PAGE.read_text("utf-8")
    assert sorted(state for state in used if f"`{state}`" not in page) == []
