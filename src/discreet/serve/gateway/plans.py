"""Plans of prepared statements: enough to run them, and to detect when they are outdated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.guard.access.authority import Authority, Relation
from discreet.serve.session import PreparedStatement

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.guard.rewrite.permitted import PermittedQuery, PermittedWrite


@dataclass(frozen=True)
class DecisionBasis:
    """The basis of a decision; when any of it changes, the decision is made again."""

    authority: Authority
    role: str
    clearance: str | None
    keys: frozenset[str]
    row_security: str = "on"

    def is_unchanged(self, other: DecisionBasis) -> bool:
        """Whether nothing changed: the authority is the same object."""
        return self.authority is other.authority and self._session_state == other._session_state

    @property
    def _session_state(self) -> tuple[object, ...]:
        return self.role, self.clearance, self.keys, self.row_security


@dataclass(frozen=True)
class RowsPlan:
    """A query that sees exactly what its sender may see."""

    basis: DecisionBasis
    permitted: PermittedQuery
    is_out_of_engine: bool = False  # runs in the gateway's memory


@dataclass(frozen=True)
class CatalogPlan:
    """A query on the catalog."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class PrivatePlan:
    """A query that is answered under differential privacy."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class ControlledPlan:
    """A query that is answered exactly, if the controls of its table allow it."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]
    relation: Relation
    controls: tuple[str, ...]


@dataclass(frozen=True)
class WritePlan:
    """A write that touches only what its sender may write."""

    basis: DecisionBasis
    permitted: PermittedWrite


@dataclass(frozen=True)
class CallPlan:
    """One of discreet's own functions, such as `discreet_unlock`."""

    name: str
    arguments: tuple[exp.Expr, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class InnerPlan:
    """The plan of a nested statement: in COPY, DECLARE, EXPLAIN or EXECUTE."""

    prepared: PreparedStatement
    values: tuple[object, ...] = ()
