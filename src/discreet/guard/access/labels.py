"""Labels: the lattice of the database, clearances of roles, tables with a label on every cell."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import StatementFailed
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.exclusions import need_officer
from discreet.guard.access.names import find_named_role, find_relation, need_table
from discreet.guard.statements.objects import SecurityLabel


def apply_security_label(change: AuthorityChange, statement: SecurityLabel) -> AuthorityChange:
    """SECURITY LABEL; only superusers and security officers. Labels are not interpreted here."""
    need_officer(change, "set security labels")
    if statement.kind == "database":
        return change.with_authority(replace(change.authority, lattice=statement.label))
    if statement.role is not None:
        role = find_named_role(change.authority, change.subject, statement.role)
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
