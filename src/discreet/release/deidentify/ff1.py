"""FF1, the format-preserving cipher of NIST SP 800-38G: whole numbers below radix^length, permuted.

A text of `length` numerals is the whole number it writes in base `radix`, so that no lists of
numerals are needed. Small domains can be searched, which is why Revision 1 (draft, 2019) asks for a
million values or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingExtra, WrongUsage

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import ECB
except ImportError as error:
    raise MissingExtra(what="Format-preserving encryption", extra="pseudonyms") from error

if TYPE_CHECKING:
    from discreet.measure.profile.forms import Numbers

LEAST_DOMAIN = 1_000_000  # SP 800-38G Rev. 1 (draft), section 5.1
ROUNDS = 10
_BLOCK = 16
# Halves below this leave room to reduce 32-bit words in 64 bits without overflow.
_FAST_HALF = 2**31


@dataclass(frozen=True)
class NumeralDomain:
    """The whole numbers below radix^length, and a public tweak that varies their permutation."""

    radix: int
    length: int
    tweak: bytes = b""

    def __post_init__(self) -> None:
        if not 2 <= self.radix <= 2**16:
            raise WrongUsage(f"The radix of FF1 is between 2 and 65,536, not {self.radix}.")
        if not 2 <= self.length < 2**32 or self.radix**self.length < LEAST_DOMAIN:
            raise WrongUsage(
                f"{self.length} places of radix {self.radix} hold fewer than a million values, "
                "which can be searched. Use a keyed pseudonym instead."
            )

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many values the left and the right half have; the right one is never smaller."""
        small = self.length // 2
        return self.radix**small, self.radix ** (self.length - small)

    @cached_property
    def half_bytes(self) -> int:
        """The bytes that hold a half: `b` of the standard."""
        return ((self.sizes[1] - 1).bit_length() + 7) // 8

    @cached_property
    def number_bytes(self) -> int:
        """The bytes of the number added in a round: `d` of the standard."""
        return 4 * -(-self.half_bytes // 4) + 4

    def first_block(self) -> bytes:
        """Return `P` of the standard, the block with the parameters of the encryption."""
        return b"".join(
            (
                b"\x01\x02\x01",
                self.radix.to_bytes(3, "big"),
                bytes([ROUNDS, (self.length // 2) % 256]),
                self.length.to_bytes(4, "big"),
                len(self.tweak).to_bytes(4, "big"),
            )
        )

    def prefix(self, index: int) -> bytes:
        """Return `Q` of the standard for one round, without the half that ends it."""
        zeros = -(len(self.tweak) + self.half_bytes + 1) % _BLOCK
        return self.tweak + bytes(zeros) + bytes([index])


class FF1:
    """FF1 under one AES key of 128, 192 or 256 bits (SP 800-38G, algorithms 7 and 8)."""

    def __init__(self, key: bytes) -> None:
        # Single blocks of ECB are the bare cipher, which FF1 chains itself.
        self._encrypt_blocks = Cipher(AES(key), ECB()).encryptor().update  # noqa: S305

    def encrypt(self, numbers: Numbers, domain: NumeralDomain) -> Numbers:
        """Return the permuted numbers, each of which must be in the domain."""
        return self._permute_numbers(numbers, domain, range(ROUNDS), sign=1)

    def decrypt(self, numbers: Numbers, domain: NumeralDomain) -> Numbers:
        """Return the numbers that `encrypt` permuted."""
        return self._permute_numbers(numbers, domain, range(ROUNDS - 1, -1, -1), sign=-1)

    def _permute_numbers(
        self, numbers: Numbers, domain: NumeralDomain, rounds: Sequence[int], *, sign: int
    ) -> Numbers:
        """Run the rounds: encryption adds to the left half, decryption subtracts from the right."""
        is_fast = domain.sizes[1] < _FAST_HALF
        given = numbers.astype(np.int64 if is_fast else object)
        to_bytes, to_numbers = (
            (_number_bytes, _reduce_modulo) if is_fast else (_large_bytes, _large_numbers)
        )
        seed = self._encrypt_blocks(domain.first_block())
        left, right = given // domain.sizes[1], given % domain.sizes[1]
        for index in rounds:
            moved, kept = (left, right) if sign > 0 else (right, left)
            size = domain.sizes[index % 2]
            stream = self._round_bytes(to_bytes(kept, domain.half_bytes), domain, seed, index)
            moved = (moved + sign * to_numbers(stream, size)) % size
            left, right = (kept, moved) if sign > 0 else (moved, kept)
        return left * domain.sizes[1] + right

    def _round_bytes(
        self, halves: NDArray[np.uint8], domain: NumeralDomain, seed: bytes, index: int
    ) -> NDArray[np.uint8]:
        """Return the random bytes of a round: one call of the cipher serves all values."""
        prefix = np.frombuffer(domain.prefix(index), dtype=np.uint8)
        padded = np.hstack((np.broadcast_to(prefix, (len(halves), len(prefix))), halves))
        state = np.frombuffer(seed, dtype=np.uint8).reshape(1, _BLOCK)
        for start in range(0, padded.shape[1], _BLOCK):
            state = self._encrypt_rows(state ^ padded[:, start : start + _BLOCK])
        blocks = [state]
        for number in range(1, -(-domain.number_bytes // _BLOCK)):
            counter = np.frombuffer(number.to_bytes(_BLOCK, "big"), dtype=np.uint8)
            blocks.append(self._encrypt_rows(state ^ counter))
        return np.ascontiguousarray(np.hstack(blocks)[:, : domain.number_bytes])

    def _encrypt_rows(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
        found = np.frombuffer(self._encrypt_blocks(blocks.tobytes()), dtype=np.uint8)
        return found.reshape(-1, _BLOCK)


def _number_bytes(halves: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
    return halves.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]


def _large_bytes(halves: Numbers, width: int) -> NDArray[np.uint8]:
    joined = b"".join(int(half).to_bytes(width, "big") for half in halves)
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, width)


def _reduce_modulo(stream: NDArray[np.uint8], size: int) -> NDArray[np.int64]:
    """Return the number that each row writes, modulo `size`, word by word."""
    words = stream.view(">u4").astype(np.uint64)
    rest = np.zeros(len(stream), dtype=np.uint64)
    for position in range(words.shape[1]):
        rest = ((rest << np.uint64(32)) + words[:, position]) % np.uint64(size)
    return rest.astype(np.int64)


def _large_numbers(stream: NDArray[np.uint8], size: int) -> Numbers:
    found = np.empty(len(stream), dtype=object)
    found[:] = [int.from_bytes(row.tobytes(), "big") % size for row in stream]
    return found
