"""The people of a table as its custodian knows them: their public columns, and the bit to hide."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.attack.reconstruction.questions import Roster, key_expression
from discreet.engines.engine import Kind
from discreet.errors import EmptySource, InvalidQuestion, UnknownColumn, WrongUsage, did_you_mean
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.engines.engine import Table

KEY, NUMBER, BIT = "discreet_key", "discreet_number", "discreet_bit"


def read_value(text: str, table: Table) -> exp.Expr:
    """Return a condition such as `diagnosis = 'HIV'`, whose truth is each person's secret.

    Raises:
        InvalidQuestion: It is no condition.
        UnknownColumn: It names a column that the table lacks.
    """
    tree = _condition(text)
    is_plain = tree is not None and not any(tree.find_all(exp.Query, exp.AggFunc))
    if tree is None or not is_plain or not any(tree.find_all(exp.Column)):
        raise InvalidQuestion(
            "The secret is a condition on columns, such as --value \"diagnosis = 'HIV'\"."
        )
    names = {column.name.lower(): column.name for column in table.columns}
    for column in tree.find_all(exp.Column):
        if column.name.lower() not in names:
            raise UnknownColumn(
                f"{table.label} has no column '{column.name}'."
                f"{did_you_mean(column.name, names.values())}"
            )
        column.replace(build.column(names[column.name.lower()]))
    return exp.paren(tree)


def _condition(text: str) -> exp.Expr | None:
    """Return the text as a tree, or None where it is no condition."""
    with contextlib.suppress(SqlglotError):
        query: Any = parse_one(f"SELECT 1 WHERE {text}", dialect="duckdb")
        where = query.args.get("where")
        # More than a condition would be a clause of its own.
        if where is not None and set(filter(query.args.get, query.args)) <= {
            "where",
            "expressions",
        }:
            return where.this
    return None


def read_people(
    table: Table, *, by: Sequence[str], value: exp.Expr
) -> tuple[Roster, NDArray[np.bool_]]:
    """Return everybody by the public columns `by`, and whether `value` holds for each.

    Raises:
        EmptySource: The table has no rows.
    """
    parts = [build.named(key_expression(by), KEY)]
    column = table.column(by[0])
    is_whole = len(by) == 1 and column is not None and column.kind is Kind.INTEGER
    if is_whole:
        parts.append(build.named(build.column(by[0]), NUMBER))
    bit = exp.func("COALESCE", value.copy(), exp.false())
    found = table.engine.run(
        build.select(*parts, build.named(bit, BIT), source=table.relation.copy())
    )
    if not found.num_rows:
        raise EmptySource(f"{table.label} has a header but no rows: nobody is in it.")
    keys = tuple(map(str, found[KEY].to_pylist()))
    is_text = len(by) == 1 and column is not None and column.kind is Kind.TEXT and "" not in keys
    numbers = None
    if is_whole and not found[NUMBER].null_count:
        numbers = found[NUMBER].to_numpy(zero_copy_only=False).astype(np.int64)
    bits = found[BIT].to_numpy(zero_copy_only=False).astype(np.bool_)
    return Roster(tuple(by), keys, numbers, is_text), bits


def public_columns(table: Table, wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns by which people are known: those named, else the first that tells all apart.

    Raises:
        UnknownColumn: The table lacks a column.
        WrongUsage: None was named, and no column tells everybody apart.
    """
    names = [column.name for column in table.columns]
    for name in wanted or ():
        if name not in names:
            raise UnknownColumn(f"{table.label} has no column '{name}'.{did_you_mean(name, names)}")
    if wanted:
        return tuple(wanted)
    counts = [
        build.named(exp.Count(this=exp.Distinct(expressions=[build.column(name)])), f"c{place}")
        for place, name in enumerate(names)
    ]
    rows = build.named(build.count_rows(), "rows")
    found = table.engine.run(build.select(rows, *counts, source=table.relation.copy()))
    row = found.to_pylist()[0]
    for place, name in enumerate(names):
        if row[f"c{place}"] == row["rows"]:
            return (name,)
    raise WrongUsage(
        f"No column of {table.label} tells everybody apart. Name the public ones that the adversary "
        "knows people by: --by name,birth_date."
    )
