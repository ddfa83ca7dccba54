"""Writes: checked by triggers and row policies, at the writer's clearance, encrypted if needed."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Privilege
from discreet.guard.access.decide import privilege_on
from discreet.guard.access.names import KIND_NAMES, find_relation
from discreet.guard.integrity.keys import require_unreferenced
from discreet.guard.integrity.triggers import TriggerMonitor, watch_levels
from discreet.guard.integrity.write import write
from discreet.guard.levels import write as levels
from discreet.guard.rewrite.bind import bind_write
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.guard.statements.statement import CopyIn, Lock, Truncate
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.decrypt_reads import encrypt_write
from discreet.server.gateway.encrypted_columns import has_cells
from discreet.server.gateway.incoming_copy import fill_copy
from discreet.server.gateway.plans import WritePlan
from discreet.server.gateway.sequences import number_new_rows
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import level_source, session_source
from discreet.server.session import Outcome, PreparedStatement
from discreet.sql import build


def run_write(
    session: SessionState,
    prepared: PreparedStatement,
    plan: WritePlan,
    values: Sequence[object],
    note: AuditDraft,
) -> Outcome:
    """Execute a write within the session's transaction."""
    is_copy = isinstance(prepared.statement, CopyIn)
    if is_copy:
        permitted = fill_copy(session, plan.permitted)
    else:
        permitted = bind_write(plan.permitted, values, traits=session.traits)
    permitted = number_new_rows(session, permitted)
    if permitted.relation.multilevel:
        done = _at_clearance(session, permitted)
    else:
        if has_cells(permitted.relation):
            permitted = encrypt_write(session, permitted, prepared.statement, values)
        done = write(
            session.transaction.write(),
            permitted,
            session.authority_for(permitted.relation),
            session.subject,
            traits=session.traits,
            source=level_source(session),
            deferral=session.transaction.deferred,
        )
        for key, columns in done.caused.items():
            note.add_write(key, sorted(columns))
    note.rows = done.count
    tag = (
        f"INSERT 0 {done.count}" if permitted.kind == "INSERT" else f"{permitted.kind} {done.count}"
    )
    tag = f"COPY {done.count}" if is_copy else tag
    return Outcome(tag, prepared.fields, done.table)


def _at_clearance(session: SessionState, permitted: PermittedWrite) -> levels.MultilevelWriteResult:
    """Write into a multi-level table: cells that the writer may not see are not changed."""
    if permitted.on_conflict is not None:
        raise StatementFailed("0A000", "ON CONFLICT is not supported for labeled tables")
    relation = permitted.relation
    connection, subject = session.transaction.write(), session.subject
    source = session_source(session)
    watch = TriggerMonitor(
        connection, relation, session.authority_for(relation), subject, session.traits, source
    )
    terms = levels.WriteTerms(
        relations=session.authority.relations,
        returning=permitted.returning or (),
        watch=watch_levels(watch, permitted.kind, permitted.written, permitted.with_check),
        alias=permitted.target.alias_or_name,
        null_label=session.settings.null_label,
        settings=subject.settings,
    )
    place = (
        connection,
        relation,
        session.labels.lattice(session.authority),
        session.labels.label(session.authority, session.clearance),
    )
    if permitted.kind == "INSERT":
        if permitted.rows is None:
            raise StatementFailed("0A000", "DEFAULT VALUES are not supported for labeled tables")
        return levels.insert(*place, permitted.columns, permitted.rows, terms=terms)
    if permitted.kind == "UPDATE":
        return levels.update(*place, permitted.assignments, permitted.condition, terms=terms)
    return levels.delete(*place, permitted.condition, terms=terms)


def truncate_tables(session: SessionState, statement: Truncate) -> Outcome:
    """Truncate tables."""
    session.variables.require_writes("TRUNCATE TABLE")
    relations = [
        find_relation(session.authority, session.role, written) for written in statement.relations
    ]
    for relation in relations:
        if not privilege_on(session.authority, session.role, relation, Privilege.TRUNCATE).allowed:
            raise AccessDenied(f"permission denied for table {relation.name}")
        if relation.kind != "table" or not relation.writable or relation.multilevel:
            raise StatementFailed("0A000", f'"{relation.name}" cannot be truncated')
        require_unreferenced(relation, session.authority, [each.key for each in relations])
    # Referencing tables go first.
    for relation in sorted(relations, key=lambda each: -len(each.foreign_keys)):
        tree = exp.Delete(this=build.table(*relation.physical))
        session.transaction.write().execute(tree, touches=[relation.physical])
    return Outcome("TRUNCATE TABLE")


def lock_tables(session: SessionState, statement: Lock) -> Outcome:
    """Check LOCK TABLE; nothing waits for it, as transactions are serializable."""
    if not session.transaction.is_explicit:
        raise StatementFailed("25P01", "LOCK TABLE can only be used in transaction blocks")
    for written in statement.relations:
        relation = find_relation(session.authority, session.role, written)
        found = [
            privilege_on(session.authority, session.role, relation, one)
            for one in statement.privileges
        ]
        if not any(found):
            raise AccessDenied(
                f"permission denied for {KIND_NAMES[relation.kind]} {relation.name}",
                reason=found[0].reason,
            )
        if relation.kind == "sequence":
            raise StatementFailed("42809", f'"{relation.name}" is not a table or view')
    return Outcome("LOCK TABLE")
