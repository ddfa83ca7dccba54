"""Columns that no criterion looks at, and that give people away all the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.engine import Column, Kind
from discreet.formatting import join_names
from discreet.measure.classes import SUPPRESSED
from discreet.policy.model import ColumnRole
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

_NAMED = 5


def exposed_columns(bound: RoleBinding) -> tuple[str, ...]:
    """Return what to say of identifiers in the table and of columns its policy leaves out.

    Classes are made of quasi-identifiers: a table with names in it may well be k-anonymous on paper.
    """
    found: list[str] = []
    if identifiers := _find_filled_identifiers(bound):
        found.append(
            f"The table holds identifiers ({_quote_some_names(identifiers)}): they name people, whatever the "
            "classes hide. Remove them from what you publish."
        )
    if unlisted := _unlisted_columns(bound):
        found.append(
            f"The policy says nothing about {_quote_some_names(unlisted)}: outsiders may know or learn that, and "
            "nothing here counts it. Give every column a role."
        )
    return tuple(found)


def _find_filled_identifiers(bound: RoleBinding) -> list[str]:
    """Return the identifiers that hold anything but missing values and `*`."""
    table = bound.subject.table
    named = [c for c in table.columns if bound.roles.get(c.name) is ColumnRole.IDENTIFIER]
    if not named:
        return []
    counts = [
        build.alias_as(_known_values_count(column), f"n{index}")
        for index, column in enumerate(named)
    ]
    row = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return [column.name for index, column in enumerate(named) if row[f"n{index}"]]


def _known_values_count(column: Column) -> exp.Expr:
    value = build.column(column.name)
    if column.kind is not Kind.TEXT:
        return exp.Count(this=value)
    return exp.Count(this=exp.Nullif(this=value, expression=build.text(SUPPRESSED)))


def _unlisted_columns(bound: RoleBinding) -> list[str]:
    if bound.policy is None:
        return []
    unit = bound.subject.unit
    known = {*bound.roles, *((unit.name,) if unit else ())}
    return [column.name for column in bound.subject.table.columns if column.name not in known]


def _quote_some_names(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_NAMED]]
    rest = len(names) - len(shown)
    return join_names([*shown, f"{rest} more"] if rest else shown)
