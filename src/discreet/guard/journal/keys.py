"""The key that signs checkpoints, and its public key."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidKey, MissingExtra
from discreet.writing import write_atomically, write_private_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )


def make_signing_key(path: Path, public: Path) -> Ed25519PrivateKey:
    """Write a new key that only its owner can read, and its public key beside it.

    Raises:
        OutputRefused: the key exists already, or it cannot be written.
    """
    serialization = _load_serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_private_file(path, pem, may_exist=False)
    write_atomically(public, public_text(key.public_key()))
    return key


def load_signing_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file.

    Raises:
        InvalidKey: it is missing, readable by others, or not an Ed25519 key.
    """
    serialization = _load_serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    content = _read_content(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InvalidKey(f"The key {path} can be read by others. Run: chmod 600 {path}")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError):
        raise _invalid_key(path) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _invalid_key(path)
    return key


def load_public_key(path: Path) -> Ed25519PublicKey:
    """Return the public key in a file.

    Raises:
        InvalidKey: it is missing or not an Ed25519 key.
    """
    serialization = _load_serialization()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = serialization.load_pem_public_key(_read_content(path))
    except (ValueError, TypeError):
        raise _invalid_key(path) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _invalid_key(path)
    return key


def public_text(key: Ed25519PublicKey) -> str:
    """Return a public key as PEM."""
    serialization = _load_serialization()
    return key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def _load_serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError as error:
        raise MissingExtra(what="A signed journal", extra="serve") from error
    return serialization


def _read_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        raise InvalidKey(
            f"There is no key at {path} that can be read. Name another file."
        ) from None


def _invalid_key(path: Path) -> InvalidKey:
    return InvalidKey(f"{path} holds no Ed25519 key in PEM. Name the key of the journal.")
