"""Signing in: who comes in, what a cookie proves, and what other sites cannot do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.console.conftest import send_password, token_of
from tests.server.http.conftest import PASSWORD

from discreet.guard.identity.accounts import set_locked, set_password
from discreet.guard.journal.search import EntryFilter
from discreet.server.console.sign_in import LONGEST_FORM

if TYPE_CHECKING:
    from tests.server.console.conftest import Console


def test_name_and_password_lead_to_home(console: Console):
    with console.client() as client:
        answer = send_password(client, "clerk", PASSWORD)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")
        assert client.get("/").status_code == 200


def test_the_cookie_is_for_this_site_and_no_script(console: Console):
    with console.client() as client:
        cookie = send_password(client, "clerk", PASSWORD).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize("user", ["clerk", "stranger", "staff", "", "<b>"])
def test_a_wrong_password_and_an_unknown_user_get_the_same_page(console: Console, user: str):
    with console.client() as client:
        answer = send_password(client, user, "wrong password")
        assert answer.status_code == 401
        assert "Name or password is wrong" in answer.text
        assert "<b>" not in answer.text
        assert client.get("/").status_code == 303


def test_a_sign_in_and_a_refusal_are_in_the_journal(console: Console):
    with console.client() as client:
        send_password(client, "nurse", "wrong password")
        send_password(client, "nurse", PASSWORD)
    found = console.web.opened.server.journal.entries(EntryFilter(user="nurse", kind="login"))
    assert [(one.event.decision, one.event.protocol) for one in found] == [
        ("denied", "console"),
        ("allowed", "console"),
    ]


def test_failures_lock_as_on_the_wire(console: Console):
    console.run("CREATE USER mistaken")
    server = console.web.opened.server
    set_password(server.vault.documents, "mistaken", PASSWORD, now=server.clock())
    with console.client() as client:
        for _ in range(6):
            send_password(client, "mistaken", "wrong password")
        assert send_password(client, "mistaken", PASSWORD).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}],
)
def test_another_site_cannot_sign_a_user_in(console: Console, headers: dict[str, str]):
    with console.client() as client:
        token = token_of(client.get("/sign-in"))
        form = {"csrf": token, "user": "clerk", "password": PASSWORD}
        answer = client.post("/sign-in", data=form, headers=headers)
        assert answer.status_code == 403
        assert client.get("/").status_code == 303


def test_a_form_of_another_browser_signs_no_one_in(console: Console):
    with console.client() as mine, console.client() as theirs:
        form = {"csrf": token_of(mine.get("/sign-in")), "user": "clerk", "password": PASSWORD}
        assert theirs.post("/sign-in", data=form).status_code == 403


def test_an_identifier_from_outside_is_never_taken_over(console: Console):
    with console.client() as client:
        client.cookies.set("discreet", "chosen-by-an-attacker", domain="127.0.0.1", path="/")
        send_password(client, "clerk", PASSWORD)
    with console.client() as attacker:
        attacker.cookies.set("discreet", "chosen-by-an-attacker")
        assert attacker.get("/").status_code == 303


def test_a_new_sign_in_ends_the_session_of_before(console: Console):
    with console.sign_in("clerk") as client:
        before = client.cookies["discreet"]
        token = "0" * 43
        client.cookies.set("discreet-form", token)
        form = {"csrf": token, "user": "nurse", "password": PASSWORD}
        assert client.post("/sign-in", data=form).status_code == 303
    with console.client() as other:
        other.cookies.set("discreet", before)
        assert other.get("/").status_code == 303


def test_signing_out_ends_the_session_on_the_server(console: Console):
    with console.sign_in("clerk") as client:
        kept = client.cookies["discreet"]
        token = token_of(client.get("/"))
        assert client.post("/sign-out", data={"csrf": token}).status_code == 303
    with console.client() as other:
        other.cookies.set("discreet", kept)
        assert other.get("/").status_code == 303


@pytest.mark.parametrize("change", ["password", "lock", "drop", "rights"])
def test_what_ends_a_login_ends_its_sessions(console: Console, change: str):
    name = f"leaving_{change}"
    console.run(f"CREATE USER {name}")
    server = console.web.opened.server
    set_password(server.vault.documents, name, PASSWORD, now=server.clock())
    with console.sign_in(name) as client:
        assert client.get("/").status_code == 200
        if change == "password":
            set_password(server.vault.documents, name, "another password", now=server.clock())
        elif change == "lock":
            set_locked(server.vault.documents, name, is_locked=True)
        elif change == "drop":
            console.run(f"DROP ROLE {name}; CREATE USER {name}")
        else:
            console.run(f"ALTER ROLE {name} NOLOGIN")
        assert client.get("/").status_code == 303


def test_a_form_that_no_browser_sends_is_refused_before_it_is_read(console: Console):
    with console.client() as client:
        answer = client.post("/sign-in", content=b"csrf=" + b"%41" * LONGEST_FORM)
    assert answer.status_code == 413
