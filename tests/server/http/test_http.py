"""SQL in JSON: who comes in, what comes back, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.server.http.conftest import PASSWORD, PATIENCE

from discreet.errors import StoreFailed
from discreet.guard.journal.search import EntryFilter

if TYPE_CHECKING:
    from tests.server.http.conftest import Web


def test_rows_come_back_with_names_and_types(web: Web):
    reply = web.ask("SELECT patient_id, insurance FROM patients ORDER BY 1 LIMIT 2").json()
    assert [column["name"] for column in reply["columns"]] == ["patient_id", "insurance"]
    assert len(reply["rows"]) == 2
    assert reply["tag"] == "SELECT 2"


def test_name_and_password_are_enough(web: Web):
    body = {"statement": "SELECT current_user"}
    found = httpx.post(f"{web.url}/v1/query", json=body, auth=("clerk", PASSWORD), timeout=PATIENCE)
    assert found.json()["rows"] == [["clerk"]]
    assert found.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic Y2xlcms6d3Jvbmc="},
        {"Authorization": "Basic bm9ib2R5Ondyb25n"},
        {"Authorization": "Digest x"},
    ],
)
def test_others_stay_outside(web: Web, given: dict[str, str]):
    found = httpx.post(
        f"{web.url}/v1/query", json={"statement": "SELECT 1"}, headers=given, timeout=PATIENCE
    )
    assert found.status_code == 401
    assert "WWW-Authenticate" in found.headers
    assert found.json()["sqlstate"].startswith("28")


def test_wrong_password_and_unknown_user_get_the_same_response(web: Web):
    body = {"statement": "SELECT 1"}
    found = [
        httpx.post(f"{web.url}/v1/query", json=body, auth=(user, "wrong"), timeout=PATIENCE).json()[
            "sqlstate"
        ]
        for user in ("clerk", "stranger")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("statement", "status", "sqlstate"),
    [
        ("SELECT diagnosis FROM patients", 403, "42501"),
        ("SELECT * FROM nothing", 400, "42P01"),
        ("SELEC 1", 400, "42601"),
        ("  ", 400, "42601"),
        ("SELECT 1; SELECT nothing", 400, "42703"),
        ("SELECT 1 / 0", 200, None),
    ],
)
def test_failures_have_a_status_and_a_sqlstate(
    web: Web, statement: str, status: int, sqlstate: str | None
):
    found = web.ask(statement)
    if sqlstate is not None:
        assert (found.status_code, found.json()["sqlstate"]) == (status, sqlstate)
    assert "Error:" not in found.text


def test_a_question_is_priced_by_settings(web: Web):
    text = "SELECT count(*) AS n FROM patients"
    without = web.ask(text, "analyst")
    assert (without.status_code, without.json()["sqlstate"]) == (400, "22023")
    found = web.ask(text, "analyst", settings={"discreet.epsilon": "1.5"}).json()
    assert 1900 < found["rows"][0][0] < 2100
    assert "Spent epsilon 1.5" in found["notices"][0]["message"]
    more = web.ask(text + " WHERE sex = 'F'", "analyst", settings={"discreet.epsilon": "1"})
    assert (more.status_code, more.json()["sqlstate"]) == (403, "53400")


def test_statements_of_one_request_are_kept_together_or_not_at_all(web: Web):
    made = "CREATE TABLE kept (id integer PRIMARY KEY)"
    assert web.ask(made, role="staff").status_code == 200
    failed = web.ask("INSERT INTO kept VALUES (1); INSERT INTO kept VALUES (1)", role="staff")
    assert failed.json()["sqlstate"] == "23505"
    done = web.ask("INSERT INTO kept VALUES (2); SELECT id FROM kept", role="staff")
    assert done.json()["rows"] == [[2]]


def test_a_role_must_be_one_of_the_users_own(web: Web):
    assert web.ask("SELECT current_user", role="staff").json()["rows"] == [["staff"]]
    refused = web.ask("SELECT 1", role="admin")
    assert (refused.status_code, refused.json()["sqlstate"]) == (403, "42501")
    assert web.ask("SELECT 1", role="nobody at all").status_code == 400


def test_parameters_are_bound(web: Web):
    found = web.ask("SELECT $1::text, $2::integer + 1", parameters=["'; --", 41]).json()
    assert found["rows"] == [["'; --", 42]]
    assert web.ask("SELECT 1; SELECT $1::int", parameters=[1]).status_code == 400
    assert web.ask("SELECT $1::int", parameters=[]).json()["sqlstate"] == "08P01"


def test_numbers_that_json_does_not_have_come_as_words(web: Web):
    assert web.ask("SELECT 'NaN'::float8, 'Infinity'::float8").json()["rows"] == [["nan", "inf"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"statement": ""},
        {"statement": 1},
        {"statement": "SELECT 1", "more": 1},
        {"statement": "SELECT 1", "parameters": [{}]},
        {"statement": "SELECT 1", "settings": {"a": 1}},
        [],
    ],
)
def test_a_wrong_body_is_not_repeated(web: Web, body: object):
    with web.client() as client:
        found = client.post("/v1/query", json=body)
    assert (found.status_code, found.json()["sqlstate"]) == (422, "22023")


def test_unknown_settings_and_lone_surrogates_fail_in_words(web: Web):
    assert web.ask("SELECT 1", settings={"no such thing": "x"}).status_code < 500
    with web.client() as client:
        sent = b'{"statement": "SELECT \'\\ud800\'"}'
        found = client.post("/v1/query", content=sent, headers={"Content-Type": "application/json"})
    assert found.status_code in (400, 422)


def test_too_much_is_refused(web: Web):
    with web.client() as client:
        large = client.post("/v1/query", content=b"x" * (5 << 20))
        endless = client.post("/v1/query", content=(b"x" * 65536 for _ in range(100)))
    assert (large.status_code, large.json()["sqlstate"]) == (413, "54000")
    assert (endless.status_code, endless.json()["sqlstate"]) == (413, "54000")


def test_tokens_are_made_listed_and_ended(web: Web):
    with web.client("other", "admin") as client:
        made = client.post("/v1/tokens", json={"label": "mine", "days": 3})
        assert made.status_code == 201
        listed = {token["id"]: token for token in client.get("/v1/tokens").json()}
        assert listed[made.json()["id"]]["label"] == "mine"
        assert made.json()["token"] not in str(listed)
        bearer = {"Authorization": f"Bearer {made.json()['token']}"}
        body = {"statement": "SELECT current_user"}
        asked = httpx.post(f"{web.url}/v1/query", json=body, headers=bearer, timeout=PATIENCE)
        assert asked.json()["rows"] == [["other"]]
        assert client.delete(f"/v1/tokens/{made.json()['id']}").status_code == 204
        again = httpx.post(f"{web.url}/v1/query", json=body, headers=bearer, timeout=PATIENCE)
        assert again.status_code == 401
        assert client.delete(f"/v1/tokens/{made.json()['id']}").status_code == 404


def test_tokens_are_in_the_journal_before_they_are_good_and_their_secrets_are_not(web: Web):
    journal = web.opened.server.journal
    with web.client("clerk", "admin") as client:
        made = client.post("/v1/tokens", json={"label": "mine", "days": 3}).json()
        client.delete(f"/v1/tokens/{made['id']}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "record", _full)
            patch.setattr(web.opened.server.audit, "record_login", lambda _: None)
            assert client.post("/v1/tokens", json={"label": "lost"}).status_code == 503
        labels = [token["label"] for token in client.get("/v1/tokens").json()]
    result = [entry.event for entry in journal.entries(EntryFilter(kind="setting"))]
    assert [
        (each.user, each.protocol, (each.reason or "").partition(" (")[0]) for each in result[-2:]
    ] == [
        ("clerk", "http", f"make token {made['id']}"),
        ("clerk", "http", f"revoke token {made['id']}"),
    ]
    assert made["token"].split("_", 2)[2] not in str(result)
    assert "lost" not in labels


def _full(_: object) -> int:
    raise StoreFailed("The disk is full.")


def test_no_user_ends_the_tokens_of_others(web: Web):
    with web.client("other", "admin") as client:
        made = client.post("/v1/tokens", json={}).json()
    with web.client("clerk", "admin") as client:
        assert client.delete(f"/v1/tokens/{made['id']}").status_code == 404


def test_a_token_for_queries_makes_no_tokens(web: Web):
    with web.client("clerk") as client:
        assert client.post("/v1/tokens", json={}).status_code == 403
        assert client.get("/v1/checkpoint").status_code == 403


def test_who_was_refused_without_a_statement_is_in_the_journal_too(web: Web):
    with web.client("clerk") as client:
        client.get("/v1/checkpoint")
    with web.client("clerk", "admin") as client:
        client.get("/v1/checkpoint")
    refused = web.opened.server.journal.entries(EntryFilter(kind="setting", decision="denied"))
    assert [(entry.event.user, entry.event.reason) for entry in refused][-2:] == [
        ("clerk", "this token has no scope 'admin'"),
        ("clerk", "only superusers may see the activity of all users"),
    ]


def test_the_checkpoint_is_a_signed_note(web: Web):
    with web.client("admin", "admin") as client:
        assert client.get("/v1/checkpoint").json()["text"].startswith("discreet")


def test_health_needs_no_login_and_does_not_reveal_what_others_do(web: Web):
    result = httpx.get(f"{web.url}/healthz", timeout=PATIENCE).json()
    assert result["status"] == "ok"
    assert set(result) == {"status", "parts", "unwitnessed"}


def test_metrics_are_for_superusers_and_reveal_no_names(web: Web):
    with web.client("admin", "metrics") as client:
        metrics = client.get("/metrics").text
        assert client.post("/v1/query", json={"statement": "SELECT 1"}).status_code == 403
    assert "discreet_sessions" in metrics
    assert "clerk" not in metrics


@pytest.mark.parametrize("place", ["/metrics", "/v1/checkpoint"])
def test_who_is_no_superuser_does_not_learn_how_much_others_do(web: Web, place: str):
    assert httpx.get(f"{web.url}{place}", timeout=PATIENCE).status_code == 401
    with web.client("clerk", "admin") as client:
        assert client.get(place).status_code == 403


def test_wrong_places_and_methods_are_faults(web: Web):
    for found in (
        httpx.get(f"{web.url}/nothing", timeout=PATIENCE),
        httpx.get(f"{web.url}/v1/query", timeout=PATIENCE),
    ):
        assert found.status_code in (404, 405)
        assert set(found.json()) == {"sqlstate", "message", "detail", "hint"}


def test_sessions_end_with_their_requests(web: Web):
    for _ in range(5):
        web.ask("SELECT 1")
        web.ask("SELEC")
    assert web.opened.server.sessions == 0
