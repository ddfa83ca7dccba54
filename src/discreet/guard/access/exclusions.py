"""Separation of duty: roles that exclude each other, over any chain of memberships."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Authority, Exclusion
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.decide import is_officer
from discreet.guard.access.names import find_named_role
from discreet.guard.access.reach import is_superuser, reach
from discreet.guard.statements.rights import CreateExclusion, DropExclusion


def need_officer(change: AuthorityChange, what: str) -> None:
    """Refuse any role that is neither superuser nor security officer."""
    if not is_superuser(change.authority, change.role) and not is_officer(
        change.authority, change.role
    ):
        raise AccessDenied(
            f"permission denied to {what}",
            reason=f"{change.role} is neither superuser nor security_officer",
        )


def create_exclusion(change: AuthorityChange, statement: CreateExclusion) -> AuthorityChange:
    """CREATE EXCLUSION name ON ROLES (a, b)."""
    need_officer(change, "create exclusion")
    if any(one.name == statement.name for one in change.authority.exclusions):
        raise StatementFailed("42710", f'exclusion "{statement.name}" already exists')
    roles = tuple(
        find_named_role(change.authority, change.subject, name).name for name in statement.roles
    )
    if len(set(roles)) < max(2, len(roles)):
        raise StatementFailed("42601", "an exclusion needs at least two different roles")
    exclusions = (*change.authority.exclusions, Exclusion(statement.name, roles))
    return change.with_authority(replace(change.authority, exclusions=exclusions))


def drop_exclusion(change: AuthorityChange, statement: DropExclusion) -> AuthorityChange:
    """DROP EXCLUSION name."""
    need_officer(change, "drop exclusion")
    left = tuple(one for one in change.authority.exclusions if one.name != statement.name)
    if len(left) == len(change.authority.exclusions):
        raise StatementFailed("42704", f'exclusion "{statement.name}" does not exist')
    return change.with_authority(replace(change.authority, exclusions=left))


def need_separation(authority: Authority) -> None:
    """Refuse an authority in which a role is in two roles that exclude each other.

    A membership that neither inherits nor may SET ROLE does not count: its holder may administer
    the role and not act with it. A role is in itself, so that it cannot be made a member
    of one that it excludes.

    Raises:
        StatementFailed: 0LP01, with the role and the two excluded roles.
    """
    if not authority.exclusions:
        return
    for role in authority.roles:
        reached = set(reach(authority, role, "use"))
        for exclusion in authority.exclusions:
            both = [name for name in exclusion.roles if name in reached]
            if len(both) > 1:
                raise StatementFailed(
                    "0LP01",
                    f'role "{role}" cannot be in both "{both[0]}" and "{both[1]}"',
                    detail=f'Exclusion "{exclusion.name}" keeps these roles apart.',
                )
