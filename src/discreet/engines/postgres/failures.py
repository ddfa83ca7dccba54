"""PostgreSQL's failures as ours: only messages that cannot quote a cell are passed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from discreet.engines.databases.failures import statement_failure
from discreet.errors import DiscreetError, EngineFailed, MissingExtra, StatementFailed

try:
    import psycopg
except ImportError as error:
    raise MissingExtra(what="PostgreSQL", extra="postgres") from error


Answer = TypeVar("Answer")

_REMEDIES = {
    "2BP01": " Another object, such as a view, depends on the table to be replaced.",
    "42P07": " A table of that name exists.",
    "42809": " The relation to be replaced is not a table.",
    "42501": " Ask for the right to read the table and to create temporary tables.",
    "25006": " The server is read-only; connect to one that allows temporary tables.",
    "53100": " The server's disk is full.",
    "53200": " The server is out of memory.",
    "57014": " The statement was cancelled, maybe by statement_timeout.",
}
# SQLSTATEs, or their classes, whose messages hold names, settings, sizes and states of the server.
_HARMLESS = ("08", "28", "53", "55", "57", "58030", "25006", "42501")
# Names that are not there. A cell can be one as well, as in `name::regclass`; only a name that stands in
# the statement has a position in it.
_UNKNOWN_NAMES = ("3D", "3F", "42P01", "42703", "42883", "42704")
# Errors that concern the gateway's own account are not reported to the client.
_OURS = {"42501": "XX000", "28000": "08006", "28P01": "08006", "3D000": "08006"}


def _engine_failure(error: Exception) -> EngineFailed:
    state: str = getattr(error, "sqlstate", None) or type(error).__name__
    remedy = _REMEDIES.get(state[:5], "")
    if words := _harmless_words(error):
        return EngineFailed(
            f"PostgreSQL refused a statement ({state}).{remedy}",
            engine_words=f"PostgreSQL's message: {words}",
        )
    return EngineFailed(
        f"PostgreSQL refused a statement or its result cannot be held in Arrow ({state}). "
        f"The message is withheld because it may quote data.{remedy}"
    )


def _harmless_words(error: Exception) -> str:
    """Return the first line of a message that cannot quote data; else nothing.

    A function of the database can raise any SQLSTATE with any words; the server then says where.
    """
    if not isinstance(error, psycopg.Error) or error.diag.source_file is None:
        return ""
    harmless = (*_HARMLESS, *(_UNKNOWN_NAMES if error.diag.statement_position else ()))
    if error.diag.context or not (error.sqlstate or "").startswith(harmless):
        return ""
    return (error.diag.message_primary or "").partition("\n")[0]


def call_postgres(
    call: Callable[[], Answer], translate: Callable[[Exception], DiscreetError] = _engine_failure
) -> Answer:
    """Return `call()`; a failure of PostgreSQL becomes one of ours, without the server's message.

    The new error is raised after the `except` block: inside it, Python would attach the old one.
    """
    try:
        return call()
    except (psycopg.Error, pa.ArrowException) as error:
        failure = translate(error)
    raise failure


def client_state(sqlstate: str) -> str:
    """Return the SQLSTATE that a client gets for one of the server."""
    return _OURS.get(sqlstate, sqlstate)


def postgres_failure(error: Exception) -> StatementFailed:
    """Return the failure of a client's statement: it may hold names, never values."""
    if not isinstance(error, psycopg.Error):
        return statement_failure("22003")  # Arrow cannot hold the result
    if error.sqlstate is None:
        return statement_failure("08006")
    state = client_state(error.sqlstate)
    table, column = error.diag.table_name, error.diag.column_name
    if state == "23502" and table and column:
        return statement_failure(
            state,
            f'null value in column "{column}" of relation "{table}" violates not-null constraint',
        )
    if state == "23514" and table:
        return statement_failure(state, f'new row for relation "{table}" violates check constraint')
    return statement_failure(state)
