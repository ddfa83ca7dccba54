"""From a prepared statement to its outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.answer.stopping import Stop
from discreet.engines.databases.database import Field
from discreet.errors import AccessDenied, Bug, StatementFailed
from discreet.guard.access.reach import can_set
from discreet.guard.rewrite.bind import bind
from discreet.guard.statements import objects, rights
from discreet.guard.statements import statement as kinds
from discreet.serve.gateway import calls, changing, controlled, cursors, defining
from discreet.serve.gateway.opening import read_rows
from discreet.serve.gateway.parameters import as_query
from discreet.serve.gateway.plans import Call, Change, Controlled, Inner, Private, Rows, System
from discreet.serve.gateway.preparing import renewed
from discreet.serve.gateway.questions import told, typed
from discreet.serve.gateway.variables import READ_ONLY, SHOWN
from discreet.serve.session import Notice, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from discreet.serve.gateway.note import Note
    from discreet.serve.gateway.session import GatewaySession
    from discreet.serve.session import Prepared

_DEFINITIONS = tuple(
    kind
    for room in (rights, objects)
    for kind in vars(room).values()
    if isinstance(kind, type) and issubclass(kind, kinds.Statement) and kind is not kinds.Statement
)


def run(
    session: GatewaySession, prepared: Prepared, values: Sequence[object], note: Note
) -> Outcome:
    """Run a statement with values for its parameters."""
    statement = prepared.statement
    if len(values) != len(prepared.parameters):
        raise StatementFailed(
            "08P01",
            f"{len(values)} values were given for {len(prepared.parameters)} parameters",
        )
    if isinstance(statement, (kinds.Query, kinds.Write)):
        session.work.has_asked = True
        return _planned(session, renewed(session, prepared, note), values, note)
    if isinstance(prepared.plan, Inner):
        session.work.has_asked = True
        return _around(session, renewed(session, prepared, note), values, note)
    if isinstance(statement, _DEFINITIONS):
        return defining.define(session, statement, note)
    action = _ACTIONS.get(type(statement))
    if action is None:
        raise StatementFailed("0A000", "this statement is not supported")
    try:
        return action(session, statement)
    finally:
        session.look()  # roles and settings may have changed


def _planned(
    session: GatewaySession, prepared: Prepared, values: Sequence[object], note: Note
) -> Outcome:
    plan = prepared.plan
    match plan:
        case Rows():
            session.require_same(plan.permitted.reads)
            return _rows(prepared, read_rows(session, plan, values), note)
        case System():
            catalog = session.house.catalog(session.authority, session.subject)
            tree = catalog.bind(plan.tree, plan.parameters, values)
            with session.stoppable(catalog.interrupt):
                table = catalog.run(tree, limit=session.house.settings.limits.rows)
            return _rows(prepared, table, note)
        case Private():
            return _ask(session, prepared, plan, values, note)
        case Controlled():
            table = controlled.ask(session, plan, values, note)
            return _rows(prepared, table, note, (controlled.WARNING,))
        case Change():
            session.variables.require_writes(plan.permitted.kind)
            session.require_same(plan.permitted.reads, plan.permitted.relation.key)
            return changing.change(session, prepared, plan, values, note)
        case Call():
            return calls.call(session, prepared, plan, values, note)
        case _:
            raise Bug("A statement without a plan was run.")


def _rows(prepared: Prepared, table: Any, note: Note, notices: tuple[Notice, ...] = ()) -> Outcome:
    note.rows = table.num_rows
    return Outcome(f"SELECT {table.num_rows}", prepared.fields, table, notices)


def _ask(
    session: GatewaySession,
    prepared: Prepared,
    plan: Private,
    values: Sequence[object],
    note: Note,
) -> Outcome:
    asked = _asked(session, plan, values)
    note.kind = "question"
    for relation in asked.relations:
        note.read(relation.key, ())
    note.reason = f"AGGREGATE granted to {asked.payer or 'PUBLIC'}"
    stop = Stop()
    with session.stoppable(stop.set):
        session.require_going()
        answer = session.house.questions.ask(asked, stop)
    note.price = answer.spent
    note.balance = {name: answer.remaining[name] for name in ("epsilon", "delta")}
    table = typed(answer.to_arrow(), prepared.fields or ())
    return _rows(prepared, table, note, told(answer))


def _asked(session: GatewaySession, plan: Private, values: Sequence[object]) -> Any:
    from discreet.guard.rewrite.authorize import relations_of

    tree = as_query(bind(plan.tree, plan.parameters, values))
    authority, subject = session.authority, session.subject
    relations = relations_of(plan.tree, authority, subject)
    asked = session.house.questions.read(tree, relations, authority, subject, session.variables)
    if asked is None:
        raise AccessDenied("the right to ask about these tables was revoked")
    return asked


def _around(
    session: GatewaySession, prepared: Prepared, values: Sequence[object], note: Note
) -> Outcome:
    plan = prepared.plan
    if not isinstance(plan, Inner):
        raise Bug("A statement lost the one inside it.")
    statement = prepared.statement
    match statement:
        case kinds.Explain():
            return _explain(session, prepared, statement, plan, values)
        case kinds.Execute():
            return run(session, plan.prepared, plan.values, note)
        case kinds.CopyOut():
            inner = _planned(session, plan.prepared, values, note)
            return replace(inner, tag=f"COPY {note.rows or 0}", copy=statement)
        case kinds.DeclareCursor():
            if session.transaction != "T" and not statement.hold:
                raise StatementFailed(
                    "25P01", "DECLARE CURSOR can only be used in transaction blocks"
                )
            if statement.name in session.cursors:
                raise StatementFailed("42P03", f'cursor "{statement.name}" already exists')
            inner = _planned(session, plan.prepared, values, note)
            cursor = cursors.Cursor(plan.prepared, inner.fields or (), inner.table, statement.hold)
            limits = session.house.settings.limits
            cursors.keep(
                session.cursors,
                statement.name,
                cursor,
                most=limits.rows,
                most_bytes=limits.result_bytes,
            )
            return Outcome("DECLARE CURSOR", notices=inner.notices)
        case _:
            raise Bug("A statement has another inside that should not.")


def _explain(
    session: GatewaySession,
    prepared: Prepared,
    statement: kinds.Explain,
    plan: Inner,
    values: Sequence[object],
) -> Outcome:
    inner = plan.prepared.plan
    if isinstance(inner, Private):
        lines = session.house.questions.explain(_asked(session, inner, values))
    elif isinstance(inner, Controlled):
        lines = controlled.explain(inner)
    elif statement.privacy:
        lines = ["You may see the rows: the answer is exact, and costs nothing."]
    else:
        # An engine's plan tells how many rows there are that nobody may see.
        lines = ["The plan of the engine is not shown."]
        if isinstance(inner, (Rows, Change)):
            # What views and policies read as their owners is the owners' to know.
            reads = (one for one in inner.permitted.reads if one.as_role == session.role)
            names = sorted({".".join(touched.relation) for touched in reads})
            lines += [f"Reads {name}" for name in names]
    table = pa.table({"lines": pa.array(lines, pa.string())})
    return Outcome("EXPLAIN", prepared.fields, table)


def _begin(session: GatewaySession, statement: kinds.Begin) -> Outcome:
    was_open = session.work.begin(read_only=bool(statement.read_only))
    if not was_open:
        session.variables.begin(read_only=statement.read_only)
    warning = Notice("WARNING", "there is already a transaction in progress", "25001")
    return Outcome("BEGIN", notices=(warning,) if was_open else ())


def _commit(session: GatewaySession, _: kinds.Statement) -> Outcome:
    was_open = session.transaction != "I"
    is_kept = session.work.commit()
    session.end_transaction()
    return Outcome("COMMIT" if is_kept else "ROLLBACK", notices=() if was_open else _NO_TRANSACTION)


def _rollback(session: GatewaySession, _: kinds.Statement) -> Outcome:
    was_open = session.transaction != "I"
    session.work.rollback()
    session.end_transaction()
    return Outcome("ROLLBACK", notices=() if was_open else _NO_TRANSACTION)


_MOST_PREPARED = 1000
_NO_TRANSACTION = (Notice("WARNING", "there is no transaction in progress", "25P01"),)


def _savepoint(session: GatewaySession, statement: kinds.Savepoint) -> Outcome:
    session.work.savepoint(statement.name)
    return Outcome("SAVEPOINT")


def _release(session: GatewaySession, statement: kinds.ReleaseSavepoint) -> Outcome:
    session.work.release(statement.name)
    return Outcome("RELEASE")


def _rollback_to(session: GatewaySession, statement: kinds.RollbackTo) -> Outcome:
    session.work.rollback_to(statement.name)
    return Outcome("ROLLBACK")


def _set(session: GatewaySession, statement: kinds.SetVariable) -> Outcome:
    if statement.name == "all" and statement.value is None:
        session.variables.reset()
        session.become(session.user)
        return Outcome("RESET")
    if statement.name == "discreet.clearance" and statement.value:
        session.house.require_clearance(session, statement.value)
    was_read_only = session.variables.get(READ_ONLY) == "on"
    session.variables.set(statement.name, statement.value, local=statement.local)
    if was_read_only and session.variables.get(READ_ONLY) == "off":
        session.work.require_unread()
    return Outcome(_first_word(statement))


def _show(session: GatewaySession, statement: kinds.Show) -> Outcome:
    is_all = statement.name == "all"
    names = SHOWN if is_all else (statement.name,)
    rows = session.variables.shown() if is_all else [(session.variables.get(statement.name),)]
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)]
    fields = tuple(Field(name, "text") for name in names)
    return Outcome("SHOW", fields, pa.table(columns, names=list(names)))


def _set_role(session: GatewaySession, statement: kinds.SetRole) -> Outcome:
    wanted = statement.role or session.user
    if wanted not in session.authority.roles:
        raise StatementFailed("22023", f'role "{wanted}" does not exist')
    if not can_set(session.authority, session.user, wanted):
        raise AccessDenied(f'permission denied to set role "{wanted}"')
    session.become(wanted)
    return Outcome(_first_word(statement))


def _first_word(statement: kinds.Statement) -> str:
    """Return SET or RESET, which mean the same for a setting, and are answered alike."""
    return "RESET" if statement.text.lstrip()[:5].upper() == "RESET" else "SET"


def _discard(session: GatewaySession, statement: kinds.Discard) -> Outcome:
    what = statement.what.lower()
    if what.startswith("discard"):
        session.variables.reset()
        session.become(session.user)
        session.cursors.clear()
    if what.startswith(("discard", "deallocate all")):
        session.statements.clear()
    elif what.startswith("deallocate"):
        name = what.removeprefix("deallocate").removeprefix(" prepare").strip().strip('"')
        session.statements.pop(name, None)
    return Outcome(what.upper().split(" ")[0] + (" ALL" if what.endswith(" all") else ""))


def _prepare(session: GatewaySession, statement: kinds.Prepare) -> Outcome:
    if statement.name in session.statements:
        raise StatementFailed("42P05", f'prepared statement "{statement.name}" already exists')
    if len(session.statements) >= _MOST_PREPARED:
        raise StatementFailed("54000", "too many prepared statements: DEALLOCATE some")
    session.prepare(statement.statement, statement.types)
    session.statements[statement.name] = statement
    return Outcome("PREPARE")


_ACTIONS: Mapping[type[kinds.Statement], Callable[[GatewaySession, Any], Outcome]] = {
    kinds.Begin: _begin,
    kinds.Commit: _commit,
    kinds.Rollback: _rollback,
    kinds.Savepoint: _savepoint,
    kinds.ReleaseSavepoint: _release,
    kinds.RollbackTo: _rollback_to,
    kinds.SetVariable: _set,
    kinds.Show: _show,
    kinds.SetRole: _set_role,
    kinds.Discard: _discard,
    kinds.Prepare: _prepare,
    kinds.Fetch: cursors.fetch,
    kinds.CloseCursor: lambda session, statement: cursors.close(session.cursors, statement),
    kinds.Truncate: changing.truncate,
}
