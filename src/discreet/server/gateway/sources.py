"""How the relations of a session are read: by labels, decrypted, or directly; and no write down."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.errors import AccessDenied
from discreet.guard.access.authority import Relation, Subject
from discreet.guard.levels.lattice import BOTTOM
from discreet.guard.levels.read import read_at_clearance
from discreet.guard.rewrite.permitted import Source, TouchedRelation, plain_source
from discreet.server.catalog.catalog import SystemCatalog
from discreet.server.gateway.encrypted_columns import has_cells
from discreet.server.gateway.out_of_engine import without_encrypted_values
from discreet.server.gateway.session_state import SessionState


def session_source(session: SessionState) -> Source:
    """Return how each relation is read in this session."""

    def read(relation: Relation, subject: Subject) -> exp.Query:
        if relation.multilevel:
            view = session.labels.view(session.authority, session.clearance, relation)
            return read_at_clearance(
                relation, view.lattice, view.clearance, null_label=view.null_label
            )
        if has_cells(relation):
            return session.vault.source(session.ciphers, relation)
        return plain_source(relation, subject)

    return read


def undecrypted_source(session: SessionState) -> Source:
    """Return how relations are read by statements whose used columns are unknown."""
    read = session_source(session)
    if not session.vault.is_out_of_engine:
        return read

    def seen(relation: Relation, subject: Subject) -> exp.Query:
        if has_cells(relation) and not relation.multilevel:
            return without_encrypted_values(relation, session.traits)
        return read(relation, subject)

    return seen


def level_source(session: SessionState) -> Source:
    """Return how triggers of a plain table read relations: labeled ones at the bottom only."""
    read = session_source(session)

    def seen(relation: Relation, subject: Subject) -> exp.Query:
        require_bottom(session, relation)
        return read(relation, subject)

    return seen


def session_catalog(session: SessionState) -> SystemCatalog:
    """Return the server's catalog, as the session's user sees it."""
    subject = session.subject
    settings = {name: value for name, value in subject.settings.items() if "now" not in name}
    return SystemCatalog(
        session.authority, subject, version="PostgreSQL 16.4 (discreet)", settings=settings
    )


def require_level(session: SessionState, reads: Iterable[TouchedRelation]) -> None:
    """Refuse to write a plain table from the `reads` of a labeled one, unless at the bottom.

    A plain table has no labels, so all of it is at the bottom. Even which rows are written, or that
    none are, would reveal something (the *-property; Bell & LaPadula 1973).

    Raises:
        AccessDenied: 42501.
    """
    for touched in reads:
        relation = session.authority.relations.get(touched.relation)
        if relation is not None:
            require_bottom(session, relation)


def require_bottom(session: SessionState, relation: Relation) -> None:
    """Refuse a labeled relation unless the session is at the bottom."""
    if not relation.multilevel:
        return
    lattice = session.labels.lattice(session.authority)
    if lattice.code(session.labels.label(session.authority, session.clearance)) != BOTTOM:
        raise AccessDenied(
            f'data read from "{relation.name}" cannot be written to a table without labels',
            reason=f"a write down from {session.clearance}",
            hint=f"SET discreet.clearance = '{lattice.bottom}' to write public data, "
            "or write to a table with labels.",
        )
