"""Settings of authentication: methods by user and network, and limits on failures."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Literal

from discreet.errors import WrongUsage
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.directory import LdapDirectory
from discreet.guard.identity.lockout import LockoutLimits
from discreet.guard.identity.oidc import OidcProvider
from discreet.guard.identity.passwords import LEAST_LENGTH
from discreet.guard.identity.scram import ITERATIONS

Method = Literal["auto", "scram", "certificate", "ldap", "oidc", "reject"]
LOCAL = "local"


@dataclass(frozen=True)
class AuthenticationRule:
    """How some clients authenticate; empty lists match every user and network.

    `auto` needs no password if the client's certificate is the user's. Otherwise it requests one:
    the one stored here or, for users in the directory, the one stored there. With an identity
    provider it requests a token instead, except of the users who are listed.
    """

    method: Method
    users: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()  # such as 10.0.0.0/8, or `local`
    protocols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for network in self.networks:
            if network != LOCAL:
                try:
                    ipaddress.ip_network(network)
                except ValueError:
                    raise WrongUsage(
                        f"'{network}' is no network. Write one such as 10.0.0.0/8, or 'local'."
                    ) from None

    def fits(self, client: ClientInfo) -> bool:
        """Return whether this rule matches the client."""
        return (
            (not self.users or client.user in self.users)
            and (not self.protocols or client.protocol in self.protocols)
            and (not self.networks or any(_is_in(client, each) for each in self.networks))
        )


@dataclass(frozen=True)
class AuthenticationSettings:
    """The rules: the first that matches decides; without a match the login is refused."""

    rules: tuple[AuthenticationRule, ...] = (AuthenticationRule("auto"),)
    requires_tls: bool = True  # for all but local clients
    directory: LdapDirectory | None = None
    provider: OidcProvider | None = None
    limits: LockoutLimits = field(default_factory=LockoutLimits)
    iterations: int = ITERATIONS
    least_length: int = LEAST_LENGTH

    def method(self, client: ClientInfo) -> Method:
        """Return how a client authenticates."""
        for rule in self.rules:
            if rule.fits(client):
                return rule.method
        return "reject"


def _is_in(client: ClientInfo, network: str) -> bool:
    if network == LOCAL:
        return client.is_local
    try:
        address = ipaddress.ip_address(client.address.partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address) in ipaddress.ip_network(network)
