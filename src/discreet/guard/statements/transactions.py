"""Statements about transactions, read from their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.statements import statement as kinds

if TYPE_CHECKING:
    from discreet.guard.statements.cursor import Cursor

_LEVELS = (
    ("serializable",),
    ("repeatable", "read"),
    ("read", "committed"),
    ("read", "uncommitted"),
)


def begin(cursor: Cursor) -> kinds.Begin:
    """Read BEGIN [WORK | TRANSACTION] modes; the word itself was read."""
    if not cursor.take("work"):
        cursor.take("transaction")
    return _begun(cursor)


def start(cursor: Cursor) -> kinds.Begin:
    """Read START TRANSACTION modes."""
    cursor.need("transaction")
    return _begun(cursor)


def _begun(cursor: Cursor) -> kinds.Begin:
    said = modes(cursor).get("read_only")
    return kinds.Begin(read_only=None if said is None else said == "on")


def modes(cursor: Cursor) -> dict[str, str]:
    """Read what a transaction shall be: `isolation`, `read_only`, `deferrable`, as far as it is said."""
    found: dict[str, str] = {}
    while cursor.word.kind != "end":
        if cursor.take("isolation", "level"):
            found["isolation"] = _level(cursor)
        elif cursor.take("read", "only"):
            found["read_only"] = "on"
        elif cursor.take("read", "write"):
            found["read_only"] = "off"
        elif cursor.take("not", "deferrable"):
            found["deferrable"] = "off"
        else:
            cursor.need("deferrable")
            found["deferrable"] = "on"
        cursor.take(",")
    return found


def _level(cursor: Cursor) -> str:
    for words in _LEVELS:
        if cursor.take(*words):
            return " ".join(words)
    raise cursor.unexpected()


def _rest(cursor: Cursor) -> None:
    if not cursor.take("work"):
        cursor.take("transaction")
    if cursor.take("and"):
        if not cursor.take("no"):
            raise StatementFailed("0A000", "AND CHAIN is not supported: send BEGIN")
        cursor.need("chain")


def commit(cursor: Cursor) -> kinds.Commit:
    """Read COMMIT or END."""
    _refuse_prepared(cursor)
    _rest(cursor)
    return kinds.Commit()


def rollback(cursor: Cursor) -> kinds.Rollback | kinds.RollbackTo:
    """Read ROLLBACK, ABORT, or ROLLBACK TO a savepoint."""
    _refuse_prepared(cursor)
    if not cursor.take("work"):
        cursor.take("transaction")
    if cursor.take("to"):
        cursor.take("savepoint")
        return kinds.RollbackTo(cursor.name())
    _rest(cursor)
    return kinds.Rollback()


def _refuse_prepared(cursor: Cursor) -> None:
    if cursor.at("prepared"):
        raise StatementFailed("0A000", "two-phase commit is not supported")


def savepoint(cursor: Cursor) -> kinds.Savepoint:
    """Read SAVEPOINT name."""
    return kinds.Savepoint(cursor.name())


def release(cursor: Cursor) -> kinds.ReleaseSavepoint:
    """Read RELEASE [SAVEPOINT] name."""
    cursor.take("savepoint")
    return kinds.ReleaseSavepoint(cursor.name())
