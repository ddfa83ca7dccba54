"""The names that a table's own columns hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.measure.profile.person_names import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

_PART = re.compile(r"(?:[^\W\d_][\u0300-\u036f]?)++")


@dataclass(frozen=True)
class Names:
    """The words of the names in a table, in lower case and without accents.

    >>> sorted(Names.of(["Müller, Anna-Lena", "J. O'Brien", None]).words)
    ['anna', 'brien', 'lena', 'muller']
    """

    words: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, values: Iterable[str | None]) -> Names:
        """Return the words of two and more letters in `values`, the cells of name columns."""
        words: set[str] = set()
        for value in values:
            if value is not None:
                words.update(fold(part) for part in _PART.findall(value))
        return cls(frozenset(word for word in words if len(word) > 1))
