"""Rows about roles and schemas. All users see names, as in PostgreSQL; clearances are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from discreet.server.catalog.rows.acl import items
from discreet.server.catalog.standard import SCHEMAS, Row

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot

_HIDDEN = "********"


def pg_roles(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return roles, without passwords."""
    for role in snapshot.visible.authority.roles.values():
        yield {
            "oid": snapshot.role(role.name),
            "rolname": role.name,
            "rolsuper": role.superuser,
            "rolinherit": role.inherit,
            "rolcreaterole": role.createrole,
            "rolcreatedb": role.createdb,
            "rolcanlogin": role.login,
            "rolreplication": role.replication,
            "rolconnlimit": role.connection_limit,
            "rolpassword": _HIDDEN,
            "rolvaliduntil": _parse_time(role.valid_until),
            "rolbypassrls": role.bypassrls,
        }


def _parse_time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def pg_user(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return roles that may log in."""
    for role in snapshot.visible.authority.roles.values():
        if role.login:
            yield {
                "usename": role.name,
                "usesysid": snapshot.role(role.name),
                "usecreatedb": role.createdb,
                "usesuper": role.superuser,
                "userepl": role.replication,
                "usebypassrls": role.bypassrls,
                "passwd": _HIDDEN,
            }


def pg_group(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return roles that may not log in, and their members."""
    authority = snapshot.visible.authority
    for role in authority.roles.values():
        if not role.login:
            members = {edge.member for edge in authority.memberships if edge.role == role.name}
            yield {
                "groname": role.name,
                "grosysid": snapshot.role(role.name),
                "grolist": sorted(map(snapshot.role, members)),
            }


def pg_auth_members(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the memberships of roles."""
    for edge in snapshot.visible.authority.memberships:
        yield {
            "oid": snapshot.oids.of("membership", edge.role, edge.member, edge.grantor),
            "roleid": snapshot.role(edge.role),
            "member": snapshot.role(edge.member),
            "grantor": snapshot.role(edge.grantor),
            "admin_option": edge.admin,
            "inherit_option": edge.inherit,
            "set_option": edge.set,
        }


def pg_namespace(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return schemas."""
    first = snapshot.visible.first_superuser
    for name, oid in SCHEMAS.items():
        acl = [f"{first}=UC/{first}", f"=U/{first}"]
        yield {"oid": oid, "nspname": name, "nspowner": 10, "nspacl": acl}
    for name, schema in snapshot.visible.schemas.items():
        yield {
            "oid": snapshot.schema(name),
            "nspname": name,
            "nspowner": snapshot.role(schema.owner),
            "nspacl": items(schema.acl),
        }
