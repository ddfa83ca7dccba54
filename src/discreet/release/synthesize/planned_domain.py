"""The domain of a synthetic table that is asked for: what is declared, and what is to be found privately first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.domain.declared import FoundDomain, Need
from discreet.engines.engine import Column
from discreet.policy.model import TablePolicy
from discreet.release.synthesize.domain import TableDomain, table_domain, undeclared_columns


@dataclass(frozen=True)
class PlannedDomain:
    """What a synthetic table may hold, before anything is read.

    Attributes:
        policy: The table's policy, with what the call leaves out.
        columns: The columns of the source.
        domain: Of the columns that are declared.
        searched: The columns whose values or bounds are found privately, and which of both.
    """

    policy: TablePolicy
    columns: tuple[Column, ...]
    domain: TableDomain
    searched: tuple[tuple[str, Need], ...] = ()

    @property
    def facts(self) -> tuple[str, ...]:
        """What is declared of the searched columns besides: their hierarchies, as texts."""
        said = [self.policy.column(name) for name, _ in self.searched]
        return tuple(repr(one.hierarchy) for one in said if one is not None)

    def complete(self, found: Mapping[str, FoundDomain]) -> TableDomain:
        """Return the domain with what was found."""
        return table_domain(self.policy, self.columns, found=found)


def plan_domain(
    policy: TablePolicy, columns: Sequence[Column], *, finds_domains: bool
) -> PlannedDomain:
    """Return the domain that a policy declares; what it does not declare is refused, or found privately.

    Raises:
        UndeclaredDomain: The values or bounds of some columns are not declared.
    """
    undeclared = undeclared_columns(policy, columns) if finds_domains else ()
    searched: tuple[tuple[str, Need], ...] = tuple(
        (one.column.name, one.need) for one in undeclared
    )
    domain = table_domain(policy.leave_out([name for name, _ in searched]), columns)
    return PlannedDomain(policy, tuple(columns), domain, searched)
