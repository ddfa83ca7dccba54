"""TLS: the server's context, its certificate's hash for channel binding, and a first certificate."""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from discreet.errors import InvalidKey, MissingExtra


@dataclass(frozen=True)
class Tls:
    """A server's TLS settings; `binding` is its tls-server-end-point."""

    context: ssl.SSLContext
    binding: bytes


def load_tls(certificate: Path, key: Path, *, client_authorities: Path | None = None) -> Tls:
    """Return TLS from a chain of certificates and a key in PEM, for TLS 1.2 and later.

    With `client_authorities`, clients may show a certificate that one of them signed; a wrong one
    ends the handshake.

    Raises:
        InvalidKey: a file cannot be read, or they do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    try:
        context.load_cert_chain(certificate, key)
        if client_authorities is not None:
            context.verify_mode = ssl.CERT_OPTIONAL
            context.load_verify_locations(client_authorities)
        return Tls(context, end_point(certificate.read_bytes()))
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise InvalidKey(
            f"{certificate.name} and {key.name} cannot serve TLS. Give a certificate and its key, both in PEM."
        ) from None


def end_point(pem: bytes) -> bytes:
    """Return the hash of a certificate for channel binding (RFC 5929, section 4.1).

    The hash is the one of the certificate's signature, except SHA-256 where that is MD5, SHA-1 or none.
    """
    x509 = _import_x509()
    from cryptography.hazmat.primitives import hashes

    certificate = x509.load_pem_x509_certificate(pem)
    algorithm = certificate.signature_hash_algorithm
    if algorithm is None or algorithm.name in ("md5", "sha1"):
        algorithm = hashes.SHA256()
    return certificate.fingerprint(algorithm)


def make_certificate(folder: Path, *, names: Sequence[str], days: int = 825) -> tuple[Path, Path]:
    """Write a key and a self-signed certificate, and return their paths: certificate, key.

    Raises:
        MissingExtra: `cryptography` is not installed.
        InvalidKey: the folder cannot be written, or a file exists already.
    """
    x509 = _import_x509()
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(_subject_alternatives(names)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    paths = folder / "server.crt", folder / "server.key"
    _write(paths[1], secret, mode=0o600)
    _write(paths[0], certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)
    return paths


def _subject_alternatives(names: Sequence[str]) -> list[Any]:
    x509 = _import_x509()
    found: list[Any] = []
    for name in names:
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            found.append(x509.DNSName(name))
    return found


def _write(path: Path, content: bytes, *, mode: int) -> None:
    try:
        # Created with its mode, not changed afterwards: the key is never readable by others.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except OSError:
        raise InvalidKey(
            f"{path.name} cannot be written to {path.parent}, or exists already."
        ) from None


def _import_x509() -> Any:
    try:
        from cryptography import x509
    except ImportError:
        raise MissingExtra(what="TLS", extra="serve") from None
    return x509
