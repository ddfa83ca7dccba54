"""Tokens are accepted from one provider, for one service, as long as they are valid; all others are refused."""

from __future__ import annotations

import base64
import json
import socket
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.identity_provider import CLIENT, IdentityProvider, run_identity_provider

from discreet.errors import LoginFailed, StoreFailed, WrongUsage
from discreet.guard.access.authority import DatabaseRole
from discreet.guard.identity.authenticator import ScramChallenge, TokenChallenge
from discreet.guard.identity.certificates import map_certificate
from discreet.guard.identity.oidc import InvalidToken, OidcProvider, TokenVerifier

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with run_identity_provider() as running:
        yield running


def settings_for(provider: IdentityProvider, **more: Any) -> OidcProvider:
    return OidcProvider(provider.issuer, CLIENT, **{"user_claim": "preferred_username", **more})


@pytest.fixture
def verifier(provider: IdentityProvider) -> TokenVerifier:
    return TokenVerifier(settings_for(provider))


def claims_of(token: str) -> dict[str, Any]:
    return jwt.decode(token, options={"verify_signature": False})


def segment(content: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def test_a_token_of_the_provider_says_who_it_is_and_in_which_groups(provider, verifier):
    found = verifier.verify(provider.token("ada", "staff", "doctors"))
    assert (found.user, found.subject) == ("ada", "subject-of-ada")
    assert found.groups == {"staff", "doctors"}


def test_a_token_for_another_service_is_refused(provider, verifier):
    with pytest.raises(InvalidToken, match="InvalidAudienceError"):
        verifier.verify(provider.token("ada", client="payroll"))


def test_a_token_that_has_expired_is_refused():
    with run_identity_provider(access_token_max_age=timedelta(seconds=-120)) as provider:
        token = provider.token("ada")
        with pytest.raises(InvalidToken, match="ExpiredSignatureError"):
            TokenVerifier(settings_for(provider)).verify(token)


def test_a_token_of_another_provider_is_refused(verifier):
    with run_identity_provider() as other, pytest.raises(InvalidToken):
        verifier.verify(other.token("ada"))


@pytest.fixture
def own_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def test_a_token_signed_by_another_key_is_refused(provider, verifier, own_key):
    token = provider.token("ada")
    for head in ({"kid": "unknown"}, {}, {"jku": "http://localhost:1/keys"}):
        forged = jwt.encode(claims_of(token), own_key, algorithm="RS256", headers=head)
        with pytest.raises(InvalidToken):
            verifier.verify(forged)


def test_a_token_without_a_signature_is_refused(provider, verifier):
    token = provider.token("ada")
    for algorithm in ("none", "None", "HS256"):
        forged = f"{segment({'alg': algorithm, 'typ': 'JWT'})}.{segment(claims_of(token))}."
        with pytest.raises(InvalidToken):
            verifier.verify(forged)


def test_the_public_key_is_no_shared_secret(provider, verifier):
    token = provider.token("ada")
    (public,) = {id(key): key for key in verifier._fetch_keys().values()}.values()
    pem = public.key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head = {**jwt.get_unverified_header(token), "alg": "HS256"}
    signed = f"{segment(head)}.{segment(claims_of(token))}"
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = base64.urlsafe_b64encode(mac.sign(signed.encode(), pem)).rstrip(b"=").decode()
    with pytest.raises(InvalidToken, match="InvalidAlgorithmError"):
        verifier.verify(f"{signed}.{signature}")


@pytest.mark.parametrize(
    "claims",
    [
        *({"preferred_username": name} for name in ("", "a\nb", " ada", "ada ", "ä" * 32)),
        {"groups": "staff"},
    ],
)
def test_claims_of_another_form_are_refused(provider, verifier, claims):
    with pytest.raises(InvalidToken):
        verifier.verify(provider.token("ada", **claims))


@pytest.mark.parametrize("text", ["", "a.b.c", "..", "x" * 40_000, "eyJhbGciOiJSUzI1NiJ9.e30."])
def test_what_is_no_token_is_refused(verifier, text):
    with pytest.raises(InvalidToken):
        verifier.verify(text)


def test_forged_names_of_keys_do_not_reach_the_provider_each_time(provider, own_key, monkeypatch):
    now = [0.0]
    verifier = TokenVerifier(settings_for(provider), clock=lambda: now[0])
    asked: list[str] = []
    fetch = verifier._fetch
    monkeypatch.setattr(
        verifier, "_fetch", lambda address: (asked.append(address), fetch(address))[1]
    )
    forged = jwt.encode({"sub": "x"}, own_key, algorithm="RS256", headers={"kid": "unknown"})
    for _ in range(20):
        with pytest.raises(InvalidToken):
            verifier.verify(forged)
    assert len(asked) == 2  # what it is, and its keys
    verifier.verify(provider.token("ada"))
    assert len(asked) == 2
    now[0] = 400.0
    verifier.verify(provider.token("ada"))
    assert len(asked) == 4


def test_a_provider_that_does_not_answer_admits_no_one(provider, own_key):
    token = jwt.encode({"sub": "x"}, own_key, algorithm="RS256")
    with pytest.raises(StoreFailed):
        TokenVerifier(OidcProvider("http://localhost:9", CLIENT)).verify(token)
    with pytest.raises(StoreFailed):  # what is there names itself otherwise
        TokenVerifier(OidcProvider(f"{provider.issuer}/", CLIENT)).verify(token)


@pytest.mark.parametrize("issuer", ["http://idp.example", "ftp://localhost", "idp.example"])
def test_an_address_where_others_could_put_keys_is_refused(issuer):
    with pytest.raises(WrongUsage):
        OidcProvider(issuer, CLIENT)


# --- who is admitted -----------------------------------------------------------------------------


def test_a_name_stays_with_the_subject_that_first_used_it(provider, identity):
    identity.roles["carol"] = DatabaseRole("carol", login=True)
    authenticator = identity.authenticator(provider=settings_for(provider))
    web = identity.client("", protocol="http")
    assert authenticator.check_token(web, provider.token("carol")).user == "carol"
    with pytest.raises(LoginFailed):
        authenticator.check_token(web, provider.token("carol", sub="another-carol"))
    assert "another subject" in identity.decisions[-1].reason


def test_a_user_with_a_password_is_not_whom_the_provider_calls_so(provider, identity):
    authenticator = identity.authenticator(provider=settings_for(provider))
    with pytest.raises(LoginFailed):
        authenticator.check_token(identity.client("", protocol="http"), provider.token("alice"))
    assert identity.decisions[-1].reason == "this user logs in by password"


def test_no_token_opens_a_superuser(provider, identity):
    identity.roles["root"] = DatabaseRole("root", login=True, superuser=True)
    authenticator = identity.authenticator(provider=settings_for(provider))
    with pytest.raises(LoginFailed):
        authenticator.check_token(identity.client("", protocol="http"), provider.token("root"))
    assert identity.decisions[-1].reason == "superusers log in by password or certificate"


def test_who_is_asked_for_a_token_depends_on_no_ones_being_a_user(provider, identity):
    settings = settings_for(provider, password_users=("alice", "ghost"))
    authenticator = identity.authenticator(provider=settings)
    asked = {
        name: type(authenticator.authenticate(identity.client(name)))
        for name in ("alice", "ghost", "bob", "unknown")
    }
    assert asked["alice"] is asked["ghost"] is ScramChallenge
    assert asked["bob"] is asked["unknown"] is TokenChallenge


def test_a_token_is_not_asked_for_in_clear(provider, identity):
    authenticator = identity.authenticator(provider=settings_for(provider))
    with pytest.raises(LoginFailed, match="TLS"):
        authenticator.authenticate(identity.client("bob", is_encrypted=False, is_local=True))


def test_a_role_that_may_not_log_in_is_refused_with_a_token_too(provider, identity):
    authenticator = identity.authenticator(provider=settings_for(provider))
    for name, reason in (("staff", "the role may not log in"), ("unknown", "no such role")):
        with pytest.raises(LoginFailed):
            authenticator.check_token(identity.client("", protocol="http"), provider.token(name))
        assert identity.decisions[-1].reason == reason


def test_too_many_wrong_tokens_block_their_address(provider, identity):
    identity.roles["carol"] = DatabaseRole("carol", login=True)
    authenticator = identity.authenticator(provider=settings_for(provider))
    web = identity.client("", protocol="http")
    for _ in range(200):
        with pytest.raises(LoginFailed):
            authenticator.check_token(web, "a.b.c")
        if identity.decisions[-1].reason == "too many failures from this address":
            break
    with pytest.raises(LoginFailed):
        authenticator.check_token(web, provider.token("carol"))
    elsewhere = identity.client("", protocol="http", address="192.0.2.8")
    assert authenticator.check_token(elsewhere, provider.token("carol")).user == "carol"


def test_an_outage_of_the_provider_blocks_no_address(provider, identity, monkeypatch):
    identity.roles["carol"] = DatabaseRole("carol", login=True)
    authenticator = identity.authenticator(provider=settings_for(provider))
    web, token = identity.client("", protocol="http"), provider.token("carol")

    def fail(_: str) -> None:
        raise StoreFailed("The identity provider does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(authenticator._verifier, "_find_key", fail)
        for _ in range(200):
            with pytest.raises(LoginFailed):
                authenticator.check_token(web, token)
    assert authenticator.check_token(web, token).user == "carol"


def test_a_token_over_http_is_not_taken_in_clear(provider, identity):
    identity.roles["carol"] = DatabaseRole("carol", login=True)
    authenticator = identity.authenticator(provider=settings_for(provider), requires_tls=False)
    for is_local in (True, False):
        clear = identity.client("", protocol="http", is_encrypted=False, is_local=is_local)
        with pytest.raises(LoginFailed, match="TLS"):
            authenticator.check_token(clear, provider.token("carol"))
        assert identity.decisions[-1].reason == "no TLS"


def test_an_answer_that_is_not_even_http_is_an_outage(own_key):
    token = jwt.encode({"sub": "x"}, own_key, algorithm="RS256")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"no protocol\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        place = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(StoreFailed, match="does not answer"):
            TokenVerifier(OidcProvider(place, CLIENT)).verify(token)
        thread.join()


def test_an_outage_is_one_also_between_two_looks_at_the_provider(own_key):
    verifier = TokenVerifier(OidcProvider("http://localhost:9", CLIENT))
    token = jwt.encode({"sub": "x"}, own_key, algorithm="RS256")
    for _ in range(3):  # it is asked once only
        with pytest.raises(StoreFailed):
            verifier.verify(token)


def test_a_user_with_a_certificate_is_not_whom_the_provider_calls_so(provider, identity):
    map_certificate(identity.documents, "bob", "email:bob@clinic.example")
    authenticator = identity.authenticator(provider=settings_for(provider))
    with pytest.raises(LoginFailed):
        authenticator.check_token(identity.client("", protocol="http"), provider.token("bob"))
    assert identity.decisions[-1].reason == "this user logs in by certificate"
