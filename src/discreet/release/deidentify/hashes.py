"""Plain hashes are no pseudonyms: who can list the values can undo them all."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NoReturn

from discreet.errors import UnkeyedHash

if TYPE_CHECKING:
    from discreet.engines.engine import Column, Table
    from discreet.policy.hierarchies.arrow import ArrowArray

_GUESSES_PER_SECOND = (
    1_000_000  # one core of a laptop, in Python; graphics cards try thousands more
)
_COUNTABLE = 10**15
_ALSO_HASHES = {"crc32", "adler32", "murmur", "murmur3", "xxhash", "fnv", "hash"}
_UNITS = (("year", 31_557_600), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


def is_hash(name: str) -> bool:
    """Return whether `name` names a hash without a key: sha256, SHA-256, md5."""
    plain = _plain(name)
    known = {_plain(each) for each in hashlib.algorithms_available} | _ALSO_HASHES
    return plain in known or plain.startswith(("sha", "md5", "blake"))


def count_guesses(values: ArrowArray) -> int:
    """Return how many texts have the form of one of the values: enough guesses to undo any hash.

    Digits and letters vary, everything else is known: `0A00`, `AA000` and `AAA000`, the forms of
    New York's taxi medallions, are 18,278,000 texts.
    """
    import pyarrow as pa

    from discreet.policy.hierarchies.arrow import pc
    from discreet.policy.hierarchies.values import text_of
    from discreet.release.deidentify.forms import Form, forms_of

    texts = text_of(values) if len(values) else pa.array([], pa.string())
    return sum(Form(pattern).size for pattern in pc.unique(forms_of(texts)).to_pylist())


def refuse_unkeyed_hash(
    name: str, *, table: Table | None = None, column: Column | None = None
) -> NoReturn:
    """Refuse a hash without a key, with the reason and how many guesses undo it."""
    what = f"column '{column.name}'" if column else "a column"
    guesses = None
    if table and column:
        from discreet.release.replace import distinct_values

        guesses = count_guesses(distinct_values(table.engine, table.relation, column))
    if guesses is not None and guesses < _COUNTABLE:
        price = (
            f"{guesses:,} guesses undo all of {what}: {_duration(guesses)} at a million a second, "
            "which a laptop can do"
        )
    else:
        price = (
            f"all 18,278,000 possible taxi medallions take {_duration(18_278_000)} at a million a "
            "second, and lists of names, addresses and numbers are not much longer"
        )
    raise UnkeyedHash(
        f"{name} without a key is no pseudonym: whoever can list the possible values hashes them "
        f"all and looks {what} up ({price}). A public salt changes nothing. Use a keyed pseudonym "
        "with a key file, or random tokens."
    )


def _duration(guesses: int) -> str:
    seconds = max(1, guesses // _GUESSES_PER_SECOND)
    unit, size = next((unit, size) for unit, size in _UNITS if seconds >= size)
    count = seconds // size
    return f"{count:,} {unit}{'s' if count > 1 else ''}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace("/", "")
