"""Names of a statement resolved in the authority, with the sender's privileges."""

from __future__ import annotations

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    PUBLIC,
    TEMPORARY,
    Authority,
    DatabaseRole,
    DatabaseSchema,
    Privilege,
    Relation,
    Subject,
)
from discreet.guard.access.decide import owns, schema_privilege
from discreet.guard.statements.rights import CURRENT_USER, SESSION_USER
from discreet.guard.statements.statement import Written

KIND_NAMES = {"table": "table", "view": "view", "anonymized": "view", "sequence": "sequence"}


def role_name(subject: Subject, name: str) -> str:
    """Return the role that a name stands for: also CURRENT_USER and SESSION_USER."""
    if name == CURRENT_USER:
        return subject.role
    return subject.user if name == SESSION_USER else name


def find_named_role(authority: Authority, subject: Subject, name: str) -> DatabaseRole:
    """Return a role, or fail with 42704."""
    name = role_name(subject, name)
    if name not in authority.roles:
        shown = name if name != PUBLIC else "public"
        raise StatementFailed("42704", f'role "{shown}" does not exist')
    return authority.roles[name]


def find_named_schema(authority: Authority, name: str) -> DatabaseSchema:
    """Return a schema, or fail with 3F000."""
    if name not in authority.schemas:
        raise StatementFailed("3F000", f'schema "{name}" does not exist')
    return authority.schemas[name]


def look_up_relation(authority: Authority, role: str | None, written: Written) -> Relation | None:
    """Return the relation, or None when `role` can see none of that name.

    Without a role, USAGE of schemas is not checked: it was checked when the name was written.

    Raises:
        StatementFailed: 3F000 the named schema does not exist; 42501, it may not be used.
    """
    schema, name = written
    if role is None:
        return authority.relations.get((schema or DEFAULT_SCHEMA, name))
    if schema is None:
        own = authority.relations.get((TEMPORARY, name))
        if own is not None:
            return own
        if not schema_privilege(authority, role, DEFAULT_SCHEMA, Privilege.USAGE):
            return None
        return authority.relations.get((DEFAULT_SCHEMA, name))
    find_named_schema(authority, schema)
    decision = schema_privilege(authority, role, schema, Privilege.USAGE)
    if not decision:
        raise AccessDenied(f"permission denied for schema {schema}", reason=decision.reason)
    return authority.relations.get((schema, name))


def format_written_name(written: Written) -> str:
    """Return a name as it was written."""
    return ".".join(part for part in written if part is not None)


def find_relation(authority: Authority, role: str | None, written: Written) -> Relation:
    """Return a relation, or fail with 42P01."""
    found = look_up_relation(authority, role, written)
    if found is None:
        raise StatementFailed("42P01", f'relation "{format_written_name(written)}" does not exist')
    return found


def find_owned(authority: Authority, role: str, written: Written) -> Relation:
    """Return a relation that `role` owns, directly or by membership, or fail."""
    relation = find_relation(authority, role, written)
    need_owner(authority, role, relation)
    return relation


def need_owner(authority: Authority, role: str, relation: Relation) -> None:
    """Refuse a role that does not own a relation."""
    if not owns(authority, role, relation):
        raise AccessDenied(
            f"must be owner of {KIND_NAMES[relation.kind]} {relation.name}",
            reason=f"{role} does not have the rights of {relation.owner}",
        )


def need_table(relation: Relation) -> None:
    """Refuse a view where a table is needed."""
    if relation.kind != "table":
        raise StatementFailed("42809", f'"{relation.name}" is not a table')


def creation_schema(authority: Authority, role: str, schema: str | None) -> str:
    """Return the schema to create in, or fail when `role` may not create there."""
    if schema == TEMPORARY:
        return schema
    if schema is None:
        if not schema_privilege(authority, role, DEFAULT_SCHEMA, Privilege.USAGE):
            raise StatementFailed("3F000", "no schema has been selected to create in")
        schema = DEFAULT_SCHEMA
    find_named_schema(authority, schema)
    decision = schema_privilege(authority, role, schema, Privilege.CREATE)
    if not decision:
        raise AccessDenied(f"permission denied for schema {schema}", reason=decision.reason)
    return schema
