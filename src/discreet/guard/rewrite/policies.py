"""Conditions on the rows that a role may read and write, and masks of columns, as trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.engines.databases.database import EngineTraits
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    Authority,
    Relation,
    RowPolicy,
    Subject,
)
from discreet.guard.access.decide import has_privs_of, is_superuser
from discreet.guard.rewrite.adapt import make_total
from discreet.guard.rewrite.allowed import check_allowed
from discreet.guard.rewrite.analysis import ExpressionContext, StatementAnalysis, infer_type
from discreet.guard.rewrite.expressions import check_condition, settle_text
from discreet.guard.rewrite.joins import relation_fields
from discreet.guard.rewrite.normalize import normalize_tree
from discreet.guard.rewrite.scope import RangeTableEntry, Scope, visible_fields
from discreet.guard.statements.dialect import ClientPostgres
from discreet.sql import build

Right = Literal["SELECT", "INSERT", "UPDATE", "DELETE"]


def is_exempt(authority: Authority, role: str, relation: Relation) -> bool:
    """Whether `role` bypasses row policies, as PostgreSQL's owners and superusers do."""
    if not relation.row_security or is_superuser(authority, role):
        return True
    found = authority.roles.get(role)
    if found is not None and found.bypassrls:
        return True
    return has_privs_of(authority, role, relation.owner) and not relation.force_row_security


def require_filtering(reading: StatementAnalysis, relation: Relation, what: str) -> None:
    """Refuse to filter a relation in a session that wants all rows or an error.

    Raises:
        AccessDenied: 42501, `row_security` is off.
    """
    if reading.subject.settings.get("row_security") == "off":
        raise AccessDenied(
            f'query would be affected by {what} for table "{relation.name}"',
            reason="row_security is off",
            hint="SET row_security = on, to see the permitted rows.",
        )


def _policy_applies(authority: Authority, role: str, policy: RowPolicy, right: Right) -> bool:
    if policy.command not in ("ALL", right):
        return False
    return any(one == PUBLIC or has_privs_of(authority, role, one) for one in policy.roles)


def has_policies(authority: Authority, role: str, relation: Relation) -> bool:
    """Whether a policy restricts the rows of a relation that `role` reads."""
    return bool(policies_on(authority, role, relation))


def policies_on(
    authority: Authority, role: str, relation: Relation, right: Right = "SELECT"
) -> tuple[RowPolicy, ...]:
    """Return the policies that restrict the rows of a relation for `role`, none if it is exempt."""
    if is_exempt(authority, role, relation):
        return ()
    return tuple(
        policy for policy in relation.policies if _policy_applies(authority, role, policy, right)
    )


def row_condition(
    reading: StatementAnalysis,
    relation: Relation,
    right: Right,
    *,
    handle: str,
    finish: Callable[[StatementAnalysis, exp.Expr], exp.Expr],
    is_new: bool = False,
) -> exp.Expr | None:
    """Return the condition on readable or writable rows of a relation, None for all of them.

    Permissive policies are alternatives, restrictive ones all hold, and without a permissive one
    there are no rows. `is_new` is for rows after a write (WITH CHECK). `finish` substitutes what may
    be read for relations that a policy queries.
    """
    if is_exempt(reading.authority, reading.role, relation):
        return None
    require_filtering(reading, relation, "row-level security policy")
    found = [
        policy
        for policy in relation.policies
        if _policy_applies(reading.authority, reading.role, policy, right)
    ]

    def conditions(*, permissive: bool) -> list[exp.Expr]:
        texts = [
            (policy.check or policy.using) if is_new else policy.using
            for policy in found
            if policy.permissive == permissive
        ]
        return [
            exp.Paren(
                this=row_expression(
                    reading, relation, text, role=reading.role, handle=handle, finish=finish
                )
            )
            for text in texts
            if text is not None
        ]

    allowed = conditions(permissive=True)
    if not allowed:
        return exp.false()  # restrictive policies do not matter then, as in PostgreSQL
    return build.all_of([exp.Paren(this=build.any_of(allowed)), *conditions(permissive=False)])


def row_expression(
    reading: StatementAnalysis,
    relation: Relation,
    text: str,
    *,
    role: str,
    handle: str,
    finish: Callable[[StatementAnalysis, exp.Expr], exp.Expr],
    is_condition: bool = True,
    is_stored: bool = True,
) -> exp.Expr:
    """Return an expression over a row of a relation, as its owner wrote it.

    The row is named `handle`. Other relations are read with the privileges of `role`, while
    current_user stays the sender.
    """
    step = ("policy", relation.key)
    holder = exp.Where(
        this=reading.work.definition(parse_stored(text, "an expression of a policy"))
    )
    if step in reading.trail and holder.find(exp.Query) is not None:
        raise StatementFailed(
            "42P17", f'infinite recursion detected in policy for relation "{relation.name}"'
        )
    inner = replace(reading.stored(role, step), is_stored=is_stored)
    entry = RangeTableEntry(
        relation.name, handle, relation_fields(relation), relation, relation.schema
    )
    place = ExpressionContext(
        Scope(entries=[entry], columns=visible_fields(entry)), "policy expressions"
    )
    if is_condition:
        check_condition(inner, holder.this, place, "POLICY")
    else:
        settle_text(inner, holder.this, infer_type(inner, holder.this, place))
    if entry.is_whole:
        raise StatementFailed("0A000", "a policy cannot name its row as a whole")
    finished = finish(inner, holder)
    # An error would reveal a hidden cell. NULL hides the row, or the masked cell.
    make_total(finished, reading.traits)
    return finished.this.pop()


def check_rule(
    text: str,
    relation: Relation,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    is_condition: bool,
) -> None:
    """Refuse a policy or mask, when it is defined, that names a missing relation or column.

    Otherwise the creator of the missing relation would later decide who sees what.

    Raises:
        StatementFailed: As the expression fails: 42P01, 42703, 42804 and so on.
    """
    reading = StatementAnalysis(authority, subject, relation.owner, traits, has_parameters=False)
    row_expression(
        reading,
        relation,
        text,
        role=relation.owner,
        handle=reading.handles.new(relation.name),
        finish=lambda _, tree: tree,  # privileges are checked when it is used
        is_condition=is_condition,
        is_stored=False,
    )


def parse_stored(text: str, what: str) -> exp.Expr:
    """Return a text that was checked at its definition, as a tree that is checked again."""
    try:
        tree = parse_one(text, dialect=ClientPostgres)
    except (SqlglotError, RecursionError):
        tree = None
    if tree is None:
        raise StatementFailed("XX000", f"internal error: {what} cannot be read")
    check_allowed(tree)
    return normalize_tree(tree)
