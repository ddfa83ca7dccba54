"""Statements about roles and rights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from discreet.guard.access.authority import Allowance, Privilege
from discreet.guard.statements.statement import Statement, Written

# Placeholders for roles that depend on the session; no name holds a zero character.
CURRENT_USER = "\0current_user"
SESSION_USER = "\0session_user"


@dataclass(frozen=True)
class CreateRole(Statement):
    """CREATE ROLE or CREATE USER; several names are the seed's form.

    `attributes` holds what was written, such as `{"login": True, "createrole": False}`, and
    `valid_until`, `connection_limit`.
    """

    names: tuple[str, ...]
    attributes: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    password: str | None = field(default=None, repr=False)
    in_roles: tuple[str, ...] = ()  # IN ROLE
    members: tuple[str, ...] = ()  # ROLE
    admins: tuple[str, ...] = ()  # ADMIN


@dataclass(frozen=True)
class AlterRole(Statement):
    """ALTER ROLE name …; a password of None is not changed, `no_password` removes it."""

    name: str
    attributes: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    password: str | None = field(default=None, repr=False)
    no_password: bool = False
    rename: str | None = None


@dataclass(frozen=True)
class DropRole(Statement):
    """DROP ROLE."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class GrantRole(Statement):
    """GRANT role TO member [WITH ADMIN | INHERIT | SET …]; None means not given."""

    roles: tuple[str, ...]
    members: tuple[str, ...]
    admin: bool | None = None
    inherit: bool | None = None
    set: bool | None = None
    grantor: str | None = None  # GRANTED BY


@dataclass(frozen=True)
class RevokeRole(Statement):
    """REVOKE [ADMIN | INHERIT | SET OPTION FOR] role FROM member."""

    roles: tuple[str, ...]
    members: tuple[str, ...]
    option: Literal["admin", "inherit", "set"] | None = None
    cascade: bool = False
    grantor: str | None = None


@dataclass(frozen=True)
class Right:
    """A privilege, of single columns when there are any; `privilege` None is ALL."""

    privilege: Privilege | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grant(Statement):
    """GRANT rights ON relations or schemas TO grantees."""

    rights: tuple[Right, ...]
    relations: tuple[Written, ...]
    schemas: tuple[str, ...]
    grantees: tuple[str, ...]  # PUBLIC is ""
    grant_option: bool = False
    budget: Allowance | None = None
    all_in_schema: bool = False  # ALL TABLES or SEQUENCES IN SCHEMA
    grantor: str | None = None
    of_sequences: bool = False


@dataclass(frozen=True)
class Revoke(Statement):
    """REVOKE [GRANT OPTION FOR] rights ON … FROM grantees."""

    rights: tuple[Right, ...]
    relations: tuple[Written, ...]
    schemas: tuple[str, ...]
    grantees: tuple[str, ...]
    option_only: bool = False
    cascade: bool = False
    all_in_schema: bool = False
    grantor: str | None = None
    of_sequences: bool = False


@dataclass(frozen=True)
class GrantSystem(Statement):
    """The seed's GRANT CREATE USER | CREATE TABLE TO role, and its REVOKE."""

    right: Literal["create user", "create table"]
    grantees: tuple[str, ...]
    revoke: bool = False


@dataclass(frozen=True)
class CreateExclusion(Statement):
    """CREATE EXCLUSION name ON ROLES (a, b): no role may be in two of them."""

    name: str
    roles: tuple[str, ...]


@dataclass(frozen=True)
class DropExclusion(Statement):
    """DROP EXCLUSION name."""

    name: str
