"""FOR UPDATE and FOR SHARE: which relations a query locks, and what it may not be combined with."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.analysis import StatementAnalysis
from discreet.guard.rewrite.permitted import RowLocks
from discreet.guard.rewrite.scope import RangeTableEntry, Scope
from discreet.sql.names import fold_identifier
from discreet.sql.walk import given_clauses

_ALONE = {
    "distinct": "DISTINCT clause",
    "group": "GROUP BY clause",
    "having": "HAVING clause",
    "windows": "window functions",
}


def lock_entries(select: exp.Select, scope: Scope, *, is_top: bool) -> None:
    """Mark the relations that a SELECT locks; the clause itself does not reach the engine."""
    locks = select.args.get("locks")
    if not locks:
        return
    select.set("locks", None)
    for clause, what in _ALONE.items():
        if clause in given_clauses(select):
            raise StatementFailed("0A000", f"FOR UPDATE is not allowed with {what}")
    if any(isinstance(node, (exp.AggFunc, exp.Window)) for node in _listed_nodes(select)):
        raise StatementFailed("0A000", "FOR UPDATE is not allowed with aggregate functions")
    if not is_top:
        raise unsupported_feature("FOR UPDATE in a subquery", "Write it at the end of the query.")
    for lock in locks:
        if lock.args.get("wait") is False:
            raise unsupported_feature("SKIP LOCKED", "Use NOWAIT.")
        for entry in _locked_entries(lock.expressions, scope):
            entry.is_locked = True


def _listed_nodes(select: exp.Select) -> list[exp.Expr]:
    return [
        node
        for item in select.expressions
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query))
    ]


def _locked_entries(names: Sequence[exp.Expr], scope: Scope) -> list[RangeTableEntry]:
    """Return the entries that OF names, or all."""
    entries = list(scope.entries)
    if names:
        entries = [_entry_named(name, scope) for name in names]
    for entry in entries:
        relation = entry.relation
        if relation is None or relation.kind != "table" or relation.multilevel:
            raise unsupported_feature(
                "FOR UPDATE of anything but a table without labels", "Name tables: FOR UPDATE OF t."
            )
    return entries


def _entry_named(name: exp.Expr, scope: Scope) -> RangeTableEntry:
    written = fold_identifier(name.this)
    for entry in scope.entries:
        if entry.name == written:
            return entry
    raise StatementFailed(
        "42P01", f'relation "{written}" in FOR UPDATE clause not found in FROM clause'
    )


def locked_relations(reading: StatementAnalysis, query: exp.Query) -> RowLocks | None:
    """Return what a checked query locks, None for nothing."""
    found = [entry.relation for entry in reading.entries if entry.is_locked and entry.relation]
    if not found:
        return None
    written = query.args.get("locks") or []
    return RowLocks(
        frozenset(relation.key for relation in found),
        frozenset(relation.physical for relation in found),
        waits=not any(lock.args.get("wait") for lock in written),
    )
