"""Values that are in one cell only, and how to find them, or parts of them, in any output."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

LETTERS = "bcdfghjklmnpqrstvwxz"  # no words are made of these alone
LONG = 16
PART = 7  # letters of a text that give it away: too many to meet by chance where texts are joined
_RUNS = re.compile(rf"[{LETTERS}]{{{PART},}}")
_NUMBERS = re.compile(r"(?<![0-9])[12][0-9]{9}(?![0-9])")
_DATES = re.compile(r"1[78][0-9]{2}-[0-9]{2}-[0-9]{2}")
_HASHES = re.compile(r"[0-9a-f]{32}")


@dataclass
class Canaries:
    """Makes values, no two of which share a part, and knows which cell each one is in."""

    chance: Random
    cells: dict[str, str] = field(default_factory=dict[str, str])  # part -> cell

    def text(self, cell: str) -> str:
        """Return a text for a cell."""
        while True:
            made = "".join(self.chance.choices(LETTERS, k=LONG))
            parts = {*_parts(made), *_parts(made[::-1])}
            if len(parts) == 2 * (LONG - PART + 1) and not parts & set(self.cells):
                break
        hashed = hashlib.md5(made.encode(), usedforsecurity=False).hexdigest()
        self.cells |= dict.fromkeys((*parts, hashed), cell)
        return made

    def number(self, cell: str) -> int:
        """Return a number for a cell."""
        while True:
            made = self.chance.randint(1_100_000_000, 2_100_000_000)
            near = {str(made + step) for step in range(-5, 6)}
            if not near & set(self.cells):
                self.cells |= dict.fromkeys(near, cell)
                return made

    def date(self, cell: str) -> date:
        """Return a date for a cell."""
        while True:
            made = date(1700, 1, 1) + timedelta(days=31 * self.chance.randint(0, 2300))
            if str(made) not in self.cells:
                self.cells[str(made)] = cell
                return made

    def found(self, result: str) -> set[str]:
        """Return the cells that a text gives away."""
        lowered = result.lower()
        parts = [part for run in _RUNS.findall(lowered) for part in _parts(run)]
        parts += _NUMBERS.findall(lowered) + _DATES.findall(lowered) + _HASHES.findall(lowered)
        return {self.cells[part] for part in parts if part in self.cells}


def _parts(text: str) -> list[str]:
    return [text[place : place + PART] for place in range(len(text) - PART + 1)]
