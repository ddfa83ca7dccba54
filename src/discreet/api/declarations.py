"""Columns that a caller declares instead of, or besides, a policy file: roles, unit, bounds and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from numbers import Integral, Real
from typing import Any

from discreet.answer.tables import FRAME_NAME
from discreet.engines.connect import needs_kinds, opened_table
from discreet.errors import UnknownColumn, WrongUsage, did_you_mean
from discreet.policy.model import ColumnKind, ColumnPolicy, ColumnRole, Policy, TablePolicy

DECLARATIONS = ("quasi", "sensitive", "identifiers", "unit", "rows_per_unit", "bounds", "values")


def declare_columns(
    source: object, policy: Policy | None, given: Mapping[str, Any]
) -> Policy | None:
    """Return the policy with what the call declares of columns; a frame may have no other one."""
    stated: dict[str, Any] = {
        name: given[name] for name in DECLARATIONS if given.get(name) is not None
    }
    if not stated:
        return policy
    with opened_table(source, table=given.get("table") if policy is None else None) as opened:
        names = [column.name for column in opened.columns]
    known = _choose_policy(policy, given.get("table"))
    named = [*stated.get("bounds", {}), *stated.get("values", {}), *_named_roles(stated)]
    for name in named:
        if name not in names:
            raise UnknownColumn(f"Column '{name}' is not in the table.{did_you_mean(name, names)}")
    roles = _named_roles(stated)
    columns = tuple(
        _declare_column(
            known.column(name) or ColumnPolicy(name, ColumnRole.INSENSITIVE), roles, stated
        )
        for name in names
    )
    if needs_kinds(source):
        columns = tuple(_declare_kind(column, stated) for column in columns)
    unit = stated.get("unit", known.unit)
    limits = known.limits
    if "rows_per_unit" in stated:
        limits = replace(limits, rows_per_unit=stated["rows_per_unit"])
    declared = replace(
        known,
        columns=columns,
        unit=unit,
        unit_is_row=known.unit_is_row if policy is not None else unit is None,
        limits=limits,
    )
    tables = {} if policy is None else dict(policy.tables)
    return replace(policy or Policy({}), tables={**tables, declared.name: declared})


def _choose_policy(policy: Policy | None, table: str | None) -> TablePolicy:
    if policy is None:
        return TablePolicy(table or FRAME_NAME, ())
    if table is not None and table in policy.tables:
        return policy.tables[table]
    if len(policy.tables) == 1:
        return next(iter(policy.tables.values()))
    raise WrongUsage(
        f"The policy has several tables. Name the one that is declared further: {', '.join(policy.tables)}."
    )


def _named_roles(stated: Mapping[str, Any]) -> dict[str, ColumnRole]:
    roles = {
        "quasi": ColumnRole.QUASI_IDENTIFIER,
        "sensitive": ColumnRole.SENSITIVE,
        "identifiers": ColumnRole.IDENTIFIER,
    }
    found = {name: role for option, role in roles.items() for name in stated.get(option, ())}
    if "unit" in stated:
        found.setdefault(stated["unit"], ColumnRole.IDENTIFIER)
    return found


def _declare_column(
    column: ColumnPolicy, roles: Mapping[str, ColumnRole], stated: Mapping[str, Any]
) -> ColumnPolicy:
    name = column.name
    if name in roles:
        column = replace(column, role=roles[name], unsure=False)
    if name in stated.get("bounds", {}):
        low, high = stated["bounds"][name]
        if not all(isinstance(end, (Real, Decimal)) and isfinite(end) for end in (low, high)):
            raise WrongUsage(
                f"The bounds of '{name}' are not two numbers. Give them, such as (0, 110)."
            )
        if low > high:
            raise WrongUsage(f"The lower bound of '{name}' is above the upper one. Swap them.")
        bounds = Decimal(str(low)), Decimal(str(high))
        column = replace(column, bounds=bounds, drafted=column.drafted - {"bounds"})
    if name in stated.get("values", {}):
        values = tuple(str(value) for value in stated["values"][name])
        if not values:
            raise WrongUsage(f"'{name}' has no `values`. List those that it may have.")
        column = replace(column, values=values, drafted=column.drafted - {"values"})
    return column


def _declare_kind(column: ColumnPolicy, stated: Mapping[str, Any]) -> ColumnPolicy:
    """Return a column of a source without types with the kind that the call implies; rows never decide it.

    Whole numbers as bounds or values mean whole numbers. What names people is text.
    """
    name = column.name
    if column.kind is not None:
        return column
    stated_values = [
        *stated.get("bounds", {}).get(name, ()),
        *stated.get("values", {}).get(name, ()),
    ]
    if not stated_values:
        return replace(column, kind="text") if column.role.names_people else column
    return replace(column, kind=implied_kind(stated_values))


def implied_kind(values: Iterable[object]) -> ColumnKind:
    """Return the kind that declared values have: text where they have several."""
    kinds: set[ColumnKind] = {_kind_of(value) for value in values}
    if kinds == {"integer", "number"}:
        return "number"
    return next(iter(kinds)) if len(kinds) == 1 else "text"


def _kind_of(value: object) -> ColumnKind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Integral):
        return "integer"
    return "number" if isinstance(value, (Real, Decimal)) else "text"
