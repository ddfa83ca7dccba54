"""The form of a value: which of its places are digits, capitals and small letters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc

Numbers: TypeAlias = NDArray[Any]  # 64-bit integers, or objects where those are too small

_CLASSES = (("0", "[0-9]", 10), ("A", "[A-Z]", 26), ("a", "[a-z]", 26))
_RADIX = {letter: radix for letter, _, radix in _CLASSES}
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class ValueForm:
    """The form of a value, such as `AA-0000`: `0`, `A` and `a` stand for their class."""

    pattern: str

    @cached_property
    def places(self) -> list[int]:
        """Where the digits and letters are."""
        return [place for place, letter in enumerate(self.pattern) if letter in _RADIX]

    @cached_property
    def radices(self) -> list[int]:
        """How many digits or letters each place can have."""
        return [_RADIX[self.pattern[place]] for place in self.places]

    @cached_property
    def size(self) -> int:
        """How many values have this form."""
        return math.prod(self.radices)

    @property
    def is_number(self) -> bool:
        """Whether the values are whole numbers, which a column of integers may hold."""
        return not self.pattern.removeprefix("-").strip("0")

    def numbers(self, texts: list[str]) -> Numbers:
        """Return each text as a whole number below `size`."""
        codes = _code_points(texts, len(self.pattern))
        total: Any = np.zeros(len(texts), dtype=np.int64 if self.size < 2**62 else object)
        for place, radix in zip(self.places, self.radices, strict=True):
            digit = codes[:, place].astype(np.int64) - ord(self.pattern[place])
            total = total * radix + digit.astype(total.dtype)
        return total

    def texts(self, numbers: Numbers) -> list[str]:
        """Return the texts that `numbers` came from."""
        codes = np.repeat(_code_points([self.pattern], len(self.pattern)), len(numbers), axis=0)
        rest = numbers
        for place, radix in zip(reversed(self.places), reversed(self.radices), strict=True):
            codes[:, place] += (rest % radix).astype(np.uint32)
            rest = rest // radix
        return codes.view(f"<U{len(self.pattern)}").ravel().tolist()

    def region(self, numbers: Numbers) -> NDArray[np.int64]:
        """Return which part of the domain each number is in; a pseudonym stays in its part.

        Part 2 is outside the form. A whole number keeps its length, so that the same number stored
        as an integer and as a text agrees; texts with a leading zero are a part of their own.
        """
        outside = np.asarray(numbers >= self.size, dtype=bool)
        parts = np.where(outside, 2, 0)
        if self.is_number:
            leads = np.asarray(numbers >= 10 ** (len(self.radices) - 1), dtype=bool)
            parts = np.where(leads, 1, parts)
            if len(self.radices) == 19:
                parts = np.where(np.asarray(numbers > _LARGEST, dtype=bool), 3, parts)
        return parts


def forms_of(texts: ArrowArray) -> ArrowArray:
    """Return the form of each text."""
    for letter, pattern, _ in _CLASSES:
        texts = pc.replace_substring_regex(texts, pattern, letter)
    return texts


def _code_points(texts: list[str], length: int) -> NDArray[np.uint32]:
    return np.array(texts, dtype=f"<U{length}").view("<u4").reshape(-1, length)
