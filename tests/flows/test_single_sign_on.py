"""Users of an identity provider log in over the wire and over HTTP; their groups are their roles."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import psycopg_binary
import pytest
import yaml
from tests.identity_provider import CLIENT, IdentityProvider, run_identity_provider

import discreet
from discreet.guard.journal.search import EntryFilter

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "a long password"
BEARER = {"options": "-c discreet.login=oauthbearer"}


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with run_identity_provider() as running:
        yield running


@pytest.fixture(scope="module")
def served(provider, tmp_path_factory) -> Iterator[discreet.RunningServer]:
    """A server that takes the provider's tokens, with a table for each of two roles."""
    data = tmp_path_factory.mktemp("sso") / "data"
    data.mkdir(mode=0o700)
    oidc = {
        "issuer": provider.issuer,
        "audience": CLIENT,
        "user_claim": "preferred_username",
        "groups": {"clinic-doctors": "doctors", "clinic-clerks": "clerks"},
        "create_users": True,
        "password_users": ["admin"],
    }
    (data / "server.yaml").write_text(yaml.safe_dump({"oidc": oidc}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ADMIN_PASSWORD", PASSWORD)
        with discreet.serve(data, http_port=0) as running:
            with psycopg.connect(**running.parameters(), autocommit=True) as admin:
                for role in ("doctors", "clerks"):
                    admin.execute(f"CREATE ROLE {role}".encode())
                    admin.execute(f"CREATE TABLE of_{role} (a int)".encode())
                    admin.execute(f"GRANT SELECT ON of_{role} TO {role}".encode())
            yield running


def connect(served, user: str, token: str, **more: Any) -> psycopg.Connection[Any]:
    return psycopg.connect(**served.parameters(user, token), **more, autocommit=True)


def may_read(served, user: str, token: str) -> list[str]:
    """Return which tables a user may read."""
    with connect(served, user, token) as connection:
        found = []
        for table in ("of_doctors", "of_clerks"):
            try:
                connection.execute(f"SELECT * FROM {table}".encode())
            except psycopg.errors.InsufficientPrivilege:
                continue
            found.append(table)
        return found


def test_a_token_in_place_of_the_password_opens_what_its_groups_may_see(served, provider):
    assert may_read(served, "ada", provider.token("ada", "clinic-doctors")) == ["of_doctors"]


def test_roles_follow_the_groups_at_the_next_login(served, provider):
    both = provider.token("bea", "clinic-doctors", "clinic-clerks", "football")
    assert may_read(served, "bea", both) == ["of_doctors", "of_clerks"]
    assert may_read(served, "bea", provider.token("bea", "clinic-clerks")) == ["of_clerks"]
    with pytest.raises(psycopg.OperationalError, match="token authentication failed"):
        connect(served, "bea", provider.token("bea", "football"))


def test_what_groups_change_is_in_the_journal_before_it_holds(served, provider):
    may_read(served, "cyd", provider.token("cyd", "clinic-doctors"))
    may_read(served, "cyd", provider.token("cyd", "clinic-clerks"))
    entries = served._opened.server.journal.entries(EntryFilter(kind="setting"))
    reasons = [entry.event.reason for entry in entries if "of cyd" in (entry.event.reason or "")]
    assert reasons == [
        "groups of cyd: CREATE ROLE cyd LOGIN",
        "groups of cyd: GRANT doctors",
        "groups of cyd: REVOKE doctors; GRANT clerks",
    ]


def test_a_token_of_another_user_opens_nothing(served, provider):
    token = provider.token("dan", "clinic-doctors")
    for user in ("admin", "ada", "unknown"):
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            connect(served, user, token)


def test_the_administrator_keeps_the_password(served, provider):
    with connect(served, "admin", PASSWORD) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("admin",)
    token = provider.token("admin", "clinic-doctors")
    assert ask(served, token).status_code == 401


def test_a_reserved_name_is_no_user(served, provider):
    for name in ("public", "pg_read_all_data", "none"):
        token = provider.token(name, "clinic-doctors")
        assert ask(served, token).status_code == 401


def ask(served, token: str, place: str = "/v1/query") -> httpx.Response:
    return httpx.post(
        f"{served.url}{place}",
        json={"statement": "SELECT current_user"} if place == "/v1/query" else {},
        headers={"Authorization": f"Bearer {token}"},
        verify=str(served.certificate),
    )


def test_a_token_opens_queries_over_http_and_makes_no_other_tokens(served, provider):
    token = provider.token("eva", "clinic-clerks")
    answer = ask(served, token)
    assert (answer.status_code, answer.json()["rows"]) == (200, [["eva"]])
    assert ask(served, token, "/v1/tokens").status_code == 403
    assert ask(served, token[:-4] + "AAAA").status_code == 401


# --- OAUTHBEARER, as libpq 18 speaks it ----------------------------------------------------------


class BearerRequest(ctypes.Structure):
    """`PGoauthBearerRequest` of libpq 18."""

    _fields_ = (
        ("openid_configuration", ctypes.c_char_p),
        ("scope", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
        ("cleanup", ctypes.c_void_p),
        ("token", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    )


HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(BearerRequest))
WANTS_TOKEN = 1  # PQAUTHDATA_OAUTH_BEARER_TOKEN


@pytest.fixture
def libpq(monkeypatch):
    """Return what gives psycopg's libpq a token when the server asks, and where it looked for it."""
    monkeypatch.setenv("PGOAUTHDEBUG", "UNSAFE")  # a provider without TLS, on this machine
    folder = Path(psycopg_binary.__file__).parent.parent / "psycopg_binary.libs"
    (library,) = folder.glob("libpq-*")
    set_hook = ctypes.CDLL(str(library)).PQsetAuthDataHook
    asked: list[bytes | None] = []
    kept: list[Any] = []

    def give(token: str) -> list[bytes | None]:
        text = ctypes.create_string_buffer(token.encode())

        @HOOK
        def answer(kind: int, _: object, request: Any) -> int:
            if kind != WANTS_TOKEN:
                return 0
            asked.append(request.contents.openid_configuration)
            request.contents.token = ctypes.addressof(text)
            return 1

        kept.extend((text, answer))
        set_hook(answer)
        return asked

    yield give
    set_hook(None)


def bearer(served, provider, user: str) -> psycopg.Connection[Any]:
    parameters = served.parameters(user)
    return psycopg.connect(
        **parameters, **BEARER, oauth_issuer=provider.issuer, oauth_client_id=CLIENT
    )


def test_libpq_18_logs_in_by_oauthbearer_after_the_server_named_the_provider(
    served, provider, libpq
):
    asked = libpq(provider.token("fay", "clinic-doctors"))
    with bearer(served, provider, "fay") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("fay",)
    assert asked == [f"{provider.issuer}/.well-known/openid-configuration".encode()]


def test_libpq_18_is_refused_with_a_token_of_another_user(served, provider, libpq):
    libpq(provider.token("gus", "clinic-doctors"))
    with pytest.raises(psycopg.OperationalError, match="token authentication failed"):
        bearer(served, provider, "fay")


def test_a_client_that_asks_for_an_unknown_way_to_log_in_is_refused(served):
    with pytest.raises(psycopg.OperationalError, match=r"discreet\.login is one of"):
        connect(served, "fay", "x", options="-c discreet.login=magic")


def test_the_hook_is_that_of_a_libpq_that_knows_tokens():
    assert psycopg.pq.version() >= 180000, os.environ.get("PSYCOPG_IMPL")
