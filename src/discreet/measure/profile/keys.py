"""Keys: which column stands for a person, and which columns point to another table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Kind, Table
from discreet.measure.profile.statistics import SAMPLE
from discreet.measure.profile.vocabulary import (
    is_id_name,
    is_key_of,
    is_person_id_name,
    split_words,
)
from discreet.policy.model import ColumnRole
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.profile.evidence import RoleGuess
    from discreet.measure.profile.statistics import ColumnStatistics

_KEYED = (Kind.TEXT, Kind.INTEGER, Kind.DECIMAL)


@dataclass(frozen=True)
class KeyedTable:
    """A table under the search for keys: its name in the policy and what its columns hold."""

    name: str
    table: Table
    counts: tuple[ColumnStatistics, ...]


@dataclass(frozen=True)
class Unit:
    """The column whose value stands for one person, and why."""

    column: str
    reason: str
    repeats: bool


def choose_unit(
    name: str, counts: Sequence[ColumnStatistics], guesses: Mapping[str, RoleGuess]
) -> Unit | None:
    """Return the column that stands for a person, None when each row does.

    The key of a person by its name comes first (of several the one with the most values: more
    patients than doctors), then the table's own id, then a national or medical record number, then
    any identifier that repeats.
    """
    usable = [
        item
        for item in counts
        if item.present
        and 10 * item.missing <= item.rows
        and guesses[item.name].role not in (ColumnRole.HOUSEHOLD, ColumnRole.WEIGHT)
    ]
    people = [item for item in usable if _is_person_key(guesses, item)]
    own = [item for item in usable if _is_own_key(name, item) and _is_identifying(guesses, item)]
    numbers = [item for item in usable if guesses[item.name].safe_harbor in ("G", "H")]
    repeating = [
        item
        for item in usable
        if guesses[item.name].role is ColumnRole.IDENTIFIER
        and not item.is_key
        and item.kind in _KEYED
    ]
    for candidates in (people, own, numbers, repeating):
        if candidates:
            return _describe_unit(max(candidates, key=lambda item: item.distinct))
    return None


def unit_by_reference(
    counts: Sequence[ColumnStatistics],
    references: Mapping[str, tuple[str, str]],
    units: Mapping[str, str | None],
) -> Unit | None:
    """Return the column that points to the unit of another table, if one does."""
    for item in counts:
        target = references.get(item.name)
        if target is not None and units.get(target[0]) == target[1]:
            return _describe_unit(item)
    return None


def _is_person_key(guesses: Mapping[str, RoleGuess], item: ColumnStatistics) -> bool:
    is_named = is_person_id_name(item.name) and is_id_name(item.name)
    return guesses[item.name].meaning == "person key" or (is_named and item.kind in _KEYED)


def _is_own_key(name: str, item: ColumnStatistics) -> bool:
    return split_words(item.name) == ("id",) or (
        is_id_name(item.name) and is_key_of(item.name, table=name, column="id")
    )


def _is_identifying(guesses: Mapping[str, RoleGuess], item: ColumnStatistics) -> bool:
    return guesses[item.name].role is ColumnRole.IDENTIFIER or item.distinct > 20 or item.is_key


def _describe_unit(item: ColumnStatistics) -> Unit:
    if item.is_key:
        return Unit(item.name, f"each of the {item.rows:,} rows has its own", repeats=False)
    reason = f"{item.rows:,} rows belong to {item.distinct:,} people"
    return Unit(item.name, reason, repeats=True)


def find_references(tables: Sequence[KeyedTable]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return which column points to which: (table, column) to (table, column).

    A reference has a name like its target, the same type, and no value that the target lacks; the
    target has a value of its own in every row.
    """
    found: dict[tuple[str, str], tuple[str, str]] = {}
    targets = [(table, item) for table in tables for item in table.counts if _is_target(item)]
    for child in tables:
        for item in child.counts:
            for parent, target in targets:
                origin = (child.name, item.name)
                if origin not in found and _points_to(child, item, parent, target):
                    found[origin] = (parent.name, target.name)
    return found


def _is_target(item: ColumnStatistics) -> bool:
    return item.is_key and item.distinct > 1 and item.kind in _KEYED


def _points_to(
    child: KeyedTable, item: ColumnStatistics, parent: KeyedTable, target: ColumnStatistics
) -> bool:
    if child is parent or item.kind is not target.kind or not 0 < item.distinct <= target.distinct:
        return False
    alike = is_key_of(item.name, table=parent.name, column=target.name)
    own_key = item.is_key and is_key_of(item.name, table=child.name, column="id")
    if not alike or own_key:
        return False
    if child.table.engine is parent.table.engine:
        return _count_dangling_rows(child.table, item.name, parent.table, target.name) == 0
    return _sample_is_included(item, target)


def _count_dangling_rows(child: Table, column: str, parent: Table, target: str) -> int:
    """Return how many rows of `child` point to no row of `parent`, counted by the engine."""
    origin, goal = build.column(column, of="child"), build.column(target, of="parent")
    query = (
        build.select(
            build.alias_as(build.count_star(), "dangling"),
            source=build.aliased_table(child.relation, "child"),
        )
        .join(
            build.aliased_table(parent.relation, "parent"),
            on=exp.EQ(this=origin, expression=goal),
            join_type="left",
        )
        .where(exp.and_(build.is_null(goal.copy()), exp.not_(build.is_null(origin.copy()))))
    )
    return int(child.engine.run(query).to_pylist()[0]["dangling"])


def _sample_is_included(item: ColumnStatistics, target: ColumnStatistics) -> bool:
    """Return whether no sampled value is missing from the target, for tables on two engines.

    Both samples are the values with the smallest MD5, so below the largest hash of the target's
    sample that sample is complete, and a value absent from it is absent from the target.
    """
    known = set(target.sample)
    if not known or not item.sample:
        return False
    limit = max(map(_digest_value, known)) if target.distinct > SAMPLE else "g"
    return all(value in known for value in item.sample if _digest_value(value) <= limit)


def _digest_value(value: str) -> str:
    return hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()
