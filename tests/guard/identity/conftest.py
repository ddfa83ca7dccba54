"""An authenticator in a control store of its own, with a clock that tests move."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from discreet.guard.access.authority import Authority, DatabaseRole, RoleMembership
from discreet.guard.control import ControlStore
from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.rule_authenticator import LoginDecision, RuleAuthenticator
from discreet.guard.identity.settings import AuthenticationSettings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSWORD = "correct horse"
START = datetime(2026, 5, 1, 12, tzinfo=UTC)


@dataclass
class IdentityFixture:
    """An authenticator, its store, and the decisions it recorded in the journal."""

    documents: ControlStore
    roles: dict[str, DatabaseRole]
    now: datetime = START
    decisions: list[LoginDecision] = field(default_factory=list)
    memberships: tuple[RoleMembership, ...] = ()

    def authenticator(self, **settings: Any) -> RuleAuthenticator:
        return RuleAuthenticator(
            self.documents,
            lambda: Authority(roles=self.roles, memberships=self.memberships),
            settings=AuthenticationSettings(**settings),
            journal=self.decisions.append,
            clock=lambda: self.now,
        )

    def wait(self, **time: float) -> None:
        self.now += timedelta(**time)

    def client(self, user: str = "alice", **more: Any) -> ClientInfo:
        return ClientInfo(user, **{"address": "192.0.2.7", "is_encrypted": True, **more})


@pytest.fixture
def documents() -> Iterator[ControlStore]:
    control = ControlStore(":memory:")
    yield control
    control.close()


@pytest.fixture
def identity(documents: ControlStore) -> IdentityFixture:
    roles = {name: DatabaseRole(name, login=True) for name in ("alice", "bob")}
    roles["staff"] = DatabaseRole("staff")
    set_password(documents, "alice", PASSWORD, now=START)
    return IdentityFixture(documents, roles)


@dataclass(frozen=True)
class IssuedCertificate:
    """A certificate with its key, in files and in DER."""

    certificate: Path
    key: Path
    der: bytes


def issue(
    folder: Path, name: str, *, common: tuple[str, ...] | None = None, **more: Any
) -> IssuedCertificate:
    """Write a self-signed certificate, valid around `START` and now unless `days` says otherwise."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    names = (name,) if common is None else common
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each) for each in names])
    begin = more.get("begin", START - timedelta(days=3650))
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(more.get("end", START + timedelta(days=3650)))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    for extension in more.get("extensions", ()):
        builder = builder.add_extension(extension, critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    issued = IssuedCertificate(
        folder / f"{name}.pem",
        folder / f"{name}.key",
        certificate.public_bytes(serialization.Encoding.DER),
    )
    issued.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    issued.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return issued


def server_context(issued: IssuedCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    return context
