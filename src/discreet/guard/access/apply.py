"""Apply any statement that changes the authority, and return the next authority."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from discreet.errors import AccessDenied, Bug
from discreet.guard.access import (
    attached,
    exclusions,
    grants,
    indexes,
    labels,
    memberships,
    relations,
    roles,
    schemas,
    sequences,
)
from discreet.guard.access.alter_table import alter_table
from discreet.guard.access.authority import (
    Authority,
    Privilege,
    RelationColumn,
    RevokeScope,
    Subject,
)
from discreet.guard.access.change import AuthorityChange, ChangeNotice
from discreet.guard.statements import objects, rights
from discreet.guard.statements.statement import Statement


@dataclass(frozen=True)
class AppliedStatement:
    """The authority after a statement, and the notices for the client."""

    authority: Authority
    notices: tuple[ChangeNotice, ...] = ()


def apply(
    authority: Authority,
    statement: Statement,
    subject: Subject,
    *,
    revoke_scope: RevokeScope = "owner",
    columns: Sequence[RelationColumn] = (),
    catalog: tuple[str, ...] = (),
) -> AppliedStatement:
    """Return the authority after a statement of `rights` or `objects`, or fail and change nothing.

    `columns` are those of the query of CREATE VIEW or CREATE TABLE AS. `catalog` is the engine's
    prefix of schema and table. Passwords are not stored here.

    Raises:
        StatementFailed: with PostgreSQL's SQLSTATE; `AccessDenied` when a privilege is missing.
    """
    if subject.role not in authority.roles:
        raise AccessDenied("permission denied", reason=f"there is no role {subject.role}")
    change = AuthorityChange(authority, subject, revoke_scope)
    if isinstance(statement, objects.CreateTable):
        change = relations.create_table(change, statement, columns, catalog)
    elif isinstance(statement, objects.CreateView):
        change = relations.create_view(change, statement, columns)
    else:
        change = _dispatch_statement(change, statement)
    changed = change.authority
    if changed == authority:
        return AppliedStatement(authority, change.notices)
    if changed.memberships != authority.memberships or changed.exclusions != authority.exclusions:
        exclusions.need_separation(changed)
    change = _warn_of_lapsed_triggers(change, authority)
    return AppliedStatement(replace(changed, version=authority.version + 1), change.notices)


def _warn_of_lapsed_triggers(change: AuthorityChange, before: Authority) -> AuthorityChange:
    """Warn of triggers whose privileges this change removes: writes fail until they are dropped."""
    now = attached.find_lapsed_triggers(change.authority)
    for name, trigger in sorted(
        now.keys() - attached.find_lapsed_triggers(before).keys() if now else ()
    ):
        change = change.with_notice(
            "WARNING",
            f'trigger "{trigger}" for table "{name[1]}" lost the rights it was attached with: '
            "statements that fire it fail until the table's owner drops it",
            "01000",
        )
    return change


def _dispatch_statement(change: AuthorityChange, statement: Statement) -> AuthorityChange:
    if isinstance(statement, objects.AlterOwner):
        if statement.schema is not None:
            return schemas.alter_schema_owner(change, statement.schema, statement.owner)
        if statement.relation is not None:
            return relations.alter_owner(change, statement.relation, statement)
    step = _STEPS.get(type(statement))
    if step is None:
        raise Bug(f"{type(statement).__name__} changes no rights. Please report this.")
    return step(change, statement)


def _grant_system(change: AuthorityChange, statement: rights.GrantSystem) -> AuthorityChange:
    """The seed's GRANT CREATE USER | CREATE TABLE as PostgreSQL's attribute and privilege."""
    if statement.right == "create table":
        return grants.grant_in_schema(
            change, Privilege.CREATE, statement.grantees, is_grant=not statement.revoke
        )
    for name in statement.grantees:
        wanted = rights.AlterRole(name, {"createrole": not statement.revoke})
        change = roles.alter_role(change, wanted)
    return change


_STEPS: dict[type[Statement], Callable[..., AuthorityChange]] = {
    rights.CreateRole: roles.create_role,
    rights.AlterRole: roles.alter_role,
    rights.DropRole: roles.drop_role,
    rights.GrantRole: memberships.grant_role,
    rights.RevokeRole: memberships.revoke_role,
    rights.Grant: grants.grant,
    rights.Revoke: grants.revoke,
    rights.GrantSystem: _grant_system,
    rights.CreateExclusion: exclusions.create_exclusion,
    rights.DropExclusion: exclusions.drop_exclusion,
    objects.CreateSchema: schemas.create_schema,
    objects.DropSchema: schemas.drop_schema,
    objects.Drop: relations.drop_relation,
    objects.AlterTable: alter_table,
    objects.CreateSequence: sequences.create_sequence,
    objects.AlterSequence: sequences.alter_sequence,
    objects.AlterViewOptions: relations.alter_view_options,
    objects.CreateIndex: indexes.create_index,
    objects.DropIndex: indexes.drop_index,
    objects.RenameIndex: indexes.rename_index,
    objects.AlterRowSecurity: attached.alter_row_security,
    objects.CreatePolicy: attached.create_policy,
    objects.CommentOn: attached.comment_on,
    objects.AlterPolicy: attached.alter_policy,
    objects.CreateMask: attached.create_mask,
    objects.CreateControl: attached.create_control,
    objects.CreateTrigger: attached.create_trigger,
    objects.DropAttached: attached.drop_attached,
    objects.EncryptColumn: attached.set_column_encryption,
    objects.SecurityLabel: labels.apply_security_label,
}
