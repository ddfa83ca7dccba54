"""What a session knows of a prepared statement: enough to run it, and to see when it must be decided anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.guard.access.authority import Authority, Relation
    from discreet.guard.rewrite.permitted import PermittedQuery, PermittedWrite
    from discreet.serve.session import Prepared


@dataclass(frozen=True)
class Basis:
    """What a decision rests on; when any of it changes, the decision is made again."""

    authority: Authority
    role: str
    clearance: str | None
    keys: frozenset[str]
    row_security: str = "on"

    def is_still(self, other: Basis) -> bool:
        """Whether nothing changed: the authority is the very same value."""
        return self.authority is other.authority and self._session == other._session

    @property
    def _session(self) -> tuple[object, ...]:
        return self.role, self.clearance, self.keys, self.row_security


@dataclass(frozen=True)
class Rows:
    """A query that sees exactly what its sender may see."""

    basis: Basis
    permitted: PermittedQuery
    is_apart: bool = False  # from the database, in memory of the gateway


@dataclass(frozen=True)
class System:
    """A query about the server itself."""

    basis: Basis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Private:
    """A question that is answered under differential privacy."""

    basis: Basis
    tree: exp.Query
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Controlled:
    """A question that is answered exactly, if the controls of its table allow it."""

    basis: Basis
    tree: exp.Query
    parameters: tuple[str, ...]
    relation: Relation
    controls: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A write that touches only what its sender may write."""

    basis: Basis
    permitted: PermittedWrite


@dataclass(frozen=True)
class Call:
    """One of discreet's own functions, such as `discreet_unlock`."""

    name: str
    arguments: tuple[exp.Expr, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Inner:
    """The plan of the statement inside another one: of COPY, DECLARE, EXPLAIN or EXECUTE."""

    prepared: Prepared
    values: tuple[object, ...] = ()
