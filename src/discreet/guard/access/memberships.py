"""Memberships: who is in which role, granted by whom, and what depends on a membership.

The rules are those of PostgreSQL 16 (src/backend/commands/user.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Authority, RoleMembership
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.names import find_named_role
from discreet.guard.access.reach import (
    best_admin,
    bootstrap,
    has_privs_of,
    is_admin_of,
    is_in,
    is_superuser,
)
from discreet.guard.statements.rights import GrantRole, RevokeRole


@dataclass(frozen=True)
class MembershipOptions:
    """The options given for a membership; None means not given."""

    admin: bool | None = None
    inherit: bool | None = None
    set: bool | None = None


def grant_role(change: AuthorityChange, statement: GrantRole) -> AuthorityChange:
    """GRANT role TO member."""
    grantor = _named_grantor(change, statement.grantor)
    members = [
        find_named_role(change.authority, change.subject, name).name for name in statement.members
    ]
    options = MembershipOptions(statement.admin, statement.inherit, statement.set)
    for name in statement.roles:
        role = find_named_role(change.authority, change.subject, name).name
        need_admin(change, role, "grant")
        change = add_members(change, role, members, options=options, grantor=grantor)
    return change


def revoke_role(change: AuthorityChange, statement: RevokeRole) -> AuthorityChange:
    """REVOKE [option OPTION FOR] role FROM member."""
    named = _named_grantor(change, statement.grantor)
    members = [
        find_named_role(change.authority, change.subject, name).name for name in statement.members
    ]
    for name in statement.roles:
        role = find_named_role(change.authority, change.subject, name).name
        need_admin(change, role, "revoke")
        grantor = _grantor_of_revoke(change, role, named)
        plan = MembershipRevocation.of(change.authority, role)
        for member in members:
            index = plan.find(member, grantor)
            if index is None:
                change = change.with_notice(
                    "WARNING",
                    f'role "{member}" has not been granted membership in role "{role}" by role "{grantor}"',
                )
            elif statement.option in ("inherit", "set"):
                plan.clear(index, statement.option)
            else:
                plan.revoke(
                    index, admin_only=statement.option == "admin", cascade=statement.cascade
                )
        change = change.with_memberships(plan.result(change.authority))
    return change


def need_admin(change: AuthorityChange, role: str, verb: str) -> None:
    """Refuse a role that may not change the members of `role`."""
    authority, who = change.authority, change.role
    if is_superuser(authority, role) and not is_superuser(authority, who):
        reason = f"{role} is a superuser and {who} is not"
    elif not is_admin_of(authority, who, role):
        reason = f"{who} has no ADMIN option on {role}"
    else:
        return
    raise AccessDenied(f'permission denied to {verb} role "{role}"', reason=reason)


def add_members(
    change: AuthorityChange,
    role: str,
    members: Sequence[str],
    *,
    options: MembershipOptions,
    grantor: str | None = None,
) -> AuthorityChange:
    """Return the change with members added to a role, granted by `grantor` or a suitable role."""
    if not members:
        return change
    grantor = _grantor_of_grant(change, role, grantor)
    for member in members:
        if is_in(change.authority, role, member):
            raise StatementFailed("0LP01", f'role "{role}" is a member of role "{member}"')
    if options.admin and grantor != bootstrap(change.authority):
        _refuse_circles(change.authority, role, members, grantor)
    for member in members:
        change = _add(change, role, member, options, grantor)
    return change


def _add(
    change: AuthorityChange, role: str, member: str, options: MembershipOptions, grantor: str
) -> AuthorityChange:
    authority = change.authority
    key = (role, member, grantor)
    old = next((e for e in authority.memberships if (e.role, e.member, e.grantor) == key), None)
    if old is None:
        inherit = authority.roles[member].inherit if options.inherit is None else options.inherit
        new = RoleMembership(
            role, member, grantor, bool(options.admin), inherit, options.set is not False
        )
        return change.with_memberships((*authority.memberships, new))
    stated = {"admin": options.admin, "inherit": options.inherit, "set": options.set}
    new = replace(old, **{name: value for name, value in stated.items() if value is not None})
    if new == old:
        return change.with_notice(
            "NOTICE",
            f'role "{member}" has already been granted membership in role "{role}" by role "{grantor}"',
        )
    return change.with_memberships(new if e is old else e for e in authority.memberships)


def _named_grantor(change: AuthorityChange, name: str | None) -> str | None:
    return None if name is None else find_named_role(change.authority, change.subject, name).name


def _implicit_grantor(change: AuthorityChange, role: str) -> str:
    if is_superuser(change.authority, change.role):
        return bootstrap(change.authority)
    grantor = best_admin(change.authority, change.role, role)
    if grantor is None:
        raise AccessDenied(
            "no possible grantors",
            reason=f"{change.role} inherits no ADMIN option on {role}",
            hint="SET ROLE to a role that has the ADMIN option first.",
        )
    return grantor


def _grantor_of_grant(change: AuthorityChange, role: str, named: str | None) -> str:
    authority = change.authority
    if named is None:
        return _implicit_grantor(change, role)
    if not has_privs_of(authority, change.role, named):
        reason = f"{change.role} does not have the rights of {named}"
    elif named != bootstrap(authority) and best_admin(authority, named, role) != named:
        reason = f"{named} has no ADMIN option on {role}"
    else:
        return named
    raise AccessDenied(f'permission denied to grant privileges as role "{named}"', reason=reason)


def _grantor_of_revoke(change: AuthorityChange, role: str, named: str | None) -> str:
    if named is None:
        return _implicit_grantor(change, role)
    if not has_privs_of(change.authority, change.role, named):
        raise AccessDenied(
            f'permission denied to revoke privileges granted by role "{named}"',
            reason=f"{change.role} does not have the rights of {named}",
        )
    return named


def _refuse_circles(authority: Authority, role: str, members: Sequence[str], grantor: str) -> None:
    """Refuse ADMIN for members on whom the grantor's own ADMIN option depends."""
    plan = MembershipRevocation.of(authority, role)
    for index, edge in enumerate(plan.edges):
        if edge.member in members:
            plan.revoke(index, admin_only=False, cascade=True)
    if bootstrap(authority) in members or not plan.is_untouched_admin(grantor):
        raise StatementFailed("0LP01", "ADMIN option cannot be granted back to your own grantor")


class MembershipRevocation:
    """The effect on the memberships in one role when some of them are revoked."""

    def __init__(self, role: str, edges: Sequence[RoleMembership]) -> None:
        self.role = role
        self.edges = list(edges)
        self._after: list[RoleMembership | None] = list(edges)

    @classmethod
    def of(cls, authority: Authority, role: str) -> MembershipRevocation:
        """Return a plan without changes."""
        return cls(role, [edge for edge in authority.memberships if edge.role == role])

    def find(self, member: str, grantor: str) -> int | None:
        """Return which membership `member` has from `grantor`."""
        for index, edge in enumerate(self.edges):
            if (edge.member, edge.grantor) == (member, grantor):
                return index
        return None

    def clear(self, index: int, option: str) -> None:
        """Revoke the inherit or set option, on which nothing depends."""
        edge = self._after[index]
        if edge is not None:
            self._after[index] = replace(edge, **{option: False})

    def revoke(self, index: int, *, admin_only: bool, cascade: bool) -> None:
        """Revoke a membership or its ADMIN option, and what its member granted."""
        edge, after = self.edges[index], self._after[index]
        if after is None or (admin_only and not after.admin):
            return
        self._after[index] = replace(after, admin=False) if admin_only else None
        if not edge.admin or self.is_untouched_admin(edge.member):
            return
        for other, dependent in enumerate(self.edges):
            if dependent.grantor != edge.member or self._after[other] is None:
                continue
            if not cascade:
                raise StatementFailed(
                    "2BP01", "dependent privileges exist", hint="Use CASCADE to revoke them too."
                )
            self.revoke(other, admin_only=False, cascade=True)

    def is_untouched_admin(self, member: str) -> bool:
        """Whether a membership with ADMIN is unchanged."""
        return any(
            edge.member == member and edge.admin and after == edge
            for edge, after in zip(self.edges, self._after, strict=True)
        )

    def result(self, authority: Authority) -> list[RoleMembership]:
        """Return all memberships after the plan."""
        left = iter(self._after)
        out = (next(left) if e.role == self.role else e for e in authority.memberships)
        return [edge for edge in out if edge is not None]
