"""API tokens: random, shown once, stored as a hash, with scopes, expiry and date of last use."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

KIND = "token"
SCOPES = ("query", "metrics", "admin")
_FORM = re.compile(r"discreet_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODYS = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
_USE_IS_NOTED_EACH = timedelta(minutes=1)  # not with each request: that would be a write for a read


@dataclass(frozen=True)
class ApiToken:
    """The record of a token, without the token itself."""

    id: str
    user: str  # the identity of a role
    scopes: tuple[str, ...]
    made: datetime
    expires: datetime | None = None
    last_used: datetime | None = None
    label: str = ""

    def __str__(self) -> str:
        end = "for good" if self.expires is None else f"until {self.expires:%Y-%m-%d %H:%M} UTC"
        return f"token {self.id} ({', '.join(self.scopes)}, {end})"


def create_token(
    documents: Documents,
    user: str,
    *,
    now: datetime,
    scopes: Sequence[str] = ("query",),
    expires: datetime | None = None,
    label: str = "",
    record: Callable[[ApiToken], None] = lambda _: None,
) -> tuple[str, ApiToken]:
    """Return a new token, which is never shown again, and its record.

    `record` writes it into a journal before the token is valid.
    """
    if not scopes or set(scopes) - set(SCOPES):
        raise WrongUsage(f"The scopes of a token are: {', '.join(SCOPES)}.")
    if expires is not None and expires <= now:
        raise WrongUsage("The token would have expired already. Name a later time.")
    identifier, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    token = ApiToken(identifier, user, tuple(scopes), now, expires, label=label)
    record(token)
    documents.put(KIND, identifier, {**_token_body(token), "digest": _hash_secret(secret)})
    return f"discreet_{identifier}_{secret}", token


def find_token(documents: Documents, text: str, *, now: datetime) -> ApiToken | None:
    """Return the record of a token; None if it is unknown, revoked or expired."""
    found = _FORM.fullmatch(text)
    identifier, secret = (found[1], found[2]) if found else ("", "")
    body = documents.get(KIND, identifier)
    kept = _NOBODYS if body is None else str(body["digest"])
    if not hmac.compare_digest(_hash_secret(secret), kept) or body is None:
        return None
    token = _read_token(identifier, body)
    if token.expires is not None and token.expires <= now:
        return None
    if token.last_used is None or now - token.last_used >= _USE_IS_NOTED_EACH:
        documents.update(KIND, identifier, lambda old: _mark_used(old, now))
    return token


def list_api_tokens(documents: Documents, user: str | None = None) -> list[ApiToken]:
    """Return the tokens of a user, or of all users."""
    bodies = ((name, documents.get(KIND, name)) for name in documents.names(KIND))
    tokens = [_read_token(name, body) for name, body in bodies if body is not None]
    return [token for token in tokens if user is None or token.user == user]


def revoke_token(documents: Documents, identifier: str) -> bool:
    """Revoke a token; return whether it existed."""
    existed = documents.get(KIND, identifier) is not None
    documents.delete(KIND, identifier)
    return existed


def revoke_tokens_of(documents: Documents, user: str) -> int:
    """Revoke all tokens of a user; return how many there were."""
    tokens = list_api_tokens(documents, user)
    for token in tokens:
        documents.delete(KIND, token.id)
    return len(tokens)


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _mark_used(old: Mapping[str, Any] | None, now: datetime) -> Mapping[str, Any] | None:
    # If it was revoked meanwhile, it stays revoked.
    return None if old is None else {**old, "last_used": now.isoformat()}


def _token_body(token: ApiToken) -> dict[str, Any]:
    return {
        "user": token.user,
        "scopes": list(token.scopes),
        "made": token.made.isoformat(),
        "expires": None if token.expires is None else token.expires.isoformat(),
        "last_used": None,
        "label": token.label,
    }


def _read_token(identifier: str, body: Mapping[str, Any]) -> ApiToken:
    def moment(name: str) -> datetime | None:
        written = body.get(name)
        return None if written is None else datetime.fromisoformat(written)

    return ApiToken(
        identifier,
        str(body["user"]),
        tuple(body["scopes"]),
        datetime.fromisoformat(body["made"]),
        moment("expires"),
        moment("last_used"),
        str(body.get("label", "")),
    )
