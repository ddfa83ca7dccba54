"""Assessing a table: the numbers of the command line, from rows that pass the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import MARKUP, token_of
from tests.server.http.conftest import POLICY

from discreet.guard.journal.search import EntryFilter
from discreet.measure.assess import assess as assess_file
from discreet.server.console import assess

if TYPE_CHECKING:
    import httpx
    from tests.server.console.conftest import Console


def send(client: httpx.Client, table: str) -> httpx.Response:
    """Return the page after the button."""
    form = {"csrf": token_of(client.get("/")), "schema": "public", "table": table}
    return client.post("/assess", data=form)


def test_the_page_says_what_the_command_line_says(console: Console):
    found = assess_file(POLICY.parent / "patients.csv", POLICY)
    with console.sign_in("admin") as client:
        page = send(client, "patients").text
    assert found.verdict in page
    for exposure in found.exposures:
        assert f"{exposure.people:,}" in page
    assert f"<td>{found.unique:,} (" in page


def test_it_is_kept_for_the_session_until_the_table_changes(console: Console):
    console.run("CREATE TABLE changing (age integer); INSERT INTO changing VALUES (1), (1), (2)")
    with console.sign_in("admin") as client, console.sign_in("admin") as other:
        assert "Assess again" in send(client, "changing").text
        place = {"table": "changing"}
        assert "Assess again" in client.get("/assess", params=place).text
        assert "Assess again" not in other.get("/assess", params=place).text
        console.run("INSERT INTO changing VALUES (3)")
        assert "Assess again" not in client.get("/assess", params=place).text


def test_rows_are_read_by_a_query_in_the_journal(console: Console):
    with console.sign_in("admin") as client:
        send(client, "doctors")
    found = console.web.opened.server.journal.latest(EntryFilter(user="admin", table="doctors"))
    assert any('FROM "public"."doctors"' in one.event.statement for one in found.entries)


@pytest.mark.parametrize("user", ["clerk", "analyst"])
def test_others_assess_nothing(console: Console, user: str):
    with console.sign_in(user) as client:
        assert client.get("/assess", params={"table": "patients"}).status_code == 403
        assert send(client, "patients").status_code == 403


def test_a_table_that_is_too_large_is_left_to_the_command_line(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(assess, "MOST_ROWS", 100)
    with console.sign_in("admin") as client:
        page = send(client, "patients")
    assert page.status_code == 400
    assert "more than 100 rows" in page.text


@pytest.mark.parametrize("table", ["", "no_such_table", "patients; DROP TABLE patients"])
def test_a_table_that_does_not_exist_is_refused(console: Console, table: str):
    with console.sign_in("admin") as client:
        assert send(client, table).status_code == 400


def test_names_that_are_markup_stay_text(console: Console):
    with console.sign_in("admin") as client:
        page = send(client, MARKUP).text
    assert MARKUP not in page
