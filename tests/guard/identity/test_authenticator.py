"""Who is admitted, what strangers learn from a refusal, and what the journal records."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.guard.identity.client import Client
from tests.guard.identity.conftest import PASSWORD, START, IdentityFixture, issue

from discreet.errors import LoginFailed, StoreFailed
from discreet.guard.access.authority import DatabaseRole
from discreet.guard.identity import scram
from discreet.guard.identity.accounts import (
    get_account,
    remove_account,
    remove_password,
    set_locked,
    set_password,
)
from discreet.guard.identity.authenticator import (
    AuthenticationOk,
    ClientInfo,
    PasswordChallenge,
    ScramChallenge,
)
from discreet.guard.identity.certificates import map_certificate
from discreet.guard.identity.directory import LdapDirectory
from discreet.guard.identity.settings import AuthenticationRule
from discreet.guard.identity.tokens import create_token, revoke_token

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.guard.control import ControlStore
    from discreet.guard.identity.rule_authenticator import RuleAuthenticator

REFUSED = 'password authentication failed for user "{}"'


def log_in(authenticator: RuleAuthenticator, client: ClientInfo, password: str = PASSWORD) -> str:
    """Prove a password by SCRAM."""
    asked = authenticator.authenticate(client)
    assert isinstance(asked, ScramChallenge)
    client = Client(password)
    answer = asked.exchange.first(scram.MECHANISM, client.first())
    assert client.is_server(asked.exchange.final(client.final(answer)))
    return "in"


def refusal(call, *arguments: object) -> tuple[str, str]:
    with pytest.raises(LoginFailed) as caught:
        call(*arguments)
    return caught.value.sqlstate, str(caught.value)


def test_a_user_with_the_right_password_comes_in_and_the_journal_knows(identity: IdentityFixture):
    assert log_in(identity.authenticator(), identity.client()) == "in"
    (decisions,) = identity.decisions
    assert (decisions.user, decisions.method, decisions.is_admitted) == (
        "alice",
        "SCRAM-SHA-256",
        True,
    )


@pytest.mark.parametrize("way", ["scram", "http"])
def test_all_refusals_read_alike_and_only_the_journal_knows_why(
    identity: IdentityFixture, way: str
):
    set_password(identity.documents, "bob", PASSWORD, now=START)
    set_password(identity.documents, "staff", PASSWORD, now=START)
    for name in ("expired", "locked", "old"):
        identity.roles[name] = replace(identity.roles["bob"], name=name)
        set_password(identity.documents, name, PASSWORD, now=START, expires=START)
    identity.roles["expired"] = replace(
        identity.roles["expired"], valid_until="2026-05-01T11:59:59"
    )
    set_locked(identity.documents, "locked", is_locked=True)
    identity.roles["none"] = replace(identity.roles["bob"], name="none")
    authenticator = identity.authenticator()

    def attempt(user: str, password: str) -> None:
        client = identity.client(user)
        if way == "scram":
            log_in(authenticator, client, password)
        else:
            authenticator.check_password(client, password)

    cases = [
        ("nobody", PASSWORD, "no such role"),
        ("alice", "wrong", "wrong password"),
        ("none", PASSWORD, "wrong password"),
        ("staff", PASSWORD, "the role may not log in"),
        ("expired", PASSWORD, "the role has expired"),
        ("locked", PASSWORD, "locked by an administrator"),
        ("old", PASSWORD, "the password has expired"),
    ]
    message = [refusal(attempt, user, password) for user, password, _ in cases]
    assert message == [("28P01", REFUSED.format(user)) for user, _, _ in cases]
    assert [each.reason for each in identity.decisions] == [reason for _, _, reason in cases]


def test_a_role_that_is_valid_until_later_comes_in(identity: IdentityFixture):
    identity.roles["alice"] = replace(
        identity.roles["alice"], valid_until="2026-05-01T12:00:01+00:00"
    )
    assert log_in(identity.authenticator(), identity.client()) == "in"
    identity.roles["alice"] = replace(identity.roles["alice"], valid_until="whenever")
    refusal(log_in, identity.authenticator(), identity.client())


def test_the_wire_must_be_encrypted_unless_it_is_local(identity: IdentityFixture):
    authenticator = identity.authenticator()
    state, message = refusal(authenticator.authenticate, identity.client(is_encrypted=False))
    assert (state, "TLS" in message) == ("28000", True)
    refusal(authenticator.check_password, identity.client(is_encrypted=False), PASSWORD)
    refusal(authenticator.check_token, identity.client(is_encrypted=False), "any")
    assert log_in(authenticator, identity.client(is_encrypted=False, is_local=True)) == "in"


def test_the_first_rule_that_fits_decides_and_none_means_no(identity: IdentityFixture):
    rules = (
        AuthenticationRule("reject", users=("bob",)),
        AuthenticationRule(
            "scram", networks=("192.0.2.0/24", "2001:db8::/32"), protocols=("postgresql",)
        ),
        AuthenticationRule("scram", networks=("local",)),
    )
    authenticator = identity.authenticator(rules=rules)
    assert refusal(authenticator.authenticate, identity.client("bob"))[0] == "28P01"
    assert isinstance(authenticator.authenticate(identity.client()), ScramChallenge)
    assert isinstance(
        authenticator.authenticate(identity.client(address="::ffff:192.0.2.1")), ScramChallenge
    )
    assert isinstance(
        authenticator.authenticate(identity.client(address="", is_local=True)), ScramChallenge
    )
    refusal(authenticator.authenticate, identity.client(address="198.51.100.1"))
    refusal(authenticator.check_password, identity.client(protocol="http"), PASSWORD)


def test_plus_is_offered_where_the_channel_has_a_name(identity: IdentityFixture):
    asked = identity.authenticator().authenticate(identity.client(binding=b"b" * 32))
    assert isinstance(asked, ScramChallenge)
    assert asked.exchange.mechanisms == (scram.MECHANISM_PLUS, scram.MECHANISM)


def test_a_broken_exchange_is_recorded_in_the_journal(identity: IdentityFixture):
    asked = identity.authenticator().authenticate(identity.client())
    assert isinstance(asked, ScramChallenge)
    assert refusal(asked.exchange.first, scram.MECHANISM, b"garbage")[0] == "08P01"
    assert [each.is_admitted for each in identity.decisions] == [False]


def test_a_failing_journal_lets_no_user_log_in(identity: IdentityFixture):
    def fail(verdict: object) -> None:
        raise StoreFailed("full")

    authenticator = identity.authenticator()
    authenticator._journal = fail
    with pytest.raises(StoreFailed):
        log_in(authenticator, identity.client())
    with pytest.raises(StoreFailed):
        authenticator.check_password(identity.client(), PASSWORD)


def test_a_password_changed_during_the_exchange_is_wrong(identity: IdentityFixture):
    asked = identity.authenticator().authenticate(identity.client())
    assert isinstance(asked, ScramChallenge)
    client = Client(PASSWORD)
    answer = asked.exchange.first(scram.MECHANISM, client.first())
    set_password(identity.documents, "alice", "another one", now=START)
    refusal(asked.exchange.final, client.final(answer))


def test_a_verifier_made_elsewhere_serves_both_ways(identity: IdentityFixture):
    taken = scram.make_verifier(PASSWORD, iterations=4096).text()
    set_password(identity.documents, "bob", taken, now=START)
    authenticator = identity.authenticator()
    assert log_in(authenticator, identity.client("bob")) == "in"
    assert authenticator.check_password(identity.client("bob"), PASSWORD) == "password"
    refusal(authenticator.check_password, identity.client("bob"), "wrong")
    refusal(authenticator.check_password, identity.client("bob"), taken)


def test_an_outdated_hash_is_renewed_when_the_password_is_seen(identity: IdentityFixture):
    from argon2 import PasswordHasher

    weak = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
    identity.documents.update("credential", "alice", lambda old: {**(old or {}), "argon2": weak})
    assert identity.authenticator().check_password(identity.client(), PASSWORD) == "password"
    assert get_account(identity.documents, "alice").hashed != weak
    assert identity.authenticator().check_password(identity.client(), PASSWORD) == "password"


def test_a_user_who_was_removed_has_no_password_when_the_name_returns(identity: IdentityFixture):
    remove_account(identity.documents, "alice")
    refusal(log_in, identity.authenticator(), identity.client())


def test_a_renamed_user_keeps_the_password_and_the_old_name_has_none(identity: IdentityFixture):
    identity.roles["alicia"] = replace(identity.roles["alice"], name="alicia", id="alice")
    identity.roles["alice"] = DatabaseRole("alice", login=True, id="alice#2")
    assert log_in(identity.authenticator(), identity.client("alicia")) == "in"
    refusal(log_in, identity.authenticator(), identity.client("alice"))


def test_without_a_password_a_user_stays_locked(identity: IdentityFixture):
    set_locked(identity.documents, "alice", is_locked=True)
    remove_password(identity.documents, "alice")
    account = get_account(identity.documents, "alice")
    assert (account.verifier, account.hashed, account.is_locked) == (None, None, True)


def test_the_two_passwords_that_sasl_takes_for_one_are_one(identity: IdentityFixture):
    set_password(identity.documents, "bob", "I\u00adX \u2168 long", now=START)
    assert log_in(identity.authenticator(), identity.client("bob"), "IX IX long") == "in"
    assert (
        identity.authenticator().check_password(identity.client("bob"), "IX \u2168 long")
        == "password"
    )


def test_no_form_of_a_password_shows_it(identity: IdentityFixture):
    account = get_account(identity.documents, "alice")
    assert account.hashed is not None
    assert account.verifier is not None
    assert account.hashed.startswith("$argon2id$")
    written = repr(account) + repr(account.verifier)
    assert "argon2id" not in written
    assert account.verifier.stored_key.hex() not in written


# Certificates


def test_a_certificate_of_the_user_needs_no_password(identity: IdentityFixture, tmp_path: Path):
    alice = issue(tmp_path, "alice")
    assert identity.authenticator().authenticate(
        identity.client(certificate=alice.der)
    ) == AuthenticationOk("certificate")
    assert identity.decisions[-1].reason == "cn:alice"


def test_with_another_users_certificate_a_password_is_asked_or_nothing(
    identity: IdentityFixture, tmp_path: Path
):
    mallory = issue(tmp_path, "mallory")
    client = identity.client(certificate=mallory.der)
    assert isinstance(identity.authenticator().authenticate(client), ScramChallenge)
    strict = identity.authenticator(rules=(AuthenticationRule("certificate"),))
    assert refusal(strict.authenticate, client) == (
        "28000",
        'certificate authentication failed for user "alice"',
    )
    refusal(strict.authenticate, identity.client())


def test_a_certificate_opens_for_those_who_may_log_in_only(
    identity: IdentityFixture, tmp_path: Path
):
    authenticator = identity.authenticator()
    for name in ("staff", "nobody"):
        refusal(
            authenticator.authenticate, identity.client(name, certificate=issue(tmp_path, name).der)
        )
    set_locked(identity.documents, "alice", is_locked=True)
    refusal(authenticator.authenticate, identity.client(certificate=issue(tmp_path, "alice").der))


def test_mapped_names_replace_the_common_name(identity: IdentityFixture, tmp_path: Path):
    map_certificate(identity.documents, "alice", "cn:al")
    authenticator = identity.authenticator()
    short, long = issue(tmp_path, "al"), issue(tmp_path, "alice")
    assert authenticator.authenticate(identity.client(certificate=short.der)) == AuthenticationOk(
        "certificate"
    )
    assert isinstance(
        authenticator.authenticate(identity.client(certificate=long.der)), ScramChallenge
    )


# Tokens


@pytest.mark.parametrize(
    "rules",
    [
        (AuthenticationRule("reject", users=("alice",)), AuthenticationRule("auto")),
        (AuthenticationRule("reject", protocols=("http",)), AuthenticationRule("auto")),
        (AuthenticationRule("certificate", networks=("192.0.2.0/24",)), AuthenticationRule("auto")),
        (AuthenticationRule("auto", users=("bob",)),),
    ],
)
def test_a_token_does_not_override_the_authentication_rules(
    identity: IdentityFixture, rules: tuple[AuthenticationRule, ...]
):
    text, _ = create_token(identity.documents, "alice", now=START)
    client = identity.client("", protocol="http")
    assert refusal(identity.authenticator(rules=rules).check_token, client, text)[0] == "28000"
    assert identity.decisions[-1].reason.startswith("the rules say")
    assert identity.authenticator().check_token(client, text).user == "alice"


def test_a_token_stands_for_its_user(identity: IdentityFixture):
    text, token = create_token(identity.documents, "alice", now=START, scopes=("query",))
    client = identity.client("", protocol="http")
    found = identity.authenticator().check_token(client, text)
    assert (found.user, found.scopes, found.id) == ("alice", ("query",), token.id)
    assert identity.decisions[-1].user == "alice"


def test_a_token_ends_by_time_by_hand_with_its_user_and_with_the_password(
    identity: IdentityFixture,
):
    authenticator, client = identity.authenticator(), identity.client("", protocol="http")
    soon = START + timedelta(hours=1)
    short, _ = create_token(identity.documents, "alice", now=START, expires=soon)
    revoked, known = create_token(identity.documents, "alice", now=START)
    bobs, _ = create_token(identity.documents, "bob", now=START)
    ended, _ = create_token(identity.documents, "alice", now=START)
    assert revoke_token(identity.documents, known.id)
    refusal(authenticator.check_token, client, revoked)
    identity.roles["bob"] = replace(identity.roles["bob"], login=False)
    refusal(authenticator.check_token, client, bobs)
    authenticator.check_token(client, short)
    identity.wait(hours=1)
    refusal(authenticator.check_token, client, short)
    set_password(identity.documents, "alice", "another one", now=START)
    assert refusal(authenticator.check_token, client, ended) == (
        "28000",
        "token authentication failed",
    )


@pytest.mark.parametrize("text", ["", "x", "discreet_0123456789abcdef_" + "A" * 43, "\0", "ü"])
def test_what_is_no_token_opens_nothing(identity: IdentityFixture, text: str):
    refusal(identity.authenticator().check_token, identity.client(""), text)


# What a stranger can measure


@pytest.mark.statistics
@pytest.mark.parametrize("way", ["scram", "http"])
def test_unknown_users_are_refused_as_slowly_as_wrong_passwords(
    identity: IdentityFixture, way: str
):
    """The medians of 15 refusals differ by less than a third; without the mock it is tenfold."""
    authenticator = identity.authenticator(iterations=scram.ITERATIONS)

    def seconds(user: str) -> float:
        client = identity.client(user, address=f"198.51.100.{len(identity.decisions) % 200}")
        identity.wait(days=2)
        start = time.process_time()
        if way == "scram":
            asked = authenticator.authenticate(client)
            assert isinstance(asked, ScramChallenge)
            client = Client("wrong password")
            answer = asked.exchange.first(scram.MECHANISM, client.first())
            final = client.final(answer)
            start = time.process_time()
            refusal(asked.exchange.final, final)
        else:
            refusal(authenticator.check_password, client, "wrong password")
        return time.process_time() - start

    pairs = [(seconds("alice"), seconds("eve")) for _ in range(15)]
    known, unknown = (statistics.median(each) for each in zip(*pairs, strict=True))
    assert 0.67 < known / unknown < 1.5


def test_how_unknown_users_are_asked_does_not_reveal_that_they_are_unknown(
    identity: IdentityFixture,
):
    directory = LdapDirectory("ldaps://localhost:1", template="uid={user},dc=x")
    authenticator = identity.authenticator(directory=directory)
    kinds = [
        type(authenticator.authenticate(identity.client(f"eve{number}"))) for number in range(60)
    ]
    assert set(kinds) == {ScramChallenge, PasswordChallenge}
    again = [
        type(authenticator.authenticate(identity.client(f"eve{number}"))) for number in range(60)
    ]
    assert again == kinds


def test_the_secret_of_the_authenticator_outlives_it(
    documents: ControlStore, identity: IdentityFixture
):
    first, second = (identity.authenticator().verifier("eve").salt for _ in range(2))
    assert first == second
