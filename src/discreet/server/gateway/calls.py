"""discreet's own SQL functions: unlocking keys for a session, backups, and private models."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from discreet.errors import AccessDenied, Bug, OutputRefused, StatementFailed
from discreet.server.backup import write_backup
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.model_calls import LEARN, explain_model, learn_model
from discreet.server.gateway.plans import CallPlan
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.variables import READ_ONLY
from discreet.server.session import Notice, Outcome, PreparedStatement
from discreet.writing import make_private_folder

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def run_call(
    session: SessionState,
    prepared: PreparedStatement,
    plan: CallPlan,
    values: Sequence[object],
    note: AuditDraft,
) -> Outcome:
    """Execute a call and return its one value."""
    if plan.name == LEARN:
        model, notices = learn_model(session, plan, lambda one: _argument_value(one, values), note)
        return _call_outcome(prepared, model, note, notices)
    arguments = [_argument_value(argument, values) for argument in plan.arguments]
    if plan.name == "discreet_unlock":
        result = _unlock_column(session, plan, arguments, note)
    elif plan.name == "discreet_lock":
        note.kind = "key"
        session.keys.close()
        result = "locked"
    elif plan.name == "discreet_backup":
        result = _make_backup(session, arguments, note)
    elif plan.name == "set_config":
        result = _set_config(session, arguments)
    else:
        raise Bug(f"The function {plan.name} is not implemented.")
    return _call_outcome(prepared, result, note)


def explain_call(session: SessionState, plan: CallPlan, values: Sequence[object]) -> list[str]:
    """Return lines that explain what a call would cost; nothing is read or spent."""
    if plan.name != LEARN:
        return ["A call of this function costs nothing."]
    return explain_model(session, plan, lambda one: _argument_value(one, values))


def _call_outcome(
    prepared: PreparedStatement, result: str, note: AuditDraft, notices: tuple[Notice, ...] = ()
) -> Outcome:
    table = pa.table({"result": pa.array([result], pa.string())})
    note.rows = 1
    return Outcome("SELECT 1", prepared.fields, table, notices)


def _unlock_column(
    session: SessionState, plan: CallPlan, arguments: Sequence[object], note: AuditDraft
) -> str:
    """Store a key in the session's memory, for one encrypted column."""
    note.kind = "key"
    if len(arguments) != 2:
        raise StatementFailed(
            "42883", "discreet_unlock takes a column, such as 'employee.sin', and its key"
        )
    if not isinstance(plan.arguments[1].unnest(), exp.Parameter):
        raise StatementFailed(
            "42501",
            "a key is accepted as a parameter only",
            hint="In the text it would be logged. Use SELECT discreet_unlock('employee.sin', $1).",
        )
    if not (session.client.is_encrypted or session.client.is_local):
        raise StatementFailed("42501", "a key is accepted over TLS only")
    place, key = arguments
    key_id = _key_of(session, str(place))
    # An unknown name may be the key itself, given in the wrong place.
    note.reason = f"key {key_id}" if session.vault.is_known(key_id) else "there is no such key"
    if not isinstance(key, (str, bytes)):
        raise StatementFailed("22023", "a key is 32 bytes or 64 hexadecimal digits")
    session.keys.unlock(key_id, key)
    return "unlocked"


def _set_config(session: SessionState, arguments: Sequence[object]) -> str:
    """Set a setting, as SET or SET LOCAL does, and return its value."""
    if len(arguments) != 3 or arguments[0] is None:
        raise StatementFailed("42883", "set_config takes a setting, its value and a boolean")
    name, value = str(arguments[0]).lower(), arguments[1]
    if name == "discreet.clearance" and value:
        session.labels.require_clearance(session.authority, session.login, str(value))
    if name in ("role", "session_authorization"):
        raise StatementFailed("0A000", "set_config does not change the role", hint="Use SET ROLE.")
    was_read_only = session.variables.get(READ_ONLY) == "on"
    is_local = str(arguments[2]).lower() in ("t", "true", "on", "1", "yes")
    session.variables.set(name, None if value is None else str(value), local=is_local)
    if was_read_only and session.variables.get(READ_ONLY) == "off":
        session.transaction.require_unread()
    return session.variables.get(name)


def _key_of(session: SessionState, name: str) -> str:
    """Return the key of a column such as `employee.sin`; any other name is taken as a key's."""
    table, _, column = name.rpartition(".")
    schema, _, bare = table.rpartition(".")
    relation = session.authority.relations.get((schema or "public", bare))
    found = relation.column(column) if relation is not None else None
    return found.key if found is not None and found.key is not None else name


def _make_backup(session: SessionState, arguments: Sequence[object], note: AuditDraft) -> str:
    """Write a backup into the server's folder `backups`, while other sessions continue."""
    note.kind = "backup"
    role = session.authority.roles.get(session.role)
    if role is None or not role.superuser:
        raise AccessDenied("must be superuser to make a backup")
    if len(arguments) != 1 or not _NAME.fullmatch(str(arguments[0])):
        raise StatementFailed(
            "42602",
            "discreet_backup takes the name of a file",
            hint="Letters, digits, '.', '-' and '_', such as 'clinic-2026-05-04.backup'.",
        )
    if session.transaction.connection.in_transaction:
        raise StatementFailed("25001", "discreet_backup cannot run inside a transaction block")
    database = session.database.embedded
    if database is None:
        raise StatementFailed(
            "0A000",
            "only an embedded database is copied by the server",
            hint="Use the backup of your database, and `discreet backup` for the folder.",
        )
    folder = session.settings.place("backups")
    make_private_folder(folder)
    target = folder / str(arguments[0])
    if target.exists():
        raise StatementFailed("58P02", "a backup of this name exists already")
    try:
        write_backup(session.settings.data, target, at=session.clock(), database=database)
    except OutputRefused:
        raise StatementFailed("58030", "the backup could not be written") from None
    # An action that the journal cannot record does not happen.
    session.transaction.after_rollback(lambda: target.unlink(missing_ok=True))
    return f"backups/{target.name}"


def _argument_value(argument: exp.Expr, values: Sequence[object]) -> object:
    inner = argument.unnest()
    while isinstance(inner, exp.Cast):
        inner = inner.this
    if isinstance(inner, exp.Parameter):
        return values[int(inner.name) - 1]
    if isinstance(inner, exp.Literal):
        return str(inner.this)
    if isinstance(inner, exp.Boolean):
        return bool(inner.this)
    if isinstance(inner, exp.Null):
        return None
    raise StatementFailed("0A000", "only literals and parameters are accepted")
