"""Column privileges that depended on a revoked grant option for the whole table.

PostgreSQL 16 leaves them: the holder of the option granted a column, and the owner's REVOKE … CASCADE
on the table does not reach it. Where the owner decides (`revoke_scope = owner`), they are revoked.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import StatementFailed
from discreet.guard.access.acl import AccessControlList, may_grant, remove_entry
from discreet.guard.access.authority import AclEntry, Authority, Relation, RelationColumn
from discreet.guard.access.decide import column_acl, relation_acl


def remove_orphaned_rights(
    authority: Authority, before: Relation, after: Relation, *, cascade: bool
) -> Relation:
    """Return a relation after a REVOKE without the column privileges that it orphaned.

    Raises:
        StatementFailed: 2BP01, there are such privileges, and `cascade` was not given.
    """
    columns = tuple(
        _remove_column_orphans(authority, before, after, column, cascade=cascade)
        for column in after.columns
    )
    return replace(after, columns=columns)


def _remove_column_orphans(
    authority: Authority,
    before: Relation,
    after: Relation,
    column: RelationColumn,
    *,
    cascade: bool,
) -> RelationColumn:
    while True:
        old, now = _combined_acl(authority, before, column), _combined_acl(authority, after, column)
        orphan = next((entry for entry in column.acl if _is_orphan(old, now, entry)), None)
        if orphan is None:
            return column
        if not cascade:
            raise StatementFailed(
                "2BP01", "dependent privileges exist", hint="Use CASCADE to revoke them too."
            )
        own = column_acl(authority, after, column)
        left = remove_entry(own, orphan, option_only=False, cascade=True)
        column = replace(column, acl=left.entries)


def _combined_acl(
    authority: Authority, relation: Relation, column: RelationColumn
) -> AccessControlList:
    """Return the privileges on a relation together with those that a column now has."""
    table = relation_acl(authority, relation)
    return table.with_entries((*table.entries, *column.acl))


def _is_orphan(old: AccessControlList, now: AccessControlList, entry: AclEntry) -> bool:
    """Whether the grantor could grant it until this change and no longer can."""
    return may_grant(old, entry.grantor, entry.privilege) and not may_grant(
        now, entry.grantor, entry.privilege
    )
