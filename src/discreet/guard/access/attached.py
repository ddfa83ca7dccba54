"""Objects attached to a table: policies, masks, controls, triggers, encrypted columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    Authority,
    ColumnMask,
    InferenceControl,
    Name,
    Privilege,
    Relation,
    RowPolicy,
    Trigger,
)
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.decide import Decision, owns, privilege_on
from discreet.guard.access.dependents import named_in, parse_stored_sql
from discreet.guard.access.names import (
    KIND_NAMES,
    find_named_role,
    find_owned,
    find_relation,
    need_owner,
    need_table,
)
from discreet.guard.statements.objects import (
    AlterPolicy,
    AlterRowSecurity,
    CommentOn,
    CreateControl,
    CreateMask,
    CreatePolicy,
    CreateTrigger,
    DropAttached,
    EncryptColumn,
)

Attached = RowPolicy | ColumnMask | InferenceControl | Trigger


def alter_row_security(change: AuthorityChange, statement: AlterRowSecurity) -> AuthorityChange:
    """ALTER TABLE … ROW LEVEL SECURITY."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    match statement.action:
        case "enable" | "disable":
            relation = replace(relation, row_security=statement.action == "enable")
        case "force" | "no force":
            relation = replace(relation, force_row_security=statement.action == "force")
    return change.with_relation(relation)


def comment_on(change: AuthorityChange, statement: CommentOn) -> AuthorityChange:
    """COMMENT ON; only the owner."""
    relation = find_owned(change.authority, change.role, statement.relation)
    text = statement.text_of_comment or None
    if statement.column is not None:
        _need_column(relation, statement.column)
        columns = tuple(
            replace(one, comment=text) if one.name == statement.column else one
            for one in relation.columns
        )
        return change.with_relation(replace(relation, columns=columns))
    if KIND_NAMES[relation.kind] != statement.kind:
        raise StatementFailed("42809", f'"{relation.name}" is not a {statement.kind}')
    return change.with_relation(replace(relation, comment=text))


def create_policy(change: AuthorityChange, statement: CreatePolicy) -> AuthorityChange:
    """CREATE POLICY; only the owner."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    policy = replace(statement.policy, roles=_resolve_roles(change, statement.policy.roles))
    if policy.command == "INSERT" and policy.using is not None:
        raise StatementFailed("42601", "only WITH CHECK expression allowed for INSERT")
    if policy.command in ("SELECT", "DELETE") and policy.check is not None:
        raise StatementFailed("42601", "WITH CHECK cannot be applied to SELECT or DELETE")
    _need_free(relation.policies, policy.name, "policy", relation)
    return change.with_relation(replace(relation, policies=(*relation.policies, policy)))


def alter_policy(change: AuthorityChange, statement: AlterPolicy) -> AuthorityChange:
    """ALTER POLICY; only the owner."""
    relation = find_owned(change.authority, change.role, statement.relation)
    found = next((one for one in relation.policies if one.name == statement.name), None)
    if found is None:
        raise StatementFailed(
            "42704", f'policy "{statement.name}" for table "{relation.name}" does not exist'
        )
    if statement.new is not None:
        _need_free(relation.policies, statement.new, "policy", relation)
        changed = replace(found, name=statement.new)
    else:
        if found.command == "INSERT" and statement.using is not None:
            raise StatementFailed("42601", "only WITH CHECK expression allowed for INSERT")
        if found.command in ("SELECT", "DELETE") and statement.check is not None:
            raise StatementFailed("42601", "only USING expression allowed for SELECT, DELETE")
        roles = statement.roles
        changed = replace(
            found,
            roles=found.roles if roles is None else _resolve_roles(change, roles),
            using=found.using if statement.using is None else statement.using,
            check=found.check if statement.check is None else statement.check,
        )
    policies = tuple(changed if one is found else one for one in relation.policies)
    return change.with_relation(replace(relation, policies=policies))


def create_mask(change: AuthorityChange, statement: CreateMask) -> AuthorityChange:
    """CREATE MASK; only the owner, and only of a table: a view shows the result of its query."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    mask = replace(statement.mask, roles=_resolve_roles(change, statement.mask.roles))
    _need_column(relation, mask.column)
    _need_free(relation.masks, mask.name, "mask", relation)
    return change.with_relation(replace(relation, masks=(*relation.masks, mask)))


def create_control(change: AuthorityChange, statement: CreateControl) -> AuthorityChange:
    """CREATE CONTROL; only the owner."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    control = replace(statement.control, roles=_resolve_roles(change, statement.control.roles))
    _need_free(relation.controls, control.name, "control", relation)
    return change.with_relation(replace(relation, controls=(*relation.controls, control)))


def create_trigger(change: AuthorityChange, statement: CreateTrigger) -> AuthorityChange:
    """CREATE TRIGGER; the owner, or a role with TRIGGER that sees the whole table anyway.

    Whether a condition holds can be observed from outside. So only the owner may query other tables
    in it, or this one past row policies, masks, labels or missing SELECT.
    """
    relation = find_relation(change.authority, change.role, statement.relation)
    need_table(relation)
    trigger = statement.trigger
    if not owns(change.authority, change.role, relation):
        decision = may_trigger(change.authority, change.role, relation, trigger)
        if not decision:
            text = f"permission denied for table {relation.name}"
            raise AccessDenied(text, reason=decision.reason)
        trigger = replace(trigger, maker=change.role)
    for name in trigger.columns:
        _need_column(relation, name)
    _need_free(relation.triggers, trigger.name, "trigger", relation)
    return change.with_relation(replace(relation, triggers=(*relation.triggers, trigger)))


def may_trigger(authority: Authority, role: str, relation: Relation, trigger: Trigger) -> Decision:
    """Decide whether a role may have a trigger on a relation: when it is attached, and when it fires."""
    if role in authority.roles and owns(authority, role, relation):
        return Decision(True, f"{role} has the rights of {relation.owner}")
    for privilege in (Privilege.TRIGGER, Privilege.SELECT):
        decision = privilege_on(authority, role, relation, privilege)
        if not decision:
            return decision
    hidden = relation.row_security or relation.masks or relation.multilevel
    if hidden or named_in(parse_stored_sql(trigger.condition)) - {relation.key}:
        return Decision(False, f"only {relation.owner} may use hidden data in a trigger")
    return Decision(True, f"{role} has TRIGGER and sees all of {relation.name}")


def find_lapsed_triggers(authority: Authority) -> dict[tuple[Name, str], str]:
    """Return the triggers whose creators could no longer attach them, and why."""
    found: dict[tuple[Name, str], str] = {}
    for relation in authority.relations.values():
        for trigger in relation.triggers:
            if trigger.maker is None:
                continue
            decision = may_trigger(authority, trigger.maker, relation, trigger)
            if not decision:
                found[relation.key, trigger.name] = decision.reason
    return found


def drop_attached(change: AuthorityChange, statement: DropAttached) -> AuthorityChange:
    """DROP POLICY | MASK | CONTROL | TRIGGER name ON table; only the owner."""
    relation = find_relation(change.authority, change.role, statement.relation)
    need_owner(change.authority, change.role, relation)
    there: dict[str, tuple[Attached, ...]] = {
        "policy": relation.policies,
        "mask": relation.masks,
        "control": relation.controls,
        "trigger": relation.triggers,
    }
    if statement.name not in {one.name for one in there[statement.kind]}:
        text = f'{statement.kind} "{statement.name}" for table "{relation.name}" does not exist'
        if not statement.if_exists:
            raise StatementFailed("42704", text)
        return change.with_notice("NOTICE", f"{text}, skipping")
    match statement.kind:
        case "policy":
            kept = tuple(one for one in relation.policies if one.name != statement.name)
            relation = replace(relation, policies=kept)
        case "mask":
            left = tuple(one for one in relation.masks if one.name != statement.name)
            relation = replace(relation, masks=left)
        case "control":
            rest = tuple(one for one in relation.controls if one.name != statement.name)
            relation = replace(relation, controls=rest)
        case "trigger":
            others = tuple(one for one in relation.triggers if one.name != statement.name)
            relation = replace(relation, triggers=others)
    return change.with_relation(relation)


def set_column_encryption(change: AuthorityChange, statement: EncryptColumn) -> AuthorityChange:
    """ALTER TABLE … ALTER COLUMN … SET ENCRYPTED WITH KEY k | DROP ENCRYPTED; only the owner."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    _need_column(relation, statement.column)
    columns = tuple(
        replace(column, key=statement.key) if column.name == statement.column else column
        for column in relation.columns
    )
    return change.with_relation(replace(relation, columns=columns))


def _resolve_roles(change: AuthorityChange, names: tuple[str, ...]) -> tuple[str, ...]:
    if PUBLIC in names:
        return (PUBLIC,)
    return tuple(find_named_role(change.authority, change.subject, name).name for name in names)


def _need_column(relation: Relation, name: str) -> None:
    if relation.column(name) is None:
        raise StatementFailed(
            "42703", f'column "{name}" of relation "{relation.name}" does not exist'
        )


def _need_free(there: Iterable[Attached], name: str, kind: str, relation: Relation) -> None:
    if name in {one.name for one in there}:
        raise StatementFailed(
            "42710", f'{kind} "{name}" for table "{relation.name}" already exists'
        )
