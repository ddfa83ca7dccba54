"""Schemas: create, drop and change the owner."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.acl import change_acl_owner
from discreet.guard.access.authority import DEFAULT_SCHEMA, DatabaseSchema
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.decide import owns
from discreet.guard.access.dependents import drop_with_dependents
from discreet.guard.access.names import find_named_role, find_named_schema, role_name
from discreet.guard.access.reach import can_set, is_superuser
from discreet.guard.statements.objects import CreateSchema, DropSchema


def _need_create(change: AuthorityChange) -> None:
    """Refuse any role but superusers: a database has one owner, as PostgreSQL's have by default."""
    if not is_superuser(change.authority, change.role):
        raise AccessDenied(
            "permission denied for database", reason=f"{change.role} is no superuser"
        )


def create_schema(change: AuthorityChange, statement: CreateSchema) -> AuthorityChange:
    """CREATE SCHEMA."""
    owner = change.role
    if statement.owner is not None:
        owner = find_named_role(change.authority, change.subject, statement.owner).name
    _need_create(change)
    name = role_name(change.subject, statement.name)  # without a name it is named after its owner
    if name.startswith("pg_") or name == "information_schema":
        raise StatementFailed("42939", f'unacceptable schema name "{name}"')
    if name.lower() in {there.lower() for there in change.authority.schemas}:
        if statement.if_not_exists and name in change.authority.schemas:
            return change.with_notice(
                "NOTICE", f'schema "{name}" already exists, skipping', "42P06"
            )
        raise StatementFailed("42P06", f'schema "{name}" already exists')
    return change.with_schema(DatabaseSchema(name, owner))


def drop_schema(change: AuthorityChange, statement: DropSchema) -> AuthorityChange:
    """DROP SCHEMA; with CASCADE everything in it."""
    authority = change.authority
    if statement.name not in authority.schemas and statement.if_exists:
        return change.with_notice("NOTICE", f'schema "{statement.name}" does not exist, skipping')
    schema = find_named_schema(authority, statement.name)
    _need_owner(change, schema)
    if schema.name == DEFAULT_SCHEMA:
        raise StatementFailed("2BP01", f"cannot drop schema {schema.name}: it is the default one")
    inside = [key for key in authority.relations if key[0] == schema.name]
    if inside and not statement.cascade:
        raise StatementFailed(
            "2BP01",
            f"cannot drop schema {schema.name} because other objects depend on it",
            hint="Use DROP ... CASCADE to drop the dependent objects too.",
        )
    change = drop_with_dependents(change, inside, cascade=True, what=f"schema {schema.name}")
    schemas = {k: v for k, v in change.authority.schemas.items() if k != schema.name}
    return change.with_authority(replace(change.authority, schemas=schemas))


def alter_schema_owner(change: AuthorityChange, name: str, owner: str) -> AuthorityChange:
    """ALTER SCHEMA name OWNER TO role."""
    new = find_named_role(change.authority, change.subject, owner).name
    schema = find_named_schema(change.authority, name)
    if schema.owner == new:
        return change
    _need_owner(change, schema)
    if not can_set(change.authority, change.role, new):
        raise AccessDenied(f'must be able to SET ROLE "{new}"')
    _need_create(change)
    acl = None if schema.acl is None else change_acl_owner(schema.acl, old=schema.owner, new=new)
    return change.with_schema(replace(schema, owner=new, acl=acl))


def _need_owner(change: AuthorityChange, schema: DatabaseSchema) -> None:
    if not owns(change.authority, change.role, schema):
        raise AccessDenied(
            f"must be owner of schema {schema.name}",
            reason=f"{change.role} does not have the rights of {schema.owner}",
        )
