"""Every page: who may open it, its headers, and forged or hostile requests."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import MARKUP, token_of

from discreet.server.console import requests

if TYPE_CHECKING:
    from tests.server.console.conftest import Console

PAGES = ("/", "/ask", "/journal", "/guard", "/guard/see-as", "/assess")
ACTIONS = ("/sign-out", "/ask/price", "/journal/verify", "/journal/export", "/journal/proof")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_leads_to_the_sign_in(console: Console, page: str):
    with console.client() as client:
        answer = client.get(page)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in")


@pytest.mark.parametrize("action", [*ACTIONS, "/ask", "/guard/see-as", "/assess"])
@pytest.mark.parametrize("attack", ["no token", "other token", "other site"])
def test_an_action_that_no_page_of_ours_sent_is_refused(console: Console, action: str, attack: str):
    with console.sign_in("clerk") as client, console.sign_in("nurse") as other:
        tokens = {"no token": "", "other token": token_of(other.get("/"))}
        token = tokens.get(attack) or (token_of(client.get("/")) if attack == "other site" else "")
        headers = {"Sec-Fetch-Site": "cross-site"} if attack == "other site" else {}
        answer = client.post(action, data={"csrf": token}, headers=headers)
        assert answer.status_code == 403
        assert client.get("/").status_code == 200


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_no_link(console: Console, action: str):
    with console.sign_in("clerk") as client:
        assert client.get(action).status_code == 405


@pytest.mark.parametrize("page", [*PAGES, "/sign-in", "/nothing", "/static/htmx.min.js"])
def test_every_response_has_the_headers_that_guard_it(console: Console, page: str):
    with console.sign_in("clerk") as client:
        headers = client.get(page).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src")
    assert "frame-ancestors 'none'" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in policy
    kept = "public, max-age=3600" if page.startswith("/static/") else "no-store"
    assert headers["cache-control"] == kept


def test_an_address_of_no_page_repeats_nothing_of_itself(console: Console):
    with console.sign_in("clerk") as client:
        answer = client.get("/nothing/<script>alert(1)</script>")
    assert answer.status_code == 404
    assert "alert(1)" not in answer.text


@pytest.mark.parametrize("name", ["../app.py", "%2e%2e/app.py", "layout.html.j2"])
def test_only_its_own_files_are_sent(console: Console, name: str):
    with console.client() as client:
        assert client.get(f"/static/{name}").status_code in (303, 404)


def test_names_that_are_markup_are_shown_as_text(console: Console):
    with console.sign_in("clerk") as client:
        page = client.get("/").text
    assert html.escape(MARKUP) in page
    assert MARKUP not in page


def test_an_unexpected_error_says_nothing_of_its_cause(
    console: Console, monkeypatch: pytest.MonkeyPatch
):
    def fail() -> None:
        raise ValueError("Alice has measles")

    monkeypatch.setattr(console.web.opened.server.health_monitor, "check", fail)
    with console.sign_in("clerk") as client:
        answer = client.get("/")
    assert answer.status_code == 500
    assert "internal error" in answer.text
    assert "Alice" not in answer.text


def test_a_body_that_is_no_form_is_refused(console: Console):
    with console.sign_in("clerk") as client:
        answer = client.post("/sign-out", content=b"\xff\xfe" * 50)
        assert answer.status_code == 403


def test_the_root_leads_to_the_console(console: Console):
    with console.client() as client:
        answer = client.get(console.web.url)
        assert (answer.status_code, answer.headers["location"]) == (307, "/console/")


@pytest.mark.parametrize("action", ["/ask", "/ask/price", "/journal/export"])
def test_the_form_of_a_stranger_is_not_even_read(
    console: Console, action: str, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(requests, "parse_qsl", refuse)
    with console.client() as client:
        answer = client.post(action, data={"statement": "SELECT 1"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in")
