"""Joint uniqueness: who is alone on all columns that stay, and how few of them are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Column, Table
from discreet.measure.encode import comparable_value
from discreet.policy.model import ColumnRole
from discreet.result import Result
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

# Sensitive columns that are tried as the one to be learned: those that tell people apart least.
SECRETS_TRIED = 8
# `enough` is the shortest list of columns that singles out this share of the exposed people.
MOST = 0.9


@dataclass(frozen=True)
class JointUniqueness(Result):
    """How many people are alone on what stays in a table.

    Identifiers and the unit are left out of a release; every other column stays, whatever its role.

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

    >>> import pyarrow as pa
    >>> from discreet.engines.connect import open_table
    >>> from discreet.measure.roles import bind_roles
    >>> people = pa.table({"age": ["3*"] * 4, "pet": list("cdcd"), "car": list("vvww")})
    >>> found = measure_joint(bind_roles(open_table(people), quasi=["age"]))
    >>> found.unique, found.enough, found.enough_unique
    (4, ('pet', 'car'), 4)
    """
    columns = kept_columns(bound)
    search = _UniquenessSearch(bound.subject.table, bound.subject.unit)
    people, unique = search.people(), search.unique(columns)
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


def kept_columns(bound: RoleBinding) -> list[Column]:
    """Return the columns that stay in a release: all but identifiers and the unit."""
    subject = bound.subject
    return [
        column
        for column in subject.table.columns
        if column != subject.unit and bound.roles.get(column.name) is not ColumnRole.IDENTIFIER
    ]


@dataclass(frozen=True)
class _UniquenessSearch:
    """Counts people who are alone on some columns of a table."""

    table: Table
    unit: Column | None

    def people(self) -> int:
        """Return how many people there are; rows of nobody known count as one person."""
        source: exp.Expr = self.table.relation.copy()
        if self.unit is not None:
            once = build.select(
                build.alias_as(comparable_value(self.unit), "unit"), source=source
            ).distinct()
            source = build.subquery(once, "once")
        query = build.select(build.alias_as(build.count_star(), "people"), source=source)
        return int(self.table.engine.run(query)["people"][0].as_py())

    def unique(self, columns: Sequence[Column]) -> int:
        """Return how many people have values that nobody else has."""
        alone = self._unique_groups_query(columns)
        if self.unit is not None:  # a person may be alone with several rows
            alone = build.select(
                build.column("unit"), source=build.subquery(alone, "rows")
            ).distinct()
        counted = build.alias_as(build.count_star(), "people")
        query = build.select(counted, source=build.subquery(alone, "alone"))
        return int(self.table.engine.run(query)["people"][0].as_py())

    def _unique_groups_query(self, columns: Sequence[Column]) -> exp.Select:
        """Return the query of the groups of one person."""
        names = [f"c{index}" for index in range(len(columns))]
        values = [
            build.alias_as(comparable_value(column), name)
            for name, column in zip(names, columns, strict=True)
        ]
        one: exp.Expr = build.number(1)
        if self.unit is not None:
            values.append(build.alias_as(comparable_value(self.unit), "unit"))
            # As text, because PostgreSQL has no smallest boolean.
            one = exp.Min(this=exp.cast(build.column("unit"), "text"))
        rows = build.select(*values, source=self.table.relation.copy())
        rows = rows.distinct() if self.unit is not None else rows
        is_one = exp.EQ(this=build.count_star(), expression=build.number(1))
        return (
            build.select(build.alias_as(one, "unit"), source=build.subquery(rows, "r"))
            .group_by(*map(build.column, names))
            .having(is_one)
        )

    def by_values(self, columns: Sequence[Column]) -> list[Column]:
        """Return the columns by their number of different values, most first."""
        counts = [
            build.alias_as(
                exp.Count(this=exp.Distinct(expressions=[comparable_value(column)])), f"n{index}"
            )
            for index, column in enumerate(columns)
        ]
        query = build.select(*counts, source=self.table.relation.copy())
        found = self.table.engine.run(query).to_pylist()[0]
        places = sorted(range(len(columns)), key=lambda index: (-found[f"n{index}"], index))
        return [columns[place] for place in places]

    def fewest(self, ranked: Sequence[Column], *, people: int) -> tuple[list[Column], int]:
        """Return the shortest beginning of `ranked` on which most of `people` are alone."""
        wanted = MOST * people
        low, high, alone = 1, len(ranked), people
        while low < high:  # whoever is alone on some columns is alone on more
            middle = (low + high) // 2
            found = self.unique(ranked[:middle])
            if found >= wanted:
                high, alone = middle, found
            else:
                low = middle + 1
        return list(ranked[:high]), alone
