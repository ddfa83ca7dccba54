"""Keys that wrap other keys: the server's, in a private file, or a client's own."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidKey, MissingExtra
from discreet.writing import is_credential, write_private_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
# 32 random bytes have fewer than 16 different ones with a chance of 10**-15.
_LEAST_DISTINCT = 16
_MOST_BYTES = 4096
HOW_TO_MAKE_ONE = "Make one with: (umask 077; openssl rand -hex 32 > FILE)"


@dataclass(frozen=True)
class WrappingKey:
    """A secret of 256 bits in a buffer that can be wiped; its text and fingerprint do not disclose it."""

    secret: bytes | bytearray = field(repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "secret", bytearray(self.secret))  # a copy that `wipe` may change
        if len(self.secret) != KEY_BYTES or len(set(self.secret)) < _LEAST_DISTINCT:
            raise InvalidKey(f"A key is {KEY_BYTES} random bytes. {HOW_TO_MAKE_ONE}")

    def wipe(self) -> None:
        """Overwrite the secret; afterwards the key cannot be used."""
        if isinstance(self.secret, bytearray):
            self.secret[:] = bytes(KEY_BYTES)

    @property
    def fingerprint(self) -> str:
        """Sixteen digits that identify the key."""
        return derive_subkey(self.secret, "fingerprint", length=8).hex()

    def wrap(self, content: bytes, *, about: bytes) -> bytes:
        """Return `content` encrypted and bound to its purpose and name."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._make_cipher().encrypt(nonce, content, about)

    def unwrap(self, wrapped: bytes, *, about: bytes) -> bytes:
        """Return the wrapped content.

        Raises:
            InvalidKey: it was wrapped by another key, for another purpose, or has changed.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._make_cipher().decrypt(
                wrapped[:_NONCE_BYTES], wrapped[_NONCE_BYTES:], about
            )
        except (InvalidTag, ValueError):
            raise InvalidKey("Wrong key: this was encrypted with another one.") from None

    def _make_cipher(self) -> AESGCM:
        return cipher(derive_subkey(self.secret, "wrapping"))


def cipher(key: bytes | bytearray) -> AESGCM:
    """Return AES-256-GCM with a key."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtra(what="Encryption", extra="serve") from None
    return AESGCM(bytes(key))


def derive_subkey(
    secret: bytes | bytearray, purpose: str, domain: str = "", *, length: int = 32
) -> bytes:
    """Return the sub-key of a purpose and domain (HKDF-SHA-256, RFC 5869), independent of others."""
    try:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise MissingExtra(what="Encryption", extra="serve") from None
    info = frame_parts("discreet vault", "1", purpose, domain)
    return HKDF(hashes.SHA256(), length, None, info).derive(bytes(secret))


def frame_parts(*parts: str | bytes) -> bytes:
    """Return parts prefixed with their lengths, so that the encoding is unambiguous."""
    encoded = [part.encode() if isinstance(part, str) else part for part in parts]
    return b"".join(len(part).to_bytes(4, "big") + part for part in encoded)


def read_wrapping_key(path: str | Path) -> WrappingKey:
    """Return the key in a file that only its owner may read or write.

    Raises:
        InvalidKey: the file is missing, others can read it, or it holds no key.
    """
    return parse_wrapping_key(read_key_bytes(Path(path)), where=f"The key file {path}")


def read_key_bytes(path: Path) -> bytes:
    """Return the content of a secret's file that only its owner may read or write.

    Raises:
        InvalidKey: the file is missing, or others can read it.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise InvalidKey(f"There is no key file {path}. {HOW_TO_MAKE_ONE}") from None
    except OSError as error:
        raise InvalidKey(
            f"The key file {path} cannot be read: {error.strerror}. Name one that you may read."
        ) from None
    # systemd grants its credentials by an access list, which shows as a right of the group.
    others = stat.S_IWGRP | stat.S_IRWXO if is_credential(path) else stat.S_IRWXG | stat.S_IRWXO
    if os.name == "posix" and mode & others:
        raise InvalidKey(
            f"Others on this machine can read or change the key file {path}. "
            f"Run: chmod 600 {path}; if they may have read it, make a new key."
        )
    return content


def parse_wrapping_key(content: str | bytes, *, where: str) -> WrappingKey:
    """Return the key given by 32 bytes or 64 hexadecimal digits."""
    found = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(found) != KEY_BYTES:
        try:
            found = bytes.fromhex(found.decode("ascii").strip())
        except (UnicodeDecodeError, ValueError):
            found = b""
    if len(found) != KEY_BYTES:
        raise InvalidKey(
            f"{where} holds no key: expected {KEY_BYTES} bytes, raw or as hexadecimal digits. "
            f"{HOW_TO_MAKE_ONE}"
        )
    return WrappingKey(found)


def new_wrapping_key(path: str | Path) -> WrappingKey:
    """Write a new random key, readable by its owner only; a file that exists is never replaced."""
    key = WrappingKey(secrets.token_bytes(KEY_BYTES))
    write_private_file(Path(path), key.secret.hex().encode() + b"\n", may_exist=False)
    return key
