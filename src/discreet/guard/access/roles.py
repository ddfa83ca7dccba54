"""Roles: create, alter, rename and drop, as PostgreSQL 16 allows with CREATEROLE."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import Any

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.acl import Acl
from discreet.guard.access.authority import OFFICER, Authority, DatabaseRole, Relation
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.memberships import MembershipOptions, add_members, need_admin
from discreet.guard.access.names import find_named_role, role_name
from discreet.guard.access.reach import bootstrap, is_admin_of, is_superuser
from discreet.guard.statements.rights import AlterRole, CreateRole, DropRole

# Attributes that only their holders may give to others.
OWN_ONLY = ("createdb", "bypassrls", "replication")


def _own_role(change: AuthorityChange) -> DatabaseRole:
    return change.authority.roles[change.role]


def _may_create(change: AuthorityChange) -> bool:
    mine = _own_role(change)
    return mine.superuser or mine.createrole


def create_role(change: AuthorityChange, statement: CreateRole) -> AuthorityChange:
    """CREATE ROLE or CREATE USER; the password is kept elsewhere."""
    mine = _own_role(change)
    if not mine.superuser:
        wanted = statement.attributes
        lacking = [name for name in OWN_ONLY if wanted.get(name) and not getattr(mine, name)]
        if not mine.createrole or wanted.get("superuser") or lacking:
            raise AccessDenied(
                "permission denied to create role",
                reason=f"{mine.name} lacks CREATEROLE or an attribute that the new role gets",
            )
    for name in statement.names:
        change = _create_one(change, name, statement)
    return change


def _create_one(change: AuthorityChange, name: str, statement: CreateRole) -> AuthorityChange:
    need_free(change, name)
    attributes: dict[str, Any] = dict(statement.attributes)
    change = change.with_role(DatabaseRole(name, id=_fresh_identity(change, name), **attributes))
    in_roles = _resolve_names(change, statement.in_roles)
    members = _resolve_names(change, statement.members)
    admins = _resolve_names(change, statement.admins)
    for parent in in_roles:
        need_admin(change, parent, "grant")
        change = add_members(change, parent, [name], options=MembershipOptions())
    if not is_superuser(change.authority, change.role):
        first = bootstrap(change.authority)
        as_first = replace(change, subject=replace(change.subject, role=first))
        as_first = add_members(
            as_first,
            name,
            [change.role],
            options=MembershipOptions(admin=True, inherit=False, set=False),
            grantor=first,
        )
        change = change.with_authority(as_first.authority)
    change = add_members(change, name, members, options=MembershipOptions())
    return add_members(change, name, admins, options=MembershipOptions(admin=True))


def _fresh_identity(change: AuthorityChange, name: str) -> str:
    """Return an identity that no role has or ever had; empty if the name itself is unused."""
    living = (role.identity for role in change.authority.roles.values())
    taken = {*living, *change.authority.retired}
    if name not in taken:
        return ""
    return next(found for n in count(2) if (found := f"{name}#{n}") not in taken)


def _resolve_names(change: AuthorityChange, names: tuple[str, ...]) -> list[str]:
    return [find_named_role(change.authority, change.subject, name).name for name in names]


def need_free(change: AuthorityChange, name: str) -> None:
    """Refuse a reserved or existing name."""
    if name.startswith("pg_") or name in ("public", "none", ""):
        raise StatementFailed("42939", f'role name "{name or "public"}" is reserved')
    if name in change.authority.roles:
        raise StatementFailed("42710", f'role "{name}" already exists')


def alter_role(change: AuthorityChange, statement: AlterRole) -> AuthorityChange:
    """ALTER ROLE; the required privileges are PostgreSQL's."""
    role = find_named_role(change.authority, change.subject, statement.name)
    if statement.rename is not None:
        return _rename(change, role, statement.rename)
    touches_password = statement.password is not None or statement.no_password
    reason = _why_not(change, role, statement, touches_password=touches_password)
    if reason is not None:
        raise AccessDenied("permission denied to alter role", reason=reason)
    if role.name == bootstrap(change.authority) and statement.attributes.get("superuser") is False:
        raise StatementFailed("0A000", "the first superuser must keep the SUPERUSER attribute")
    attributes: dict[str, Any] = dict(statement.attributes)
    return change.with_role(replace(role, **attributes))


def _why_not(
    change: AuthorityChange, role: DatabaseRole, statement: AlterRole, *, touches_password: bool
) -> str | None:
    mine, wanted = _own_role(change), statement.attributes
    if mine.superuser:
        return None
    if role.superuser or "superuser" in wanted:
        return f"{mine.name} is no superuser"
    if not mine.createrole or not is_admin_of(change.authority, mine.name, role.name):
        if wanted or (touches_password and role.name != mine.name):
            return f"{mine.name} lacks CREATEROLE or the ADMIN option on {role.name}"
        return None
    lacking = [name for name in OWN_ONLY if name in wanted and not getattr(mine, name)]
    return f"{mine.name} lacks {', '.join(lacking)}" if lacking else None


def _rename(change: AuthorityChange, role: DatabaseRole, new: str) -> AuthorityChange:
    if role.name in (change.subject.user, change.role):
        raise StatementFailed("0A000", "session user cannot be renamed")
    need_free(change, new)
    mine = _own_role(change)
    if not mine.superuser and (
        role.superuser
        or not mine.createrole
        or not is_admin_of(change.authority, mine.name, role.name)
    ):
        raise AccessDenied(
            "permission denied to rename role",
            reason=f"{mine.name} lacks CREATEROLE or the ADMIN option on {role.name}",
        )
    if role.name == OFFICER:
        raise StatementFailed("0A000", f'role "{OFFICER}" cannot be renamed')
    return change.with_authority(_rename_references(change.authority, role.name, new))


def drop_role(change: AuthorityChange, statement: DropRole) -> AuthorityChange:
    """DROP ROLE; refused while anything depends on it."""
    if not _may_create(change):
        raise AccessDenied(
            "permission denied to drop role", reason=f"{change.role} lacks CREATEROLE"
        )
    gone: list[str] = []
    for written in statement.names:
        name = role_name(change.subject, written)
        if name not in change.authority.roles and statement.if_exists:
            change = change.with_notice("NOTICE", f'role "{name}" does not exist, skipping')
            continue
        _need_droppable(change, find_named_role(change.authority, change.subject, name))
        gone.append(name)
        # A role that may drop the next one only through this one no longer may, as in PostgreSQL.
        edges = change.authority.memberships
        change = change.with_memberships(e for e in edges if name not in (e.role, e.member))
    for name in gone:
        _need_unused(change, name)
    known = change.authority.roles
    retired = (*change.authority.retired, *(known[name].identity for name in dict.fromkeys(gone)))
    roles = {name: role for name, role in known.items() if name not in gone}
    return change.with_authority(replace(change.authority, roles=roles, retired=retired))


def _need_droppable(change: AuthorityChange, role: DatabaseRole) -> None:
    if role.name == change.role:
        raise StatementFailed("55006", "current user cannot be dropped")
    if role.name == change.subject.user:
        raise StatementFailed("55006", "session user cannot be dropped")
    mine = _own_role(change)
    if (role.superuser and not mine.superuser) or not is_admin_of(
        change.authority, mine.name, role.name
    ):
        raise AccessDenied(
            "permission denied to drop role",
            reason=f"{mine.name} lacks the ADMIN option on {role.name}",
        )


def _need_unused(change: AuthorityChange, name: str) -> None:
    if name in (bootstrap(change.authority), OFFICER):
        raise StatementFailed(
            "2BP01", f"cannot drop role {name} because it is required by the database system"
        )
    uses = _role_uses(change.authority, name)
    if uses:
        raise StatementFailed(
            "2BP01",
            f'role "{name}" cannot be dropped because some objects depend on it',
            detail="\n".join(uses),
        )


def _in_acl(acl: Acl | None, name: str) -> bool:
    return any(name in (entry.grantee, entry.grantor) for entry in acl or ())


def _uses_in_relation(relation: Relation, name: str) -> Iterable[str]:
    if relation.owner == name:
        yield f"owner of {relation.name}"
    if any(_in_acl(acl, name) for acl in (relation.acl, *(c.acl for c in relation.columns))):
        yield f"privileges for {relation.name}"
    for kind, what in (
        ("policy", relation.policies),
        ("mask", relation.masks),
        ("control", relation.controls),
    ):
        for one in what:
            if name in one.roles:
                yield f"target of {kind} {one.name} on {relation.name}"
    for trigger in relation.triggers:
        if name == trigger.maker:
            yield f"maker of trigger {trigger.name} on {relation.name}"


def _role_uses(authority: Authority, name: str) -> list[str]:
    """Return descriptions of what depends on a role, including memberships that it granted."""
    uses = [
        f"privileges for membership of role {edge.member} in role {edge.role}"
        for edge in authority.memberships
        if edge.grantor == name
    ]
    for schema in authority.schemas.values():
        if schema.owner == name:
            uses.append(f"owner of schema {schema.name}")
        if _in_acl(schema.acl, name):
            uses.append(f"privileges for schema {schema.name}")
    for relation in authority.relations.values():
        uses.extend(_uses_in_relation(relation, name))
    uses.extend(f"exclusion {one.name}" for one in authority.exclusions if name in one.roles)
    return uses


def _rename_references(authority: Authority, old: str, new: str) -> Authority:
    """Return the authority in which `old` is called `new`, with the same age and identity."""

    def called(name: str) -> str:
        return new if name == old else name

    def called_all(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(called(name) for name in names)

    def in_acl(acl: Acl) -> Acl:
        return tuple(
            replace(entry, grantee=called(entry.grantee), grantor=called(entry.grantor))
            for entry in acl
        )

    def in_relation(relation: Relation) -> Relation:
        return replace(
            relation,
            owner=called(relation.owner),
            acl=None if relation.acl is None else in_acl(relation.acl),
            columns=tuple(replace(c, acl=in_acl(c.acl)) for c in relation.columns),
            policies=tuple(replace(p, roles=called_all(p.roles)) for p in relation.policies),
            masks=tuple(replace(m, roles=called_all(m.roles)) for m in relation.masks),
            controls=tuple(replace(c, roles=called_all(c.roles)) for c in relation.controls),
            triggers=tuple(
                replace(t, maker=None if t.maker is None else called(t.maker))
                for t in relation.triggers
            ),
        )

    return replace(
        authority,
        roles={
            called(name): replace(role, name=new, id=role.identity) if name == old else role
            for name, role in authority.roles.items()
        },
        memberships=tuple(
            replace(e, role=called(e.role), member=called(e.member), grantor=called(e.grantor))
            for e in authority.memberships
        ),
        schemas={
            name: replace(
                schema,
                owner=called(schema.owner),
                acl=None if schema.acl is None else in_acl(schema.acl),
            )
            for name, schema in authority.schemas.items()
        },
        relations={key: in_relation(one) for key, one in authority.relations.items()},
        exclusions=tuple(replace(e, roles=called_all(e.roles)) for e in authority.exclusions),
    )
