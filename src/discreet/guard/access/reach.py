"""The roles a role reaches through memberships: by inheritance, SET ROLE or ADMIN."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from discreet.errors import Bug
from discreet.guard.access.authority import Authority, RoleMembership

Edge = Literal["any", "inherit", "set", "use"]


def bootstrap(authority: Authority) -> str:
    """Return the first superuser, as which superusers grant memberships.

    It is the oldest role and cannot be dropped.
    """
    for role in authority.roles.values():
        if role.superuser:
            return role.name
    raise Bug("The authority has no superuser. Please report this.")


def is_superuser(authority: Authority, role: str) -> bool:
    """Whether `role` is a superuser."""
    found = authority.roles.get(role)
    return found is not None and found.superuser


def in_order(authority: Authority) -> list[RoleMembership]:
    """Return the memberships, those in older roles first, as PostgreSQL walks them."""
    ages = {name: age for age, name in enumerate(authority.roles)}
    return sorted(
        authority.memberships,
        key=lambda edge: (ages.get(edge.role, -1), ages.get(edge.grantor, -1)),
    )


def _follows_edge(edge: RoleMembership, kind: Edge) -> bool:
    match kind:
        case "inherit":
            return edge.inherit
        case "set":
            return edge.set
        case "use":
            return edge.inherit or edge.set
        case "any":
            return True


def reach(authority: Authority, role: str, kind: Edge) -> tuple[str, ...]:
    """Return `role` and the roles it reaches through memberships of a kind, nearest first.

    `use` follows memberships that allow the member to act with the role: inherit or set.
    """
    parents: dict[str, list[str]] = {}
    for edge in in_order(authority):
        if _follows_edge(edge, kind):
            parents.setdefault(edge.member, []).append(edge.role)
    found = {role: None}
    queue = [role]
    for member in queue:
        for parent in parents.get(member, ()):
            if parent not in found:
                found[parent] = None
                queue.append(parent)
    return tuple(found)


def effective_roles(authority: Authority, role: str) -> tuple[object, ...]:
    """Return all roles a role inherits from or may become, with their attributes.

    If it is equal in two authorities, the role gains nothing through roles in either of them.
    """
    ways = [frozenset(reach(authority, role, kind)) for kind in ("inherit", "set")]
    return (*ways, {name: authority.roles.get(name) for name in frozenset.union(*ways)})


def has_privs_of(authority: Authority, role: str, of: str) -> bool:
    """Whether `role` has the privileges of `of` without SET ROLE: through inheriting memberships."""
    return role == of or is_superuser(authority, role) or of in reach(authority, role, "inherit")


def can_set(authority: Authority, user: str, role: str) -> bool:
    """Whether `user` may SET ROLE to `role`."""
    return user == role or is_superuser(authority, user) or role in reach(authority, user, "set")


def is_in(authority: Authority, role: str, of: str) -> bool:
    """Whether `role` is, by any memberships, in `of`; a superuser is not a member of every role."""
    return of in reach(authority, role, "any")


def _direct_admins(authority: Authority, role: str) -> set[str]:
    return {edge.member for edge in authority.memberships if edge.role == role and edge.admin}


def _nearest_admin(path: Iterable[str], admins: set[str]) -> str | None:
    return next((member for member in path if member in admins), None)


def is_admin_of(authority: Authority, role: str, of: str) -> bool:
    """Whether `role` may administer `of`: by the ADMIN option, its own or of any role it is in."""
    if is_superuser(authority, role):
        return True
    if role == of:
        return False
    return _nearest_admin(reach(authority, role, "any"), _direct_admins(authority, of)) is not None


def best_admin(authority: Authority, role: str, of: str) -> str | None:
    """Return the nearest role with the ADMIN option on `of` whose rights `role` inherits, or None."""
    if role == of:
        return None
    return _nearest_admin(reach(authority, role, "inherit"), _direct_admins(authority, of))
