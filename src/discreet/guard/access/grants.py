"""GRANT and REVOKE on relations, columns and schemas, all or nothing.

The rules are those of PostgreSQL 16 (src/backend/catalog/aclchk.c). In the scope `owner`, a revoke
by the owner removes the privilege, whichever role granted it; in the scope `grantor`, only what the
role granted itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.acl import (
    OWNER_PRIVILEGES,
    AccessControlList,
    Acl,
    add_entry,
    best_grantor,
    find_privilege_entry,
    may_grant,
    remove_entry,
)
from discreet.guard.access.authority import (
    COLUMN_PRIVILEGES,
    DEFAULT_SCHEMA,
    PUBLIC,
    SCHEMA_PRIVILEGES,
    SEQUENCE_PRIVILEGES,
    TABLE_PRIVILEGES,
    AclEntry,
    Allowance,
    DatabaseSchema,
    Privilege,
    Relation,
)
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.decide import (
    column_acl,
    relation_acl,
    schema_acl,
    schema_privilege,
)
from discreet.guard.access.names import (
    KIND_NAMES,
    find_named_role,
    find_named_schema,
    find_relation,
)
from discreet.guard.access.orphans import remove_orphaned_rights
from discreet.guard.statements.rights import Grant, Revoke

_AGGREGATE = frozenset({Privilege.AGGREGATE})


@dataclass(frozen=True)
class _GrantAction:
    """The effect of a GRANT or REVOKE on each access control list it concerns."""

    grantees: tuple[str, ...]
    is_grant: bool
    option: bool
    cascade: bool = False
    budget: Allowance | None = None


def grant(change: AuthorityChange, statement: Grant) -> AuthorityChange:
    """GRANT rights ON … TO grantees."""
    _check_budget(statement)
    order = _GrantAction((), is_grant=True, option=statement.grant_option, budget=statement.budget)
    return _on_all(change, statement, order)


def revoke(change: AuthorityChange, statement: Revoke) -> AuthorityChange:
    """REVOKE rights ON … FROM grantees."""
    order = _GrantAction(
        (), is_grant=False, option=statement.option_only, cascade=statement.cascade
    )
    return _on_all(change, statement, order)


def grant_in_schema(
    change: AuthorityChange, privilege: Privilege, grantees: Sequence[str], *, is_grant: bool
) -> AuthorityChange:
    """Grant or revoke one privilege on the default schema: the seed's GRANT CREATE TABLE."""
    names = tuple(find_named_role(change.authority, change.subject, name).name for name in grantees)
    order = _GrantAction(names, is_grant=is_grant, option=False)
    schema = find_named_schema(change.authority, DEFAULT_SCHEMA)
    return _on_schema(change, schema, frozenset({privilege}), order, said_all=False)


def _need_own_name(change: AuthorityChange, statement: Grant | Revoke) -> None:
    """Refuse GRANTED BY another role; the grantor of privileges on objects is determined."""
    if statement.grantor is not None:
        grantor = find_named_role(change.authority, change.subject, statement.grantor).name
        if grantor != change.role:
            raise StatementFailed("0A000", "grantor must be current user")


def _resolve_grantees(change: AuthorityChange, statement: Grant | Revoke) -> tuple[str, ...]:
    return tuple(
        PUBLIC if name == PUBLIC else find_named_role(change.authority, change.subject, name).name
        for name in statement.grantees
    )


def _check_budget(statement: Grant) -> None:
    wants = any(right.privilege == Privilege.AGGREGATE for right in statement.rights)
    if wants and statement.budget is None:
        raise StatementFailed(
            "0LP01",
            "AGGREGATE needs a budget",
            hint="Write: GRANT AGGREGATE ON … TO … WITH BUDGET (EPSILON 1, DELTA 1e-6).",
        )
    if wants and statement.grant_option:
        raise StatementFailed(
            "0LP01",
            "AGGREGATE cannot be granted with grant option",
            hint="A budget that is granted on would be spent more than once; let the owner grant it.",
        )
    if statement.budget is not None and not wants:
        raise StatementFailed("0LP01", "only AGGREGATE has a budget")


def _on_all(
    change: AuthorityChange, statement: Grant | Revoke, order: _GrantAction
) -> AuthorityChange:
    _need_own_name(change, statement)
    if statement.schemas and not statement.all_in_schema:
        schemas = [find_named_schema(change.authority, name) for name in statement.schemas]
        order = replace(order, grantees=_resolve_grantees(change, statement))
        wanted, said_all = _whole_privileges(statement, SCHEMA_PRIVILEGES, "schema")
        for schema in schemas:
            current = change.authority.schemas[schema.name]
            change = _on_schema(change, current, wanted, order, said_all=said_all)
        return change
    keys = [relation.key for relation in _find_relations(change, statement)]
    order = replace(order, grantees=_resolve_grantees(change, statement))
    for key in keys:
        relation = change.authority.relations[key]
        is_sequence = relation.kind == "sequence"
        valid = SEQUENCE_PRIVILEGES if is_sequence else TABLE_PRIVILEGES
        what = "sequence" if is_sequence else "relation"
        whole = _whole_privileges(statement, valid, what)
        change = _on_relation(change, relation, statement, order, whole)
    return change


def _find_relations(change: AuthorityChange, statement: Grant | Revoke) -> Iterable[Relation]:
    authority = change.authority
    if not statement.all_in_schema:
        found = [find_relation(authority, change.role, name) for name in statement.relations]
        for relation in found:
            if statement.of_sequences and relation.kind != "sequence":
                raise StatementFailed("42809", f'"{relation.name}" is not a sequence')
        return found
    for name in statement.schemas:
        find_named_schema(authority, name)
        decision = schema_privilege(authority, change.role, name, Privilege.USAGE)
        if not decision:
            raise AccessDenied(f"permission denied for schema {name}", reason=decision.reason)
    found = [
        one
        for one in authority.relations.values()
        if one.schema in statement.schemas and (one.kind == "sequence") == statement.of_sequences
    ]
    return sorted(found, key=lambda relation: relation.kind != "table")  # tables come first


def _whole_privileges(
    statement: Grant | Revoke, valid: Sequence[Privilege], what: str
) -> tuple[frozenset[Privilege], bool]:
    """Return the privileges that are meant for whole objects, and whether ALL was given."""
    wanted: set[Privilege] = set()
    said_all = False
    for right in statement.rights:
        if right.columns:
            if what != "relation":
                raise StatementFailed("0LP01", "column privileges are only valid for relations")
        elif right.privilege is None:
            said_all = True
            wanted |= set(valid) - _AGGREGATE
            if isinstance(statement, Revoke) and what == "relation":
                wanted |= _AGGREGATE
        elif right.privilege not in valid:
            raise StatementFailed("0LP01", f"invalid privilege type {right.privilege} for {what}")
        else:
            wanted.add(right.privilege)
    return frozenset(wanted), said_all


def _column_privileges(
    relation: Relation,
    statement: Grant | Revoke,
    whole: frozenset[Privilege],
) -> dict[str, set[Privilege]]:
    """Return which privileges of which columns are meant.

    Revoking a privilege on the table revokes it on its columns.
    """
    wanted: dict[str, set[Privilege]] = {column.name: set() for column in relation.columns}
    if isinstance(statement, Revoke):
        for privileges in wanted.values():
            privileges.update(whole & set(COLUMN_PRIVILEGES))
    for right in statement.rights:
        meant = set(COLUMN_PRIVILEGES) if right.privilege is None else {right.privilege}
        if right.columns and not meant <= set(COLUMN_PRIVILEGES):
            raise StatementFailed("0LP01", f"invalid privilege type {right.privilege} for column")
        _need_columns(relation, right.columns)
        for name in right.columns:
            wanted[name] |= meant
    return wanted


def _need_columns(relation: Relation, names: Iterable[str]) -> None:
    for name in names:
        if relation.column(name) is None:
            raise StatementFailed(
                "42703", f'column "{name}" of relation "{relation.name}" does not exist'
            )


def _on_relation(
    change: AuthorityChange,
    relation: Relation,
    statement: Grant | Revoke,
    order: _GrantAction,
    whole: tuple[frozenset[Privilege], bool],
) -> AuthorityChange:
    wanted, said_all = whole
    untouched = relation
    before = relation_acl(change.authority, relation)
    after = before
    about = f'"{relation.name}"'
    if wanted - _AGGREGATE:
        change, allowed, grantor = _restrict_privileges(
            change,
            before,
            wanted - _AGGREGATE,
            order,
            said_all=said_all,
            about=about,
            denied=(
                (*OWNER_PRIVILEGES, Privilege.USAGE),
                f"permission denied for {_object_kind(relation)} {relation.name}",
            ),
        )
        after = _apply_privileges(change, after, allowed, grantor, order)
    if wanted & _AGGREGATE:
        change, allowed, grantor = _restrict_privileges(
            change,
            before,
            _AGGREGATE,
            order,
            said_all=said_all,
            about=about,
            denied=(
                TABLE_PRIVILEGES,
                f"permission denied for {_object_kind(relation)} {relation.name}",
            ),
        )
        after = _apply_privileges(change, after, allowed, grantor, order)
    if wanted:
        relation = replace(relation, acl=after.entries)
    columns = _column_privileges(relation, statement, wanted)
    if not order.is_grant and relation.kind == "table" and wanted & set(COLUMN_PRIVILEGES):
        _need_right_beyond_columns(change, relation, before, wanted & set(COLUMN_PRIVILEGES))
    for name, privileges in columns.items():
        if privileges:
            change, relation = _on_column(
                change, relation, name, frozenset(privileges), before, order
            )
    if not order.is_grant and change.scope == "owner":
        relation = remove_orphaned_rights(
            change.authority, untouched, relation, cascade=order.cascade
        )
    return change.with_relation(relation)


def _need_right_beyond_columns(
    change: AuthorityChange,
    relation: Relation,
    table: AccessControlList,
    wanted: frozenset[Privilege],
) -> None:
    """Refuse REVOKE on a table to roles that only have privileges on single columns of it.

    PostgreSQL revokes from every column, including system columns, on which privileges exist
    through the table alone.
    """
    grantor, allowed = best_grantor(table, change.role, wanted)
    if not allowed and not _has_any(table, grantor, COLUMN_PRIVILEGES):
        raise AccessDenied(
            f"permission denied for table {relation.name}",
            reason=f"{change.role} has rights on columns of {relation.name} only",
        )


def _has_any(listed: AccessControlList, role: str, privileges: Sequence[Privilege]) -> bool:
    return any(
        may_grant(listed, role, one) or find_privilege_entry(listed, role, one)
        for one in privileges
    )


def _object_kind(relation: Relation) -> str:
    return KIND_NAMES[relation.kind]


def _on_column(
    change: AuthorityChange,
    relation: Relation,
    name: str,
    privileges: frozenset[Privilege],
    table: AccessControlList,
    order: _GrantAction,
) -> tuple[AuthorityChange, Relation]:
    column = relation.column(name)
    if column is None:
        return change, relation
    own = column_acl(change.authority, relation, column)
    # A grant option on the table covers its columns.
    both = own.with_entries((*table.entries, *own.entries))
    change, allowed, grantor = _restrict_privileges(
        change,
        both,
        privileges,
        order,
        said_all=privileges == frozenset(COLUMN_PRIVILEGES),
        about=f'column "{name}" of relation "{relation.name}"',
        denied=(
            COLUMN_PRIVILEGES,
            f'permission denied for column "{name}" of relation "{relation.name}"',
        ),
    )
    acl = _apply_privileges(change, own, allowed, grantor, order).entries
    columns = tuple(replace(c, acl=acl) if c.name == name else c for c in relation.columns)
    return change, replace(relation, columns=columns)


def _on_schema(
    change: AuthorityChange,
    schema: DatabaseSchema,
    wanted: frozenset[Privilege],
    order: _GrantAction,
    *,
    said_all: bool,
) -> AuthorityChange:
    before = schema_acl(change.authority, schema)
    change, allowed, grantor = _restrict_privileges(
        change,
        before,
        wanted,
        order,
        said_all=said_all,
        about=f'"{schema.name}"',
        denied=(SCHEMA_PRIVILEGES, f"permission denied for schema {schema.name}"),
    )
    acl: Acl = _apply_privileges(change, before, allowed, grantor, order).entries
    return change.with_schema(replace(schema, acl=acl))


def _restrict_privileges(
    change: AuthorityChange,
    listed: AccessControlList,
    wanted: frozenset[Privilege],
    order: _GrantAction,
    *,
    said_all: bool,
    about: str,
    denied: tuple[Sequence[Privilege], str],
) -> tuple[AuthorityChange, frozenset[Privilege], str]:
    """Return which privileges may be granted or revoked, by which role, and the notices.

    A role without any privilege on the object is refused; one with some privileges gets a warning
    that nothing was done.
    """
    grantor, allowed = best_grantor(listed, change.role, wanted)
    if not allowed and not is_implied_aggregate(wanted, said_all=said_all):
        every, text = denied
        if not _has_any(listed, grantor, every):
            raise AccessDenied(text, reason=f"{change.role} has no right on {about}")
    done = "were granted" if order.is_grant else "could be revoked"
    sqlstate = "01007" if order.is_grant else "01006"
    if not allowed and not is_implied_aggregate(wanted, said_all=said_all):
        change = change.with_notice("WARNING", f"no privileges {done} for {about}", sqlstate)
    elif allowed and allowed != wanted and not said_all:
        change = change.with_notice("WARNING", f"not all privileges {done} for {about}", sqlstate)
    return change, allowed, grantor


def is_implied_aggregate(wanted: frozenset[Privilege], *, said_all: bool) -> bool:
    """Whether AGGREGATE came along with REVOKE ALL: this needs no warning."""
    return said_all and wanted == _AGGREGATE


def _apply_privileges(
    change: AuthorityChange,
    listed: AccessControlList,
    privileges: frozenset[Privilege],
    grantor: str,
    order: _GrantAction,
) -> AccessControlList:
    if order.is_grant and order.option and PUBLIC in order.grantees:
        raise StatementFailed("0LP01", "grant options can only be granted to roles")
    for grantee in order.grantees:
        for privilege in sorted(privileges):
            entry = AclEntry(grantee, grantor, privilege, grantable=order.is_grant and order.option)
            if order.is_grant:
                budget = order.budget if privilege == Privilege.AGGREGATE else None
                listed = add_entry(listed, entry, budget=budget)
            else:
                listed = _revoke_entry(change, listed, entry, order)
    return listed


def _revoke_entry(
    change: AuthorityChange, listed: AccessControlList, entry: AclEntry, order: _GrantAction
) -> AccessControlList:
    grantors = [entry.grantor]
    if change.scope == "owner" and entry.grantor == listed.owner:
        grantors += [
            other.grantor
            for other in listed.entries
            if (other.grantee, other.privilege) == (entry.grantee, entry.privilege)
            and other.grantor != entry.grantor
        ]
    for grantor in grantors:
        listed = remove_entry(
            listed, replace(entry, grantor=grantor), option_only=order.option, cascade=order.cascade
        )
    return listed
