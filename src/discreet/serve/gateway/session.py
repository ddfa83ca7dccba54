"""One connected user: every statement is prepared, decided, recorded and run here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from discreet.engines.databases.database import DatabaseConnection
from discreet.errors import AccessDenied, Bug, DiscreetError, StatementFailed
from discreet.guard.access.authority import Authority, Name, Subject
from discreet.guard.control.versions import VersionChange
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.rewrite.permitted import TouchedRelation
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.parse import parse_statements
from discreet.guard.statements.statement import Statement
from discreet.serve.gateway.audit_draft import AuditDraft
from discreet.serve.gateway.large import bounds_for
from discreet.serve.gateway.parse_queue import LARGE
from discreet.serve.gateway.session_identity import RECOVERY_STATEMENTS, require_valid_identity
from discreet.serve.gateway.transaction import SessionTransaction
from discreet.serve.gateway.variables import REPORTED, SessionVariables, startup_settings
from discreet.serve.session import Outcome, PreparedStatement, TransactionStatus

if TYPE_CHECKING:
    from discreet.serve.gateway.cursors import SessionCursor
    from discreet.serve.gateway.server import Server

_RETRIED = ("40001", "40P01")
_ATTEMPTS = 8  # of a statement after serialization failures
DECISION_TTL = 0.001  # seconds within which a change of rights may go unnoticed


class GatewaySession:
    """Implements `discreet.serve.session.Session` for one server."""

    def __init__(
        self, house: Server, visitor: ClientInfo, parameters: Mapping[str, str], method: str
    ) -> None:
        self.server, self.client, self.method = house, visitor, method
        self.id = secrets.token_hex(8)
        self.variables = SessionVariables(defaults=house.defaults)
        self.transaction = SessionTransaction(
            house.database.connect(),
            house.control.authority,
            self._commit_authority,
            self._save_settings,
        )
        self._identity = visitor.identity or self.authority.identity_of(visitor.user)
        self.set_role(visitor.user)
        self.cursors: dict[str, SessionCursor] = {}
        self.statements: dict[str, kinds.Prepare] = {}
        self.keys = house.unlocked()
        self.ciphers = house.vault.ciphers(self.keys)
        self._is_canceled = self._is_late = self._is_starved = self._is_running = False
        self._stop: Callable[[], None] | None = None
        self._subject: Subject | None = None
        self._looked = 0.0
        self._read = 0.0  # seconds spent on parsing the statement, or waiting for it
        self._latest: PreparedStatement | None = None
        self.definitions: list[str] = []  # of this transaction, without passwords
        try:
            self._start(parameters)
        except BaseException:
            self.transaction.close()
            raise

    def set_role(self, role: str) -> None:
        """Act as a role from now on: bound to its identity, not only its name."""
        self.role, self._acting = role, self.authority.identity_of(role)

    def _start(self, parameters: Mapping[str, str]) -> None:
        """Apply the settings of the client's startup message, except the clearance."""
        for name, value in startup_settings(parameters).items():
            self.variables.set(name, value)
        wanted = self.variables.get("discreet.clearance")
        if wanted:
            with self._record_failures("SET discreet.clearance", AuditDraft()):
                self.server.require_clearance(self, wanted)

    @property
    def user(self) -> str:
        """The logged-in user."""
        return self.client.user

    @property
    def transaction_status(self) -> TransactionStatus:
        """The transaction status in ReadyForQuery."""
        return self.transaction.status

    @property
    def reported(self) -> Mapping[str, str]:
        """Settings that are reported to clients."""
        told = {name: self.variables.get(name) for name in REPORTED}
        role = self.authority.roles.get(self.role)
        return {
            **told,
            "is_superuser": "on" if role is not None and role.superuser else "off",
            "session_authorization": self.user,
        }

    @property
    def idle_in_transaction(self) -> float | None:
        """The session's limit in seconds on being idle in a transaction."""
        return self.variables.idle_in_transaction

    @property
    def authority(self) -> Authority:
        """The rights as this session currently sees them."""
        return self.transaction.authority

    @property
    def clearance(self) -> str | None:
        """The clearance of this session: at most that of the user."""
        role = self.authority.roles.get(self.user)
        own = role.clearance if role is not None else None
        wanted = self.variables.get("discreet.clearance")
        # Checked each time: the user's own clearance may have been lowered.
        if own is None or not wanted or not self.server.is_cleared(self.authority, own, wanted):
            return own
        return wanted

    @property
    def subject(self) -> Subject:
        """The sender of statements as decisions see it; one statement has one time."""
        if self._subject is None:
            now = self.server.clock().replace(tzinfo=None).isoformat(sep=" ")
            settings = {**self.variables.all(), "discreet.now": now}
            self._subject = Subject(self.user, self.role, self.clearance, settings)
        return self._subject

    def refresh(self) -> None:
        """Renew rights, role and settings."""
        self._subject = None
        self._looked = time.monotonic()
        self.transaction.refresh()

    def _refresh_if_stale(self, prepared: PreparedStatement) -> None:
        """Renew them, unless the statement was just decided and runs for the first time."""
        is_decided = self._latest is prepared and time.monotonic() - self._looked < DECISION_TTL
        self._latest = None
        if not is_decided:
            self.refresh()

    def split(self, text: str) -> Sequence[Statement]:
        """Return the statements of a text."""
        note = AuditDraft()
        self._read, self._is_canceled = 0.0, False
        with self._record_failures(text, note), self._limit_parsing(text):
            bounds = bounds_for(self, text)
            return parse_statements(text, lenient=self.variables.is_lenient, bounds=bounds)

    def prepare(
        self, statement: Statement, declared: Sequence[str | None] = ()
    ) -> PreparedStatement:
        """Return a statement's parameters and columns; nothing is executed or charged."""
        from discreet.serve.gateway.preparation import prepare_statement

        note = AuditDraft()
        with self._record_failures(statement.text, note), self._limit_parsing(statement.text):
            self.refresh()
            self._require_runnable(statement)
            self._latest = prepare_statement(self, statement, declared, note)
            return self._latest

    @contextmanager
    def _limit_parsing(self, text: str) -> Generator[None]:
        """Count the parsing time of a statement in its limit; a large one waits for its turn."""
        started, left = time.monotonic(), self._statement_seconds - self._read
        try:
            if len(text) < LARGE:
                yield
            else:
                turns = self.server.parse_queue
                with turns.turn(self.user, seconds=left, check=self.require_not_canceled):
                    yield
        finally:
            self._read += time.monotonic() - started
        if self._read > self._statement_seconds:
            raise StatementFailed("57014", "canceling statement due to statement timeout")

    def run(self, prepared: PreparedStatement, values: Sequence[object] = ()) -> Outcome:
        """Run a prepared statement; the decision is recorded before this returns.

        A statement outside a transaction is repeated after a serialization failure.
        """
        owns = self.transaction.is_idle
        until = time.monotonic() + self._statement_seconds
        for attempt in range(_ATTEMPTS if owns else 0):
            try:
                return self._run_once(prepared, values, owns=True)
            except StatementFailed as error:
                is_late = self._is_canceled or time.monotonic() > until
                if error.sqlstate not in _RETRIED or is_late or not self.transaction.is_idle:
                    raise
            time.sleep(secrets.randbelow(4 << attempt) / 1000)
        return self._run_once(prepared, values, owns=owns)

    def check(self, prepared: PreparedStatement) -> None:
        """Refuse to return more rows of a statement that has run, if it is no longer permitted."""
        from discreet.serve.gateway.preparation import require_still_permitted

        note = AuditDraft()
        with self._record_failures(prepared.statement.text, note):
            self.refresh()
            self._require_runnable(prepared.statement)
            require_still_permitted(self, prepared, note)

    def _run_once(
        self, prepared: PreparedStatement, values: Sequence[object], *, owns: bool
    ) -> Outcome:
        note = AuditDraft()
        if owns:
            self.transaction.start_block()
        try:
            with self._record_failures(prepared.statement.text, note, values=values):
                self._refresh_if_stale(prepared)
                self._require_runnable(prepared.statement)
                self.keys.refresh()
                return self._run(prepared, values, note, owns=owns)
        except BaseException:
            if owns and not self.transaction.is_idle:
                self.transaction.finish_block(failed=True)
            else:
                self.transaction.fail()
            if self.transaction.is_idle:
                self.end_transaction()
            raise

    def _run(
        self, prepared: PreparedStatement, values: Sequence[object], note: AuditDraft, *, owns: bool
    ) -> Outcome:
        from discreet.serve.gateway.execution import run_statement

        self._is_canceled = self._is_late = self._is_starved = False
        self._is_running = True
        try:
            left, self._read = max(self._statement_seconds - self._read, 0.001), 0.0
            with self.server.deadlines.limit(left, self._end_late), self.ciphers.explain_refusals():
                outcome = run_statement(self, prepared, values, note)
        except StatementFailed as error:
            if self._is_starved and error.sqlstate == "57014":
                raise StatementFailed(
                    "53200", "out of memory", hint="Ask for less at once."
                ) from None
            if self._is_late and error.sqlstate == "57014":
                raise StatementFailed(
                    "57014", "canceling statement due to statement timeout"
                ) from None
            raise
        finally:
            self._is_running = False
        if self.ciphers.used and note.reason is None:
            note.reason = f"key {', '.join(sorted(self.ciphers.used))}"
        self._record(prepared.statement.text, note, "allowed", values=values)
        note.is_recorded = False  # if the commit fails, that is recorded, too
        if owns and not self.transaction.is_idle:
            self.transaction.finish_block(failed=False)
            if self.transaction.is_idle:
                self.end_transaction()
        return outcome

    @property
    def _statement_seconds(self) -> float:
        """The time limit of a statement."""
        most = self.server.settings.limits.statement_seconds
        return min(self.variables.timeout or most, most)

    def start_block(self) -> None:
        """Open an implicit transaction, unless one is open."""
        self.transaction.start_block()

    def finish_block(self, *, failed: bool = False) -> None:
        """Commit the implicit transaction, or roll it back."""
        with self._record_failures("COMMIT", AuditDraft()):
            self.transaction.finish_block(failed=failed)
        if self.transaction.is_idle:
            self.end_transaction()

    def end_transaction(self) -> None:
        """Reset the settings that last for one transaction only."""
        self.variables.end_transaction()
        self.definitions = []
        self._subject = None
        self.cursors = {name: cursor for name, cursor in self.cursors.items() if cursor.hold}

    def cancel(self) -> None:
        """Cancel the running statement, from another thread."""
        self._is_canceled = True
        self.transaction.connection.interrupt()
        self.ciphers.interrupt()
        stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Generator[None]:
        """Make `cancel` also interrupt the code inside, which uses another connection."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    def _end_late(self) -> None:
        """Interrupt a statement that exceeded its time limit."""
        self._is_late = True
        self.cancel()

    def abort_for_memory(self) -> None:
        """Interrupt the running statement, if any, since there is no memory left for it."""
        if self._is_running:
            self._is_starved = True
            self.cancel()

    def require_not_canceled(self) -> None:
        """Refuse to continue a statement that was canceled."""
        if self._is_canceled:
            raise StatementFailed("57014", "canceling statement due to user request")

    def require_same(self, reads: Iterable[TouchedRelation], *others: Name) -> None:
        """Refuse relations on which a right was granted since the transaction began."""
        touched = list(reads)
        names = [*(one.relation for one in touched), *others]
        self.transaction.require_same(names, {self.user, *(one.as_role for one in touched)})

    def close(self) -> None:
        """End the session."""
        try:
            self.transaction.close()
        finally:
            self.ciphers.close()
            self.keys.close()
            self.server.unregister(self)

    def _require_runnable(self, statement: Statement) -> None:
        """Refuse users dropped or locked out since login, and statements after a failure."""
        require_valid_identity(self.authority, statement, self, (self._identity, self._acting))
        if not isinstance(statement, RECOVERY_STATEMENTS):
            self.transaction.require_usable()

    def _save_settings(self) -> Callable[[], None]:
        """Return a function that restores the current role and settings, for a rollback."""
        role, acting, settings = self.role, self._acting, self.variables.remembered()

        def restore() -> None:
            self.role, self._acting, self._subject = role, acting, None
            self.variables.restore(settings)

        return restore

    def _commit_authority(
        self, base: int, authority: Authority, written: DatabaseConnection | None
    ) -> AbstractContextManager[object]:
        """Return a context that locks the authority while the engine commits, and then stores it."""
        said, self.definitions = "; ".join(self.definitions), []
        change = VersionChange(base, authority, self.user, said, self.server.clock())
        if written is not None:
            self.server.pending.note(written, change)
        return self.server.control.changing(
            base, authority, by=change.by, statement=said, at=change.at, token=change.token
        )

    @contextmanager
    def _record_failures(
        self,
        text: str,
        note: AuditDraft,
        *,
        values: Sequence[object] = (),
    ) -> Generator[None]:
        """Record refusals and failures inside; an unexpected error becomes a `Bug` without details."""
        try:
            yield
        except AccessDenied as error:
            note.sqlstate, note.reason = error.sqlstate, error.reason
            self._record(text, note, "denied", values=values)
            raise
        except DiscreetError as error:
            note.sqlstate = getattr(error, "sqlstate", None) or error.code
            note.reason = note.reason or str(error)
            decision = "denied" if error.exit_code == 4 else "failed"
            self._record(text, note, decision, values=values)
            raise
        except Exception as error:  # noqa: BLE001 -- its message may quote data
            kind = type(error).__name__
            self.server.log_bug(error)
            note.sqlstate, note.reason = "XX000", f"internal error ({kind})"
            self._record(text, note, "failed", values=values)
            raise Bug(f"internal error ({kind})") from None

    def _record(
        self, text: str, note: AuditDraft, decision: str, *, values: Sequence[object] = ()
    ) -> None:
        if note.is_recorded:
            return
        note.is_recorded = True
        note.milliseconds = (time.monotonic() - note.started) * 1000
        self.server.record(self, text, note, decision, values)
