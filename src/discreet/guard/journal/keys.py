"""The key that signs checkpoints, and its public half, which anybody may have."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidKey, MissingExtra
from discreet.writing import write_private, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


def make_signing_key(path: Path, public: Path) -> Ed25519PrivateKey:
    """Write a new key that only its owner can read, and its public half beside it.

    Raises:
        OutputRefused: there is a key already, or it cannot be written.
    """
    serialization = _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private(path, pem, may_exist=False)
    write_whole(public, public_text(key.public_key()))
    return key


def load_signing_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file.

    Raises:
        InvalidKey: it is missing, readable by others, or no Ed25519 key.
    """
    serialization = _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    content = _content(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InvalidKey(f"The key {path} can be read by others. Run: chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        raise _invalid(path) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _invalid(path)
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return the public key in a file.

    Raises:
        InvalidKey: it is missing or no Ed25519 key.
    """
    serialization = _serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = serialization.load_pem_public_key(_content(path))
    except (ValueError, TypeError):
        raise _invalid(path) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _invalid(path)
    return key


def public_text(key: Ed25519PublicKey) -> str:
    """Return a public key as PEM."""
    serialization = _serialization()
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise MissingExtra(what="A signed journal", extra="serve") from error
    return serialization


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise InvalidKey(
            f"There is no key at {path} that can be read. Name another file."
        ) from None


def _invalid(path: Path) -> InvalidKey:
    return InvalidKey(f"{path} holds no Ed25519 key in PEM. Name the key of the journal.")
