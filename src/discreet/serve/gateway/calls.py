"""discreet's own SQL functions: unlocking keys for a session, and backups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from discreet.engines.databases.duckdb import ServedDuckDB
from discreet.errors import AccessDenied, Bug, OutputRefused, StatementFailed
from discreet.serve.backup import write_backup
from discreet.serve.gateway.audit_draft import AuditDraft
from discreet.serve.gateway.plans import CallPlan
from discreet.serve.session import Outcome, PreparedStatement
from discreet.writing import make_private_folder

if TYPE_CHECKING:
    from discreet.serve.gateway.session import GatewaySession

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def run_call(
    session: GatewaySession,
    prepared: PreparedStatement,
    plan: CallPlan,
    values: Sequence[object],
    note: AuditDraft,
) -> Outcome:
    """Execute a call and return its one value."""
    arguments = [_argument_value(argument, values) for argument in plan.arguments]
    if plan.name == "discreet_unlock":
        told = _unlock_column(session, plan, arguments, note)
    elif plan.name == "discreet_lock":
        note.kind = "key"
        session.keys.close()
        told = "locked"
    elif plan.name == "discreet_backup":
        told = _make_backup(session, arguments, note)
    else:
        raise Bug(f"The function {plan.name} is not implemented.")
    table = pa.table({"told": pa.array([told], pa.string())})
    note.rows = 1
    return Outcome("SELECT 1", prepared.fields, table)


def _unlock_column(
    session: GatewaySession, plan: CallPlan, arguments: Sequence[object], note: AuditDraft
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
    session.server.vault.unlock(session, str(place), key, note)
    return "unlocked"


def _make_backup(session: GatewaySession, arguments: Sequence[object], note: AuditDraft) -> str:
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
    house = session.server
    if not isinstance(house.database, ServedDuckDB):
        raise StatementFailed(
            "0A000",
            "only an embedded database is copied by the server",
            hint="Use the backup of your database, and `discreet backup` for the folder.",
        )
    folder = house.settings.place("backups")
    make_private_folder(folder)
    target = folder / str(arguments[0])
    if target.exists():
        raise StatementFailed("58P02", "a backup of this name exists already")
    try:
        write_backup(house.settings.data, target, at=house.clock(), database=house.database)
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
    raise StatementFailed("0A000", "only literals and parameters are accepted")
