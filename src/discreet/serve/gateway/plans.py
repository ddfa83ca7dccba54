"""What a session knows of a prepared statement: enough to run it, and to see when it must be decided anew."""

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
    """What a decision rests on; when any of it changes, the decision is made again."""

    authority: Authority
    role: str
    clearance: str | None
    keys: frozenset[str]
    row_security: str = "on"

    def is_unchanged(self, other: DecisionBasis) -> bool:
        """Whether nothing changed: the authority is the very same value."""
        return self.authority is other.authority and self._session_state == other._session_state

    @property
    def _session_state(self) -> tuple[object, ...]:
        return self.role, self.clearance, self.keys, self.row_security


@dataclass(frozen=True)
class RowsPlan:
    """A query that sees exactly what its sender may see."""

    basis: DecisionBasis
    permitted: PermittedQuery
    is_out_of_engine: bool = False  # from the database, in memory of the gateway


@dataclass(frozen=True)
class CatalogPlan:
    """A query about the server itself."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class PrivatePlan:
    """A question that is answered under differential privacy."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class ControlledPlan:
    """A question that is answered exactly, if the controls of its table allow it."""

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
    """The plan of the statement inside another one: of COPY, DECLARE, EXPLAIN or EXECUTE."""

    prepared: PreparedStatement
    values: tuple[object, ...] = ()
