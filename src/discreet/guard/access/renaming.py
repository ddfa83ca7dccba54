"""References to a role in the authority: its dependents, and the authority after a rename."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.guard.access.acl import Acl
from discreet.guard.access.authority import Authority, Relation


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


def uses_of(authority: Authority, name: str) -> list[str]:
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


def rename(authority: Authority, old: str, new: str) -> Authority:
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
