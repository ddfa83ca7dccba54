"""Reversible pseudonyms: AES-SIV, which is deterministic and notices every change of a pseudonym."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import MissingExtra
from discreet.release.deidentify.base32 import read_base32, write_base32
from discreet.release.deidentify.keys import SecretKey

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
except ImportError as error:
    raise MissingExtra(what="A reversible pseudonym", extra="pseudonyms") from error


_STEP = 16  # lengths are revealed in steps of this many bytes


def encrypt_texts(texts: Sequence[str], *, key: SecretKey, domain: str) -> list[str]:
    """Return a pseudonym for each text."""
    cipher = AESSIV(key.derive("reversible", domain, length=64))
    return write_base32([cipher.encrypt(_pad_content(text.encode()), None) for text in texts])


def decrypt_texts(texts: Sequence[str], *, key: SecretKey, domain: str) -> list[str | None]:
    """Return the text behind each pseudonym, None where it was not made with this key and domain."""
    cipher = AESSIV(key.derive("reversible", domain, length=64))
    return [_decrypt_text(cipher, text) for text in texts]


def _decrypt_text(cipher: AESSIV, text: str) -> str | None:
    sealed = read_base32(text)
    if sealed is None or len(sealed) < 2 * _STEP:
        return None
    try:
        padded = cipher.decrypt(sealed, None)
    except InvalidTag:
        return None
    return padded.rstrip(b"\0")[:-1].decode()


def _pad_content(content: bytes) -> bytes:
    # ISO/IEC 7816-4: a mark, then zeros, so that content and padding can be separated.
    return content + b"\x80" + bytes(-(len(content) + 1) % _STEP)
