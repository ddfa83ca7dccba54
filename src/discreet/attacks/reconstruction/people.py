"""The people of a table as its custodian knows them: their public columns, and the bit to hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.reconstruction.questions import Roster, key_expression
from discreet.engines.engine import Kind, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.roles import require_column
from discreet.sql import build

MOST_PEOPLE = 10_000
KEY, NUMBER, BIT = "discreet_key", "discreet_number", "discreet_bit"


def read_roster(
    table: Table, *, by: Sequence[str], value: exp.Expr
) -> tuple[Roster, NDArray[np.bool_]]:
    """Return all people by the public columns `by`, and whether `value` holds for each.

    Raises:
        EmptySource: The table has no rows.
        WrongUsage: It has too many.
    """
    parts = [build.alias_as(key_expression(by), KEY)]
    column = table.column(by[0])
    is_whole = len(by) == 1 and column is not None and column.kind is Kind.INTEGER
    if is_whole:
        parts.append(build.alias_as(build.column(by[0]), NUMBER))
    bit = exp.func("COALESCE", value.copy(), exp.false())
    found = table.engine.run(
        build.select(*parts, build.alias_as(bit, BIT), source=table.relation.copy())
    )
    if not found.num_rows:
        raise EmptySource(f"{table.label} has a header but no rows.")
    keys = tuple(map(str, found[KEY].to_pylist()))
    is_text = len(by) == 1 and column is not None and column.kind is Kind.TEXT and "" not in keys
    numbers = None
    if is_whole and not found[NUMBER].null_count:
        numbers = found[NUMBER].to_numpy(zero_copy_only=False).astype(np.int64)
    if len(keys) > MOST_PEOPLE:
        raise WrongUsage(
            f"{table.label} has {len(keys):,} rows, and solving for all takes their square in "
            f"memory. Attack a part of at most {MOST_PEOPLE:,} of them."
        )
    bits = found[BIT].to_numpy(zero_copy_only=False).astype(np.bool_)
    return Roster(tuple(by), keys, numbers, is_text), bits


def public_columns(table: Table, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns by which people are known: those named, else the first that distinguishes all.

    Raises:
        UnknownColumn: The table lacks a column.
        WrongUsage: None was named, and no column distinguishes all people.
    """
    if wanted:
        return tuple(require_column(table, name).name for name in wanted)
    names = [column.name for column in table.columns]
    counts = [
        build.alias_as(exp.Count(this=exp.Distinct(expressions=[build.column(name)])), f"c{place}")
        for place, name in enumerate(names)
    ]
    rows = build.alias_as(build.count_star(), "rows")
    found = table.engine.run(build.select(rows, *counts, source=table.relation.copy()))
    row = found.to_pylist()[0]
    for place, name in enumerate(names):
        if row[f"c{place}"] == row["rows"]:
            return (name,)
    raise WrongUsage(
        f"No column of {table.label} distinguishes all people. Name the public ones that the adversary "
        "knows people by: --by name,birth_date."
    )


def invent_people(roster: Roster, *, count: int) -> Roster:
    """Return people who are like those of the roster, and do not exist.

    >>> invent_people(Roster(("name",), ("Ann",)), count=1).keys
    ('Ann the 2.',)
    """
    people = roster.people
    keys = tuple(f"{roster.keys[at % people]} the {at // people + 2}." for at in range(count))
    numbers = None
    if roster.numbers is not None:
        numbers = int(np.abs(roster.numbers).max()) + 1 + np.arange(count)
    return Roster(roster.columns, keys, numbers, roster.is_text)
