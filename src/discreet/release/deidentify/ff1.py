"""FF1, the format-preserving cipher of NIST SP 800-38G: whole numbers below radix^length, permuted.

A text of `length` numerals is the whole number it writes in base `radix`, so that no lists of
numerals are needed. Small domains can be searched, which is why Revision 1 (draft, 2019) asks for a
million values or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import MissingExtra, WrongUsage

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import ECB
except ImportError as error:
    raise MissingExtra(what="Format-preserving encryption", extra="pseudonyms") from error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.release.deidentify.forms import Numbers

LEAST_DOMAIN = 1_000_000  # SP 800-38G Rev. 1 (draft), section 5.1
ROUNDS = 10
_BLOCK = 16
# Halves below this leave room to reduce 32-bit words in 64 bits without overflow.
_FAST_HALF = 2**31


@dataclass(frozen=True)
class Domain:
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
        """Return `P` of the standard, the block that says what is encrypted."""
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

    def encrypt(self, numbers: Numbers, domain: Domain) -> Numbers:
        """Return the permuted numbers, each of which must be in the domain."""
        return self._permute(numbers, domain, range(ROUNDS), sign=1)

    def decrypt(self, numbers: Numbers, domain: Domain) -> Numbers:
        """Return the numbers that `encrypt` permuted."""
        return self._permute(numbers, domain, range(ROUNDS - 1, -1, -1), sign=-1)

    def _permute(
        self, numbers: Numbers, domain: Domain, rounds: Sequence[int], *, sign: int
    ) -> Numbers:
        """Run the rounds: encryption adds to the left half, decryption subtracts from the right."""
        is_fast = domain.sizes[1] < _FAST_HALF
        given = numbers.astype(np.int64 if is_fast else object)
        add = self._words if is_fast else self._large_numbers
        seed = self._encrypt_blocks(domain.first_block())
        left, right = given // domain.sizes[1], given % domain.sizes[1]
        for index in rounds:
            moved, kept = (left, right) if sign > 0 else (right, left)
            moved = (moved + sign * add(kept, domain, seed, index)) % domain.sizes[index % 2]
            left, right = (kept, moved) if sign > 0 else (moved, kept)
        return left * domain.sizes[1] + right

    def _words(
        self, half: NDArray[np.int64], domain: Domain, seed: bytes, index: int
    ) -> NDArray[np.int64]:
        """Return what a round adds to each half, with one call of the cipher for all of them."""
        prefix = np.frombuffer(domain.prefix(index), dtype=np.uint8)
        padded = np.empty((len(half), len(prefix) + domain.half_bytes), dtype=np.uint8)
        padded[:, : len(prefix)] = prefix
        padded[:, len(prefix) :] = (
            half.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - domain.half_bytes :]
        )
        state = np.frombuffer(seed, dtype=np.uint8).reshape(1, _BLOCK)
        for start in range(0, padded.shape[1], _BLOCK):
            mixed = state ^ padded[:, start : start + _BLOCK]
            state = np.frombuffer(self._encrypt_blocks(mixed.tobytes()), np.uint8)
            state = state.reshape(-1, _BLOCK)
        taken = np.ascontiguousarray(state[:, : domain.number_bytes])
        words = taken.view(">u4").astype(np.uint64)
        modulus = np.uint64(domain.sizes[index % 2])
        rest = np.zeros(len(half), dtype=np.uint64)
        for position in range(words.shape[1]):
            rest = ((rest << np.uint64(32)) + words[:, position]) % modulus
        return rest.astype(np.int64)

    def _large_numbers(self, half: Numbers, domain: Domain, seed: bytes, index: int) -> Numbers:
        """Return what a round adds to each half, whatever its size."""
        prefix = domain.prefix(index)
        found = np.empty(len(half), dtype=object)
        for position, number in enumerate(half):
            padded = prefix + int(number).to_bytes(domain.half_bytes, "big")
            found[position] = self._large_number(padded, domain, seed)
        return found

    def _large_number(self, padded: bytes, domain: Domain, seed: bytes) -> int:
        state = seed
        for start in range(0, len(padded), _BLOCK):
            state = self._encrypt_blocks(_xor(state, padded[start : start + _BLOCK]))
        more = range(1, -(-domain.number_bytes // _BLOCK))
        counted = b"".join(_xor(state, number.to_bytes(_BLOCK, "big")) for number in more)
        stream = state + self._encrypt_blocks(counted)
        return int.from_bytes(stream[: domain.number_bytes], "big")


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(_BLOCK, "big")
