"""Random tokens, and the sealed file in which only the holder of the key can look them up."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidKey, MissingExtra
from discreet.release.deidentify.base32 import write_base32
from discreet.release.deidentify.keys import SecretKey
from discreet.writing import write_private_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


_HEADER = b"discreet tokens 1\n"
_NONCE_BYTES = 12


@dataclass(frozen=True)
class TokenMapping:
    """The token of each value, by domain. It undoes the pseudonyms: keep it sealed or drop it."""

    by_domain: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def draw(self, texts: Sequence[str], *, domain: str, bits: int) -> TokenMapping:
        """Return these tokens and a new random one for each text that has none."""
        known = self.by_domain.get(domain, {})
        wanted = [text for text in texts if text not in known]
        drawn = dict(zip(wanted, _draw(len(wanted), bits, set(known.values())), strict=True))
        return TokenMapping({**self.by_domain, domain: {**known, **drawn}})

    def lookup(self, texts: Sequence[str], *, domain: str) -> list[str | None]:
        """Return the text behind each token, None where there is none."""
        behind = {token: text for text, token in self.by_domain.get(domain, {}).items()}
        return [behind.get(text) for text in texts]


def seal_tokens(tokens: TokenMapping, path: str | Path, *, key: SecretKey) -> None:
    """Write the tokens atomically, readable by the holder of the key only.

    The file is encrypted with AES-256-GCM; its size shows about how many values there are.
    """
    nonce = secrets.token_bytes(_NONCE_BYTES)
    content = json.dumps(tokens.by_domain, ensure_ascii=False, separators=(",", ":"))
    sealed = _mapping_cipher(key).encrypt(nonce, content.encode(), _HEADER)
    write_private_file(Path(path), _HEADER + nonce + sealed, may_exist=True)


def open_tokens(path: str | Path, *, key: SecretKey) -> TokenMapping:
    """Return the tokens of a sealed file, none when there is no such file yet."""
    cipher = _mapping_cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        return TokenMapping()
    except OSError as error:
        raise InvalidKey(
            f"The sealed mapping {path} cannot be read: {error.strerror}. Name one that you may read."
        ) from None
    if not content.startswith(_HEADER):
        raise InvalidKey(f"{path} is no sealed mapping. Name one that discreet wrote.")
    sealed = content[len(_HEADER) :]
    try:
        opened = cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _HEADER)
    except (InvalidTag, ValueError):
        raise InvalidKey(
            f"The sealed mapping {path} cannot be opened: it was sealed with another key than "
            f"{key.fingerprint}, or it was changed. Use the key it was sealed with."
        ) from None
    return TokenMapping(json.loads(opened))


def _mapping_cipher(key: SecretKey) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise MissingExtra(what="A sealed mapping", extra="pseudonyms") from error
    return AESGCM(key.derive("mapping"))


def _draw(count: int, bits: int, taken: set[str]) -> list[str]:
    """Return `count` different texts that are not taken."""
    size = bits // 8
    found: dict[str, None] = {}
    while len(found) < count:
        more = secrets.token_bytes(size * (count - len(found)))
        texts = write_base32([more[at : at + size] for at in range(0, len(more), size)])
        found |= {text: None for text in texts if text not in taken}
    return list(found)
