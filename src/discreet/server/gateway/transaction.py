"""One session's transaction: changes of rows and of rights are committed together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

from discreet.engines.databases.database import DatabaseConnection
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Name
from discreet.guard.access.reach import effective_roles
from discreet.guard.control.versions import conflict
from discreet.guard.integrity.deferral import DeferredKeys
from discreet.server.session import TransactionStatus

# Locks the store, checks that the version is still the given one, and stores the new one.
# Where rows were written, too, it first records on their connection that they belong together.
Changing = Callable[[int, Authority, "DatabaseConnection | None"], AbstractContextManager[object]]
# Returns a function that restores the session's current role and settings.
Remember = Callable[[], Callable[[], None]]


@dataclass(frozen=True)
class _SavepointState:
    name: str
    authority: Authority | None
    restore: Callable[[], None]
    later: int  # the number of actions after the commit


class SessionTransaction:
    """A transaction that begins, may fail, and ends; outside of one, each block is one.

    Rights that a transaction changes are its own until it commits. If rights changed otherwise
    meanwhile, the commit fails with 40001, and so do its rows. Its settings are rolled back, too.
    """

    def __init__(
        self,
        connection: DatabaseConnection,
        current: Callable[[], Authority],
        changing: Changing,
        remember: Remember,
    ) -> None:
        self.connection = connection
        self._current, self._changing, self._remember = current, changing, remember
        self._restore: Callable[[], None] | None = None
        self._seen = current()
        self._kind: Literal["none", "implicit", "explicit"] = "none"
        self._has_failed = self._has_written = False
        self.is_read_only = False  # on the engine, so that nothing can change that
        self.has_run_statements = False  # whether this transaction has read or written
        self._pending: Authority | None = None
        self._start: Authority | None = None
        self._base = 0
        self._marks: list[_SavepointState] = []
        self.deferred = DeferredKeys(lambda: self.authority)
        self._after: list[Callable[[], None]] = []
        self._instead: list[Callable[[], None]] = []

    @property
    def status(self) -> TransactionStatus:
        """The transaction status in ReadyForQuery."""
        if self._kind != "explicit":
            return "I"
        return "E" if self._has_failed else "T"

    @property
    def is_idle(self) -> bool:
        """Whether no block and no transaction is open."""
        return self._kind == "none"

    @property
    def authority(self) -> Authority:
        """The rights as this statement sees them: the newest at its start, or the transaction's own."""
        return self._pending or self._seen

    @property
    def is_explicit(self) -> bool:
        """Whether a user's BEGIN opened it."""
        return self._kind == "explicit"

    def refresh(self) -> None:
        """Renew the rights: before a statement is decided."""
        self._seen = self._current()

    @property
    def has_changes(self) -> bool:
        """Whether there are uncommitted changes of rights."""
        return self._pending is not None

    @property
    def has_written(self) -> bool:
        """Whether rows or rights were changed that are not committed."""
        return self._has_written or self._pending is not None

    def require_usable(self) -> None:
        """Refuse everything but the end of a failed transaction."""
        if self._has_failed:
            raise StatementFailed(
                "25P02",
                "current transaction is aborted, commands ignored until end of transaction block",
            )
        # It could not commit anyway, and must not continue with revoked rights.
        if self._pending is not None and self._seen.version != self._base:
            raise conflict()

    def require_unread(self) -> None:
        """Refuse to change a read-only transaction to read-write."""
        if self._kind != "explicit":
            return
        if self._marks:
            raise StatementFailed(
                "25001", "cannot set transaction read-write mode inside a read-only transaction"
            )
        if self.has_run_statements or self.is_read_only:
            raise StatementFailed(
                "25001", "transaction read-write mode must be set before any query"
            )

    def require_same(self, names: Iterable[Name], roles: Iterable[str]) -> None:
        """Refuse relations on which the rights are newer than the transaction.

        Its snapshot may be older than the right: it would show earlier data. This covers rights on
        relations and their schemas, and the attributes, memberships and clearances of `roles`.
        """
        if self._start is None or self._start is self._seen or not self.connection.in_transaction:
            return
        before, now, names = self._start, self._seen, list(names)
        schemas = {schema for schema, _ in names}
        if (
            any(before.relations.get(name) != now.relations.get(name) for name in names)
            or any(before.schemas.get(name) != now.schemas.get(name) for name in schemas)
            or any(effective_roles(before, role) != effective_roles(now, role) for role in roles)
        ):
            raise conflict()

    def change(self, authority: Authority) -> None:
        """Make `authority` the transaction's own, and everyone's after its commit."""
        if self._pending is None:
            self._base = self._seen.version
        self._pending = authority

    def write(self) -> DatabaseConnection:
        """Return the connection with a transaction begun, for work that may be rolled back."""
        if not self.connection.in_transaction:
            self._begin_on_engine()
        self._has_written = True
        return self.connection

    def read(self) -> DatabaseConnection:
        """Return the connection; in a user's transaction, all reads see one snapshot."""
        if self._kind == "explicit" and not self.connection.in_transaction:
            self._begin_on_engine()
        return self.connection

    def _begin_on_engine(self, *, read_only: bool = False) -> None:
        self._start = self._current()  # before the snapshot, so that it is no newer
        self.connection.begin(read_only=read_only)
        self.is_read_only = read_only

    def after_commit(self, action: Callable[[], None]) -> None:
        """Do something after the commit, such as removing a file."""
        self._after.append(action)

    def after_rollback(self, action: Callable[[], None]) -> None:
        """Do something after a rollback, such as removing a file that it created."""
        self._instead.append(action)

    def begin(self, *, read_only: bool = False) -> bool:
        """Start a user's transaction; return whether there was one already."""
        was_open = self._kind == "explicit"
        if not was_open:
            self.start_block()
            self._kind = "explicit"
            if not self.connection.in_transaction:
                self._begin_on_engine(read_only=read_only)
        return was_open

    def commit(self) -> bool:
        """Commit the transaction; return whether it was committed: a failed one is rolled back."""
        if self._has_failed:
            self.rollback()
            return False
        try:
            self._commit()
        except BaseException:
            self.rollback()
            raise
        after, self._after = self._after, []
        self._clear_state()
        for action in after:
            action()
        return True

    def _commit(self) -> None:
        if self.deferred.pending:
            self.deferred.check(self.connection)
        if self._pending is None:
            if self.connection.in_transaction:
                self.connection.commit()
            return
        written = self.connection if self._has_written else None
        with self._changing(self._base, self._pending, written):
            # Rows first: rights without their table would be worse than a table without rights.
            if self.connection.in_transaction:
                self.connection.commit()
        self.refresh()

    def rollback(self) -> None:
        """Roll back the transaction."""
        try:
            self.connection.rollback()
        finally:
            if self._restore is not None:
                self._restore()
            instead = self._instead
            self._after.clear()
            self._clear_state()
            for action in instead:
                action()

    def start_block(self) -> None:
        """Make the following statements one transaction, unless the user has begun one."""
        if self._kind == "none":
            self._kind = "implicit"
            self._restore = self._remember()

    def finish_block(self, *, failed: bool) -> None:
        """End the block; a user's transaction stays open, and fails if the block does."""
        if self._kind == "explicit":
            self._has_failed = self._has_failed or failed
        elif self._kind == "implicit":
            if failed:
                self.rollback()
            else:
                self.commit()

    def fail(self) -> None:
        """Record that a statement failed, so that the transaction cannot continue."""
        if self._kind == "explicit":
            self._has_failed = True

    def savepoint(self, name: str) -> None:
        """Set a savepoint."""
        self._require_explicit("SAVEPOINT")
        self.write().savepoint(name)
        self._marks.append(_SavepointState(name, self._pending, self._remember(), len(self._after)))

    def release(self, name: str) -> None:
        """Release a savepoint and those after it."""
        self._require_explicit("RELEASE SAVEPOINT")
        place = self._find(name)
        self.connection.release(name)
        del self._marks[place:]

    def rollback_to(self, name: str) -> None:
        """Roll back to a savepoint; a failed transaction can go on from there."""
        self._require_explicit("ROLLBACK TO SAVEPOINT")
        place = self._find(name)
        self.connection.rollback_to(name)
        mark = self._marks[place]
        self._pending = mark.authority
        mark.restore()
        del self._after[mark.later :]
        del self._marks[place + 1 :]
        self._has_failed = False

    def close(self) -> None:
        """Roll back an open transaction and release the connection."""
        try:
            self.rollback()
        finally:
            self.connection.close()

    def _find(self, name: str) -> int:
        for place in reversed(range(len(self._marks))):
            if self._marks[place].name == name:
                return place
        self.fail()
        raise StatementFailed("3B001", f'savepoint "{name}" does not exist')

    def _require_explicit(self, what: str) -> None:
        if self._kind != "explicit":
            raise StatementFailed("25P01", f"{what} can only be used in transaction blocks")

    def _clear_state(self) -> None:
        self._kind, self._pending, self._restore = "none", None, None
        self._has_failed = self._has_written = self.is_read_only = self.has_run_statements = False
        self._instead = []
        self.deferred.clear()
        self._marks.clear()
