"""One server: its stores, database and services, and the sessions that use them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from datetime import datetime

from discreet.engines.databases.database import Database
from discreet.errors import DiscreetError, StatementFailed
from discreet.guard.identity.authenticator import ClientInfo
from discreet.policy import model
from discreet.server.gateway.audit import AuditTrail
from discreet.server.gateway.budget_labels import watch_budgets
from discreet.server.gateway.context import ServerContext
from discreet.server.gateway.deadlines import Deadlines
from discreet.server.gateway.health import HealthMonitor
from discreet.server.gateway.labels import ClearanceLabels
from discreet.server.gateway.large_statements import ParseQueue
from discreet.server.gateway.memory_monitor import MemoryMonitor
from discreet.server.gateway.pending_rights import PendingRights
from discreet.server.gateway.plans import PlanCache
from discreet.server.gateway.private_answers import PrivateAnswers
from discreet.server.gateway.session import GatewaySession
from discreet.server.gateway.vault import SessionVault
from discreet.server.observe.metrics import ServerMetrics
from discreet.server.observe.spans import SpanExporter
from discreet.server.observe.statements import StatementObserver
from discreet.server.settings import Settings
from discreet.server.store_heads import ServerStores
from discreet.server.suspension import refuse_suspended
from discreet.stores.timelines import FILE, TIMELINES
from discreet.writing import TemporaryFolder


class Server:
    """Makes the services of one server, and opens and counts its sessions."""

    def __init__(
        self,
        stores: ServerStores,
        *,
        database: Database,
        policy: model.Policy | None,
        vault: SessionVault,
        clock: Callable[[], datetime],
    ) -> None:
        self.stores, self.settings = stores, stores.settings
        self.control, self.journal, self.ledger = stores.control, stores.journal, stores.ledger
        self.policy, self.vault, self.database, self.clock = policy, vault, database, clock
        self.journal.witness_heads(stores.heads)
        vault.serve(database)
        self.metrics = ServerMetrics()
        self.audit = AuditTrail(
            stores, clock=clock, engine=database.name, wait=self.metrics.observe_journal
        )
        self.health_monitor = HealthMonitor(self.control, self.ledger, self.journal, database)
        self._lock = threading.Lock()
        self._sessions: dict[str, GatewaySession] = {}
        self._scratch = TemporaryFolder()
        limits = self.settings.limits
        self.context = ServerContext(
            settings=self.settings,
            policy=policy,
            clock=clock,
            scratch=self._scratch.name,
            database=database,
            control=self.control,
            pending=PendingRights(database, self.control),
            labels=ClearanceLabels(self.settings.null_label),
            vault=vault,
            plans=PlanCache(),
            private_answers=PrivateAnswers(
                database,
                self.ledger,
                policy,
                clock=clock,
                quantum=self.settings.quantum,
                most_rows=limits.rows,
            ),
            parse_queue=ParseQueue(),
            deadlines=Deadlines(),
            observer=_make_observer(self.settings, self.metrics),
        )
        self.memory_monitor = MemoryMonitor(limits.process_bytes, self._abort_for_memory)
        self.is_stopping = False
        self._watch_numbers()

    def _watch_numbers(self) -> None:
        """Report in the metrics what is read when they are asked for."""
        metrics, journal = self.metrics, self.journal
        metrics.watch("discreet_sessions", "Open sessions.", lambda: self.sessions)
        metrics.watch(
            "discreet_transactions_open",
            "Sessions within a transaction, failed ones included.",
            lambda: self.open_transactions,
        )
        metrics.watch(
            "discreet_unwitnessed_checkpoints",
            "Copies of checkpoints that no witness has.",
            lambda: journal.unwitnessed,
        )
        metrics.watch(
            "discreet_memory_limit_bytes",
            "Memory beyond which statements end with 53200.",
            lambda: self.memory_monitor.most,
        )
        metrics.watch_queues(
            {"journal": lambda: journal.waiting, "parse": lambda: self.context.parse_queue.length}
        )
        metrics.watch_decisions(self.audit.counts)
        is_named = self.settings.metrics.accounts == "named"
        watch_budgets(metrics, self.ledger, journal, is_named=is_named)

    def open_session(
        self, client: ClientInfo, parameters: Mapping[str, str], method: str
    ) -> GatewaySession:
        """Return a session for an authenticated client."""
        refuse_suspended(self.control)
        session = GatewaySession(
            self.context, self.audit, client, parameters, on_close=self._unregister_session
        )
        try:
            self._register_session(session)
            state = session.state
            self.audit.record_session(state, "opened", clearance=state.clearance, reason=method)
        except BaseException:
            self._sessions.pop(session.id, None)  # it never opened, so it is not recorded as closed
            session.close()
            raise
        return session

    def _register_session(self, session: GatewaySession) -> None:
        """Count a session, unless its user has reached the limit."""
        role = session.state.authority.roles.get(session.user)
        with self._lock:  # over both, so that concurrent logins are counted
            mine = sum(each.user == session.user for each in self._sessions.values())
            if role is not None and 0 <= role.connection_limit <= mine and not role.superuser:
                raise StatementFailed("53300", f'too many connections for role "{session.user}"')
            self._sessions[session.id] = session

    def _unregister_session(self, session: GatewaySession) -> None:
        """Record that a session ended."""
        with self._lock:
            known = self._sessions.pop(session.id, None)
        self.memory_monitor.forget()
        if known is not None:
            self.audit.record_session(session.state, "closed")

    def _abort_for_memory(self) -> None:
        """Interrupt running statements: there is not enough memory for them."""
        with self._lock:
            known = list(self._sessions.values())
        for session in known:
            session.abort_for_memory()

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    @property
    def open_transactions(self) -> int:
        """How many sessions are in a transaction."""
        with self._lock:
            return sum(each.transaction_status != "I" for each in self._sessions.values())

    @property
    def is_accepting(self) -> bool:
        """Whether new sessions are opened: the server does not stop, and logins are not suspended."""
        try:
            refuse_suspended(self.control)
        except DiscreetError:
            return False
        return not self.is_stopping

    def close(self) -> None:
        """End all sessions and release everything; a failure does not keep the rest open."""
        with ExitStack() as last:  # runs in reverse order
            # The folder may be a temporary one, and the timelines are those of the whole process.
            last.callback(TIMELINES.forget_file, self.settings.place(FILE))
            last.callback(self._scratch.cleanup)
            for thing in (self.database, self.control, self.ledger, self.journal):
                last.callback(thing.close)
            last.callback(self._pin_on_close)
            services = self.context
            for watch in (
                self.memory_monitor,
                services.deadlines,
                services.private_answers,
                services.observer,
            ):
                last.callback(watch.close)
            for session in list(self._sessions.values()):
                last.callback(session.close)
                last.callback(session.cancel)

    def pin(self) -> None:
        """Store each store's head in the others, so that none can be reset unnoticed."""
        self.audit.record_heads()
        self.stores.pin()

    def _pin_on_close(self) -> None:
        with suppress(DiscreetError):  # statements report a store that cannot be reached
            self.audit.record_heads()
            self.journal.checkpoint()  # the last one, so that it is counted
            self.stores.pin()

    def recover(self) -> bool:
        """Complete a definition that a crash interrupted; return whether there was one."""
        with closing(self.database.connect()) as connection:
            return self.context.pending.recover(connection)


def _make_observer(settings: Settings, metrics: ServerMetrics) -> StatementObserver:
    tracing = settings.tracing
    spans = None if tracing is None else SpanExporter(tracing.endpoint, service=tracing.service)
    return StatementObserver(metrics, slow=settings.log.slow_seconds, spans=spans)
