"""An opened key: it encrypts and decrypts cells, in memory until it is closed."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.errors import InvalidKey
from discreet.guard.vault.wrapping import cipher, derive_subkey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TAG_BYTES = 8
VERSION_BYTES = 2  # the last of them


def tag_of(key_id: str, version: int) -> bytes:
    """Return the eight bytes by which a cell names the key and the version it needs."""
    named = hashlib.sha256(key_id.encode()).digest()[: TAG_BYTES - VERSION_BYTES]
    return named + version.to_bytes(VERSION_BYTES, "big")


class OpenKey:
    """All versions of a key that can still decrypt; the active one encrypts.

    `close` overwrites the key where Python allows it; afterwards the key cannot be used.
    """

    def __init__(self, key_id: str, versions: Mapping[int, bytes], *, active: int | None) -> None:
        self.id, self.active = key_id, active
        self.handle = secrets.token_hex(8)  # not secret: distinguishes openings of the key
        self._secrets = {version: bytearray(secret) for version, secret in versions.items()}

    def __repr__(self) -> str:
        state = "open" if self._secrets else "closed"
        return f"OpenKey({self.id!r}, {state})"

    @property
    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._secrets)

    @property
    def versions(self) -> set[int]:
        """Which versions it can open."""
        return set(self._secrets)

    def encrypting(self) -> tuple[bytes, AESGCM]:
        """Return the tag and the cipher of the active version."""
        version = self._active_version()
        return tag_of(self.id, version), self._make_cipher(version)

    def decrypting(self) -> dict[bytes, AESGCM]:
        """Return the ciphers of all versions by tag."""
        return {tag_of(self.id, version): self._make_cipher(version) for version in self._secrets}

    def index_secrets(self) -> list[bytes]:
        """Return the keys of blind indexes, that of the active version first."""
        versions = sorted(self._secrets, key=lambda version: (version != self.active, -version))
        return [derive_subkey(self._secrets[version], "index", self.id) for version in versions]

    def derive(self, purpose: str) -> bytes:
        """Return a sub-key of the active version for a purpose other than cells."""
        return derive_subkey(self._secrets[self._active_version()], purpose, self.id)

    def close(self) -> None:
        """Wipe the key."""
        for secret in self._secrets.values():
            secret[:] = bytes(len(secret))
        self._secrets.clear()

    def _active_version(self) -> int:
        if self.active is None or self.active not in self._secrets:
            raise InvalidKey(f"The key '{self.id}' is closed or was destroyed.")
        return self.active

    def _make_cipher(self, version: int) -> AESGCM:
        return cipher(derive_subkey(self._secrets[version], "encryption", self.id))
