"""Which passwords and verifiers are taken, and what tokens and certificates may be."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.guard.identity.conftest import START, issue

from discreet.errors import LoginFailed, WrongUsage
from discreet.guard.identity import scram
from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.certificates import (
    map_certificate,
    mapped_names,
    match_certificate,
    read_certificate,
    unmap_certificates,
)
from discreet.guard.identity.settings import AuthenticationRule
from discreet.guard.identity.tokens import create_token, find_token, list_api_tokens

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.guard.control import ControlStore


@pytest.mark.parametrize(
    "password",
    [
        "",
        "short",
        "nul\0in the middle",
        "bell\x07 and more",
        "administrator",
        "ADMINISTRATOR",
        pytest.param("x" * 2000, id="long"),
        "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA and more",
        "md5" + "0" * 32,
        # Its salt is random: workers must agree on the name of a test all the same.
        pytest.param(scram.make_verifier("pencil", iterations=1000).text(), id="verifier"),
    ],
)
def test_a_password_that_is_weak_or_none_is_refused(documents: ControlStore, password: str):
    with pytest.raises(WrongUsage) as caught:
        set_password(documents, "administrator", password, now=START)
    assert not password or password not in str(caught.value)
    assert documents.get("credential", "administrator") is None


def test_the_least_length_is_a_setting(documents: ControlStore):
    set_password(documents, "alice", "abcd", now=START, least_length=4)
    with pytest.raises(WrongUsage):
        set_password(documents, "alice", "abcdefghijk", now=START, least_length=12)


def test_a_token_is_kept_as_a_hash_and_its_use_is_noted(documents: ControlStore):
    text, token = create_token(documents, "alice", now=START, label="notebook")
    body = str(documents.get("token", token.id))
    assert text.split("_", 2)[2] not in body
    assert find_token(documents, text, now=START + timedelta(seconds=5)) is not None
    (listed,) = list_api_tokens(documents, "alice")
    assert listed.last_used == START + timedelta(seconds=5)
    assert listed.label == "notebook"
    assert list_api_tokens(documents, "bob") == []


def test_a_token_with_the_right_id_and_another_secret_is_unknown(documents: ControlStore):
    text, _ = create_token(documents, "alice", now=START)
    changed = text[:-1] + ("A" if text[-1] != "A" else "B")
    assert find_token(documents, changed, now=START) is None


@pytest.mark.parametrize("choice", [{"scopes": ("all",)}, {"scopes": ()}, {"expires": START}])
def test_a_token_of_no_use_is_refused(documents: ControlStore, choice: dict):
    with pytest.raises(WrongUsage):
        create_token(documents, "alice", now=START, **choice)


def test_a_certificate_is_matched_by_any_mapped_name(tmp_path: Path, documents: ControlStore):
    from cryptography import x509

    names = x509.SubjectAlternativeName(
        [
            x509.RFC822Name("al@clinic.example"),
            x509.DNSName("al.clinic.example"),
            x509.UniformResourceIdentifier("spiffe://clinic/al"),
        ]
    )
    issued = issue(tmp_path, "somebody", extensions=[names])
    bearer = read_certificate(issued.der)
    for name in bearer.names:
        map_certificate(documents, "alice", name)
        mapped = mapped_names(documents, "alice")
        assert match_certificate(issued.der, "alice", names=mapped, now=START) == name
        unmap_certificates(documents, "alice")
    assert {name.partition(":")[0] for name in bearer.names} == {
        "cn",
        "email",
        "dns",
        "uri",
        "sha256",
    }


@pytest.mark.parametrize("name", ["alice", "cn:", "oid:1", ""])
def test_a_name_of_no_kind_is_not_mapped(documents: ControlStore, name: str):
    with pytest.raises(WrongUsage):
        map_certificate(documents, "alice", name)


def test_certificates_that_are_old_for_servers_or_ambiguous_are_refused(tmp_path: Path):
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    serving = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    issued = [
        issue(tmp_path, "alice", end=START - timedelta(seconds=1)),
        issue(tmp_path, "alice", begin=START + timedelta(seconds=1)),
        issue(tmp_path, "alice", extensions=[serving]),
        issue(tmp_path, "alice", common=("alice", "bob")),
        issue(tmp_path, "alice", common=("Alice",)),
        issue(tmp_path, "alice", common=()),
    ]
    for each in [*(paper.der for paper in issued), b"", b"0\x82"]:
        with pytest.raises(LoginFailed) as caught:
            match_certificate(each, "alice", now=START)
        assert caught.value.sqlstate == "28000"


def test_a_rule_about_no_network_is_refused():
    with pytest.raises(WrongUsage):
        AuthenticationRule("scram", networks=("everywhere",))
