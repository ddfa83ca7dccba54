"""The groups of an answer: public ones are all released, others only with enough people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.answer.question import key_name
from discreet.arrow import pc
from discreet.engines.engine import ArrowTable, Kind
from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.expressions.typed import TypedExpression

MOST_CELLS = 2_000_000
Array = Any

TYPES = {
    Kind.TEXT: pa.string(),
    Kind.INTEGER: pa.int64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.REAL: pa.float64(),
    Kind.TIME: pa.time64("us"),
}


@dataclass(frozen=True)
class KeyDomain:
    """The public values of every key; their combinations are the groups, in this order."""

    values: tuple[tuple[object, ...], ...]
    kinds: tuple[Kind, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each key has."""
        return tuple(len(values) for values in self.values)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return prod(self.shape)


def find_key_domain(keys: Sequence[TypedExpression]) -> KeyDomain | None:
    """Return the public groups, or None when a key's values are not public."""
    values: list[tuple[object, ...]] = []
    for key in keys:
        if key.values is None or key.kind not in TYPES:
            return None
        if key.kind is Kind.INTEGER and not all(_is_held(value) for value in key.values):
            raise QuestionRefused(
                "A public value of a key is a whole number of more than 64 bits, of which there can be "
                "no group. Group by it as a text, with CAST(x AS TEXT), or by another column."
            )
        values.append(key.values)
    found = KeyDomain(tuple(values), tuple(key.kind for key in keys))
    if found.size > MOST_CELLS:
        raise QuestionRefused(
            f"The public values of the keys make {found.size:,} groups, more than "
            f"{MOST_CELLS:,}. Group by fewer or coarser columns."
        )
    return found


def _is_held(value: object) -> bool:
    # Numbers of 128 bits come as decimals.
    return isinstance(value, (int, Decimal)) and -(2**63) <= value < 2**63


@dataclass(frozen=True)
class KeyGroups:
    """Groups by number: the distinct values of each key, and which combinations of them there are.

    `levels` are the combinations of the first key, of the first two, and so on, by number: however
    many keys there are, no number is larger than groups times values. An overflow would reveal how
    many values there are.
    """

    uniques: tuple[Any, ...]  # an Arrow array for each key
    codes: Array  # sorted; None where all combinations are groups
    has_null: tuple[bool, ...]
    levels: tuple[Array, ...] = ()

    @property
    def size(self) -> int:
        """How many groups there are."""
        return prod(self._key_sizes) if self.codes is None else len(self.codes)

    @property
    def _key_sizes(self) -> tuple[int, ...]:
        return tuple(
            len(unique) + null for unique, null in zip(self.uniques, self.has_null, strict=True)
        )

    def positions(self, table: ArrowTable) -> Array:
        """Return the number of each row's group, -1 where it is in none."""
        flat = self._flat_codes(table)
        if self.codes is None:
            return flat
        return _find_positions(self.codes, flat)

    def _flat_codes(self, table: ArrowTable) -> Array:
        flat = np.zeros(table.num_rows, np.int64)
        is_there = np.ones(table.num_rows, bool)
        for index, (unique, null) in enumerate(zip(self.uniques, self.has_null, strict=True)):
            column = fit_column(table.column(key_name(index)).combine_chunks(), unique.type)
            code = pc.index_in(column, value_set=unique, skip_nulls=True)
            found = code.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
            if null:
                missing = column.is_null().to_numpy(zero_copy_only=False)
                found = np.where(missing, len(unique), found)
            is_there &= found >= 0
            flat = np.where(is_there, flat * (len(unique) + null) + found, -1)
            if index < len(self.levels):
                flat = _find_positions(self.levels[index], flat)
                is_there &= flat >= 0
        return flat

    def columns(self) -> list[Any]:
        """Return the keys of the groups, in their order, as Arrow arrays."""
        if self.codes is None:
            codes = (
                np.unravel_index(np.arange(self.size), self._key_sizes) if self._key_sizes else ()
            )
        else:
            codes = self._unravel_codes()
        return [
            unique.take(pa.array(code, mask=code >= len(unique)) if null else pa.array(code))
            for unique, code, null in zip(self.uniques, codes, self.has_null, strict=True)
        ]

    def _unravel_codes(self) -> list[Array]:
        """Return the number of each key's value, for every group."""
        codes: list[Array] = []
        places = self.codes
        for level, size in zip(reversed(self.levels), reversed(self._key_sizes), strict=True):
            places, code = np.divmod(level[places], size)
            codes.append(code)
        return codes[::-1]

    def kept(self, mask: Array) -> KeyGroups:
        """Return those groups for which `mask` is true."""
        return replace(self, codes=self.codes[mask])


def _find_positions(known: Array, wanted: Array) -> Array:
    """Return where each wanted number is in the sorted `known` ones, -1 where it is not."""
    if not len(known):
        return np.full(len(wanted), -1)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def public_groups(domain: KeyDomain) -> KeyGroups:
    """Return all combinations of public values."""
    arrays = tuple(
        pa.array(list(values), TYPES[kind])
        for values, kind in zip(domain.values, domain.kinds, strict=True)
    )
    return KeyGroups(arrays, None, (False,) * len(arrays))


def found_groups(table: ArrowTable, count: int) -> KeyGroups:
    """Return the groups of `table`, ordered by their keys: the engine's order may reveal data."""
    uniques: list[Any] = []
    nulls: list[bool] = []
    for index in range(count):
        column = table.column(key_name(index)).combine_chunks()
        nulls.append(column.null_count > 0)
        unique = pc.unique(column.drop_null())
        uniques.append(unique.take(pc.sort_indices(unique)))
    levels: list[Array] = []
    for upto in range(1, count + 1):
        known = KeyGroups(tuple(uniques[:upto]), None, tuple(nulls[:upto]), tuple(levels))
        levels.append(np.unique(known.positions(table)))
    codes = np.arange(len(levels[-1]))
    return KeyGroups(tuple(uniques), codes, tuple(nulls), tuple(levels))


def fit_column(column: Any, kind: Any) -> Any:
    """Return `column` as `kind`; what does not fit is NULL, because an error would reveal data."""
    if column.type == kind:
        return column
    if pa.types.is_decimal(column.type) and pa.types.is_integer(kind):
        limit = pa.scalar(2**62).cast(pa.decimal128(38, 0))
        fits = pc.less_equal(pc.abs(column.cast(pa.decimal128(38, 0))), limit)
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_uint64(column.type):
        fits = pc.less_equal(column, pa.scalar(2**62, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    if pa.types.is_timestamp(column.type):
        return column.cast(kind, safe=False)  # nanoseconds are cut off
    if pa.types.is_floating(column.type) and pa.types.is_integer(kind):
        fits = pc.and_(pc.equal(column, pc.floor(column)), pc.less_equal(pc.abs(column), 2.0**53))
        column = pc.if_else(fits.fill_null(False), column, pa.scalar(None, column.type))
    return column.cast(kind)
