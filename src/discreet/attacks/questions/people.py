"""The people an adversary is after: named by a condition, drawn from a table, or in no table at all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.attacks.questions.domains import column_equals
from discreet.engines.engine import Column, Kind, Table
from discreet.errors import InvalidQuestion, UnknownColumn, WrongUsage, did_you_mean
from discreet.sql import build
from discreet.sql.bounded import parse_bounded

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TargetPerson:
    """A condition that an adversary knows to hold for one person, and the truth about them.

    Attributes:
        where: The condition.
        truth: What is to be learned. For a person who is not in the table it is the value of
            a person who is, so that a guess that is right for them was learned from the population.
        is_present: Whether they are in the table.
    """

    where: exp.Expr
    truth: Any
    is_present: bool = True


def read_person_condition(text: str, table: Table) -> exp.Expr:
    """Return a condition written in SQL, its columns those of `table`.

    Raises:
        InvalidQuestion: The text is no condition.
        UnknownColumn: It names a column that is not there.
    """
    try:
        trees = parse_bounded(text, dialect=table.engine.dialect, into=exp.Condition)
    except SqlglotError:
        trees = ()
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or tree.find(exp.Query, exp.AggFunc) or isinstance(tree, exp.Alias):
        raise InvalidQuestion(
            "The condition cannot be read as SQL. Write one such as \"name = 'Ann Lee'\"."
        )
    known = {column.name.lower(): column.name for column in table.columns}
    for column in tree.find_all(exp.Column):
        if column.name.lower() not in known:
            near = did_you_mean(column.name, known.values())
            raise UnknownColumn(f"Column '{column.name}' is not in {table.label}.{near}")
        column.replace(build.column(known[column.name.lower()]))
    return tree


def name_person(table: Table, where: exp.Expr, *, value: exp.Expr, group: int = 1) -> TargetPerson:
    """Return whom a condition is about, with the truth that the table has: of a group, the sum.

    Raises:
        WrongUsage: It holds for more people than `group`, so that it means no one in particular.
    """
    found = _fetch_truth(table, exp.Sum if group > 1 else exp.Min, value, where=where)
    if found["n"] > group:
        raise WrongUsage(
            f"The condition holds for {found['n']:,} rows of {table.label}. Add what distinguishes the "
            "person from the others."
        )
    if found["n"] >= 1:
        return TargetPerson(where, found["v"])
    return TargetPerson(where, None, is_present=False)


def draw_people(
    table: Table,
    *,
    by: Sequence[Column],
    value: exp.Expr,
    people: int,
    absent: int,
    chance: np.random.Generator,
) -> list[TargetPerson]:
    """Return people drawn from the table, named by their values of `by`, and others who are not in it.

    People who share these values with others are left out: no condition means only them.
    """
    keys = [
        build.alias_as(build.column(column.name), f"k{place}") for place, column in enumerate(by)
    ]
    smallest = build.alias_as(exp.Min(this=value.copy()), "v")
    query = build.select(*keys, smallest, source=table.relation.copy())
    query = query.group_by(*(build.column(column.name) for column in by))
    query = query.having(exp.EQ(this=build.count_star(), expression=build.number(1)))
    found = build.order_nulls_last(query, [build.column(column.name) for column in by])
    rows = table.engine.run(found)
    if rows.num_rows == 0:
        raise WrongUsage(
            f"No person in {table.label} is distinguished from the others by "
            f"{', '.join(repr(column.name) for column in by)}. Name more columns with --by."
        )
    chosen = chance.permutation(rows.num_rows)[:people]
    drawn = [list(row.values()) for row in rows.take(chosen).to_pylist()]
    present = [TargetPerson(_identifying_condition(by, row[:-1]), row[-1]) for row in drawn]
    others = rows.take(chance.integers(0, rows.num_rows, absent)).to_pylist()
    invented = [
        TargetPerson(
            _identifying_condition(by, _invent_values(by, list(row.values()), number)),
            row["v"],
            is_present=False,
        )
        for number, row in enumerate(others)
    ]
    return present + invented


def most_common_share(table: Table, value: exp.Expr) -> float:
    """Return how often the most common value is right: a guess that knows the population only."""
    query = build.select(build.alias_as(build.count_star(), "n"), source=table.relation.copy())
    counts = table.engine.run(query.group_by(value.copy())).column(0).to_numpy()
    return float(counts.max() / counts.sum()) if len(counts) else 0.0


def _fetch_truth(
    table: Table, aggregate: type[exp.Expr], value: exp.Expr, *, where: exp.Expr
) -> dict[str, Any]:
    columns = [
        build.alias_as(build.count_star(), "n"),
        build.alias_as(aggregate(this=value.copy()), "v"),
    ]
    query = build.select(*columns, source=table.relation.copy()).where(where.copy())
    return table.engine.run(query).to_pylist()[0]


def _identifying_condition(by: Sequence[Column], values: Sequence[Any]) -> exp.Expr:
    return build.all_of(
        column_equals(column.name, value) for column, value in zip(by, values, strict=True)
    )


def _invent_values(by: Sequence[Column], row: list[Any], number: int) -> list[Any]:
    """Return the values of a similar person who does not exist."""
    first = row[0]
    if isinstance(first, (dt.date, dt.datetime)):
        first = first.replace(year=9000 + number % 900, month=1, day=1)
    elif by[0].kind.is_number:
        first = -(10**9) - number
    elif by[0].kind is Kind.TEXT:
        first = f"{first} the {number + 2}. of that name"
    else:
        raise WrongUsage(
            f"No person can be invented by '{by[0].name}' alone. Begin --by with a name or a number."
        )
    return [first, *row[1:-1]]
