"""Labels: the lattice of the database, clearances of roles, tables with a label on every cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.exclusions import need_officer
from discreet.guard.access.names import find_relation, find_role, need_table

if TYPE_CHECKING:
    from discreet.guard.access.change import Change
    from discreet.guard.statements.objects import SecurityLabel


def security_label(change: Change, statement: SecurityLabel) -> Change:
    """SECURITY LABEL; only superusers and security officers. What a label means is not known here."""
    need_officer(change, "set security labels")
    if statement.kind == "database":
        return change.to(replace(change.authority, lattice=statement.label))
    if statement.role is not None:
        role = find_role(change.authority, change.subject, statement.role)
        return change.with_role(replace(role, clearance=statement.label))
    if statement.relation is None:
        raise StatementFailed("42601", "SECURITY LABEL needs a role or a table")
    relation = find_relation(change.authority, change.role, statement.relation)
    need_table(relation)
    if statement.label not in ("cells", None):
        raise StatementFailed(
            "22023",
            "a table has the label 'cells' or NULL",
            hint="'cells' puts a label on every cell.",
        )
    return change.with_relation(replace(relation, multilevel=statement.label == "cells"))
