"""Named cursors: results that are returned in parts."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.engines.databases.database import ResultField
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.guard.statements.statement import CloseCursor, Fetch
from discreet.server.session import Outcome, PreparedStatement


@dataclass
class SessionCursor:
    """A result, its query, and the current position."""

    prepared: PreparedStatement
    fields: tuple[ResultField, ...]
    table: ArrowTable
    hold: bool = False
    place: int = 0


def add_cursor(
    cursors: dict[str, SessionCursor],
    name: str,
    cursor: SessionCursor,
    *,
    most: int,
    most_bytes: int,
) -> None:
    """Add a cursor; all of a session's together hold at most as much as one result."""
    held = sum(each.table.num_rows + 1 for each in cursors.values())
    if held + cursor.table.num_rows > most:
        raise StatementFailed("54000", "open cursors hold too many rows: close some")
    if sum(each.table.nbytes for each in (*cursors.values(), cursor)) > most_bytes:
        raise StatementFailed("54000", "open cursors hold too much memory: close some")
    cursors[name] = cursor


def fetch_cursor(cursors: dict[str, SessionCursor], statement: Fetch) -> Outcome:
    """Return the next rows of a cursor."""
    cursor = cursors.get(statement.name)
    if cursor is None:
        raise StatementFailed("34000", f'cursor "{statement.name}" does not exist')
    left = cursor.table.num_rows - cursor.place
    wanted = left if statement.count is None else statement.count
    if wanted < 0:
        raise StatementFailed("55000", "cursor can only scan forward")
    count = min(wanted, left)
    part = cursor.table.slice(cursor.place, count)
    cursor.place += count
    if statement.move:
        return Outcome(f"MOVE {count}")
    return Outcome(f"FETCH {count}", cursor.fields, part)


def close_cursor(cursors: dict[str, SessionCursor], statement: CloseCursor) -> Outcome:
    """Close a cursor, or all of them."""
    if statement.name is None:
        cursors.clear()
        return Outcome("CLOSE CURSOR ALL")
    if cursors.pop(statement.name, None) is None:
        raise StatementFailed("34000", f'cursor "{statement.name}" does not exist')
    return Outcome("CLOSE CURSOR")
