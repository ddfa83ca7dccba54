"""Plain hashes are no pseudonyms: who can list the values can undo them all."""

from __future__ import annotations

from typing import NoReturn

from discreet.attacks.hashes.hashes import count_guesses, word_duration
from discreet.engines.engine import Column, Table
from discreet.errors import UnkeyedHash

_COUNTABLE = 10**15


def refuse_unkeyed_hash(
    name: str, *, table: Table | None = None, column: Column | None = None
) -> NoReturn:
    """Refuse a hash without a key, with the reason and how many guesses undo it."""
    what = f"column '{column.name}'" if column else "a column"
    guesses = None
    if table and column:
        from discreet.measure.values import distinct_values

        guesses = count_guesses(distinct_values(table.engine, table.relation, column))
    if guesses is not None and guesses < _COUNTABLE:
        price = (
            f"{guesses:,} guesses undo all of {what}: {word_duration(guesses)} at a million a second, "
            "which a laptop can do"
        )
    else:
        price = (
            f"all 18,278,000 possible taxi medallions take {word_duration(18_278_000)} at a million a "
            "second, and lists of names, addresses and numbers are not much longer"
        )
    raise UnkeyedHash(
        f"{name} without a key is no pseudonym: anyone who can list the possible values hashes them "
        f"all and looks {what} up ({price}). A public salt changes nothing. Use a keyed pseudonym "
        "with a key file, or random tokens."
    )
