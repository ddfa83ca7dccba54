"""Execution of prepared statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.answer.cancellation import CancelToken
from discreet.engines.databases.database import ResultField
from discreet.errors import AccessDenied, Bug, StatementFailed
from discreet.guard.access.authority import DEFAULT_SCHEMA, Name
from discreet.guard.access.reach import can_set
from discreet.guard.rewrite.authorize import relations_of
from discreet.guard.rewrite.bind import bind_query
from discreet.guard.statements import objects, rights
from discreet.guard.statements import statement as kinds
from discreet.server.gateway import (
    calls,
    cursors,
    definitions,
    inference_control,
    sequences,
    writes,
)
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.decrypt_reads import read_permitted_rows
from discreet.server.gateway.parameters import require_row_query
from discreet.server.gateway.plans import (
    CallPlan,
    CatalogPlan,
    ControlledPlan,
    InnerPlan,
    PrivatePlan,
    RowsPlan,
    WritePlan,
)
from discreet.server.gateway.private_answers import (
    QUESTION_TRAITS,
    PermittedQuestion,
    answer_notices,
    cast_answer,
    cost_of_answer,
)
from discreet.server.gateway.sequences import NumberPlan
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import session_catalog
from discreet.server.gateway.variables import READ_ONLY, SHOWN
from discreet.server.session import Notice, Outcome, PreparedStatement

_DEFINITIONS = tuple(
    kind
    for module in (rights, objects)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, kinds.Statement) and kind is not kinds.Statement
)


def require_value_count(prepared: PreparedStatement, values: Sequence[object]) -> None:
    """Refuse more or fewer values than a statement has parameters."""
    if len(values) != len(prepared.parameters):
        raise StatementFailed(
            "08P01",
            f"{len(values)} values were given for {len(prepared.parameters)} parameters",
        )


def require_free_name(statements: Mapping[str, kinds.Prepare], name: str) -> None:
    """Refuse PREPARE under a name that is taken, or of too many statements."""
    if name in statements:
        raise StatementFailed("42P05", f'prepared statement "{name}" already exists')
    if len(statements) >= _MOST_PREPARED:
        raise StatementFailed("54000", "too many prepared statements: DEALLOCATE some")


def run_statement(
    session: SessionState, prepared: PreparedStatement, values: Sequence[object], note: AuditDraft
) -> Outcome:
    """Run an authorized statement with values for its parameters."""
    statement = prepared.statement
    if isinstance(statement, (kinds.Query, kinds.Write, kinds.CopyIn)):
        session.transaction.has_run_statements = True
        return _run_plan(session, prepared, values, note)
    if isinstance(prepared.plan, InnerPlan):
        session.transaction.has_run_statements = True
        return _run_wrapper(session, prepared, values, note)
    if isinstance(statement, _DEFINITIONS):
        return definitions.run_definition(session, statement, note)
    action = _ACTIONS.get(type(statement))
    if action is None:
        raise StatementFailed("0A000", "this statement is not supported")
    try:
        return action(session, statement)
    finally:
        session.refresh()  # roles and settings may have changed


def _run_plan(
    session: SessionState, prepared: PreparedStatement, values: Sequence[object], note: AuditDraft
) -> Outcome:
    plan = prepared.plan
    match plan:
        case RowsPlan():
            session.require_same(plan.permitted.reads)
            return _rows_outcome(prepared, read_permitted_rows(session, plan, values), note)
        case CatalogPlan():
            catalog = session_catalog(session)
            tree = catalog.bind(plan.tree, plan.parameters, values)
            with session.interrupt.stoppable(catalog.interrupt):
                table = catalog.run(tree, limit=session.limits.rows)
            return _rows_outcome(prepared, table, note)
        case PrivatePlan():
            return _run_private(session, prepared, plan, values, note)
        case ControlledPlan():
            table = inference_control.answer_controlled(session, plan, values, note)
            return _rows_outcome(prepared, table, note, (inference_control.WARNING,))
        case WritePlan():
            session.variables.require_writes(plan.permitted.kind)
            session.require_same(plan.permitted.reads, plan.permitted.relation.key)
            return writes.run_write(session, prepared, plan, values, note)
        case NumberPlan():
            return _run_numbers(session, prepared, plan, values, note)
        case CallPlan():
            return calls.run_call(session, prepared, plan, values, note)
        case _:
            raise Bug("A statement without a plan was run.")


def _run_numbers(
    session: SessionState,
    prepared: PreparedStatement,
    plan: NumberPlan,
    values: Sequence[object],
    note: AuditDraft,
) -> Outcome:
    numbers = sequences.give_numbers(session, plan)
    for call in plan.calls:
        if call.sequence is not None and call.function in ("nextval", "default"):
            note.add_write(call.sequence, ())
    inner = _run_plan(session, plan.inner, (*values, *numbers), note)
    if plan.sets and inner.table is not None:
        for one in plan.sets:
            note.add_write(one.sequence, ())
        inner = replace(inner, table=sequences.run_sets(session, plan, inner.table))
    return replace(inner, fields=prepared.fields)


def _rows_outcome(
    prepared: PreparedStatement, table: Any, note: AuditDraft, notices: tuple[Notice, ...] = ()
) -> Outcome:
    note.rows = table.num_rows
    return Outcome(f"SELECT {table.num_rows}", prepared.fields, table, notices)


def _run_private(
    session: SessionState,
    prepared: PreparedStatement,
    plan: PrivatePlan,
    values: Sequence[object],
    note: AuditDraft,
) -> Outcome:
    asked = _permitted_question(session, plan, values)
    note.kind = "question"
    for relation in asked.relations:
        note.add_read(relation.key, ())
    note.reason = f"AGGREGATE granted to {asked.payer or 'PUBLIC'}"
    stop = CancelToken()
    with session.interrupt.stoppable(stop.set):
        session.interrupt.require_not_canceled()
        answer = session.private_answers.ask(asked, stop)
    note.price = answer.spent
    note.balance = {name: answer.remaining[name] for name in ("epsilon", "delta")}
    table = cast_answer(answer.to_arrow(), prepared.fields or ())
    outcome = _rows_outcome(prepared, table, note, answer_notices(answer))
    return replace(outcome, cost=cost_of_answer(asked, answer))


def _permitted_question(
    session: SessionState, plan: PrivatePlan, values: Sequence[object]
) -> PermittedQuestion:
    """Return the question that a plan asks with these values; it is read once under the same settings."""
    key, settings = (session.user, *map(repr, values)), session.variables.all()
    known = plan.questions.get(key)
    if known is not None and known[0] is settings:
        return known[1]
    asked = _read_question(session, plan, values)
    if len(plan.questions) < _MOST_QUESTIONS:
        plan.questions[key] = settings, asked
    return asked


def _read_question(
    session: SessionState, plan: PrivatePlan, values: Sequence[object]
) -> PermittedQuestion:
    tree = require_row_query(bind_query(plan.tree, plan.parameters, values, traits=QUESTION_TRAITS))
    authority, subject = session.authority, session.subject
    relations = relations_of(plan.tree, authority, subject)
    asked = session.private_answers.read(tree, relations, authority, subject, session.variables)
    if asked is None:
        raise AccessDenied("the right to ask about these tables was revoked")
    return asked


def _run_wrapper(
    session: SessionState, prepared: PreparedStatement, values: Sequence[object], note: AuditDraft
) -> Outcome:
    plan = prepared.plan
    if not isinstance(plan, InnerPlan):
        raise Bug("A nested statement is missing.")
    statement = prepared.statement
    match statement:
        case kinds.Explain():
            return _run_explain(session, prepared, statement, plan, values)
        case kinds.Execute():
            return run_statement(session, plan.prepared, plan.values, note)
        case kinds.CopyOut():
            inner = _run_plan(session, plan.prepared, values, note)
            return replace(inner, tag=f"COPY {note.rows or 0}", copy=statement)
        case kinds.DeclareCursor():
            if session.transaction.status != "T" and not statement.hold:
                raise StatementFailed(
                    "25P01", "DECLARE CURSOR can only be used in transaction blocks"
                )
            if statement.name in session.cursors:
                raise StatementFailed("42P03", f'cursor "{statement.name}" already exists')
            inner = _run_plan(session, plan.prepared, values, note)
            cursor = cursors.SessionCursor(
                plan.prepared, inner.fields or (), inner.table, statement.hold
            )
            limits = session.limits
            cursors.add_cursor(
                session.cursors,
                statement.name,
                cursor,
                most=limits.rows,
                most_bytes=limits.result_bytes,
            )
            return Outcome("DECLARE CURSOR", notices=inner.notices)
        case _:
            raise Bug("A statement has an unexpected nested one.")


def _run_explain(
    session: SessionState,
    prepared: PreparedStatement,
    statement: kinds.Explain,
    plan: InnerPlan,
    values: Sequence[object],
) -> Outcome:
    inner, cost = plan.prepared.plan, None
    if isinstance(inner, InnerPlan):  # of EXECUTE
        values, inner = inner.values, inner.prepared.plan
    if isinstance(inner, PrivatePlan):
        lines, cost = session.private_answers.explain(_permitted_question(session, inner, values))
    elif isinstance(inner, CallPlan):
        lines = calls.explain_call(session, inner, values)
    elif isinstance(inner, ControlledPlan):
        lines = inference_control.explain_control(inner)
    elif statement.privacy:
        lines = ["You may see the rows: the answer is exact, and costs nothing."]
    else:
        # An engine's plan would reveal the number of hidden rows.
        lines = ["The plan of the engine is not shown."]
        if isinstance(inner, (RowsPlan, WritePlan)):
            # What views and policies read with their owners' rights is shown to the owners only.
            reads = (one for one in inner.permitted.reads if one.as_role == session.role)
            names = sorted({".".join(touched.relation) for touched in reads})
            lines += [f"Reads {name}" for name in names]
    table = pa.table({"lines": pa.array(lines, pa.string())})
    return Outcome("EXPLAIN", prepared.fields, table, cost=cost)


def _begin_transaction(session: SessionState, statement: kinds.Begin) -> Outcome:
    was_open = session.transaction.begin(read_only=bool(statement.read_only))
    if not was_open:
        session.variables.begin(read_only=statement.read_only)
    warning = Notice("WARNING", "there is already a transaction in progress", "25001")
    return Outcome("BEGIN", notices=(warning,) if was_open else ())


def _commit_transaction(session: SessionState, statement: kinds.Commit) -> Outcome:
    was_open = session.transaction.status != "I"
    following = _following_transaction(session, chain=statement.chain)
    is_kept = session.transaction.commit()
    session.end_transaction()
    if following is not None:
        _begin_transaction(session, following)
    return Outcome("COMMIT" if is_kept else "ROLLBACK", notices=() if was_open else _NO_TRANSACTION)


def _following_transaction(session: SessionState, *, chain: bool) -> kinds.Begin | None:
    """Return the transaction that AND CHAIN begins, with the modes of this one; None without it."""
    if not chain:
        return None
    if not session.transaction.is_explicit:
        raise StatementFailed("25P01", "AND CHAIN can only be used in transaction blocks")
    return kinds.Begin(session.variables.get("transaction_read_only") == "on")


def _rollback_transaction(session: SessionState, statement: kinds.Rollback) -> Outcome:
    was_open = session.transaction.status != "I"
    following = _following_transaction(session, chain=statement.chain)
    session.transaction.rollback()
    session.end_transaction()
    if following is not None:
        _begin_transaction(session, following)
    return Outcome("ROLLBACK", notices=() if was_open else _NO_TRANSACTION)


_MOST_PREPARED = 1000
_MOST_QUESTIONS = 64  # kept of one plan
_NO_TRANSACTION = (Notice("WARNING", "there is no transaction in progress", "25P01"),)


def _set_savepoint(session: SessionState, statement: kinds.Savepoint) -> Outcome:
    session.transaction.savepoint(statement.name)
    return Outcome("SAVEPOINT")


def _release_savepoint(session: SessionState, statement: kinds.ReleaseSavepoint) -> Outcome:
    session.transaction.release(statement.name)
    return Outcome("RELEASE")


def _rollback_to_savepoint(session: SessionState, statement: kinds.RollbackTo) -> Outcome:
    session.transaction.rollback_to(statement.name)
    return Outcome("ROLLBACK")


def _set_variable(session: SessionState, statement: kinds.SetVariable) -> Outcome:
    if statement.name == "all" and statement.value is None:
        session.variables.reset()
        session.set_role(session.user)
        return Outcome("RESET")
    if statement.name == "discreet.clearance" and statement.value:
        session.labels.require_clearance(session.authority, session.login, statement.value)
    was_read_only = session.variables.get(READ_ONLY) == "on"
    session.variables.set(statement.name, statement.value, local=statement.local)
    if was_read_only and session.variables.get(READ_ONLY) == "off":
        session.transaction.require_unread()
    return Outcome(_first_word(statement))


def _show_variable(session: SessionState, statement: kinds.Show) -> Outcome:
    is_all = statement.name == "all"
    names = SHOWN if is_all else (statement.name,)
    rows = session.variables.shown() if is_all else [(session.variables.get(statement.name),)]
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    fields = tuple(ResultField(name, "text") for name in names)
    return Outcome("SHOW", fields, pa.table(columns, names=list(names)))


def _set_role(session: SessionState, statement: kinds.SetRole) -> Outcome:
    wanted = statement.role or session.user
    if wanted not in session.authority.roles:
        raise StatementFailed("22023", f'role "{wanted}" does not exist')
    if not can_set(session.authority, session.user, wanted):
        raise AccessDenied(f'permission denied to set role "{wanted}"')
    session.set_role(wanted, local=statement.local)
    return Outcome(_first_word(statement))


def _set_authorization(session: SessionState, statement: kinds.SetAuthorization) -> Outcome:
    session.set_authorization(statement.user, local=statement.local)
    return Outcome(_first_word(statement))


def _set_constraints(session: SessionState, statement: kinds.SetConstraints) -> Outcome:
    """Make foreign keys deferred, or immediate: then those that were waiting are checked now."""
    deferred = session.transaction.deferred
    names = None
    if statement.names is not None:
        names = [name for one in statement.names for name in _find_keys(session, one)]
    if session.transaction.status == "I":
        text = "SET CONSTRAINTS can only be used in transaction blocks"
        return Outcome("SET CONSTRAINTS", notices=(Notice("WARNING", text, "25P01"),))
    if not statement.deferred:
        deferred.check(session.transaction.read(), names)
    deferred.set_modes(names, deferred=statement.deferred)
    return Outcome("SET CONSTRAINTS")


def _find_keys(session: SessionState, written: kinds.Written) -> list[tuple[Name, str]]:
    schema, name = written
    found = [
        (relation, key)
        for relation in session.authority.relations.values()
        for key in relation.foreign_keys
        if key.name == name and relation.schema == (schema or DEFAULT_SCHEMA)
    ]
    if not found:
        raise StatementFailed("42704", f'constraint "{name}" does not exist')
    if not all(key.deferrable for _, key in found):
        raise StatementFailed("42809", f'constraint "{name}" is not deferrable')
    return [(relation.key, name) for relation, _ in found]


def _first_word(statement: kinds.Statement) -> str:
    """Return the tag SET or RESET of a statement on a setting."""
    return "RESET" if statement.text.lstrip()[:5].upper() == "RESET" else "SET"


def _discard_state(session: SessionState, statement: kinds.Discard) -> Outcome:
    what = statement.what.lower()
    if what == "discard all":
        session.variables.reset()
        session.set_authorization(None)
        session.cursors.clear()
    if what in ("discard all", "discard temp", "discard temporary"):
        session.drop_temporary()
    if what in ("discard all", "discard plans", "deallocate all"):
        session.statements.clear()
    elif what.startswith("deallocate"):
        name = what.removeprefix("deallocate").removeprefix(" prepare").strip().strip('"')
        session.statements.pop(name, None)
    if what.startswith("discard"):
        return Outcome(what.upper().removesuffix("ORARY"))
    return Outcome(what.upper().split(" ")[0] + (" ALL" if what.endswith(" all") else ""))


def _store_named(session: SessionState, statement: kinds.Prepare) -> Outcome:
    session.statements[statement.name] = statement
    return Outcome("PREPARE")


_ACTIONS: Mapping[type[kinds.Statement], Callable[[SessionState, Any], Outcome]] = {
    kinds.Begin: _begin_transaction,
    kinds.Commit: _commit_transaction,
    kinds.Rollback: _rollback_transaction,
    kinds.Savepoint: _set_savepoint,
    kinds.ReleaseSavepoint: _release_savepoint,
    kinds.RollbackTo: _rollback_to_savepoint,
    kinds.SetVariable: _set_variable,
    kinds.Show: _show_variable,
    kinds.SetRole: _set_role,
    kinds.SetAuthorization: _set_authorization,
    kinds.Discard: _discard_state,
    kinds.SetConstraints: _set_constraints,
    kinds.Prepare: _store_named,
    kinds.Fetch: lambda session, statement: cursors.fetch_cursor(session.cursors, statement),
    kinds.CloseCursor: lambda session, statement: cursors.close_cursor(session.cursors, statement),
    kinds.Truncate: writes.truncate_tables,
    kinds.Lock: writes.lock_tables,
}
