"""Decisions: whether a role may do something, and why; everything not granted is denied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.guard.access.acl import (
    AccessControlList,
    Acl,
    find_privilege_entry,
    schema_default,
    sequence_default,
    table_default,
)
from discreet.guard.access.authority import (
    OFFICER,
    PUBLIC,
    AclEntry,
    Allowance,
    Authority,
    ColumnMask,
    DatabaseSchema,
    Privilege,
    Relation,
    RelationColumn,
)
from discreet.guard.access.reach import (
    bootstrap,
    can_set,
    has_privs_of,
    is_admin_of,
    is_superuser,
    reach,
)

__all__ = [
    "Decision",
    "any_column_privilege",
    "any_privilege",
    "bootstrap",
    "budgets_on",
    "can_set",
    "has_privs_of",
    "is_admin_of",
    "is_officer",
    "is_superuser",
    "mask_of",
    "masked_columns",
    "owns",
    "privilege_on",
    "reach",
    "relation_acl",
    "schema_privilege",
]


@dataclass(frozen=True)
class Decision:
    """Allowed or not, and the reason for the journal and the custodian.

    >>> bool(Decision(False, "bob has no SELECT on patients"))
    False
    """

    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed


def relation_acl(authority: Authority, relation: Relation) -> AccessControlList:
    """Return the privileges on a relation, those of its owner written out."""
    default = sequence_default if relation.kind == "sequence" else table_default
    entries = default(relation.owner) if relation.acl is None else relation.acl
    return AccessControlList(authority, relation.owner, entries)


def column_acl(
    authority: Authority, relation: Relation, column: RelationColumn
) -> AccessControlList:
    """Return the privileges on one column alone."""
    return AccessControlList(authority, relation.owner, column.acl)


def schema_acl(authority: Authority, schema: DatabaseSchema) -> AccessControlList:
    """Return the privileges on a schema, those of its owner written out."""
    entries: Acl = schema_default(schema.owner) if schema.acl is None else schema.acl
    return AccessControlList(authority, schema.owner, entries)


def is_officer(authority: Authority, role: str) -> bool:
    """Whether `role` acts as security officer, who may set labels and declassify."""
    return OFFICER in authority.roles and has_privs_of(authority, role, OFFICER)


def owns(authority: Authority, role: str, thing: Relation | DatabaseSchema) -> bool:
    """Whether `role` has the rights of the owner of a relation or schema."""
    return has_privs_of(authority, role, thing.owner)


def _explain_grant(role: str, entry: AclEntry, what: str) -> str:
    whom = "everybody" if entry.grantee == PUBLIC else entry.grantee
    via = "" if entry.grantee in (PUBLIC, role) else f", of which {role} is a member"
    if entry.grantor == entry.grantee:
        return f"{whom} owns {what}{via}"
    return f"{whom} has {entry.privilege} on {what} from {entry.grantor}{via}"


def privilege_on(
    authority: Authority,
    role: str,
    relation: Relation,
    privilege: Privilege,
    column: str | None = None,
) -> Decision:
    """Decide about a privilege on a relation, or on one column of it, and name the grant used.

    >>> from discreet.guard.access.authority import Authority, Relation, DatabaseRole
    >>> t = Relation("public", "t", "table", "ann", ())
    >>> authority = Authority(roles={"ann": DatabaseRole("ann"), "bob": DatabaseRole("bob")})
    >>> privilege_on(authority, "ann", t, Privilege.SELECT).reason
    'ann owns t'
    >>> privilege_on(authority, "bob", t, Privilege.SELECT).reason
    'bob has no SELECT on t'
    """
    if role not in authority.roles:
        return Decision(False, f"there is no role {role}")
    if is_superuser(authority, role):
        return Decision(True, f"{role} is a superuser")
    entry = find_privilege_entry(relation_acl(authority, relation), role, privilege)
    if entry is not None:
        return Decision(True, _explain_grant(role, entry, relation.name))
    if column is None:
        return Decision(False, f"{role} has no {privilege} on {relation.name}")
    found = relation.column(column)
    what = f"{relation.name}.{column}"
    if found is not None:
        entry = find_privilege_entry(column_acl(authority, relation, found), role, privilege)
        if entry is not None:
            return Decision(True, _explain_grant(role, entry, what))
    return Decision(False, f"{role} has no {privilege} on {what}")


def any_column_privilege(
    authority: Authority, role: str, relation: Relation, privilege: Privilege
) -> Decision:
    """Decide about a privilege on a relation or on at least one of its columns, as count(*) needs."""
    decision = privilege_on(authority, role, relation, privilege)
    if decision:
        return decision
    for column in relation.columns:
        by_column = privilege_on(authority, role, relation, privilege, column.name)
        if by_column:
            return by_column
    return decision


def any_privilege(
    authority: Authority, role: str, relation: Relation, privileges: Iterable[Privilege]
) -> bool:
    """Whether `role` has one of some privileges on a relation or a column of it."""
    return any(any_column_privilege(authority, role, relation, one) for one in privileges)


def budgets_on(
    authority: Authority, role: str, relation: Relation
) -> tuple[tuple[str, Allowance], ...]:
    """Return the budgets of AGGREGATE that `role` may spend on a relation, and their holders.

    The role's own come first, then those of roles it inherits from, nearest first, then PUBLIC's.
    """
    if role not in authority.roles:
        return ()
    ways = (*reach(authority, role, "inherit"), PUBLIC)
    entries = relation_acl(authority, relation).entries
    return tuple(
        (entry.grantee, entry.budget)
        for grantee in ways
        for entry in entries
        if entry.grantee == grantee
        and entry.privilege == Privilege.AGGREGATE
        and entry.budget is not None
    )


def schema_privilege(
    authority: Authority, role: str, schema: str, privilege: Privilege
) -> Decision:
    """Decide about USAGE of or CREATE in a schema."""
    found = authority.schemas.get(schema)
    if found is None or role not in authority.roles:
        return Decision(False, f"{role} has no {privilege} on schema {schema}")
    if is_superuser(authority, role):
        return Decision(True, f"{role} is a superuser")
    entry = find_privilege_entry(schema_acl(authority, found), role, privilege)
    if entry is None:
        return Decision(False, f"{role} has no {privilege} on schema {schema}")
    return Decision(True, _explain_grant(role, entry, f"schema {schema}"))


def mask_of(authority: Authority, role: str, relation: Relation, column: str) -> ColumnMask | None:
    """Return the mask that `role` sees instead of a column; owners and superusers see the column."""
    if is_superuser(authority, role):
        return None
    if has_privs_of(authority, role, relation.owner) and not relation.force_row_security:
        return None
    roles = {PUBLIC, *reach(authority, role, "inherit")}
    masks = (mask for mask in relation.masks if mask.column == column)
    return next((mask for mask in masks if roles & set(mask.roles)), None)


def masked_columns(authority: Authority, role: str, relation: Relation) -> frozenset[str]:
    """Return the columns of which `role` sees only a mask."""
    return frozenset(
        column.name
        for column in relation.columns
        if mask_of(authority, role, relation, column.name) is not None
    )
