"""Large statements: whose sender has no right to what they name is refused before much is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import AccessDenied
from discreet.guard.access.authority import TABLE_PRIVILEGES, Relation
from discreet.guard.access.decide import any_privilege
from discreet.guard.access.names import KIND_NAMES
from discreet.guard.rewrite.analysis import StatementAnalysis
from discreet.guard.rewrite.named_relations import relations_named
from discreet.guard.statements.limits import StatementBounds
from discreet.serve.gateway.parse_queue import LARGE

if TYPE_CHECKING:
    from discreet.serve.gateway.session import GatewaySession

_TOKENS = 2_000  # of a statement whose sender has no right to any relation
_VALUES = 2_000


def bounds_for(session: GatewaySession, text: str) -> StatementBounds:
    """Return how much of a text is read: little if its sender has no right to any relation."""
    bounds = session.server.bounds
    if len(text) < LARGE:
        return bounds
    if any(_has_right(session, one) for one in session.authority.relations.values()):
        return bounds
    return replace(bounds, tokens=min(bounds.tokens, _TOKENS), values=min(bounds.values, _VALUES))


def require_rights(session: GatewaySession, text: str, tree: exp.Expr) -> None:
    """Refuse a large statement that names a relation to which its sender has no right at all.

    Small ones are read whole, and fail as they do in PostgreSQL: what is not there comes first.

    Raises:
        AccessDenied: 42501, with the reason for the journal.
        StatementFailed: 42P01, one of the relations is not there.
    """
    if len(text) < LARGE:
        return
    reading = StatementAnalysis(session.authority, session.subject, session.role, "duckdb")
    for relation in relations_named(reading, tree):
        if not _has_right(session, relation):
            raise AccessDenied(
                f"permission denied for {KIND_NAMES[relation.kind]} {relation.name}",
                reason=f"{session.role} has no right to {relation.name}",
            )


def _has_right(session: GatewaySession, relation: Relation) -> bool:
    # A control lets those ask whom nothing was granted.
    return bool(relation.controls) or any_privilege(
        session.authority, session.role, relation, TABLE_PRIVILEGES
    )
