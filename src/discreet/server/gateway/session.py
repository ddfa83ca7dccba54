"""One connected user: every statement is parsed, authorized, planned, run and recorded here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from discreet.errors import StatementFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.parse import parse_statements
from discreet.guard.statements.statement import Statement
from discreet.server.gateway.audit import AuditDraft, AuditTrail
from discreet.server.gateway.context import ServerContext
from discreet.server.gateway.execution import (
    require_free_name,
    require_value_count,
    run_statement,
)
from discreet.server.gateway.incoming_copy import SessionCopy
from discreet.server.gateway.large_statements import LARGE, bounds_for
from discreet.server.gateway.plans import InnerPlan, PrivatePlan, RowsPlan
from discreet.server.gateway.preparation import (
    prepare_statement,
    renew_statement,
    require_still_permitted,
)
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.variables import startup_settings
from discreet.server.observe.kinds import QUESTION, statement_kind
from discreet.server.observe.statements import ObservedSession
from discreet.server.session import Outcome, PreparedStatement, TransactionStatus
from discreet.sql.limits import StatementBounds

_RETRIED = ("40001", "40P01")
_ATTEMPTS = 8  # of a statement after serialization failures


class GatewaySession:
    """Implements `discreet.server.session.Session` for one server: the stages of a statement.

    Each stage gets the session's state and calls no earlier stage: `parse_statements`,
    `prepare_statement` (authorizes and plans), `renew_statement` (authorizes again before each run),
    `run_statement`, `AuditTrail.record`. The protocol writes the `Outcome`.
    """

    def __init__(
        self,
        context: ServerContext,
        audit: AuditTrail,
        client: ClientInfo,
        parameters: Mapping[str, str],
        *,
        on_close: Callable[[GatewaySession], None],
    ) -> None:
        self.state = SessionState(context, client)
        self._audit, self._on_close = audit, on_close
        self._parse_queue, self._deadlines = context.parse_queue, context.deadlines
        self._observer = context.observer
        self.observed = ObservedSession(self.state.id, client.protocol)
        limits = context.settings.limits
        self._bounds = StatementBounds(
            characters=limits.statement_characters,
            tokens=limits.statement_tokens,
            depth=limits.statement_depth,
            values=limits.statement_values,
        )
        self._is_deferring = False
        self._parse_seconds = 0.0  # spent on parsing the statement, or waiting for it
        try:
            self._apply_startup(parameters)
        except BaseException:
            self.state.transaction.close()
            raise

    def _apply_startup(self, parameters: Mapping[str, str]) -> None:
        """Apply the settings of the client's startup message, except the clearance."""
        state = self.state
        for name, value in startup_settings(parameters).items():
            state.variables.set(name, value)
        wanted = state.variables.get("discreet.clearance")
        if wanted:
            with self._audit.record_failures(state, "SET discreet.clearance", AuditDraft()):
                state.labels.require_clearance(state.authority, state.login, wanted)

    @property
    def id(self) -> str:
        """The session's number in the journal."""
        return self.state.id

    @property
    def user(self) -> str:
        """The logged-in user."""
        return self.state.login

    @property
    def transaction_status(self) -> TransactionStatus:
        """The transaction status in ReadyForQuery."""
        return self.state.transaction.status

    @property
    def reported(self) -> Mapping[str, str]:
        """Settings that are reported to clients."""
        return self.state.reported

    @property
    def idle_in_transaction(self) -> float | None:
        """The session's limit in seconds on being idle in a transaction."""
        return self.state.variables.idle_in_transaction

    def split(self, text: str) -> Sequence[Statement]:
        """Return the statements of a text."""
        state = self.state
        self._parse_seconds, state.interrupt.is_canceled = 0.0, False
        with (
            self._audit.record_failures(state, text, AuditDraft()),
            self._limit_parsing(text),
        ):
            bounds = bounds_for(self._bounds, state.authority, state.role, text)
            return parse_statements(text, lenient=state.variables.is_lenient, bounds=bounds)

    def prepare(
        self, statement: Statement, declared: Sequence[str | None] = ()
    ) -> PreparedStatement:
        """Return a statement's parameters and columns; nothing is executed or charged."""
        draft = AuditDraft()
        with (
            self._audit.record_failures(self.state, statement.text, draft),
            self._limit_parsing(statement.text),
        ):
            self.state.refresh()
            self.state.require_runnable(statement)
            return prepare_statement(self.state, statement, declared, draft)

    @contextmanager
    def _limit_parsing(self, text: str) -> Generator[None]:
        """Count the parsing time of a statement in its limit; a large one waits for its turn."""
        state = self.state
        started, left = time.monotonic(), state.statement_seconds - self._parse_seconds
        try:
            if len(text) < LARGE:
                yield
            else:
                check = state.interrupt.require_not_canceled
                with self._parse_queue.turn(state.login, seconds=left, check=check):
                    yield
        finally:
            self._parse_seconds += time.monotonic() - started
        if self._parse_seconds > state.statement_seconds:
            raise StatementFailed("57014", "canceling statement due to statement timeout")

    def run(self, prepared: PreparedStatement, values: Sequence[object] = ()) -> Outcome:
        """Run a prepared statement; the decision is recorded before this returns.

        A statement outside a transaction is repeated after a serialization failure.
        """
        with self._observer.observe(
            self.observed, _observed_kind(prepared), prepared.statement.text
        ):
            return self._run_repeatedly(prepared, values)

    def _run_repeatedly(self, prepared: PreparedStatement, values: Sequence[object]) -> Outcome:
        state = self.state
        owns = state.transaction.is_idle
        until = time.monotonic() + state.statement_seconds
        for attempt in range(_ATTEMPTS if owns else 0):
            try:
                return self._run_once(prepared, values, owns=True)
            except StatementFailed as error:
                is_late = state.interrupt.is_canceled or time.monotonic() > until
                if error.sqlstate not in _RETRIED or is_late or not state.transaction.is_idle:
                    raise
            time.sleep(secrets.randbelow(4 << attempt) / 1000)
        return self._run_once(prepared, values, owns=owns)

    def _run_once(
        self, prepared: PreparedStatement, values: Sequence[object], *, owns: bool
    ) -> Outcome:
        state, draft = self.state, AuditDraft()
        if owns:
            state.transaction.start_block()
        try:
            text = prepared.statement.text
            with self._audit.record_failures(state, text, draft, values=values):
                state.refresh()
                state.require_runnable(prepared.statement)
                state.keys.refresh()
                outcome = self._run(prepared, values, draft)
                self._record_outcome(prepared, values, draft)
                draft.is_recorded = False  # if the commit fails, that is recorded, too
                if owns and not state.transaction.is_idle:
                    state.transaction.finish_block(failed=False)
                    if state.transaction.is_idle:
                        state.end_transaction()
                return outcome
        except BaseException:
            if owns and not state.transaction.is_idle:
                state.transaction.finish_block(failed=True)
            else:
                state.transaction.fail()
            if state.transaction.is_idle:
                state.end_transaction()
            raise

    def _record_outcome(
        self, prepared: PreparedStatement, values: Sequence[object], draft: AuditDraft
    ) -> None:
        state, text = self.state, prepared.statement.text
        if self._is_deferring and _has_only_read(state, prepared, draft):
            self._audit.record_read(state, text, draft, values=values)
        else:
            self._audit.record(state, text, draft, "allowed", values=values)

    def _run(
        self, prepared: PreparedStatement, values: Sequence[object], draft: AuditDraft
    ) -> Outcome:
        """Authorize a statement again if rights changed, and run it, within its time limit."""
        state = self.state
        with state.interrupt.explain_interrupts():
            left = max(state.statement_seconds - self._parse_seconds, 0.001)
            self._parse_seconds = 0.0
            with (
                self._deadlines.limit(left, state.interrupt.end_late),
                state.ciphers.explain_refusals(),
            ):
                require_value_count(prepared, values)
                if isinstance(prepared.statement, kinds.Prepare):
                    require_free_name(state.statements, prepared.statement.name)
                    self.prepare(prepared.statement.statement, prepared.statement.types)
                renewed = renew_statement(state, prepared, draft)
                outcome = run_statement(state, renewed, values, draft)
        if state.ciphers.used and draft.reason is None:
            draft.reason = f"key {', '.join(sorted(state.ciphers.used))}"
        return outcome

    def copy_in(self, prepared: PreparedStatement) -> SessionCopy:
        """Begin COPY … FROM STDIN: the right to insert is checked before the client sends rows."""
        state, text = self.state, prepared.statement.text

        def record() -> AbstractContextManager[None]:
            return self._audit.record_failures(state, text, AuditDraft())

        with record():
            state.refresh()
            state.require_runnable(prepared.statement)
            state.variables.require_writes("COPY FROM")
            renewed = renew_statement(state, prepared, AuditDraft())
            return SessionCopy(state, renewed, record=record, run=lambda: self.run(renewed))

    def check(self, prepared: PreparedStatement) -> None:
        """Refuse to return more rows of a statement that has run, if it is no longer permitted."""
        state, draft = self.state, AuditDraft()
        with self._audit.record_failures(state, prepared.statement.text, draft):
            state.refresh()
            state.require_runnable(prepared.statement)
            require_still_permitted(state, prepared, draft)

    def start_block(self) -> None:
        """Open an implicit transaction, unless one is open."""
        self.state.transaction.start_block()

    def finish_block(self, *, failed: bool = False) -> None:
        """Commit the implicit transaction, or roll it back."""
        with self._audit.record_failures(self.state, "COMMIT", AuditDraft()):
            self.state.transaction.finish_block(failed=failed)
        if self.state.transaction.is_idle:
            self.state.end_transaction()

    def defer_records(self) -> None:
        """Let records of rows that were read become durable together, until `settle` is called."""
        self._is_deferring = True

    def settle(self) -> None:
        """Wait until all records are durable; before that, nothing may be sent."""
        self._is_deferring = False
        self._audit.settle(self.state)

    def cancel(self) -> None:
        """Cancel the running statement, from another thread."""
        self.state.interrupt.cancel()

    def abort_for_memory(self) -> None:
        """Interrupt the running statement, if any, since there is no memory left for it."""
        self.state.interrupt.abort_for_memory()

    def close(self) -> None:
        """End the session."""
        try:
            self.state.close()
        finally:
            self._on_close(self)


def _observed_kind(prepared: PreparedStatement) -> str:
    plan = prepared.plan
    while isinstance(plan, InnerPlan):
        plan = plan.prepared.plan
    return QUESTION if isinstance(plan, PrivatePlan) else statement_kind(type(prepared.statement))


def _has_only_read(state: SessionState, prepared: PreparedStatement, draft: AuditDraft) -> bool:
    """Whether a statement changed nothing, so that its record may become durable after its end."""
    is_read = isinstance(prepared.plan, RowsPlan) and draft.kind == "statement"
    return (
        is_read and not draft.writes and draft.price is None and not state.transaction.has_written
    )
