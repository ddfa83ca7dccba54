"""Dependents of a relation: views that read it, foreign keys to it, rules that query it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.authority import DEFAULT_SCHEMA, Authority, Name, Relation
from discreet.guard.access.change import AuthorityChange

if TYPE_CHECKING:
    from sqlglot import exp


def named_in(tree: exp.Expr) -> set[Name]:
    """Return the relations that a tree names, except those it defines itself in WITH.

    A name that is defined in one WITH and is a relation elsewhere in the tree counts as a relation.
    """
    return {(table.db or DEFAULT_SCHEMA, table.name) for table in base_tables(tree)}


def base_tables(tree: exp.Expr) -> list[exp.Table]:
    """Return the nodes of a tree that name relations."""
    from sqlglot import exp

    return [
        table
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier) and not _is_defined(table)
    ]


def _is_defined(table: exp.Table) -> bool:
    """Whether a WITH around the table defines its name."""
    from sqlglot import exp

    if table.db:
        return False
    node: exp.Expr | None = table
    while node is not None:
        inside: exp.Expr = node
        node = node.parent
        with_ = None if node is None else node.args.get("with_")
        if not isinstance(with_, exp.With) or with_ is inside:
            if isinstance(node, exp.With) and _defines_name(node, table.name, before=inside):
                return True
            continue
        if _defines_name(with_, table.name, before=None):
            return True
    return False


def _defines_name(with_: exp.With, name: str, *, before: exp.Expr | None) -> bool:
    """Whether one of the queries of WITH has a name; those after `before` are not visible yet."""
    for query in with_.expressions:
        if query is before and not with_.args.get("recursive"):
            return False
        if query.alias == name:
            return True
    return False


def parse_stored_sql(text: str) -> exp.Expr:
    """Return the tree of SQL that the authority holds."""
    from sqlglot import parse_one
    from sqlglot.optimizer.normalize_identifiers import normalize_identifiers

    from discreet.guard.statements.dialect import ClientPostgres

    return normalize_identifiers(parse_one(text, dialect=ClientPostgres), dialect="postgres")


def _attached_rules(relation: Relation) -> list[tuple[str, str]]:
    """Return the rules attached to a relation: a description and its SQL."""
    rules = [
        (f"policy {policy.name} on {relation.name}", text)
        for policy in relation.policies
        for text in (policy.using, policy.check)
        if text is not None
    ]
    rules += [(f"mask {mask.name} on {relation.name}", mask.expression) for mask in relation.masks]
    rules += [
        (f"trigger {one.name} on {relation.name}", one.condition) for one in relation.triggers
    ]
    return rules


def _views_of(authority: Authority, gone: set[Name]) -> list[Relation]:
    return [
        relation
        for relation in authority.relations.values()
        if relation.key not in gone
        and relation.query is not None
        and relation.kind != "table"
        and named_in(parse_stored_sql(relation.query)) & gone
    ]


def drop_with_dependents(
    change: AuthorityChange, keys: Sequence[Name], *, cascade: bool, what: str
) -> AuthorityChange:
    """Return the change without some relations and, when `cascade`, what depends on them.

    Policies, masks and triggers of other relations that query a dropped one are never dropped with
    it: they protect data.

    Raises:
        StatementFailed: 2BP01, an object depends on them that may not be dropped with them.
    """
    authority, gone = change.authority, set(keys)
    while views := _views_of(authority, gone):
        if not cascade:
            raise dependents_failure(what, f"view {views[0].name} depends on {what}")
        for view in views:
            change = change.with_notice("NOTICE", f"drop cascades to view {view.name}")
        gone |= {view.key for view in views}
    left = [relation for relation in authority.relations.values() if relation.key not in gone]
    for relation in left:
        for rule, text in _attached_rules(relation):
            if named_in(parse_stored_sql(text)) & gone:
                raise dependents_failure(what, f"{rule} depends on {what}")
    change = _without_keys(change, left, gone, cascade=cascade, what=what)
    return change.without_relations(gone)


def _without_keys(
    change: AuthorityChange, left: Iterable[Relation], gone: set[Name], *, cascade: bool, what: str
) -> AuthorityChange:
    for relation in left:
        kept = tuple(key for key in relation.foreign_keys if key.target not in gone)
        if len(kept) < len(relation.foreign_keys):
            if not cascade:
                raise dependents_failure(
                    what, f"a foreign key of {relation.name} depends on {what}"
                )
            change = change.with_notice(
                "NOTICE", f"drop cascades to a foreign key of {relation.name}"
            )
            change = change.with_relation(replace(relation, foreign_keys=kept))
    return change


def dependents_failure(what: str, detail: str) -> StatementFailed:
    """Return the error for an object that others depend on."""
    return StatementFailed(
        "2BP01",
        f"cannot drop {what} because other objects depend on it",
        detail=detail,
        hint="Use DROP ... CASCADE to drop the dependent objects too.",
    )


def reads_of(authority: Authority, names: Iterable[Name]) -> set[Name]:
    """Return the relations and all that they read, through views."""
    found: set[Name] = set()
    queue = list(names)
    while queue:
        key = queue.pop()
        if key in found:
            continue
        found.add(key)
        relation = authority.relations.get(key)
        if relation is not None and relation.kind != "table" and relation.query is not None:
            queue.extend(named_in(parse_stored_sql(relation.query)))
    return found
