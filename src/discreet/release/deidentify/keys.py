"""Secret keys: read from a file or the environment, never shown, one sub-key for each purpose."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import InvalidKey
from discreet.writing import write_private_file

VARIABLE = "DISCREET_KEY"
LEAST_BYTES = 16  # 128 bits
_NEW_BYTES = 32
_MOST_BYTES = 4096
# 16 random bytes have fewer than 8 different ones with a chance of 10**-12; phrases often do.
_LEAST_DISTINCT = 8
_EXPECTED = "Expected are 16 bytes or more: raw, or as one line of hexadecimal or base64 text."
HOW_TO_MAKE_ONE = "Make one with: (umask 077; openssl rand -hex 32 > FILE)"
_HEXADECIMAL = re.compile(rb"[0-9a-fA-F]+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")


@dataclass(frozen=True)
class SecretKey:
    """A secret of 128 bits or more; neither its text nor its fingerprint gives it away."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) < LEAST_BYTES:
            raise InvalidKey(
                f"The key has {8 * len(self.secret)} bits; 128 are needed. {_EXPECTED} {HOW_TO_MAKE_ONE}"
            )
        if len(set(self.secret)) < _LEAST_DISTINCT:
            raise InvalidKey(f"The key repeats itself: it is not random. {HOW_TO_MAKE_ONE}")

    @property
    def fingerprint(self) -> str:
        """Sixteen digits that distinguish keys; they do not help to find the key."""
        return self.derive("fingerprint", length=8).hex()

    def derive(self, purpose: str, domain: str = "", *, length: int = 32) -> bytes:
        """Return the sub-key of one purpose and domain: none reveals anything about another."""
        parts = ("discreet", "1", purpose, domain)
        # Lengths come first, so that no two lists of parts are written alike.
        encoded = [part.encode() for part in parts]
        info = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
        return hkdf(self.secret, info=info, length=length)


def hkdf(secret: bytes, *, info: bytes, length: int, salt: bytes = b"") -> bytes:
    """Return `length` bytes of HKDF-SHA-256 (Krawczyk & Eronen 2010, RFC 5869)."""
    extracted = hmac.digest(salt or bytes(32), secret, hashlib.sha256)
    block, found = b"", b""
    for number in range(1, -(-length // 32) + 1):
        block = hmac.digest(extracted, block + info + bytes([number]), hashlib.sha256)
        found += block
    return found[:length]


def read_key_file(path: str | Path) -> SecretKey:
    """Return the key in a file, which must not be readable or writable by everyone."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise InvalidKey(f"There is no key file {path}. {HOW_TO_MAKE_ONE}") from None
    except OSError as error:
        raise InvalidKey(
            f"The key file {path} cannot be read: {error.strerror}. Name one that you may read."
        ) from None
    if os.name == "posix" and mode & (stat.S_IROTH | stat.S_IWOTH):
        raise InvalidKey(
            f"Everyone on this machine can read or change the key file {path}. "
            f"Run: chmod 600 {path}; if others may have read it, make a new key."
        )
    if len(content) > _MOST_BYTES:
        raise InvalidKey(f"{path} is larger than {_MOST_BYTES} bytes: no key. {_EXPECTED}")
    return SecretKey(_decode_key(content, where=f"The key file {path}"))


def read_key_variable(name: str = VARIABLE) -> SecretKey:
    """Return the key in an environment variable, as hexadecimal or base64 text."""
    found = os.environ.get(name)
    if found is None:
        raise InvalidKey(
            f"The environment variable {name} is not set. Set it to a key in hexadecimal or "
            f"base64, or name a key file. {HOW_TO_MAKE_ONE}"
        )
    return SecretKey(_decode_key(os.fsencode(found), where=f"The environment variable {name}"))


def new_key_file(path: str | Path) -> SecretKey:
    """Write a new random key of 256 bits, readable by its owner only, and return it.

    A file that exists is never replaced: a lost key cannot be made again.
    """
    key = SecretKey(secrets.token_bytes(_NEW_BYTES))
    write_private_file(Path(path), key.secret.hex().encode() + b"\n", may_exist=False)
    return key


def _decode_key(content: bytes, *, where: str) -> bytes:
    text = content.strip()
    if not text:
        raise InvalidKey(f"{where} is empty. {_EXPECTED} {HOW_TO_MAKE_ONE}")
    if _HEXADECIMAL.fullmatch(text):
        if len(text) % 2:
            raise InvalidKey(f"{where} is cut off: an odd number of digits. {_EXPECTED}")
        return bytes.fromhex(text.decode("ascii"))
    if _BASE64.fullmatch(text):
        bare = text.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        try:
            return base64.b64decode(bare + b"=" * (-len(bare) % 4), validate=True)
        except binascii.Error:
            raise InvalidKey(f"{where} is cut off: no base64. {_EXPECTED}") from None
    if _is_text(content):
        # Words have far fewer bits than letters, and can be guessed.
        raise InvalidKey(f"{where} holds words, not a key. {_EXPECTED} {HOW_TO_MAKE_ONE}")
    return content


def _is_text(content: bytes) -> bool:
    try:
        return all(letter.isprintable() or letter.isspace() for letter in content.decode())
    except UnicodeDecodeError:
        return False
