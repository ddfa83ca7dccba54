"""Ratings, purchases, visits: who did what, with which value, on which day, as whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.sparse.scoreboard import MISSING_HERE, MISSING_THERE, ItemIndex, Points
from discreet.engines.engine import ArrowTable, Column, Kind, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.encode import comparable_value
from discreet.measure.roles import require_column
from discreet.policy.hierarchies.values import text_of
from discreet.sql import build

_NUMBERS = (Kind.INTEGER, Kind.DECIMAL, Kind.REAL)
_DAYS = (Kind.DATE, Kind.TIMESTAMP, Kind.INTEGER)
_SECONDS = 86_400
_FINEST = 64  # steps of a value within its tolerance, where values are not whole


@dataclass(frozen=True)
class TransactionColumns:
    """Which columns say who, what, how much and when."""

    person: str
    item: str
    value: str | None = None
    date: str | None = None


@dataclass(frozen=True)
class TransactionRelease:
    """A release by item, its people and items as text, and how fine its values are."""

    label: str
    index: ItemIndex
    people: ArrowArray
    items: ArrowArray
    step: float


@dataclass(frozen=True)
class Targets:
    """What an adversary knows of some people, and who they are in the release: -1 absent, -2 unknown."""

    names: ArrowArray
    points: Points
    truth: NDArray[np.int32]

    @property
    def has_truth(self) -> bool:
        """Whether the truth is known."""
        return bool((self.truth > -2).any())


def read_release(
    table: Table, parts: TransactionColumns, *, value_tolerance: float
) -> TransactionRelease:
    """Return a release as an index by item.

    Raises:
        UnknownColumn: A named column is not there.
        WrongUsage: Values are no numbers, or dates no dates.
        EmptySource: No row says who did what.
    """
    rows = _fetch_rows(table, parts)
    people, who = encode_column(rows["person"])
    items, what = encode_column(rows["item"])
    numbers = _column_numbers(rows, "value")
    step = 1.0 if bool(np.all(numbers[~np.isnan(numbers)] % 1 == 0)) else value_tolerance / _FINEST
    values = _quantize_numbers(numbers, step, missing=MISSING_HERE)
    days = _quantize_numbers(_column_numbers(rows, "date"), 1.0, missing=MISSING_HERE)
    order = np.argsort(what * len(people) + who, kind="stable")
    starts = np.searchsorted(what[order], np.arange(len(items) + 1)).astype(np.int64)
    index = ItemIndex(len(people), starts, who[order].astype(np.int32), values[order], days[order])
    return TransactionRelease(table.label, index, people, items, step)


def read_targets(
    table: Table,
    parts: TransactionColumns,
    release: TransactionRelease,
    *,
    truth: str | None = None,
) -> Targets:
    """Return what is known of people, in the numbers of the release."""
    rows = _fetch_rows(table, parts, truth=truth)
    names, who = encode_column(rows["person"])
    known = pc.dictionary_encode(rows["item"]).combine_chunks()
    places = pc.index_in(text_of(known.dictionary), value_set=release.items).fill_null(-1)
    items = places.to_numpy(zero_copy_only=False)[known.indices.to_numpy(zero_copy_only=False)]
    order = np.argsort(who, kind="stable")
    starts = np.searchsorted(who[order], np.arange(len(names) + 1)).astype(np.int64)
    points = Points(
        starts,
        items[order].astype(np.int32),
        _quantize_numbers(_column_numbers(rows, "value"), release.step, missing=MISSING_THERE)[
            order
        ],
        _quantize_numbers(_column_numbers(rows, "date"), 1.0, missing=MISSING_THERE)[order],
    )
    found = np.full(len(names), -2, np.int32)
    if truth is not None:
        found[:] = -1
        own = pc.index_in(text_of(rows["truth"].combine_chunks()), value_set=release.people)
        is_there = np.asarray(pc.is_valid(own))
        found[who[is_there]] = np.asarray(own.drop_null())
    return Targets(names, points, found)


def _fetch_rows(table: Table, parts: TransactionColumns, *, truth: str | None = None) -> ArrowTable:
    person, item = require_column(table, parts.person), require_column(table, parts.item)
    wanted = [
        build.alias_as(comparable_value(person), "person"),
        build.alias_as(comparable_value(item), "item"),
    ]
    if parts.value is not None:
        column = require_column(table, parts.value)
        _require_kind(table, column, _NUMBERS, "numbers, such as ratings or amounts")
        wanted.append(build.alias_as(build.column(column.name), "value"))
    if parts.date is not None:
        column = require_column(table, parts.date)
        _require_kind(table, column, _DAYS, "dates, or days as whole numbers")
        wanted.append(build.alias_as(build.column(column.name), "date"))
    if truth is not None:
        name = require_column(table, truth).name
        wanted.append(build.alias_as(build.column(name), "truth"))
    query = build.select(*wanted, source=table.relation.copy())
    rows = table.engine.run(query)
    rows = rows.filter(pc.and_(pc.is_valid(rows["person"]), pc.is_valid(rows["item"])))
    if not rows.num_rows:
        raise EmptySource(f"No row of {table.label} says who did what. Name a table that does.")
    return rows


def _require_kind(table: Table, column: Column, kinds: tuple[Kind, ...], expected: str) -> None:
    if column.kind not in kinds:
        raise WrongUsage(
            f"Column '{column.name}' of {table.label} holds {column.kind}; expected {expected}."
        )


def encode_column(column: ArrowArray) -> tuple[ArrowArray, NDArray[np.int64]]:
    """Return the different values as text, and which of them each row has."""
    coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    return text_of(coded.dictionary), coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _column_numbers(rows: ArrowTable, name: str) -> NDArray[np.float64]:
    if name not in rows.column_names:
        return np.zeros(rows.num_rows)
    column = rows[name].combine_chunks()
    if pa.types.is_timestamp(column.type):
        seconds = column.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        return np.floor(_to_doubles(seconds) / _SECONDS)
    if pa.types.is_date(column.type):
        column = column.cast(pa.date32()).cast(pa.int32())
    return _to_doubles(column)


def _to_doubles(column: ArrowArray) -> NDArray[np.float64]:
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)


def _quantize_numbers(
    numbers: NDArray[np.float64], step: float, *, missing: int
) -> NDArray[np.int32]:
    with np.errstate(invalid="ignore"):
        steps = np.clip(np.round(numbers / step), -9e8, 9e8)
        return np.where(np.isnan(numbers), missing, steps).astype(np.int32)
