"""Authorization of queries: a subject's query becomes the query that may run."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Relation, Subject
from discreet.guard.rewrite.adapt import make_total
from discreet.guard.rewrite.allowed import check_allowed
from discreet.guard.rewrite.analysis import StatementAnalysis
from discreet.guard.rewrite.joins import relations_named
from discreet.guard.rewrite.locks import locked_relations
from discreet.guard.rewrite.normalize import normalize_tree
from discreet.guard.rewrite.permitted import PermittedQuery, Source, plain_source
from discreet.guard.rewrite.queries import read_finished
from discreet.guard.rewrite.scope import Scope
from discreet.guard.rewrite.substitute import Substitution
from discreet.guard.rewrite.writes import authorize_condition, authorize_write
from discreet.sql.limits import check_subquery_nesting, too_deep

__all__ = ["authorize_condition", "authorize_query", "authorize_write", "relations_of"]


def authorize_query(
    query: exp.Query,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    source: Source = plain_source,
    declared: Sequence[str | None] = (),
    role: str | None = None,
) -> PermittedQuery:
    """Return the query that may run in place of `query`.

    Guarantee: what it reads is what `subject` may read. Every relation is a query of the columns that
    were named and that the role has SELECT on, with masks, and of the rows that policies permit;
    everything else in the tree is on the allow-list, and is written by the tree, not by the user.

    Args:
        query: The user's query, in sqlglot's `postgres` dialect.
        authority: The basis of decisions.
        subject: The sender.
        traits: The engine's.
        source: How a relation is read that is not a plain table.
        declared: The types of parameters as far as the client declared them.
        role: The role whose privileges apply, if not `subject`, who stays the sender.

    Raises:
        AccessDenied: 42501, with the reason for the journal.
        StatementFailed: As PostgreSQL fails: 42P01, 42703, 42702, 42803, 42883 and so on; 0A000 for
            parts that are not on the list.
    """
    try:
        reading = StatementAnalysis(authority, subject, role or subject.role, traits, declared)
        return _permit_query(reading, query, source)
    except RecursionError:
        raise too_deep() from None


def _permit_query(reading: StatementAnalysis, query: exp.Query, source: Source) -> PermittedQuery:
    check_allowed(query)
    tree = normalize_tree(query)
    fields = read_finished(reading, tree, Scope(), is_top=True)
    substitution = Substitution(source)
    holder = exp.Paren(this=substitution.finish(reading, tree))
    if substitution.is_filtered:
        make_total(holder, reading.traits)
    check_subquery_nesting(holder)
    permitted = unwrap_query(holder.this.pop())
    return PermittedQuery(
        tree=permitted,
        reads=tuple(substitution.reads),
        parameters=reading.parameters(),
        physical=frozenset(substitution.physical),
        is_filtered=substitution.is_filtered,
        names=tuple(item.name for item in fields),
        kinds=tuple(item.kind for item in fields),
        is_passing=bool(reading.passing),
        origins=tuple(item.origin for item in fields),
        locks=locked_relations(reading, query),
    )


def unwrap_query(tree: exp.Expr) -> exp.Query:
    """Return a query without brackets around it."""
    while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
        tree = tree.this.pop()
    if not isinstance(tree, exp.Query):
        raise StatementFailed("XX000", "internal error: a query was expected")
    return tree


def relations_of(query: exp.Query, authority: Authority, subject: Subject) -> tuple[Relation, ...]:
    """Return the relations that a query names, without CTEs; views are not followed.

    Raises:
        StatementFailed: 42P01, one of them does not exist.
    """
    reading = StatementAnalysis(authority, subject, subject.role)
    return tuple(relations_named(reading, query))
