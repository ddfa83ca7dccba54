"""What a role may do with a relation, rule by rule, in the words of the rules themselves."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.answer.wording import format_amounts
from discreet.formatting import join_names
from discreet.guard.access.authority import Authority, Privilege, Relation
from discreet.guard.access.decide import any_column_privilege, budgets_on, mask_of, privilege_on
from discreet.guard.access.reach import is_superuser
from discreet.guard.rewrite.policies import is_exempt, policies_on

_WRITES = (Privilege.INSERT, Privilege.UPDATE, Privilege.DELETE)


@dataclass(frozen=True)
class AccessRule:
    """One rule, whether it allows something, forbids it, or changes what is seen."""

    name: str
    effect: str  # allowed, denied or limited
    words: str
    sql: str = ""


def readable_columns(authority: Authority, role: str, relation: Relation) -> list[str]:
    """Return the columns that a role has SELECT on."""
    return [
        column.name
        for column in relation.columns
        if privilege_on(authority, role, relation, Privilege.SELECT, column.name)
    ]


def summarize_access(authority: Authority, role: str, relation: Relation) -> str:
    """Return in few words what a role sees of a relation; empty if nothing."""
    parts: list[str] = []
    columns = readable_columns(authority, role, relation)
    if columns:
        is_limited = not is_exempt(authority, role, relation)
        rows = "some rows" if is_limited else "all rows"
        rows = "rows by label" if relation.multilevel else rows
        share = "" if len(columns) == len(relation.columns) else f", {len(columns)} columns"
        parts.append(rows + share)
        if any(mask_of(authority, role, relation, name) for name in columns):
            parts.append("masks")
    budgets = budgets_on(authority, role, relation)
    if budgets and not is_superuser(authority, role):
        parts.append(f"aggregates, ε {budgets[0][1].epsilon}")
    if any(any_column_privilege(authority, role, relation, one) for one in _WRITES):
        parts.append("changes")
    return ", ".join(parts)


def list_rules(authority: Authority, role: str, relation: Relation) -> list[AccessRule]:
    """Return the rules that decide what a role sees of a relation, in the order they are applied."""
    rules = _list_rights(authority, role, relation)
    if not any(rule.effect == "allowed" for rule in rules):
        return rules
    return [
        *rules,
        *_list_policies(authority, role, relation),
        *_list_masks(authority, role, relation),
    ]


def _list_rights(authority: Authority, role: str, relation: Relation) -> list[AccessRule]:
    whole = privilege_on(authority, role, relation, Privilege.SELECT)
    columns = readable_columns(authority, role, relation)
    if whole:
        rules = [AccessRule("SELECT", "allowed", whole.reason)]
    elif columns:
        reason = privilege_on(authority, role, relation, Privilege.SELECT, columns[0]).reason
        hidden = [column.name for column in relation.columns if column.name not in columns]
        rules = [
            AccessRule("SELECT on columns", "allowed", f"{join_names(columns)}: {reason}"),
            AccessRule("Other columns", "denied", f"no SELECT on {join_names(hidden)}"),
        ]
    else:
        rules = [AccessRule("SELECT", "denied", whole.reason)]
    for payer, budget in budgets_on(authority, role, relation):
        amounts = format_amounts(float(budget.epsilon), float(budget.delta))
        words = f"{payer or 'PUBLIC'} may ask for aggregates, {amounts} in all"
        rules.append(AccessRule("AGGREGATE", "allowed", words))
    rules += [
        AccessRule("Control", "limited", f"exact aggregates under {control.name}")
        for control in relation.controls
        if not is_superuser(authority, role)
    ]
    return rules


def _list_policies(authority: Authority, role: str, relation: Relation) -> list[AccessRule]:
    if relation.multilevel:
        clearance = authority.roles[role].clearance
        words = f"cleared for {clearance}" if clearance else "without a clearance"
        return [AccessRule("Labels", "limited", f"{role} is {words}")]
    if not relation.row_security:
        return [AccessRule("Row security", "allowed", "is not on for this table: all rows")]
    if is_exempt(authority, role, relation):
        return [AccessRule("Row security", "allowed", f"does not apply to {role}")]
    found = policies_on(authority, role, relation)
    if not any(policy.permissive for policy in found):
        return [AccessRule("Row security", "denied", "no policy permits a row")]
    return [
        AccessRule(
            f"Row policy {policy.name}",
            "limited",
            "one of these must hold" if policy.permissive else "must hold",
            policy.using or "true",
        )
        for policy in found
    ]


def _list_masks(authority: Authority, role: str, relation: Relation) -> list[AccessRule]:
    masks = [
        (name, mask_of(authority, role, relation, name))
        for name in readable_columns(authority, role, relation)
    ]
    return [
        AccessRule(f"Mask {mask.name}", "limited", f"instead of {name}", mask.expression)
        for name, mask in masks
        if mask is not None
    ]
