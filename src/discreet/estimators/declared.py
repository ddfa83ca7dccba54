"""What an estimator's parameters declare of its columns: kinds, bounds and values; never read from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.api.declarations import implied_kind
from discreet.errors import UndeclaredDomain, UnknownColumn, WrongUsage, did_you_mean
from discreet.estimators.cells import is_boolean_type, is_text_type
from discreet.estimators.inputs import InputColumns
from discreet.formatting import join_names
from discreet.policy.load import load_policy
from discreet.policy.model import ColumnKind, ColumnPolicy, Policy, TablePolicy


@dataclass(frozen=True)
class TargetDeclared:
    """How the cells of a target are read, and its values or its bounds, where the constructor declares them."""

    kind: ColumnKind | None
    values: Sequence[Any] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Declarations:
    """What is declared of the columns of `X` and of the target.

    Attributes:
        kinds: How the cells of each column are read; None as the column's type says.
        bounds: The bounds of numbers.
        values: The values of others.
        policy: A policy that declares more, and `table` what it says of this table.
        boolean: Columns whose type says what they hold.
    """

    kinds: Mapping[str, ColumnKind | None]
    bounds: Mapping[str, tuple[float, float]]
    values: Mapping[str, Sequence[Any]]
    policy: Policy | None
    table: TablePolicy | None = None
    boolean: frozenset[str] = frozenset()

    def column(self, name: str) -> ColumnPolicy | None:
        """Return what the policy declares of a column."""
        return None if self.table is None else self.table.column(name)

    def with_target(self, name: str, target: TargetDeclared) -> Declarations:
        """Return the same with what is declared of the target."""
        bounds = {} if target.bounds is None else {name: target.bounds}
        values = {} if target.values is None else {name: target.values}
        return replace(self, bounds={**self.bounds, **bounds}, values={**self.values, **values})

    def knows(self, name: str) -> bool:
        """Return whether anything says what a column may hold."""
        is_given = name in self.bounds or name in self.values or name in self.boolean
        return is_given or self.column(name) is not None


def read_declarations(
    rows: InputColumns,
    *,
    bounds: Any,
    values: Any,
    policy: Policy | str | Path | None,
    table: str | None,
) -> Declarations:
    """Return what parameters declare of the columns of `rows`.

    Raises:
        UnknownColumn: They name a column that is not there.
        WrongUsage: Bounds are no pair of numbers for each column.
    """
    listed = {
        _name_of(key, rows, "values"): _plain_values(some) for key, some in (values or {}).items()
    }
    found = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    said = None if found is None else _find_table(found, table)
    numbers = _read_bounds(bounds, rows, listed, said)
    kinds: dict[str, ColumnKind | None] = {}
    for name, column in zip(rows.names, rows.columns, strict=True):
        declared = None if said is None else said.column(name)
        if name in listed:
            kinds[name] = implied_kind(listed[name])
        elif declared is not None and declared.kind is not None:
            kinds[name] = declared.kind
        elif rows.is_typed or name not in numbers:
            kinds[name] = "text" if is_text_type(column) else None
        else:
            # One missing cell makes numbers of whole numbers in numpy and pandas, so bounds mean numbers.
            kinds[name] = "number"
    boolean = {
        name
        for name, column in zip(rows.names, rows.columns, strict=True)
        if is_boolean_type(column)
    }
    return Declarations(kinds, numbers, listed, found, said, frozenset(boolean))


def plain_classes(classes: Any) -> list[Any]:
    """Return declared classes as scikit-learn orders them.

    Raises:
        WrongUsage: They are not two different ones at least.
    """
    found = list(dict.fromkeys(_plain_values(classes)))
    if len(found) < 2:
        raise WrongUsage("`classes` lists fewer than two classes. List all that may be predicted.")
    if implied_kind(found) == "text":
        found = [str(one) for one in found]
    return sorted(found)


def undeclared_columns_error(
    estimator: Any, columns: Iterable[str], target: str | None
) -> UndeclaredDomain:
    """Return the error that names all that the constructor has to declare."""
    names = list(columns)
    features = [name for name in names if name != target]
    needed: list[str] = []
    if features:
        first = features[0]
        pair, listed = f"`bounds={{'{first}': (lowest, highest)}}`", f"`values={{'{first}': […]}}`"
        needed.append(f"{pair} or {listed} for {join_names(features)}")
    if target in names:
        is_number = hasattr(estimator, "target_bounds")
        parameter = "target_bounds=(lowest, highest)" if is_number else "classes=[…]"
        needed.append(f"`{parameter}` for '{target}'")
    kind = type(estimator).__name__
    return UndeclaredDomain(
        f"{kind} reads no bounds, values or classes from rows, which are private. Declare what is public of "
        f"them in its constructor: {'; '.join(needed)}. A pair `bounds=(lowest, highest)` holds for all numbers.",
        columns=tuple(names),
    )


def _find_table(policy: Policy, table: str | None) -> TablePolicy | None:
    if table is not None:
        return policy.tables.get(table)
    return next(iter(policy.tables.values())) if len(policy.tables) == 1 else None


def _name_of(key: Any, rows: InputColumns, parameter: str) -> str:
    if isinstance(key, (int, np.integer)) and 0 <= int(key) < len(rows.names):
        return rows.names[int(key)]
    if key not in rows.names:
        raise UnknownColumn(
            f"`{parameter}` names column '{key}', which X lacks.{did_you_mean(str(key), rows.names)}"
        )
    return str(key)


def _plain_values(values: Any) -> list[Any]:
    return [one.item() if isinstance(one, np.generic) else one for one in values]


def _read_bounds(
    bounds: Any, rows: InputColumns, values: Mapping[str, Any], said: TablePolicy | None
) -> dict[str, tuple[float, float]]:
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        return {_name_of(key, rows, "bounds"): read_pair(pair) for key, pair in bounds.items()}
    pairs = list(bounds)
    if len(pairs) == 2 and not any(hasattr(one, "__len__") for one in pairs):
        pair = read_pair(pairs)
        return {
            name: pair
            for name, column in zip(rows.names, rows.columns, strict=True)
            if name not in values
            and (said is None or said.column(name) is None)
            and not is_boolean_type(column)
            and not (rows.has_names and is_text_type(column))
        }
    if len(pairs) != len(rows.names):
        raise WrongUsage(
            f"`bounds` has {len(pairs)} pairs, and X {len(rows.names)} columns. Give one pair for all, a pair "
            "each, or a mapping by column."
        )
    return {name: read_pair(pair) for name, pair in zip(rows.names, pairs, strict=True)}


def read_pair(pair: Any) -> tuple[float, float]:
    """Return bounds as two numbers.

    Raises:
        WrongUsage: They are none.
    """
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        raise WrongUsage("Bounds are two numbers, such as (0, 110).") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise WrongUsage(
            f"Bounds are two finite numbers, the lower one first, not ({low:g}, {high:g})."
        )
    return low, high
