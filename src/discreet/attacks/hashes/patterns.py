"""What an identifier may look like: a pattern, the texts that fit it, and how many there are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray
from discreet.errors import WrongUsage

# The letters that each place of a text may have.
Shape: TypeAlias = tuple[str, ...]

MOST_SHAPES = 4_096
MOST_PLACES = 64
BATCH = 1 << 18
_CLASSES = {"d": "0123456789", "u": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "l": "abcdefghijklmnopqrstuvwxyz"}
_REPEAT = re.compile(r"\{(\d+)(?:,(\d+))?\}")


@dataclass(frozen=True)
class GuessPattern:
    """A pattern as it was written, and the shapes of the texts that fit it."""

    text: str
    shapes: tuple[Shape, ...]

    @cached_property
    def size(self) -> int:
        """How many texts fit, those that fit in two ways counted twice."""
        return sum(count_texts(shape) for shape in self.shapes)

    def batches(self) -> Iterator[ArrowArray]:
        """Yield every text that fits, in batches of Arrow text."""
        for shape in self.shapes:
            yield from list_texts(shape)


def count_texts(shape: Shape) -> int:
    """Return how many texts have the letters of `shape`."""
    return math.prod(len(letters) for letters in shape)


def read_guess_pattern(text: str) -> GuessPattern:
    r"""Return the pattern: letters, classes as `[A-Z0-9]` or `\d`, `{2}`, `{6,7}`, `?`, `(a|b)`.

    Raises:
        WrongUsage: The pattern is none, has no end (`*`, `+`), or has more forms than fit in memory.

    >>> read_guess_pattern("[0-9][A-Z][0-9]{2}|[A-Z]{2,3}[0-9]{3}").size
    18278000
    """
    reader = _PatternReader(text)
    shapes = reader.alternatives()
    if reader.place < len(text):
        raise reader.wrong("a ')' without its '('")
    # A text that fits nothing but itself in two ways is tried once.
    return GuessPattern(text, tuple(dict.fromkeys(shapes)))


def list_texts(shape: Shape) -> Iterator[ArrowArray]:
    """Yield the texts of `shape` in batches, made column by column."""
    if not all(letters.isascii() for letters in shape):
        yield from _list_any(shape)
        return
    cut, inner = _split(shape)
    block = _enumerate_block(shape[cut:], inner)
    for leading in product(*shape[:cut]):
        rows = np.empty((inner, len(shape)), np.uint8)
        rows[:, :cut] = np.frombuffer("".join(leading).encode(), np.uint8)
        rows[:, cut:] = block
        for start in range(0, inner, BATCH):
            yield _as_texts(rows[start : start + BATCH])


def _split(shape: Shape) -> tuple[int, int]:
    """Return from which place on all texts fit in one block, and how many those are."""
    cut, inner = len(shape), 1
    while cut and inner * len(shape[cut - 1]) <= 4 * BATCH:
        cut -= 1
        inner *= len(shape[cut])
    return cut, inner


def _enumerate_block(shape: Shape, count: int) -> NDArray[np.uint8]:
    block = np.empty((count, len(shape)), np.uint8)
    repeats = count
    for place, letters in enumerate(shape):
        codes = np.frombuffer(letters.encode(), np.uint8)
        repeats //= len(letters)
        block[:, place] = np.resize(np.repeat(codes, repeats), count)
    return block


def _as_texts(rows: NDArray[np.uint8]) -> ArrowArray:
    count, width = rows.shape
    offsets = (
        np.arange(0, count * width + 1, width, dtype=np.int32)
        if width
        else np.zeros(count + 1, np.int32)
    )
    data = np.ascontiguousarray(rows)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))


def _list_any(shape: Shape) -> Iterator[ArrowArray]:
    """Yield texts whose letters take more than one byte."""
    some: list[str] = []
    for letters in product(*shape):
        some.append("".join(letters))
        if len(some) == BATCH:
            yield pa.array(some, pa.string())
            some = []
    if some:
        yield pa.array(some, pa.string())


class _PatternReader:
    """Reads a pattern from left to right into the shapes of its texts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def alternatives(self) -> list[Shape]:
        """Read up to a ')' or the end: sequences between bars."""
        found = self.sequence()
        while self._consume_letter("|"):
            found += self.sequence()
        return self._require_few_shapes(found)

    def sequence(self) -> list[Shape]:
        """Read what follows each other."""
        found: list[Shape] = [()]
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            repeated = self._read_repeats(self._read_atom())
            found = [first + second for first, second in self._combine_shapes(found, repeated)]
        return found

    def wrong(self, what: str) -> WrongUsage:
        """Return the error that points at the place reached."""
        return WrongUsage(
            f"The pattern '{self.text}' has {what} at letter {self.place + 1}. Write letters as they "
            "are, classes as [A-Z0-9], repeats as {2} or {6,7}, choices as (a|b); a backslash takes "
            "a letter literally."
        )

    def _read_atom(self) -> list[Shape]:
        letter = self.text[self.place]
        if letter in "*+{}?.^$]":
            raise self.wrong(f"'{letter}', which is not understood there,")
        self.place += 1
        if letter == "(":
            found = self.alternatives()
            if not self._consume_letter(")"):
                raise self.wrong("no ')' for its '('")
            return found
        if letter == "[":
            return [(self._read_character_class(),)]
        if letter == "\\":
            return [(self._read_escape(),)]
        return [(letter,)]

    def _read_escape(self) -> str:
        if self.place >= len(self.text):
            raise self.wrong("a backslash with nothing behind it")
        letter = self.text[self.place]
        self.place += 1
        return _CLASSES.get(letter, letter)

    def _read_character_class(self) -> str:
        end = self.text.find("]", self.place)
        inside = self.text[self.place : end] if end >= 0 else ""
        if not inside or inside.startswith("^"):
            raise self.wrong("a class that is empty, open or turned round with '^'")
        letters: list[str] = []
        index = 0
        while index < len(inside):
            first = last = inside[index]
            if inside[index + 1 : index + 2] == "-" and index + 2 < len(inside):
                last = inside[index + 2]
                index += 2
            if last < first:
                raise self.wrong(f"the range '{first}-{last}', which runs backwards,")
            letters += map(chr, range(ord(first), ord(last) + 1))
            index += 1
        self.place = end + 1
        return "".join(dict.fromkeys(letters))

    def _read_repeats(self, shapes: list[Shape]) -> list[Shape]:
        least, most = 1, 1
        if self._consume_letter("?"):
            least = 0
        elif found := _REPEAT.match(self.text, self.place):
            least = int(found[1])
            most = int(found[2]) if found[2] else least
            if most < least or most > MOST_PLACES:
                raise self.wrong(f"a repeat that runs backwards or goes beyond {MOST_PLACES}")
            self.place = found.end()
        every: list[Shape] = []
        chained: list[Shape] = [()]
        for times in range(most + 1):
            every += chained if times >= least else []
            if times < most:
                chained = [
                    first + second for first, second in self._combine_shapes(chained, shapes)
                ]
        return self._require_few_shapes(every)

    def _combine_shapes(
        self, first: list[Shape], second: list[Shape]
    ) -> Iterator[tuple[Shape, Shape]]:
        if len(first) * len(second) > MOST_SHAPES:
            raise self.wrong(f"more than {MOST_SHAPES:,} forms")
        return product(first, second)

    def _require_few_shapes(self, shapes: list[Shape]) -> list[Shape]:
        if len(shapes) > MOST_SHAPES:
            raise self.wrong(f"more than {MOST_SHAPES:,} forms")
        return shapes

    def _consume_letter(self, letter: str) -> bool:
        is_there = self.text[self.place : self.place + 1] == letter
        self.place += is_there
        return is_there
