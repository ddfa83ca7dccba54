"""Large statements: refused early if their sender has no privilege on what they name."""

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
from discreet.serve.gateway.parse_queue import LARGE
from discreet.sql.limits import StatementBounds

if TYPE_CHECKING:
    from discreet.serve.gateway.session import GatewaySession

_TOKENS = 2_000  # of a statement whose sender has no privilege on any relation
_VALUES = 2_000


def bounds_for(session: GatewaySession, text: str) -> StatementBounds:
    """Return the limits of a text: low if its sender has no privilege on any relation."""
    bounds = session.server.bounds
    if len(text) < LARGE:
        return bounds
    if any(_has_right(session, one) for one in session.authority.relations.values()):
        return bounds
    return replace(bounds, tokens=min(bounds.tokens, _TOKENS), values=min(bounds.values, _VALUES))


def require_rights(session: GatewaySession, text: str, tree: exp.Expr) -> None:
    """Refuse a large statement that names a relation on which its sender has no privilege.

    Small ones are parsed completely, and fail as in PostgreSQL: a missing relation comes first.

    Raises:
        AccessDenied: 42501, with the reason for the journal.
        StatementFailed: 42P01, one of the relations does not exist.
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
    # A control permits queries of roles without any grant.
    return bool(relation.controls) or any_privilege(
        session.authority, session.role, relation, TABLE_PRIVILEGES
    )
