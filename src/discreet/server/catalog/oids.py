"""OIDs: the same name always has the same OID, for every user."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

FIRST = 16384  # below are PostgreSQL's own
_SPACE = 2**31 - FIRST


@dataclass
class OidAllocator:
    """Generates the OIDs of one catalog from a hash of the name, so that they reveal no count."""

    _given: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    _taken: set[int] = field(default_factory=set[int])

    def of(self, kind: str, *names: str) -> int:
        """Return the OID of an object.

        >>> OidAllocator().of("relation", "public", "t") == OidAllocator().of("relation", "public", "t") >= FIRST
        True
        """
        key = (kind, *names)
        if key not in self._given:
            self._given[key] = self._unused_oid(key)
            self._taken.add(self._given[key])
        return self._given[key]

    def _unused_oid(self, key: tuple[str, ...]) -> int:
        # A length before each part: ("a", "bc") and ("ab", "c") are different.
        text = "".join(f"{len(part)}:{part}" for part in key)
        digest = sha256(text.encode()).digest()
        number = int.from_bytes(digest[:8], "big") % _SPACE
        while FIRST + number in self._taken:
            number = (number + 1) % _SPACE
        return FIRST + number
