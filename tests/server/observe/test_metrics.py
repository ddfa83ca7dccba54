"""Metrics say how busy a server is; they name no user, no table and no value."""

from __future__ import annotations

import contextlib
import shutil
import time

import psycopg
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from tests.server.gateway.conftest import HOSPITAL

import discreet
from discreet.errors import DiscreetError
from discreet.server.gateway import health
from discreet.server.http.app import make_app

ADMIN = ("admin", "a long password")
NAMES = ("canary_table", "canary_column", "canary_user", "canary value", "patients", "admin")


def scrape(opened) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the samples of a server as Prometheus reads them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(opened.server.metrics.text())
        for sample in family.samples
    }


def count(samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def attempt(client, text: str) -> None:
    with contextlib.suppress(DiscreetError):
        client.run(text)


@pytest.mark.parametrize(
    ("text", "kind", "outcome"),
    [
        ("SELECT 1", "query", "allowed"),
        ("INSERT INTO notes VALUES (2)", "write", "allowed"),
        ("INSERT INTO notes VALUES (1)", "write", "failed"),
        ("COPY patients TO STDOUT", "copy", "allowed"),
        ("CREATE TABLE other (a int)", "definition", "allowed"),
        ("CREATE ROLE r", "rights", "allowed"),
        ("BEGIN", "transaction", "allowed"),
        ("SET TimeZone = 'UTC'", "session", "allowed"),
    ],
)
def test_a_statement_is_counted_by_kind_and_decision(observed, text, kind, outcome):
    opened, client = observed
    before = scrape(opened)
    attempt(client, text)
    attempt(client, "ROLLBACK")
    name, labels = "discreet_statement_seconds_count", {"kind": kind, "outcome": outcome}
    assert count(scrape(opened), name, **labels) - count(before, name, **labels) == 1 + (
        kind == "transaction"
    )


@pytest.fixture
def observed(hospital, connect):
    client = connect(hospital)
    client.run("CREATE TABLE notes (a int PRIMARY KEY); INSERT INTO notes VALUES (1)")
    return hospital, client


def test_a_question_is_a_kind_of_its_own_and_lowers_what_is_left_of_its_budget(hospital, connect):
    connect(hospital).run(
        "CREATE USER canary_user; GRANT AGGREGATE ON patients TO canary_user "
        "WITH BUDGET (EPSILON 2, DELTA 1e-6)"
    )
    client = connect(hospital, "canary_user", **{"discreet.epsilon": "0.5"})
    client.run("SELECT count(*) FROM patients")
    samples = scrape(hospital)
    labels = {"kind": "question", "outcome": "allowed"}
    assert count(samples, "discreet_statement_seconds_count", **labels) == 1
    left = [value for (name, _), value in samples.items() if name.endswith("epsilon_left_ratio")]
    assert min(left) == 0.75
    assert count(samples, "discreet_budget_accounts") == len(left)


def test_a_denied_statement_is_counted_as_denied(hospital, connect):
    connect(hospital).run(
        "CREATE USER canary_user; GRANT SELECT (insurance) ON patients TO canary_user"
    )
    client = connect(hospital, "canary_user")
    prepared = client.session.prepare(client.session.split("SELECT insurance FROM patients")[0])
    connect(hospital).run("REVOKE SELECT (insurance) ON patients FROM canary_user")
    with pytest.raises(DiscreetError):
        client.session.run(prepared)
    labels = {"kind": "query", "outcome": "denied"}
    assert count(scrape(hospital), "discreet_statement_seconds_count", **labels) == 1


def test_no_label_is_the_name_of_anything_users_made(hospital, connect):
    admin = connect(hospital)
    admin.run(
        "CREATE USER canary_user; CREATE TABLE canary_table (canary_column text); "
        "GRANT AGGREGATE ON patients TO canary_user WITH BUDGET (EPSILON 2, DELTA 1e-6)"
    )
    admin.run("INSERT INTO canary_table VALUES ('canary value')")
    attempt(admin, "SELECT canary_column::int FROM canary_table")
    connect(hospital, "canary_user", **{"discreet.epsilon": "0.5"}).run(
        "SELECT count(*) FROM patients"
    )
    text = hospital.server.metrics.text()
    assert [name for name in NAMES if name in text] == []


def test_accounts_are_named_where_the_settings_say_so(first_start, open_server, connect, tmp_path):
    policy = HOSPITAL / "policy.yaml"
    shutil.copytree(first_start(policy), tmp_path / "data")
    opened = open_server(policy=policy, metrics={"accounts": "named"})
    admin = connect(opened)
    admin.run(
        "CREATE USER clerk; GRANT AGGREGATE ON patients TO clerk WITH BUDGET (EPSILON 2, DELTA 1e-6)"
    )
    connect(opened, "clerk", **{"discreet.epsilon": "0.5"}).run("SELECT count(*) FROM patients")
    assert "clerk" in opened.server.metrics.text()


def test_superusers_learn_which_account_a_label_stands_for(hospital, connect, monkeypatch):
    monkeypatch.setattr(health, "PROBE_TIMEOUT", 60.0)
    connect(hospital).run(
        "CREATE USER clerk PASSWORD 'correct horse battery'; "
        "GRANT AGGREGATE ON patients TO clerk WITH BUDGET (EPSILON 2, DELTA 1e-6)"
    )
    connect(hospital, "clerk", **{"discreet.epsilon": "0.5"}).run("SELECT count(*) FROM patients")
    web = TestClient(make_app(hospital.server, hospital.authenticator, is_encrypted=True))
    listed = {item["label"]: item for item in web.get("/v1/accounts", auth=ADMIN).json()}
    labels = {
        dict(labels)["account"]
        for name, labels in scrape(hospital)
        if name == "discreet_budget_epsilon_left_ratio"
    }
    assert labels == set(listed)
    assert any("clerk" in item["account"] for item in listed.values())
    assert web.get("/v1/accounts", auth=("clerk", "correct horse battery")).status_code == 403


def test_transactions_and_sessions_are_counted_while_they_are_open(hospital, connect):
    client = connect(hospital)
    client.run("BEGIN")
    samples = scrape(hospital)
    assert count(samples, "discreet_sessions") == 1
    assert count(samples, "discreet_transactions_open") == 1
    client.run("COMMIT")
    client.session.close()
    samples = scrape(hospital)
    assert count(samples, "discreet_sessions") == 0
    assert count(samples, "discreet_transactions_open") == 0


def test_waiting_for_a_worker_and_for_the_journal_is_measured_over_the_wire():
    with discreet.serve(plain=True) as served:
        with psycopg.connect(**served.parameters(), autocommit=True) as connection:
            connection.execute("SELECT 1")
        until = time.monotonic() + 60
        # What the connection ended with is written in its own time.
        while count(samples := scrape(served._opened), "discreet_queue_length", queue="journal"):
            assert time.monotonic() < until
    assert count(samples, "discreet_queue_seconds_count") >= 3
    assert count(samples, "discreet_journal_seconds_count") >= 2
    assert count(samples, "process_resident_memory_bytes") > 0
    assert count(samples, "discreet_memory_limit_bytes") > 0


def test_a_ledger_that_fails_leaves_the_other_metrics(hospital):
    hospital.server.ledger.close()
    assert count(scrape(hospital), "discreet_sessions") == 0
