"""What a synthetic table may hold, from the policy and the schema alone: codes, surrogates, rules.

No function here sees a row. Values and bounds are those that the policy declares, or those that were
found privately and paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.domain.coded_column import CodedColumn
from discreet.domain.declared import (
    FoundDomain,
    UndeclaredColumn,
    code_column,
    column_as_declared,
    undeclared_error,
)
from discreet.engines.engine import Column
from discreet.errors import UndeclaredDomain
from discreet.policy.domain import declared_values
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy
from discreet.policy.rules import DeclaredDependency, DeclaredRule, rules_without
from discreet.release.synthesize.row_rules import (
    RowRules,
    code_rules,
    rule_content,
    rule_from_content,
)
from discreet.release.synthesize.rules import Rule, resolve_rules
from discreet.release.synthesize.surrogates import (
    SurrogateColumn,
    choose_surrogate,
    is_free_text,
    make_surrogates,
)


@dataclass(frozen=True)
class TableDomain:
    """What a synthetic table may hold.

    Attributes:
        columns: The synthesized columns.
        surrogates: The columns whose cells are made up.
        order: The names of all columns of the output, in the source's order.
        declared_rules: What holds in every row, as the policy declares it.
    """

    columns: tuple[CodedColumn, ...]
    surrogates: tuple[SurrogateColumn, ...]
    order: tuple[str, ...]
    declared_rules: tuple[DeclaredRule, ...] = ()

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The declared rules over codes, as the fit takes them."""
        return code_rules(self.declared_rules, self.columns)

    def place(self, name: str) -> int | None:
        """Return the place of a synthesized column, None if there is no such one."""
        return next((i for i, one in enumerate(self.columns) if one.name == name), None)

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        chance: Generator,
        *,
        units: NDArray[np.integer[Any]] | None = None,
        keys: Mapping[str, NDArray[np.integer[Any]]] | None = None,
    ) -> Any:
        """Return rows of codes as an Arrow table of all columns, with surrogates.

        Guarantee: every declared rule holds in every row.

        Args:
            codes: A row for each row, a column for each synthesized column.
            chance: Where randomness comes from.
            units: The number of the unit of each row, from 0; without it each row is a unit.
            keys: For foreign keys, the number of the key that each row points to.
        """
        made = {
            one.name: one.decode(codes[:, place], chance) for place, one in enumerate(self.columns)
        }
        if self.declared_rules and len(codes):
            named = {one.name: codes[:, place] for place, one in enumerate(self.columns)}
            made = self.row_rules.apply(made, named, chance)
        made |= make_surrogates(self.surrogates, len(codes), chance, units=units, keys=keys)
        return pa.table({name: made[name] for name in self.order})

    @property
    def row_rules(self) -> RowRules:
        """The declared rules, for rows of values."""
        return RowRules(self.declared_rules, {one.name: one for one in self.columns})

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values; every one of them is public."""
        return {
            "columns": [one.to_content() for one in self.columns],
            "surrogates": [one.to_content() for one in self.surrogates],
            "order": list(self.order),
            "rules": [rule_content(one) for one in self.declared_rules],
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> TableDomain:
        """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
        columns = tuple(CodedColumn.from_content(one) for one in content["columns"])
        surrogates = tuple(SurrogateColumn.from_content(one) for one in content["surrogates"])
        order = tuple(str(name) for name in content["order"])
        if sorted(order) != sorted(one.name for one in (*columns, *surrogates)):
            raise ValueError("the order does not list each column once")
        rules = tuple(rule_from_content(one) for one in content["rules"])
        return TableDomain(columns, surrogates, order, rules)


def table_domain(
    policy: TablePolicy,
    columns: Sequence[Column],
    *,
    found: Mapping[str, FoundDomain] | None = None,
) -> TableDomain:
    """Return what a synthetic table may hold.

    Identifiers, households, foreign keys and free text get surrogates. A weight is synthesized where it
    has bounds, and left out otherwise. Columns that the policy does not list, or leaves out of releases,
    are left out.

    Args:
        policy: What is declared of the table.
        columns: The columns of the source, as its schema or the policy declares them.
        found: Values and bounds that were found privately, by column.

    Raises:
        UndeclaredDomain: The values or bounds of some columns are not declared; all are named.
        InvalidPolicy: A rule does not fit its columns, or no row meets all rules.

    >>> from discreet.engines.engine import Kind
    >>> from discreet.policy import parse_policy
    >>> text = "tables: {people: {columns: {age: {role: sensitive, bounds: [0, 120]}}}}"
    >>> domain = table_domain(parse_policy(text).tables["people"], [Column("age", Kind.INTEGER)])
    >>> domain.columns[0].size
    122
    """
    known, implied = found or {}, _implied_values(policy)
    coded: list[CodedColumn] = []
    surrogates: list[SurrogateColumn] = []
    undeclared: list[UndeclaredColumn] = []
    order: list[str] = []
    for column, said in _published_columns(policy, columns):
        planned = column_as_declared(column, said)
        if _is_made_up(planned, said, policy):
            references = said.references if said else None
            is_unit = column.name == policy.unit
            surrogates.append(choose_surrogate(planned, is_unit=is_unit, references=references))
        elif said is not None:
            made = code_column(planned, said, known.get(column.name), implied.get(column.name))
            if isinstance(made, UndeclaredColumn):
                if said.role is not ColumnRole.WEIGHT:
                    undeclared.append(made)
                continue
            coded.append(made)
        order.append(column.name)
    if undeclared:
        names = ", ".join(one.column.name for one in undeclared)
        raise undeclared_error(
            policy.name,
            undeclared,
            purpose="a synthetic table",
            alternatives=f"Or leave them out: `release: {{leave-out: [{names}]}}`. Or let a share of the price find "
            "them with noise: `--find-domains 0.1`.",
        )
    rules = rules_without(policy.rules, set(_all_names(policy)) - set(order))
    domain = TableDomain(tuple(coded), tuple(surrogates), tuple(order), rules)
    # What the rules forbid must be known before anything is paid for.
    resolve_rules(domain.rules, [one.size for one in domain.columns])
    return domain


def undeclared_columns(
    policy: TablePolicy, columns: Sequence[Column]
) -> tuple[UndeclaredColumn, ...]:
    """Return the columns whose values or bounds would have to be found privately.

    Raises:
        UndeclaredDomain: A rule names one of them. It could turn out not to fit what is found, when that
            is paid for already.
    """
    implied = _implied_values(policy)
    tried = [
        code_column(column_as_declared(column, said), said, None, implied.get(column.name))
        for column, said in _published_columns(policy, columns)
        if said is not None
        and said.role is not ColumnRole.WEIGHT
        and not _is_made_up(column_as_declared(column, said), said, policy)
    ]
    found = tuple(one for one in tried if isinstance(one, UndeclaredColumn))
    ruled = [one for one in found if one.column.name in _all_names(policy)]
    if ruled:
        raise UndeclaredDomain(
            f"A rule of '{policy.name}' names '{ruled[0].column.name}', whose values are not declared, so that "
            f"it may not fit what is found. {ruled[0].remedy.capitalize()}, or remove the rule.",
            columns=tuple(one.column.name for one in ruled),
        )
    return found


def _all_names(policy: TablePolicy) -> set[str]:
    return {name for rule in policy.rules for name in rule.columns}


def _implied_values(policy: TablePolicy) -> dict[str, tuple[str, ...]]:
    """Return the values of columns that follow from others by a public table."""
    return {
        rule.column: tuple(dict.fromkeys(row[-1] for row in rule.rows))
        for rule in policy.rules
        if isinstance(rule, DeclaredDependency)
    }


def _published_columns(
    policy: TablePolicy, columns: Iterable[Column]
) -> Iterable[tuple[Column, ColumnPolicy | None]]:
    for column in columns:
        said = policy.column(column.name)
        is_listed = said is not None or column.name == policy.unit
        if is_listed and column.name not in policy.release.leave_out:
            yield column, said


def _is_made_up(column: Column, said: ColumnPolicy | None, policy: TablePolicy) -> bool:
    if said is None or column.name == policy.unit or said.role.names_people:
        return True
    is_open = declared_values(said) is None and said.hierarchy is None
    return is_open and (said.references is not None or is_free_text(column))
