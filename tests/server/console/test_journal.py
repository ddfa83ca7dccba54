"""The journal's page: for superusers, recorded, filtered, and provable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import token_of
from tests.server.console.test_ask import ask

from discreet.guard.journal.keys import load_public_key
from discreet.guard.journal.proofs import is_proven, read_proof
from discreet.guard.journal.search import EntryFilter
from discreet.server.console import journal as journal_page

if TYPE_CHECKING:
    import httpx
    from tests.server.console.conftest import Console


def send(client: httpx.Client, action: str, **fields: str) -> httpx.Response:
    form = {"csrf": token_of(client.get("/journal")), **fields}
    return client.post(f"/journal/{action}", data=form)


@pytest.mark.parametrize("user", ["clerk", "analyst"])
def test_others_do_not_read_it_and_that_they_tried_is_recorded(console: Console, user: str):
    with console.sign_in(user) as client:
        form = {"csrf": token_of(client.get("/"))}
        assert client.get("/journal").status_code == 403
        assert "Journal" not in client.get("/").text
        for action in ("verify", "export", "proof"):
            assert client.post(f"/journal/{action}", data={**form, "entry": "1"}).status_code == 403
    found = console.web.opened.server.journal.entries(EntryFilter(user=user, decision="denied"))
    reasons = {one.event.reason for one in found}
    assert {"console: read the journal", "console: export the journal"} <= reasons


def test_a_filter_shows_what_matches(console: Console):
    with console.sign_in("clerk") as client:
        ask(client, "SELECT diagnosis FROM patients")
        ask(client, "SELECT insurance FROM patients LIMIT 1")
    with console.sign_in("admin") as client:
        denied = client.get("/journal", params={"user": "clerk", "decision": "denied"}).text
        assert "SELECT diagnosis FROM patients" in denied
        assert "SELECT insurance" not in denied
        by_table = client.get("/journal", params={"user": "clerk", "table": "patients"}).text
        assert "SELECT insurance" in by_table
        assert "None of " in client.get("/journal", params={"user": "no_such_user"}).text


@pytest.mark.parametrize("given", [{"since": "yesterday"}, {"before": "x"}, {"before": "0"}])
def test_a_filter_that_makes_no_sense_is_refused(console: Console, given: dict[str, str]):
    with console.sign_in("admin") as client:
        assert client.get("/journal", params=given).status_code == 400


def test_reading_is_recorded(console: Console):
    with console.sign_in("admin") as client:
        assert "console: read the journal" in client.get("/journal").text


def test_it_is_verified_and_an_entry_is_proven(console: Console):
    server = console.web.opened.server
    with console.sign_in("admin") as client:
        assert server.journal.checkpoint() is not None
        assert "The journal is whole" in send(client, "verify").text
        proof = send(client, "proof", entry="1")
    key = load_public_key(server.settings.place("keys/journal.pub"))
    assert is_proven(read_proof(proof.text, place="test"), key)
    assert proof.headers["content-disposition"] == 'attachment; filename="entry-1.json"'
    assert proof.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("entry", ["", "0", "-1", "999999999", "../1", "1e3"])
def test_no_proof_of_what_is_no_entry(console: Console, entry: str):
    with console.sign_in("admin") as client:
        assert send(client, "proof", entry=entry).status_code == 400


def test_an_export_has_the_entries_that_match(console: Console):
    with console.sign_in("admin") as client:
        lines = send(client, "export", kind="login").text.splitlines()
    entries = [json.loads(line) for line in lines]
    assert {entry["kind"] for entry in entries} == {"login"}
    assert len({entry["sequence"] for entry in entries}) == len(entries)


def test_statements_that_are_markup_are_shown_as_text(console: Console):
    with console.sign_in("clerk") as client:
        ask(client, 'SELECT 1 AS "<script>alert(2)</script>"')
    with console.sign_in("admin") as client:
        page = client.get("/journal", params={"user": "clerk"}).text
    assert "<script>alert(2)" not in page
    assert "&lt;script&gt;alert(2)" in page


def test_an_export_is_never_cut_in_silence(console: Console, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_page, "MOST_EXPORTED", 1)
    with console.sign_in("admin") as client:
        answer = send(client, "export")
    assert answer.status_code == 400
    assert "more than 1 entries match" in answer.text
