"""Bytes as text that survives spreadsheets, file names and databases that ignore case."""

from __future__ import annotations

import base64
import binascii

import numpy as np

# RFC 4648 in lower case. Hexadecimal would be read as a number now and then: `12345e67`.
_ALPHABET = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", dtype=np.uint8)


def write_base32(rows: list[bytes]) -> list[str]:
    """Return each row of bytes as text without padding.

    >>> write_base32([b"discreet"])
    ['mruxgy3smvsxi']
    """
    found: list[str] = [""] * len(rows)
    places: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(len(row), []).append(place)
    for length, group in places.items():
        if not length:
            continue
        packed = np.frombuffer(b"".join(rows[place] for place in group), dtype=np.uint8)
        bits = np.unpackbits(packed.reshape(-1, length), axis=1)
        bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 5)))
        digits = bits.reshape(len(group), -1, 5) @ np.array([16, 8, 4, 2, 1], dtype=np.uint8)
        letters = _ALPHABET[digits]
        texts = letters.view(f"S{letters.shape[1]}").ravel().astype(str).tolist()
        for place, text in zip(group, texts, strict=True):
            found[place] = text
    return found


def read_base32(text: str) -> bytes | None:
    """Return the bytes that `write_base32` wrote, or None when it did not write this text."""
    padded = text + "=" * (-len(text) % 8)
    try:
        found = base64.b32decode(padded, casefold=True)
    except (binascii.Error, ValueError):
        return None
    return found
