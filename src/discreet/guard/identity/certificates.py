"""Client certificates mapped to users by common name, other names or fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from discreet.errors import LoginFailed, MissingExtra, WrongUsage

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from discreet.guard.control.documents import Documents

KIND = "certificate"
_FORMS = ("cn:", "dns:", "email:", "uri:", "sha256:")


@dataclass(frozen=True)
class CertificateIdentity:
    """The identity stated by a certificate."""

    names: tuple[str, ...]  # such as `cn:alice`, `email:alice@clinic.example`, `sha256:…`
    not_before: datetime
    not_after: datetime
    is_for_clients: bool


def read_certificate(der: bytes) -> CertificateIdentity:
    """Return the identity in a DER certificate.

    Raises:
        LoginFailed: it is not a certificate, or its common name is ambiguous.
    """
    certificate = _load(der)
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    common = [
        str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    ]
    if len(common) > 1 or any("\0" in name for name in common):
        raise LoginFailed("the client certificate cannot be read", sqlstate="28000")
    names = [f"cn:{name}" for name in common]
    try:
        others = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names += [f"dns:{name}" for name in others.get_values_for_type(x509.DNSName)]
        names += [f"email:{name}" for name in others.get_values_for_type(x509.RFC822Name)]
        names += [f"uri:{n}" for n in others.get_values_for_type(x509.UniformResourceIdentifier)]
    except x509.ExtensionNotFound:
        pass
    names.append(f"sha256:{hashlib.sha256(der).hexdigest()}")
    return CertificateIdentity(
        tuple(names),
        certificate.not_valid_before_utc,
        certificate.not_valid_after_utc,
        _is_for_clients(certificate),
    )


def match_certificate(
    der: bytes, user: str, *, names: Sequence[str] | None = None, now: datetime
) -> str:
    """Return the name by which a certificate belongs to the user.

    Args:
        der: The certificate, whose chain TLS has verified.
        user: The user name given by the client.
        names: The names that are mapped to this user; None: the common name must be the user's.
        now: The time at which it must be valid.

    Raises:
        LoginFailed: it belongs to another user, is not valid now, or is not for clients.
    """
    failed = LoginFailed(f'certificate authentication failed for user "{user}"', sqlstate="28000")
    bearer = read_certificate(der)
    if not (bearer.is_for_clients and bearer.not_before <= now <= bearer.not_after):
        raise failed
    accepted = {f"cn:{user}"} if names is None else set(names)
    found = next((name for name in bearer.names if name in accepted), None)
    if found is None:
        raise failed
    return found


def mapped_names(documents: Documents, user: str) -> list[str] | None:
    """Return the certificate names mapped to this user; None if there are none."""
    found = documents.get(KIND, user)
    return None if found is None else [str(name) for name in found["names"]]


def map_certificate(documents: Documents, user: str, name: str) -> None:
    """Map certificates with this name to the user, such as `email:alice@clinic.example`."""
    form = next((form for form in _FORMS if name.startswith(form)), None)
    if form is None or len(name) == len(form):
        raise WrongUsage(
            f"'{name}' names no certificate. Write one of: {', '.join(_FORMS)} and it."
        )
    name = name.lower() if form == "sha256:" else name
    documents.update(
        KIND,
        user,
        lambda old: {"names": sorted({*(old["names"] if old else ()), name})},
    )


def unmap_certificates(documents: Documents, user: str) -> None:
    """Remove the mapping, so that the common name decides again."""
    documents.delete(KIND, user)


def _load(der: bytes) -> Certificate:
    try:
        from cryptography import x509
    except ImportError:
        raise MissingExtra(what="Logging in by certificate", extra="serve") from None
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError:
        raise LoginFailed("the client certificate cannot be read", sqlstate="28000") from None


def _is_for_clients(certificate: Certificate) -> bool:
    """Return whether it may identify a client; without a list of uses it may."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        uses = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return bool(
        {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(uses)
    )
