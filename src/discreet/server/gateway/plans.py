"""Plans of prepared statements: enough to run them, and to detect when they are outdated."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from discreet.engines.databases.database import EngineQuery
from discreet.guard.access.authority import Authority, Relation
from discreet.guard.rewrite.permitted import PermittedQuery, PermittedWrite
from discreet.server.gateway.private_answers import PermittedQuestion
from discreet.server.session import PreparedStatement

PLANS_CACHED = 2048  # decided statements


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
class BoundQuery:
    """A query as its engine has it, and the places of the values that it still needs."""

    query: EngineQuery
    places: tuple[int, ...]


@dataclass(frozen=True)
class RowsPlan:
    """A query that sees exactly what its sender may see.

    `queries` is it as the engine has prepared it, for each form of its numeric values. `has_cells`: it
    reads a table with encrypted columns, which are found by the index of a literal.
    """

    basis: DecisionBasis
    permitted: PermittedQuery
    is_out_of_engine: bool = False  # runs in the gateway's memory
    has_cells: bool = False
    queries: dict[tuple[str, ...], BoundQuery] = field(
        default_factory=dict[tuple[str, ...], BoundQuery], compare=False
    )


@dataclass(frozen=True)
class CatalogPlan:
    """A query on the catalog."""

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class PrivatePlan:
    """A query that is answered under differential privacy.

    `questions` are those of some values, with the settings under which each was read.
    """

    basis: DecisionBasis
    tree: exp.Query
    parameters: tuple[str, ...]
    questions: dict[object, tuple[Mapping[str, str], PermittedQuestion]] = field(
        default_factory=dict[object, "tuple[Mapping[str, str], PermittedQuestion]"], compare=False
    )


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


class PlanCache:
    """Decided statements of all sessions; the oldest are dropped."""

    def __init__(self) -> None:
        self._known: OrderedDict[object, PreparedStatement] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: object, basis: DecisionBasis) -> PreparedStatement | None:
        """Return a cached decision on a statement, if nothing changed since."""
        with self._lock:
            found = self._known.get((key, basis.role, basis.clearance))
            if found is None:
                return None
            self._known.move_to_end((key, basis.role, basis.clearance))
        plan: Any = found.plan
        return found if plan.basis.is_unchanged(basis) else None

    def add(self, key: object, basis: DecisionBasis, prepared: PreparedStatement) -> None:
        """Cache a decision, and drop the oldest."""
        with self._lock:
            self._known[key, basis.role, basis.clearance] = prepared
            if len(self._known) > PLANS_CACHED:
                self._known.popitem(last=False)
