"""Statements about transactions."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.cursor import StatementCursor

_LEVELS = (
    ("serializable",),
    ("repeatable", "read"),
    ("read", "committed"),
    ("read", "uncommitted"),
)


def parse_begin(cursor: StatementCursor) -> kinds.Begin:
    """Parse BEGIN [WORK | TRANSACTION] modes; the word itself was skipped."""
    if not cursor.take("work"):
        cursor.take("transaction")
    return _make_begin(cursor)


def parse_start(cursor: StatementCursor) -> kinds.Begin:
    """Read START TRANSACTION modes."""
    cursor.need("transaction")
    return _make_begin(cursor)


def _make_begin(cursor: StatementCursor) -> kinds.Begin:
    mode = parse_transaction_modes(cursor).get("read_only")
    return kinds.Begin(read_only=None if mode is None else mode == "on")


def parse_transaction_modes(cursor: StatementCursor) -> dict[str, str]:
    """Parse the modes of a transaction: `isolation`, `read_only`, `deferrable`, as far as given."""
    found: dict[str, str] = {}
    while cursor.word.kind != "end":
        if cursor.take("isolation", "level"):
            found["isolation"] = _parse_isolation_level(cursor)
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


def _parse_isolation_level(cursor: StatementCursor) -> str:
    for words in _LEVELS:
        if cursor.take(*words):
            return " ".join(words)
    raise cursor.unexpected()


def _parse_end_options(cursor: StatementCursor) -> bool:
    """Return whether AND CHAIN is given."""
    if not cursor.take("work"):
        cursor.take("transaction")
    if not cursor.take("and"):
        return False
    is_chain = not cursor.take("no")
    cursor.need("chain")
    return is_chain


def parse_commit(cursor: StatementCursor) -> kinds.Commit:
    """Read COMMIT or END."""
    _refuse_prepared(cursor)
    return kinds.Commit(chain=_parse_end_options(cursor))


def parse_rollback(cursor: StatementCursor) -> kinds.Rollback | kinds.RollbackTo:
    """Read ROLLBACK, ABORT, or ROLLBACK TO a savepoint."""
    _refuse_prepared(cursor)
    if not cursor.take("work"):
        cursor.take("transaction")
    if cursor.take("to"):
        cursor.take("savepoint")
        return kinds.RollbackTo(cursor.name())
    return kinds.Rollback(chain=_parse_end_options(cursor))


def _refuse_prepared(cursor: StatementCursor) -> None:
    if cursor.at("prepared"):
        raise StatementFailed("0A000", "two-phase commit is not supported")


def parse_savepoint(cursor: StatementCursor) -> kinds.Savepoint:
    """Read SAVEPOINT name."""
    return kinds.Savepoint(cursor.name())


def parse_release(cursor: StatementCursor) -> kinds.ReleaseSavepoint:
    """Read RELEASE [SAVEPOINT] name."""
    cursor.take("savepoint")
    return kinds.ReleaseSavepoint(cursor.name())
