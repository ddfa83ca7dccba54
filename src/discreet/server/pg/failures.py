"""Failures as reported to clients: a table from discreet's errors to SQLSTATEs."""

from __future__ import annotations

from discreet import errors
from discreet.server.pg.messages import encode_fields, message
from discreet.server.session import Notice

# The first entry that an error is an instance of applies. The messages of these errors are meant
# to be shown; the message of any other error is withheld.
SQLSTATES: tuple[tuple[type[errors.DiscreetError], str], ...] = (
    (errors.BudgetExceeded, "53400"),
    (errors.QuestionRefused, "42501"),
    (errors.InvalidQuestion, "42601"),
    (errors.UnknownColumn, "42703"),
    (errors.DuplicateColumns, "42701"),
    (errors.SourceNotFound, "42P01"),
    (errors.InvalidBudget, "22023"),
    (errors.InvalidMechanism, "22023"),
    (errors.WrongUsage, "22023"),
    (errors.InvalidKey, "22023"),
    (errors.InvalidPolicy, "F0000"),
    (errors.RiskNotTolerated, "55000"),
    (errors.LockedSource, "55006"),
    (errors.StoreFailed, "58000"),
    (errors.LedgerFailed, "58000"),
    (errors.JournalBroken, "58000"),
    (errors.MissingExtra, "0A000"),
)
INTERNAL = errors.StatementFailed("XX000", "internal error")


def as_statement_failed(error: BaseException) -> errors.StatementFailed:
    """Return any failure as one with a SQLSTATE; the message of an unknown one is withheld.

    >>> as_statement_failed(errors.BudgetExceeded("0.1 is left")).sqlstate
    '53400'
    >>> str(as_statement_failed(ValueError("Alice")))
    'internal error'
    """
    if isinstance(error, errors.StatementFailed):
        return error
    if isinstance(error, errors.LoginFailed):
        return errors.StatementFailed(error.sqlstate, str(error))
    if isinstance(error, errors.EngineFailed):
        return errors.StatementFailed("XX000", error.summary)
    for kind, sqlstate in SQLSTATES:
        if isinstance(error, kind):
            return errors.StatementFailed(sqlstate, str(error))
    if isinstance(error, MemoryError):
        return errors.StatementFailed("53200", "out of memory")
    if isinstance(error, RecursionError):
        return errors.StatementFailed("54001", "statement is too complex")
    return INTERNAL


def error_response(error: BaseException, *, severity: str = "ERROR") -> bytes:
    """Return ErrorResponse; with severity FATAL the connection ends after it."""
    failure = as_statement_failed(error)
    return message(
        b"E",
        encode_fields(
            {
                "S": severity,
                "V": severity,
                "C": failure.sqlstate,
                "M": str(failure),
                "D": failure.detail,
                "H": failure.hint,
            }
        ),
    )


def notice_response(notice: Notice) -> bytes:
    """Return NoticeResponse."""
    return message(
        b"N",
        encode_fields(
            {
                "S": notice.severity,
                "V": notice.severity,
                "C": notice.sqlstate,
                "M": notice.message,
                "D": notice.detail,
                "H": notice.hint,
            }
        ),
    )
