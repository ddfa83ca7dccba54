"""A real provider of OpenID Connect (Authlib's, in a thread), and tokens that it issued."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT = "discreet"
_BACK = "http://localhost/back"


@dataclass(frozen=True)
class IdentityProvider:
    """A provider that is running, by its address."""

    issuer: str

    def token(
        self, name: str, *groups: str, client: str = CLIENT, sub: str = "", **claims: Any
    ) -> str:
        """Return the ID token of a user who has logged in there with their browser."""
        subject = sub or f"subject-of-{name}"
        body = {"preferred_username": name, "groups": list(groups), **claims}
        httpx.put(f"{self.issuer}/users/{subject}", json=body).raise_for_status()
        wanted = {
            "client_id": client,
            "redirect_uri": _BACK,
            "response_type": "code",
            "scope": "openid profile",
            "state": "1",
        }
        chosen = httpx.post(f"{self.issuer}/oauth2/authorize", params=wanted, data={"sub": subject})
        (code,) = parse_qs(urlsplit(chosen.headers["location"]).query)["code"]
        answer = httpx.post(
            f"{self.issuer}/oauth2/token",
            data={"grant_type": "authorization_code", "code": code, "redirect_uri": _BACK},
            auth=(client, "any"),
        )
        return str(answer.raise_for_status().json()["id_token"])


@contextmanager
def run_identity_provider(**options: Any) -> Iterator[IdentityProvider]:
    """Run a provider."""
    with oidc_provider_mock.run_server_in_thread(**options) as server:
        yield IdentityProvider(f"http://localhost:{server.server_port}")
