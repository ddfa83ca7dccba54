"""The authority of a new place: one superuser, the security officer's role, the schema public."""

from __future__ import annotations

from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    OFFICER,
    PUBLIC,
    Authority,
    Entry,
    Privilege,
    Role,
    Schema,
)


def initial_authority(admin: str) -> Authority:
    """Return the authority in which only `admin` may do anything; everybody may use `public`.

    >>> sorted(initial_authority("ann").roles)
    ['ann', 'security_officer']
    """
    first = Role(admin, superuser=True, createrole=True, createdb=True, login=True, bypassrls=True)
    acl = (
        Entry(admin, admin, Privilege.USAGE),
        Entry(admin, admin, Privilege.CREATE),
        Entry(PUBLIC, admin, Privilege.USAGE),
    )
    return Authority(
        roles={admin: first, OFFICER: Role(OFFICER)},
        schemas={DEFAULT_SCHEMA: Schema(DEFAULT_SCHEMA, admin, acl)},
    )
