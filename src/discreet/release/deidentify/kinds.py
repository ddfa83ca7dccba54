"""The kinds of pseudonyms; each states what it promises and what it reveals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from discreet.errors import WrongUsage


def _require_bits(bits: int) -> None:
    if bits % 8 or not 64 <= bits <= 256:
        raise WrongUsage(f"A pseudonym has 64, 72 … or 256 bits, not {bits}. Leave it at 128.")


@dataclass(frozen=True)
class KeyedHash:
    """HMAC-SHA-256 of the value: the same everywhere, and not reversible.

    Promise: without the key, it reveals nothing but which cells are equal. With it, guesses can be
    tested. Two of n values share a pseudonym with a chance below n² / 2^(bits + 1).
    """

    name: ClassVar[str] = "keyed"
    domain: str = ""
    bits: int = 128

    def __post_init__(self) -> None:
        _require_bits(self.bits)


@dataclass(frozen=True)
class Reversible:
    """AES-SIV of the value (Rogaway & Shrimpton 2006, RFC 5297): the holder of the key can undo it.

    Promise: without the key, it reveals which cells are equal and how long a value is, in steps of 16
    bytes. No two values share a pseudonym.
    """

    name: ClassVar[str] = "reversible"
    domain: str = ""


@dataclass(frozen=True)
class FormatPreserving:
    """FF1 of the value (NIST SP 800-38G): the same form, and the holder of the key can undo it.

    Promise: without the key, it reveals which cells are equal and the form of each. No two values
    share a pseudonym; a value may, by chance, be its own.
    """

    name: ClassVar[str] = "format-preserving"
    domain: str = ""


@dataclass(frozen=True)
class RandomToken:
    """A random text: not reversible, unless the mapping was sealed for the holder of the key.

    Promise: it reveals which cells are equal, and nothing else, also to holders of the key.
    """

    name: ClassVar[str] = "token"
    domain: str = ""
    bits: int = 128

    def __post_init__(self) -> None:
        _require_bits(self.bits)


@dataclass(frozen=True)
class DateShift:
    """All dates of a person move by the same number of days, 1 to `days` back or forth.

    Promise: intervals between dates of one person survive; without the key, a date is known to
    within `days`. Who knows one true date of a person knows all of them.
    """

    name: ClassVar[str] = "date-shift"
    domain: str = ""
    days: int = 365

    def __post_init__(self) -> None:
        if not 1 <= self.days <= 36_500:
            raise WrongUsage(f"Dates are shifted by up to 1 to 36,500 days, not {self.days}.")


Pseudonym: TypeAlias = KeyedHash | Reversible | FormatPreserving | RandomToken | DateShift


def describe_pseudonym(pseudonym: Pseudonym) -> dict[str, Any]:
    """Return a pseudonym as plain values for a manifest; they hold no secret."""
    return {"kind": pseudonym.name, **dataclasses.asdict(pseudonym)}


def read_pseudonym(stated: Mapping[str, Any]) -> Pseudonym:
    """Return the pseudonym that `describe_pseudonym` described; what is no pseudonym is a ValueError.

    >>> read_pseudonym(describe_pseudonym(DateShift(days=30)))
    DateShift(domain='', days=30)
    """
    options = dict(stated)
    name = options.pop("kind")
    for kind in (KeyedHash, Reversible, FormatPreserving, RandomToken, DateShift):
        if kind.name == name:
            return kind(**options)
    raise ValueError(f"There is no pseudonym '{name}'.")
