"""Groups of people that a question can name: by a hash, by arithmetic, or one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.reconstruction.exhaustive import every_group
from discreet.errors import WrongUsage
from discreet.sql import build

Subsets = Literal["hash", "arithmetic", "list", "all"]
SUBSETS: tuple[Subsets, ...] = ("hash", "arithmetic", "list", "all")

_DIGEST_BITS = 128
_HEXADECIMAL = "0123456789abcdef"
# A prime above most ids, whose products with factors below it are exact in 64 bits, and in doubles.
_PRIME = 10_000_019


@dataclass(frozen=True)
class Roster:
    """The people whom the adversary knows of, by public columns such as a name or a number.

    Attributes:
        columns: The public columns.
        keys: Each person's values in them as text, joined by `|`.
        numbers: Each person's value as a whole number, where there is one column of such.
        is_text: Whether there is one column, of texts and without gaps.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...]
    numbers: NDArray[np.int64] | None = None
    is_text: bool = False

    @property
    def people(self) -> int:
        """How many people there are."""
        return len(self.keys)

    @property
    def expression(self) -> exp.Expr:
        """What `keys` are in SQL; a column of texts is taken as it is, as not everything casts."""
        return build.column(self.columns[0]) if self.is_text else key_expression(self.columns)

    def with_others(self, others: Roster) -> Roster:
        """Return the roster with more people behind its own."""
        numbers = None
        if self.numbers is not None and others.numbers is not None:
            numbers = np.concatenate([self.numbers, others.numbers])
        return replace(self, keys=(*self.keys, *others.keys), numbers=numbers)


@dataclass(frozen=True)
class GroupQuestions:
    """Groups, a row of people each, and the condition that names each of them in SQL."""

    groups: NDArray[np.bool_]
    condition: Callable[[int], exp.Expr]

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.groups.shape[0]


def choose_questions(
    roster: Roster,
    *,
    count: int,
    subsets: Subsets,
    chance: np.random.Generator,
    share: float = 0.5,
) -> GroupQuestions:
    """Return `count` groups, each of about `share` of the roster; with `all`, every group there is.

    Raises:
        WrongUsage: The public columns do not fit the kind of groups.
    """
    if subsets == "hash":
        return _groups_by_hash(roster, count, chance, min(15, max(1, round(16 * share))))
    if subsets == "arithmetic":
        return _groups_by_arithmetic(roster, count, chance, share)
    if subsets == "all":
        return _groups_by_listing(roster, every_group(roster.people))
    return _groups_by_listing(roster, chance.random((count, roster.people)) < share)


def key_expression(columns: Sequence[str]) -> exp.Expr:
    """Return the text by which people are known: their public values joined by `|`, NULL as none."""
    parts = [
        exp.func("COALESCE", exp.cast(build.column(name), exp.DataType.Type.TEXT), build.text(""))
        for name in columns
    ]
    joined: exp.Expr = parts[0]
    for part in parts[1:]:
        joined = exp.DPipe(this=exp.DPipe(this=joined, expression=build.text("|")), expression=part)
    return joined


def _groups_by_hash(
    roster: Roster, count: int, chance: np.random.Generator, sixteenths: int
) -> GroupQuestions:
    """Return groups by MD5: halves by single bits, 128 for each salt, else by digits, 32 for each."""
    halves = sixteenths == 8
    per_salt = _DIGEST_BITS if halves else _DIGEST_BITS // 4
    salts = [f":{chance.integers(1 << 62)}" for _ in range(-(-count // per_salt))]
    groups = np.empty((len(salts) * per_salt, roster.people), np.bool_)
    for place, salt in enumerate(salts):
        bits = _digest_bits(roster.keys, salt)
        digits = bits.reshape(-1, 32, 4) @ np.array([8, 4, 2, 1], np.uint8)
        chosen = bits if halves else digits < sixteenths
        groups[place * per_salt : (place + 1) * per_salt] = chosen.T

    def condition(place: int) -> exp.Expr:
        salt, at = salts[place // per_salt], place % per_salt
        digit, weight = (at // 4, 8 >> at % 4) if halves else (at, 0)
        salted = exp.DPipe(this=roster.expression, expression=build.text(salt))
        letter = exp.Substring(
            this=exp.MD5(this=salted), start=build.number(digit + 1), length=build.number(1)
        )
        wanted = [
            value for value in range(16) if (value & weight if halves else value < sixteenths)
        ]
        letters = "".join(_HEXADECIMAL[value] for value in wanted)
        found = exp.StrPosition(this=build.text(letters), substr=letter)
        return exp.GT(this=found, expression=build.number(0))

    return GroupQuestions(groups[:count], condition)


def _digest_bits(keys: Sequence[str], salt: str) -> NDArray[np.uint8]:
    """Return the 128 bits of each key's hash, a row each."""
    joined = b"".join(
        hashlib.md5(f"{key}{salt}".encode(), usedforsecurity=False).digest() for key in keys
    )
    return np.unpackbits(np.frombuffer(joined, np.uint8).reshape(-1, 16), axis=1)


def _groups_by_arithmetic(
    roster: Roster, count: int, chance: np.random.Generator, share: float
) -> GroupQuestions:
    """Return groups by whether (factor · number + shift) mod a prime is small: no function is needed.

    An interface that knows only arithmetic can be asked so (in the manner of Cohen & Nissim 2018).
    """
    if roster.numbers is None:
        raise WrongUsage(
            "Groups by arithmetic need one public column of whole numbers: name it with --by. "
            "Groups by --subsets hash or list take any column."
        )
    factors = chance.integers(1, _PRIME, count)
    shifts = chance.integers(0, _PRIME, count)
    numbers = roster.numbers % _PRIME
    below = round(share * _PRIME)
    groups = (factors[:, None] * numbers[None, :] + shifts[:, None]) % _PRIME < below

    def condition(place: int) -> exp.Expr:
        # The remainder comes first: what is small for sure stays a whole number everywhere. That of
        # a negative number is negative.
        number = exp.Mod(this=build.column(roster.columns[0]), expression=build.number(_PRIME))
        small = exp.Mod(
            this=exp.paren(exp.Add(this=number, expression=build.number(_PRIME))),
            expression=build.number(_PRIME),
        )
        moved = exp.Add(
            this=exp.Mul(this=exp.paren(small), expression=build.number(int(factors[place]))),
            expression=build.number(int(shifts[place])),
        )
        mixed = exp.Mod(this=exp.paren(moved), expression=build.number(_PRIME))
        return exp.LT(this=mixed, expression=build.number(below))

    return GroupQuestions(groups, condition)


def _groups_by_listing(roster: Roster, groups: NDArray[np.bool_]) -> GroupQuestions:
    """Return groups that name their people one by one."""

    def condition(place: int) -> exp.Expr:
        members = np.flatnonzero(groups[place])
        if not members.size:
            return exp.EQ(this=build.number(0), expression=build.number(1))
        if roster.numbers is not None:
            column: exp.Expr = build.column(roster.columns[0])
            values = [_integer_literal(int(roster.numbers[member])) for member in members]
        else:
            column = roster.expression
            values = [build.text(roster.keys[member]) for member in members]
        return exp.In(this=column, expressions=values)

    return GroupQuestions(groups, condition)


def _integer_literal(value: int) -> exp.Expr:
    return build.number(value) if value >= 0 else exp.Neg(this=build.number(-value))
