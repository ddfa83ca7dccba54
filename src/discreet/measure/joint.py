"""Joint uniqueness: who is alone on all columns that stay, and how few of them are enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sqlglot import exp

from discreet.engines.engine import Column, Engine, Table
from discreet.measure.encode import comparable_value
from discreet.policy.model import ColumnRole
from discreet.result import Result
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

_Ranks: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
# Sensitive columns that are tried as the one to be learned: those that distinguish people least.
SECRETS_TRIED = 8
# `enough` is the shortest list of columns that singles out this share of the exposed people.
MOST = 0.9


@dataclass(frozen=True)
class JointUniqueness(Result):
    """How many people are alone on what stays in a table.

    Identifiers and the unit are left out of a release; every other column stays, in any role.

    Attributes:
        people: How many people the table is about.
        columns: How many columns stay.
        unique: People who are alone on all of them.
        exposed: People who are alone on all of them but one sensitive column, which is thereby
            learned; on all of them where no column is sensitive.
        secret: That sensitive column: the one learned about most people.
        enough: Few columns, those with most values first, on which most of the exposed are alone.
        enough_unique: How many people are alone on these.
    """

    people: int
    columns: int
    unique: int
    exposed: int
    secret: str | None
    enough: tuple[str, ...]
    enough_unique: int


def measure_joint(bound: RoleBinding) -> JointUniqueness:
    """Return how many people are alone on the columns that stay, counted by the engine.

    The table is read twice: to count people, and to put equal rows together; the rest is counted on these.

    >>> import pyarrow as pa
    >>> from discreet.engines.connect import open_table
    >>> from discreet.measure.roles import bind_roles
    >>> people = pa.table({"age": ["3*"] * 4, "pet": list("cdcd"), "car": list("vvww")})
    >>> found = measure_joint(bind_roles(open_table(people), quasi=["age"]))
    >>> found.unique, found.enough, found.enough_unique
    (4, ('pet', 'car'), 4)
    """
    columns = kept_columns(bound)
    people, has_several_rows = _count_people(bound)
    if not columns or not people:
        return JointUniqueness(people, len(columns), 0, 0, None, (), 0)
    table = bound.subject.table
    unit = bound.subject.unit if has_several_rows else None
    relation = table.engine.keep(_equal_rows(table, columns, unit))
    names = {column: f"c{index}" for index, column in enumerate(columns)}
    search = _UniquenessSearch(table.engine, relation, names, has_unit=unit is not None)
    try:
        return _measure(search, bound, people=people)
    finally:
        table.engine.drop(relation)


def _measure(search: _UniquenessSearch, bound: RoleBinding, *, people: int) -> JointUniqueness:
    columns = list(search.names)
    unique = search.unique(columns)
    if not unique:
        return JointUniqueness(people, len(columns), 0, 0, None, (), 0)
    ranked = search.by_values(columns)
    sensitive = [c for c in ranked if bound.roles.get(c.name) is ColumnRole.SENSITIVE]
    exposed, secret = unique, None
    if sensitive:
        exposed, secret = -1, sensitive[-1]
        for one in sensitive[-SECRETS_TRIED:]:
            others = [column for column in columns if column != one]
            alone = search.unique(others) if others else 0
            if alone > exposed:
                exposed, secret = alone, one
            if exposed == unique:  # fewer columns single out no one else
                break
    known = [column for column in ranked if column != secret]
    enough, alone = search.fewest(known, people=exposed) if exposed else ([], 0)
    return JointUniqueness(
        people=people,
        columns=len(columns),
        unique=unique,
        exposed=exposed,
        secret=secret.name if secret else None,
        enough=tuple(column.name for column in enough),
        enough_unique=alone,
    )


def measure_linked_rows(
    table: Table,
    link: Column,
    *,
    known: Sequence[Column],
    secret: Sequence[Column],
    unit: Column | None,
) -> JointUniqueness:
    """Return how many people are alone on all their rows together, which the values of `link` put together.

    A pseudonym is known to no outsider, but it reveals which rows belong to one person: someone who knows
    these rows of a person, or some of them, finds the others. Rows without a value of `link` are not
    linked. A value that several people of a `unit` share links no one's rows.

    >>> import pyarrow as pa
    >>> from discreet.engines.connect import open_table
    >>> visits = open_table(pa.table({"who": list("aabbcc"), "ward": [1, 2, 1, 1, 1, 1]}))
    >>> who, ward = visits.columns
    >>> measure_linked_rows(visits, who, known=[ward], secret=[], unit=None).unique
    1
    """
    columns = [*known, *secret]
    lists = {None: columns} | {
        one: [column for column in columns if column != one] for one in secret[:SECRETS_TRIED]
    }
    owner = unit or link
    links, units, *rows = _read_ranks(table, link, [[link], [owner], *filter(None, lists.values())])
    people, first = len(np.unique(units)), np.unique(links, return_index=True)[1]
    alone = {
        one: _count_alone(units, rows.pop(0), first) if names else 0 for one, names in lists.items()
    }
    unique = alone.pop(None)
    learned = max(alone, key=lambda one: alone[one], default=None)
    return JointUniqueness(
        people=people,
        columns=len(columns),
        unique=unique,
        exposed=unique if learned is None else alone[learned],
        secret=learned.name if learned else None,
        enough=(),
        enough_unique=0,
    )


def _read_ranks(table: Table, link: Column, lists: Sequence[Sequence[Column]]) -> list[_Ranks]:
    """Return, for each list of columns, which rows agree on it, in the order of `link`."""
    ranks = [
        build.alias_as(
            exp.Window(
                this=exp.DenseRank(),
                order=exp.Order(expressions=[comparable_value(column) for column in columns]),
            ),
            f"r{index}",
        )
        for index, columns in enumerate(lists)
    ]
    query = build.select(*ranks, source=table.relation.copy())
    query = query.where(exp.Not(this=build.is_null(build.column(link.name))))
    found = table.engine.run(query)
    every = [found[f"r{index}"].to_numpy().astype(np.int64) for index in range(len(lists))]
    order = np.argsort(every[0], kind="stable")
    return [ranks[order] for ranks in every]


def _count_alone(units: _Ranks, rows: _Ranks, first: _Ranks) -> int:
    """Return how many people have a collection of linked rows that no one else has.

    Collections are compared by two sums of random numbers, one for each different row.
    """
    if not len(rows):
        return 0
    chance = np.random.default_rng(0)
    sums = [
        np.add.reduceat(chance.integers(2**64, size=rows.max() + 1, dtype=np.uint64)[rows], first)
        for _ in range(2)
    ]
    low, high = np.minimum.reduceat(units, first), np.maximum.reduceat(units, first)
    _, group = np.unique(np.stack(sums, axis=1), axis=0, return_inverse=True)
    least, most = np.full(len(first), units.max() + 1), np.zeros(len(first), dtype=np.int64)
    np.minimum.at(least, group.ravel(), low)
    np.maximum.at(most, group.ravel(), high)
    return len(np.unique(least[(least == most)]))


def kept_columns(bound: RoleBinding) -> list[Column]:
    """Return the columns that stay in a release: all but identifiers and the unit."""
    subject = bound.subject
    return [
        column
        for column in subject.table.columns
        if column != subject.unit and column.name not in bound.unpublished
    ]


def _count_people(bound: RoleBinding) -> tuple[int, bool]:
    """Return how many people there are, rows without a known person as one, and whether any has several rows."""
    table, unit = bound.subject.table, bound.subject.unit
    rows = _count(table.engine, table.relation.copy())
    if unit is None:
        return rows, False
    values = build.select(
        build.alias_as(comparable_value(unit), "unit"), source=table.relation.copy()
    )
    people = _count(table.engine, build.subquery(values.distinct(), "once"))
    return people, people != rows


def _count(engine: Engine, source: exp.Expr) -> int:
    query = build.select(build.alias_as(build.count_star(), "number"), source=source)
    return int(engine.run(query)["number"][0].as_py())


def _equal_rows(table: Table, columns: Sequence[Column], unit: Column | None) -> exp.Select:
    """Return the query of the different rows, with how many there are of each, and whose they are.

    `known` counts those with a unit, `low` and `high` are the ends of their units: as text, because
    PostgreSQL has no smallest boolean.
    """
    names = [f"c{index}" for index in range(len(columns))]
    values = [
        build.alias_as(comparable_value(column), name)
        for name, column in zip(names, columns, strict=True)
    ]
    kept = [build.alias_as(build.count_star(), "rows")]
    if unit is not None:
        values.append(build.alias_as(exp.cast(comparable_value(unit), "text"), "unit"))
        owner = build.column("unit")
        kept.append(build.alias_as(exp.Count(this=owner), "known"))
        kept.append(build.alias_as(exp.Min(this=owner.copy()), "low"))
        kept.append(build.alias_as(exp.Max(this=owner.copy()), "high"))
    rows = build.select(*values, source=table.relation.copy())
    groups = [build.column(name) for name in names]
    found = build.select(*groups, *kept, source=build.subquery(rows, "r"))
    return found.group_by(*(column.copy() for column in groups))


@dataclass(frozen=True)
class _UniquenessSearch:
    """Counts people who are alone on some columns, on the different rows of a table."""

    engine: Engine
    relation: exp.Table
    names: Mapping[Column, str]
    has_unit: bool

    def unique(self, columns: Sequence[Column]) -> int:
        """Return how many people have values that no one else has."""
        groups = [build.column(self.names[column]) for column in columns]
        owner: exp.Expr = exp.Min(this=build.column("low")) if self.has_unit else build.number(1)
        alone = build.select(build.alias_as(owner, "unit"), source=self.relation.copy())
        alone = alone.group_by(*groups).having(self._is_one_person())
        if self.has_unit:  # a person may be alone with several rows
            units = build.subquery(alone, "rows")
            alone = build.select(build.column("unit"), source=units).distinct()
        return _count(self.engine, build.subquery(alone, "alone"))

    def _is_one_person(self) -> exp.Expr:
        """Return whether a group has one row, or its rows one unit or all none."""
        rows = exp.Sum(this=build.column("rows"))
        if not self.has_unit:
            return exp.EQ(this=rows, expression=build.number(1))
        known = exp.Sum(this=build.column("known"))
        low, high = exp.Min(this=build.column("low")), exp.Max(this=build.column("high"))
        has_none = exp.EQ(this=known, expression=build.number(0))
        have_all = exp.EQ(this=known.copy(), expression=rows)
        return exp.or_(has_none, exp.and_(have_all, exp.EQ(this=low, expression=high)))

    def by_values(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns by their number of different values, most first."""
        counts = [
            build.alias_as(
                exp.Count(this=exp.Distinct(expressions=[build.column(self.names[column])])),
                f"n{index}",
            )
            for index, column in enumerate(columns)
        ]
        found = self.engine.run(build.select(*counts, source=self.relation.copy())).to_pylist()[0]
        places = sorted(range(len(columns)), key=lambda index: (-found[f"n{index}"], index))
        return [columns[place] for place in places]

    def fewest(self, ranked: Sequence[Column], *, people: int) -> tuple[list[Column], int]:
        """Return the shortest beginning of `ranked` on which most of `people` are alone.

        A person who is alone on some columns is alone on more. Few columns are grouped quickly and are
        often enough, so that lengths are doubled first, and halved once one was long enough.
        """
        wanted = MOST * people
        low, high, alone = 1, len(ranked), people
        is_doubling = True
        while low < high:
            middle = min(2 * low - 1, high - 1) if is_doubling else (low + high) // 2
            found = self.unique(ranked[:middle])
            if found >= wanted:
                high, alone, is_doubling = middle, found, False
            else:
                low = middle + 1
        return list(ranked[:high]), alone
