"""Texts lose their values before they are written down; passwords always."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.guard.journal import AuditPolicy, AuditRule, Event, Journal, redact
from discreet.guard.journal.redact import redact_statement, without_secrets

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("SELECT name FROM t WHERE age > 30 -- x", "SELECT name FROM t WHERE age > ?"),
        ("SELECT 'a''b', E'it\\'s', $$d$$, $q$x y$q$", "SELECT ?, ?, ?, ?"),
        ("SELECT B'1', X'ff', N'a', 1.5e3, 0x1F, 1_000", "SELECT ?, ?, ?, ?, ?, ?"),
        ("SELECT $1, a.b, x::int /* 42 */", "SELECT $1, a.b, x::int"),
        ("SELECT date '2020-01-01'", "SELECT date ?"),
        ('SELECT "Col" FROM "T"', 'SELECT "Col" FROM "T"'),
        ("ALTER ROLE ada PASSWORD 'geheim'", "ALTER ROLE ada PASSWORD ?"),
        ("ALTER ROLE ada PASSWORD geheim", "ALTER ROLE ada PASSWORD ?"),
        ('CREATE USER bob PASSWORD "geheim"', "CREATE USER bob PASSWORD ?"),
        ("ALTER ROLE ada PASSWORD 'geheim", "ALTER ROLE …"),
        ("select $$geheim", "select …"),
        ("geheim 'geheim", "…"),
        ("", ""),
    ],
)
def test_literals_are_gone_and_the_rest_is_kept(statement: str, kept: str):
    assert redact_statement(statement) == kept


def test_where_double_quotes_may_hold_text_they_are_emptied():
    assert redact_statement('SELECT * FROM t WHERE d = "CS"', hide_quoted=True) == (
        "SELECT * FROM t WHERE d = ?"
    )


@settings(max_examples=60)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20))
def test_no_text_in_quotes_survives(secret: str):
    quoted = "'" + ("geheim" + secret).replace("'", "''") + "'"
    for statement in (f"SELECT {quoted}", f"ALTER USER a PASSWORD {quoted}", f"x {quoted} '"):
        assert "geheim" not in redact_statement(statement)


@settings(max_examples=60)
@given(st.text(max_size=30))
def test_any_text_can_be_redacted(text: str):
    redact_statement(text)
    without_secrets(text)


def event(**more) -> Event:
    values = {"kind": "statement", "user": "ada", "statement": "SELECT 'Ada' FROM t"}
    return Event(NOON, **{**values, "reads": {"public.t": ("a",)}, **more})


def kept(policy: AuditPolicy, found: Event) -> str:
    return policy.apply(found, lambda text: "hashed").statement


FULL = AuditPolicy(default="full")
HASH = AuditPolicy(default="hash")


def test_the_first_rule_that_matches_decides():
    policy = AuditPolicy(
        (
            AuditRule("full", users=("eve",)),
            AuditRule("hash", relations=("public.t",), kinds=("statement",)),
        )
    )
    assert kept(policy, event(user="eve")) == "SELECT 'Ada' FROM t"
    assert kept(policy, event()) == "hashed"
    assert kept(policy, event(reads={})) == "SELECT ? FROM t"


@pytest.mark.parametrize(
    "more", [{"decision": "denied"}, {"decision": "failed"}, {"kind": "login"}]
)
def test_denials_failures_and_logins_are_never_only_a_hash(more):
    assert kept(HASH, event(**more)) == "SELECT ? FROM t"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER ROLE a PASSWORD 'geheim'",
        "SELECT discreet_unlock('t.a', 'geheim')",
        "PASSWORD 'geheim",
    ],
)
def test_passwords_and_keys_are_never_kept_in_full(statement: str):
    assert "geheim" not in kept(FULL, event(statement=statement))


def test_of_what_could_not_be_parsed_only_keywords_are_kept():
    found = event(statement="SELECT geheim geheim", decision="failed", sqlstate="42601")
    assert kept(FULL, found) == "SELECT …"


def test_a_lenient_session_has_its_double_quotes_emptied():
    found = event(statement='SELECT "Ada"', detail={"discreet.lenient": "on"})
    assert kept(AuditPolicy(), found) == "SELECT ?"


def test_a_journal_keeps_no_literal_by_default(tmp_path):
    journal = Journal(tmp_path / "journal.sqlite")
    journal.record(event())
    journal.close()
    assert all(b"'Ada'" not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("statement", "sqlstate", "reason"),
    [
        ("ALTER USER u PASSWORD geheim", "42601", 'syntax error at or near "geheim"'),
        ('SELECT discreet_unlock("t.c", "geheim")', "42703", 'column "geheim" does not exist'),
        ("SELECT discreet_unlock('t.c', geheim)", "42703", 'column "geheim" does not exist'),
        ('SELECT * FROM t WHERE name = "Geheim"', "42703", 'column "Geheim" does not exist'),
        ("CREATE USER u PASSWORD 'x'; SELECT geheim", "42601", 'at or near ""geheim" "u""'),
    ],
)
@pytest.mark.parametrize("detail", ["full", "redacted", "hash"])
def test_why_it_failed_quotes_no_secret(detail, statement: str, sqlstate: str, reason: str):
    failed = event(statement=statement, decision="failed", sqlstate=sqlstate, reason=reason)
    found = AuditPolicy(default=detail).apply(failed, lambda text: "hashed")
    is_whole = detail == "full" and "t WHERE" in statement  # who wants texts in full gets them
    assert "geheim" not in f"{'' if is_whole else found.statement} {found.reason}".lower()


def test_why_it_failed_names_what_was_no_secret():
    entry = {"statement": "SELECT agee FROM t", "reason": 'column "agee" does not exist'}
    failed = event(decision="failed", sqlstate="42703", **entry)
    assert AuditPolicy().apply(failed, lambda text: "hashed") == failed


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT max('Ada') FROM t", "The maximum of 'Ada' is not defined: it is text."),
        ("SELECT sum(x = 'O''Ada') FROM t", "The sum of x = 'O''Ada' is refused."),
        ("SET TimeZone = 'Ada'", 'invalid value for parameter "TimeZone": "Ada"'),
        ("SELECT current_setting('Ada.X')", 'unrecognized configuration parameter "ada.x"'),
        ("SELECT $$Ada$$::regclass", 'relation "Ada" does not exist'),
    ],
)
@pytest.mark.parametrize("detail", ["redacted", "hash"])
def test_why_it_failed_quotes_no_literal(detail, statement: str, reason: str):
    failed = event(statement=statement, decision="failed", sqlstate="0A000", reason=reason)
    found = AuditPolicy(default=detail).apply(failed, lambda text: "hashed")
    assert "ada" not in f"{found.statement} {found.reason}".lower()
    assert AuditPolicy(default="full").apply(failed, lambda text: "hashed").reason == reason


def test_no_user_hides_by_a_literal_which_right_was_missing():
    entry = {"statement": "SELECT 'eve' FROM t", "reason": "eve has no SELECT on t"}
    denied = event(decision="denied", sqlstate="42501", **entry)
    found = AuditPolicy().apply(denied, lambda text: "hashed")
    assert (found.statement, found.reason) == ("SELECT ? FROM t", "eve has no SELECT on t")


def test_a_long_statement_is_redacted_and_not_kept_in_memory():
    before = redact._redact_cached.cache_info().currsize
    text = f"SELECT '{'secret' * 1000}'"
    assert redact.redact_statement(text) == "SELECT ?"
    assert redact._redact_cached.cache_info().currsize == before
