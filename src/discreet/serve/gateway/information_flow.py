"""No write down: data read from a labeled table is not written to a plain one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.errors import AccessDenied
from discreet.guard.access.authority import Relation, Subject
from discreet.guard.levels.lattice import BOTTOM

if TYPE_CHECKING:
    from sqlglot import exp

    from discreet.guard.rewrite.permitted import Source, TouchedRelation
    from discreet.serve.gateway.session import GatewaySession


def require_level(session: GatewaySession, reads: Iterable[TouchedRelation]) -> None:
    """Refuse to write a plain table from the `reads` of a labeled one, unless at the bottom.

    A plain table has no labels, so all of it is at the bottom. Even which rows are written, or that
    none are, would reveal something (the *-property; Bell & LaPadula 1973).

    Raises:
        AccessDenied: 42501.
    """
    for touched in reads:
        relation = session.authority.relations.get(touched.relation)
        if relation is not None:
            _require_bottom(session, relation)


def level_source(session: GatewaySession) -> Source:
    """Return how triggers of a plain table read relations: labeled ones at the bottom only."""
    read = session.server.source(session)

    def seen(relation: Relation, subject: Subject) -> exp.Query:
        _require_bottom(session, relation)
        return read(relation, subject)

    return seen


def _require_bottom(session: GatewaySession, relation: Relation) -> None:
    if not relation.multilevel:
        return
    house, authority = session.server, session.authority
    lattice = house.lattice(authority)
    if lattice.code(house.label(authority, session.clearance)) != BOTTOM:
        raise AccessDenied(
            f'data read from "{relation.name}" cannot be written to a table without labels',
            reason=f"a write down from {session.clearance}",
            hint=f"SET discreet.clearance = '{lattice.bottom}' to write public data, "
            "or write to a table with labels.",
        )
