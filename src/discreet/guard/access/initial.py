"""The authority of a new database: a superuser, the security officer's role, the schema public."""

from __future__ import annotations

from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    OFFICER,
    PUBLIC,
    AclEntry,
    Authority,
    DatabaseRole,
    DatabaseSchema,
    Privilege,
)


def initial_authority(admin: str) -> Authority:
    """Return the authority in which only `admin` has rights; all roles may use `public`.

    >>> sorted(initial_authority("ann").roles)
    ['ann', 'security_officer']
    """
    first = DatabaseRole(
        admin, superuser=True, createrole=True, createdb=True, login=True, bypassrls=True
    )
    acl = (
        AclEntry(admin, admin, Privilege.USAGE),
        AclEntry(admin, admin, Privilege.CREATE),
        AclEntry(PUBLIC, admin, Privilege.USAGE),
    )
    return Authority(
        roles={admin: first, OFFICER: DatabaseRole(OFFICER)},
        schemas={DEFAULT_SCHEMA: DatabaseSchema(DEFAULT_SCHEMA, admin, acl)},
    )
