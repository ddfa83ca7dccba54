"""Failures of statements: PostgreSQL's SQLSTATE and a fixed text that holds no value."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import StatementFailed

SERIALIZATION = "could not serialize access due to read/write dependencies among transactions"

MESSAGES: Mapping[str, str] = {
    "08006": "the connection to the database was lost",
    "08007": "the connection to the database was lost during COMMIT: its outcome is unknown",
    "0A000": "the database does not support this",
    "21000": "more than one row returned by a subquery used as an expression",
    "22001": "value too long for its type",
    "22003": "numeric value out of range",
    "22007": "invalid input syntax for a date or time",
    "22008": "date or time out of range",
    "22012": "division by zero",
    "22021": "invalid byte sequence for encoding",
    "22023": "invalid argument of a function",
    "22P02": "invalid input syntax for a type",
    "23502": "null value in a column violates not-null constraint",
    "23503": "insert, update or delete violates foreign key constraint",
    "23505": "duplicate key value violates unique constraint",
    "23514": "new row violates check constraint",
    "25006": "cannot write in a read-only transaction",
    "25P02": "current transaction is aborted, commands ignored until end of transaction block",
    "2BP01": "cannot drop it because other objects depend on it",
    "3B001": "savepoint does not exist",
    "3F000": "schema does not exist",
    "40001": SERIALIZATION,
    "40P01": "deadlock detected",
    "42601": "syntax error",
    "42702": "column reference is ambiguous",
    "42703": "column does not exist",
    "42803": "a column must appear in the GROUP BY clause or be used in an aggregate function",
    "42804": "types do not match",
    "42883": "no function or operator matches these types; you might need to add explicit casts",
    "42P01": "relation does not exist",
    "42P07": "relation already exists",
    "42P18": "could not determine the type of a parameter or literal",
    "53100": "the disk is full",
    "53200": "out of memory",
    "53300": "too many connections to the database",
    "54000": "the result has more rows than are allowed",
    "54001": "the statement is too complex",
    "55P03": "could not obtain the right to write in time: another transaction is writing",
    "57014": "canceling statement due to user request",
    "57P01": "the database is shutting down",
    "58030": "the database could not read or write its files",
    "XX001": "the database file is damaged",
    "XX000": "internal error",
}
_HINTS: Mapping[str, str] = {
    "08007": "Check whether it was committed before you send it again.",
    "40001": "The transaction might succeed if retried.",
    "40P01": "The transaction might succeed if retried.",
    "53200": "Ask for less at once, or raise the memory limit.",
    "55P03": "Try again; long transactions that write keep others waiting.",
}
# A class of states shares a text where the state itself has none.
_CLASSES: Mapping[str, str] = {
    "08": MESSAGES["08006"],
    "0A": MESSAGES["0A000"],
    "21": "the number of values or rows does not fit",
    "22": "a value does not fit",
    "23": "an integrity constraint is violated",
    "25": "not allowed in this state of the transaction",
    "40": SERIALIZATION,
    "42": "the statement does not fit the tables or types it names",
    "53": "the database is out of a resource",
    "54": "the statement is too large or too complex",
    "57": "the database stopped the statement",
    "58": MESSAGES["58030"],
}


def statement_failure(
    sqlstate: str, message: str | None = None, *, hint: str | None = None
) -> StatementFailed:
    """Return the failure of a statement; its text depends on nothing but the arguments.

    >>> str(statement_failure("22012")), str(statement_failure("22999")), str(statement_failure("99999"))
    ('division by zero', 'a value does not fit', 'internal error')
    """
    text = message or MESSAGES.get(sqlstate) or _CLASSES.get(sqlstate[:2]) or MESSAGES["XX000"]
    return StatementFailed(sqlstate, text, hint=hint or _HINTS.get(sqlstate))


def too_many_bytes(limit: int) -> StatementFailed:
    """Return the failure of a query whose result exceeds the memory limit."""
    return statement_failure(
        "54000",
        f"the result is larger than {limit / (1 << 20):g} MiB",
        hint="Ask for fewer rows or shorter values at once.",
    )


def too_many_rows(limit: int) -> StatementFailed:
    """Return the failure of a query with more rows than the limit."""
    return statement_failure(
        "54000",
        f"the result has more than {limit} rows",
        hint="Ask for less with LIMIT or WHERE, or count instead.",
    )
