"""The names that a table's own columns hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.measure.text.person_names import fold_accents

_PART = re.compile(r"(?:[^\W\d_][\u0300-\u036f]?)++")


@dataclass(frozen=True)
class PersonNames:
    """The words of the names in a table, in lower case and without accents.

    >>> sorted(PersonNames.of(["Müller, Anna-Lena", "J. O'Brien", None]).words)
    ['anna', 'brien', 'lena', 'muller']
    """

    words: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, values: Iterable[str | None]) -> PersonNames:
        """Return the words of two and more letters in `values`, the cells of name columns."""
        words: set[str] = set()
        for value in values:
            if value is not None:
                words.update(fold_accents(part) for part in _PART.findall(value))
        return cls(frozenset(word for word in words if len(word) > 1))
