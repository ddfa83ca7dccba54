"""Tokens of an OpenID Connect provider: who signed them, for whom, and which groups they name."""

from __future__ import annotations

import json
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from discreet.errors import MissingExtra, StoreFailed, WrongUsage

# Signatures that only the provider can make: with HS256, every verifier could.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
_LONGEST_TOKEN = 32_768
_LONGEST_NAME = 63  # bytes
_MOST_BYTES = 1 << 20  # of a document of the provider
_LEEWAY_SECONDS = 30  # between its clock and ours
_KEYS_SECONDS = 300.0  # for which its keys are believed
_RETRY_SECONDS = 10.0  # between two looks for a key that it does not have
_CONFIGURATION = "/.well-known/openid-configuration"


@dataclass(frozen=True)
class OidcProvider:
    """A provider of OpenID Connect, and how its tokens name users and roles.

    `audience` is what tokens for this server name as theirs. With `groups`, users in none of them
    are refused; each group stands for a role, of which its users become members when they log in.
    `password_users` still log in by passwords.
    """

    issuer: str
    audience: str
    user_claim: str = "sub"
    groups_claim: str = "groups"
    groups: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    create_users: bool = False
    password_users: tuple[str, ...] = ()
    wire: Literal["password", "oauthbearer"] = "password"
    scope: str = "openid"
    authorities: Path | None = (
        None  # certificates that sign the provider's; the system's by default
    )
    seconds: float = 5.0

    def __post_init__(self) -> None:
        _require_secure(self.issuer)

    @property
    def configuration(self) -> str:
        """The address of the provider's description."""
        return self.issuer.rstrip("/") + _CONFIGURATION


@dataclass(frozen=True)
class TokenSubject:
    """Who a valid token was issued to: `subject` never changes, `user` is the name here."""

    subject: str
    user: str
    groups: frozenset[str]


class InvalidToken(Exception):
    """A token that is not accepted; the reason is for the journal."""


class TokenVerifier:
    """Verifies tokens of one provider, whose keys it keeps for some minutes."""

    def __init__(
        self, provider: OidcProvider, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider, self._clock = provider, clock
        self._lock = threading.Lock()
        self._keys: Mapping[str | None, Any] = {}
        self._looked = float("-inf")
        self._tried = float("-inf")

    def verify(self, text: str) -> TokenSubject:
        """Return who a token was issued to.

        Raises:
            InvalidToken: it is forged, expired, of another provider or for another service.
            StoreFailed: the provider does not answer, so that its keys are unknown.
        """
        try:
            import jwt
        except ImportError:
            raise MissingExtra(what="Login by tokens (OIDC)", extra="oidc") from None
        if len(text) > _LONGEST_TOKEN:
            raise InvalidToken("the token is too long")
        try:
            head = jwt.get_unverified_header(text)
            key = self._find_key(head.get("kid"))
            claims = jwt.decode(
                text,
                key,
                algorithms=_ALGORITHMS,
                audience=self._provider.audience,
                issuer=self._provider.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # Its message may quote a claim.
            raise InvalidToken(type(error).__name__) from None
        return self._read_claims(claims)

    def _read_claims(self, claims: Mapping[str, Any]) -> TokenSubject:
        provider = self._provider
        user, groups = claims.get(provider.user_claim), claims.get(provider.groups_claim, [])
        if not isinstance(user, str) or not _is_name(user):
            raise InvalidToken(f"the token has no usable claim {provider.user_claim}")
        if not isinstance(groups, list) or not all(isinstance(name, str) for name in groups):
            raise InvalidToken(f"the claim {provider.groups_claim} is no list of names")
        return TokenSubject(str(claims["sub"]), user, frozenset(groups))

    def _find_key(self, name: str | None) -> Any:
        with self._lock:
            now = self._clock()
            is_known = name in self._keys and now - self._looked < _KEYS_SECONDS
            # A forged name of a key must not send a request with each attempt.
            if not is_known and now - self._tried >= _RETRY_SECONDS:
                self._tried = now
                self._keys, self._looked = self._fetch_keys(), now
            if now - self._looked >= _KEYS_SECONDS:  # not the fault of who sends the token
                raise StoreFailed(
                    "The identity provider did not answer a moment ago. Try again soon."
                )
            if name not in self._keys:
                raise InvalidToken("the provider has no such key")
            return self._keys[name]

    def _fetch_keys(self) -> Mapping[str | None, Any]:
        import jwt

        provider = self._provider
        described = self._fetch(provider.configuration)
        place = described.get("jwks_uri")
        if described.get("issuer") != provider.issuer or not isinstance(place, str):
            raise StoreFailed("The identity provider describes another issuer. Check its address.")
        try:
            found = jwt.PyJWKSet.from_dict(self._fetch(place)).keys
        except (jwt.PyJWTError, ValueError, TypeError, AttributeError):
            raise StoreFailed("The identity provider's keys cannot be read. See its log.") from None
        named = {key.key_id: key for key in found if key.key_type != "oct"}
        # Without a name it is the only one.
        return {**named, None: next(iter(named.values()))} if len(named) == 1 else named

    def _fetch(self, address: str) -> dict[str, Any]:
        _require_secure(address)
        context = ssl.create_default_context(cafile=self._provider.authorities)
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context), _NoRedirects()
        )
        try:
            with opener.open(address, timeout=self._provider.seconds) as response:
                found: Any = json.loads(response.read(_MOST_BYTES))
        except (OSError, ValueError, HTTPException):  # a URLError is an OSError
            raise StoreFailed(
                "The identity provider does not answer as expected. Check its address and certificate."
            ) from None
        if not isinstance(found, dict):
            raise StoreFailed("The identity provider's answer is no object. Check its address.")
        return found


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses to be sent elsewhere: keys come from where the settings say."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        del req, fp, code, msg, headers, newurl


def _is_name(text: str) -> bool:
    """Whether a claim can be a user's name: one that is not taken for another's, nor longer than PostgreSQL's."""
    is_plain = text.isprintable() and text == text.strip()
    return bool(text) and is_plain and len(text.encode()) <= _LONGEST_NAME


def _require_secure(address: str) -> None:
    """Refuse an address where others could put keys of their own."""
    parts = urlsplit(address)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
        raise WrongUsage("The address of an identity provider starts with https://.")
