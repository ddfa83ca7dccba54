"""Access control lists: what a grant adds, what a revoke removes, and what depends on it.

The rules are those of PostgreSQL 16 (src/backend/utils/adt/acl.c), per privilege.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    SCHEMA_PRIVILEGES,
    SEQUENCE_PRIVILEGES,
    TABLE_PRIVILEGES,
    AclEntry,
    Allowance,
    Authority,
    Privilege,
)
from discreet.guard.access.reach import has_privs_of, is_superuser, reach

Acl = tuple[AclEntry, ...]

# The owner needs no AGGREGATE: it costs a budget, and owners see every row.
OWNER_PRIVILEGES = tuple(
    privilege for privilege in TABLE_PRIVILEGES if privilege != Privilege.AGGREGATE
)


@dataclass(frozen=True)
class AccessControlList:
    """An access control list in context: the roles it names, and the owner of its object."""

    authority: Authority
    owner: str
    entries: Acl

    def with_entries(self, entries: Iterable[AclEntry]) -> AccessControlList:
        """Return the same context with other entries."""
        return replace(self, entries=tuple(entries))


def table_default(owner: str) -> Acl:
    """Return the privileges on a relation without any grant."""
    return tuple(AclEntry(owner, owner, privilege) for privilege in OWNER_PRIVILEGES)


def sequence_default(owner: str) -> Acl:
    """Return the privileges on a sequence without any grant."""
    return tuple(AclEntry(owner, owner, privilege) for privilege in SEQUENCE_PRIVILEGES)


def schema_default(owner: str) -> Acl:
    """Return the privileges on a schema without any grant."""
    return tuple(AclEntry(owner, owner, privilege) for privilege in SCHEMA_PRIVILEGES)


def find_privilege_entry(
    listed: AccessControlList, role: str, privilege: Privilege
) -> AclEntry | None:
    """Return the entry by which `role` has a privilege: its own, PUBLIC's or an inherited one."""
    entries = [entry for entry in listed.entries if entry.privilege == privilege]
    for entry in entries:
        if entry.grantee in (PUBLIC, role):
            return entry
    for entry in entries:
        if has_privs_of(listed.authority, role, entry.grantee):
            return entry
    return None


def may_grant(listed: AccessControlList, role: str, privilege: Privilege) -> bool:
    """Whether `role` has the grant option, own or inherited; owners always do."""
    if has_privs_of(listed.authority, role, listed.owner):
        return True
    return any(
        entry.privilege == privilege
        and entry.grantable
        and entry.grantee != PUBLIC
        and has_privs_of(listed.authority, role, entry.grantee)
        for entry in listed.entries
    )


def _own_options(
    listed: AccessControlList, role: str, privileges: frozenset[Privilege]
) -> frozenset[Privilege]:
    if role == listed.owner:
        return privileges
    return frozenset(
        entry.privilege
        for entry in listed.entries
        if entry.grantee == role and entry.grantable and entry.privilege in privileges
    )


def best_grantor(
    listed: AccessControlList, role: str, privileges: frozenset[Privilege]
) -> tuple[str, frozenset[Privilege]]:
    """Return the role as which `role` grants, and which of the privileges that role may grant.

    The owner or a superuser grants as the owner; others as the nearest role they inherit from that
    has all of the grant options, else the one with most of them.
    """
    if role == listed.owner or is_superuser(listed.authority, role):
        return listed.owner, privileges
    best, options = role, frozenset[Privilege]()
    for other in reach(listed.authority, role, "inherit"):
        own = _own_options(listed, other, privileges)
        if own == privileges:
            return other, own
        if len(own) > len(options):
            best, options = other, own
    return best, options


def add_entry(
    listed: AccessControlList, entry: AclEntry, *, budget: Allowance | None = None
) -> AccessControlList:
    """Return the list with a privilege added, which may be there already.

    Raises:
        StatementFailed: 0LP01, its grant option would return to its own grantor.
    """
    if entry.grantable:
        _refuse_circles(listed, entry)
    out: list[AclEntry] = []
    found = False
    for old in listed.entries:
        if _is_same_entry(old, entry):
            found = True
            out.append(
                replace(
                    old, grantable=old.grantable or entry.grantable, budget=budget or old.budget
                )
            )
        else:
            out.append(old)
    if not found:
        out.append(replace(entry, budget=budget))
    return listed.with_entries(out)


def remove_entry(
    listed: AccessControlList, entry: AclEntry, *, option_only: bool, cascade: bool
) -> AccessControlList:
    """Return the list without a privilege, or without its grant option, and what depended on it.

    Raises:
        StatementFailed: 2BP01, dependent privileges exist, and `cascade` was not given.
    """
    old = next((old for old in listed.entries if _is_same_entry(old, entry)), None)
    if old is None or (option_only and not old.grantable):
        return listed
    kept = (replace(old, grantable=False),) if option_only else ()
    left: list[AclEntry] = []
    for other in listed.entries:
        left.extend(kept if other is old else (other,))
    listed = listed.with_entries(left)
    return _without_dependents(listed, old, cascade=cascade) if old.grantable else listed


def change_acl_owner(acl: Acl, *, old: str, new: str) -> Acl:
    """Return the list after a change of owner: the new owner replaces the old one."""
    merged: dict[tuple[str, str, Privilege], AclEntry] = {}
    for entry in acl:
        grantee = new if entry.grantee == old else entry.grantee
        grantor = new if entry.grantor == old else entry.grantor
        key = (grantee, grantor, entry.privilege)
        there = merged.get(key)
        budget = entry.budget if there is None else _larger_allowance(there.budget, entry.budget)
        merged[key] = AclEntry(
            grantee,
            grantor,
            entry.privilege,
            grantable=entry.grantable or (there is not None and there.grantable),
            budget=budget,
        )
    return tuple(merged.values())


def _larger_allowance(one: Allowance | None, other: Allowance | None) -> Allowance | None:
    both = [budget for budget in (one, other) if budget is not None]
    return max(both, key=lambda budget: (budget.epsilon, budget.delta), default=None)


def _is_same_entry(one: AclEntry, other: AclEntry) -> bool:
    return (one.grantee, one.grantor, one.privilege) == (
        other.grantee,
        other.grantor,
        other.privilege,
    )


def _without_dependents(
    listed: AccessControlList, gone: AclEntry, *, cascade: bool
) -> AccessControlList:
    """Revoke what `gone.grantee` granted, unless it may still grant it; the owner always may."""
    if gone.grantee == listed.owner or may_grant(listed, gone.grantee, gone.privilege):
        return listed
    while True:
        dependent = next(
            (
                entry
                for entry in listed.entries
                if entry.grantor == gone.grantee and entry.privilege == gone.privilege
            ),
            None,
        )
        if dependent is None:
            return listed
        if not cascade:
            raise StatementFailed(
                "2BP01", "dependent privileges exist", hint="Use CASCADE to revoke them too."
            )
        listed = remove_entry(listed, dependent, option_only=False, cascade=True)


def _refuse_circles(listed: AccessControlList, entry: AclEntry) -> None:
    """Refuse a grant option for a role on which the grantor's own grant option depends."""
    if entry.grantor == listed.owner:
        return
    without = listed
    for old in listed.entries:
        if old.grantee == entry.grantee and old.grantable and old.privilege == entry.privilege:
            without = remove_entry(without, old, option_only=False, cascade=True)
    if not may_grant(without, entry.grantor, entry.privilege):
        raise StatementFailed("0LP01", "grant options cannot be granted back to your own grantor")
