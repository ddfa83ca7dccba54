"""The state that sessions share: database, rights, ledger, journal and cached decisions."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from discreet.engines.databases.database import Database, ResultField
from discreet.errors import AccessDenied, DiscreetError, StatementFailed
from discreet.guard.access.authority import Authority, Relation, Subject
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.rule_authenticator import LoginDecision
from discreet.guard.journal.event import Decision, Event
from discreet.guard.levels.lattice import Label, LabelLattice
from discreet.guard.levels.read import ClearanceView
from discreet.guard.levels.read import read_at_clearance as read_levels
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.guard.rewrite.source import plain_source
from discreet.guard.vault.session_keys import UnlockedKeys
from discreet.policy import model
from discreet.serve.catalog.catalog import SystemCatalog
from discreet.serve.gateway.audit_draft import AuditDraft
from discreet.serve.gateway.deadlines import Deadlines
from discreet.serve.gateway.health import HealthMonitor
from discreet.serve.gateway.memory_monitor import MemoryMonitor
from discreet.serve.gateway.parse_queue import ParseQueue
from discreet.serve.gateway.pending_rights import PendingRights
from discreet.serve.gateway.plans import DecisionBasis
from discreet.serve.gateway.private_answers import PrivateAnswers
from discreet.serve.gateway.session import GatewaySession
from discreet.serve.gateway.vault import SessionVault
from discreet.serve.session import PreparedStatement
from discreet.serve.store_heads import ServerStores
from discreet.serve.suspension import refuse_suspended
from discreet.sql.limits import StatementBounds

_log = logging.getLogger("discreet.serve")
PLANS_CACHED = 2048  # decided statements


class Server:
    """One server's state; every session is opened here."""

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
        self._recorded_writes: tuple[int, int] | None = None  # changes recorded in the journal
        settings, control, ledger = self.settings, self.control, self.ledger
        self.journal.witness_heads(stores.heads)
        vault.serve(database)
        self.pending = PendingRights(database, control)
        self.deadlines, self.parse_queue = Deadlines(), ParseQueue()
        self.bounds = StatementBounds(
            characters=settings.limits.statement_characters,
            tokens=settings.limits.statement_tokens,
            depth=settings.limits.statement_depth,
            values=settings.limits.statement_values,
        )
        self.health_monitor = HealthMonitor(control, ledger, self.journal, database)
        self.private_answers = PrivateAnswers(
            database,
            ledger,
            policy,
            clock=clock,
            quantum=settings.quantum,
            most_rows=settings.limits.rows,
        )
        self.defaults: Mapping[str, str] = {
            name: value
            for name, value in (
                ("discreet.epsilon", settings.epsilon),
                ("discreet.delta", settings.delta),
            )
            if value
        }
        self._known: OrderedDict[object, PreparedStatement] = OrderedDict()
        self._lock = threading.Lock()
        self._sessions: dict[str, GatewaySession] = {}
        self._lattices: dict[str, LabelLattice] = {}
        self.counts: Counter[str] = Counter()
        self._scratch = tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True)
        self.memory_monitor = MemoryMonitor(settings.limits.process_bytes, self._abort_for_memory)

    def open_session(
        self, visitor: ClientInfo, parameters: Mapping[str, str], method: str
    ) -> GatewaySession:
        """Return a session for an authenticated client."""
        refuse_suspended(self.control)
        session = GatewaySession(self, visitor, parameters, method)
        try:
            self._register_session(session)
            self._record_session(session, "opened", clearance=session.clearance, reason=method)
        except BaseException:
            self._sessions.pop(session.id, None)  # it never opened, so it is not recorded as closed
            session.close()
            raise
        return session

    def _register_session(self, session: GatewaySession) -> None:
        """Count a session, unless its user has reached the limit."""
        role = session.authority.roles.get(session.user)
        with self._lock:  # over both, so that concurrent logins are counted
            mine = sum(each.user == session.user for each in self._sessions.values())
            if role is not None and 0 <= role.connection_limit <= mine and not role.superuser:
                raise StatementFailed("53300", f'too many connections for role "{session.user}"')
            self._sessions[session.id] = session

    def unlocked(self) -> UnlockedKeys:
        """Return the keys of a new session."""
        return self.vault.unlocked()

    @property
    def scratch(self) -> str:
        """A private folder for temporary files."""
        return self._scratch.name

    def unregister(self, session: GatewaySession) -> None:
        """Record that a session ended."""
        with self._lock:
            known = self._sessions.pop(session.id, None)
        self.memory_monitor.forget()
        if known is not None:
            self._record_session(session, "closed")

    def _record_session(
        self,
        session: GatewaySession,
        state: str,
        *,
        clearance: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Record the begin or end of a session."""
        self._write(
            Event(
                at=self.clock(),
                kind="session",
                session=session.id,
                user=session.user,
                role=session.role,
                clearance=clearance,
                address=session.client.address,
                protocol=session.client.protocol,
                reason=reason,
                detail={"state": state},
            )
        )

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

    def close(self) -> None:
        """End all sessions and release everything; a failure does not keep the rest open."""
        with ExitStack() as last:  # runs in reverse order
            last.callback(self._scratch.cleanup)
            for thing in (self.database, self.control, self.ledger, self.journal):
                last.callback(thing.close)
            last.callback(self._pin_on_close)
            for watch in (self.memory_monitor, self.deadlines, self.private_answers):
                last.callback(watch.close)
            for session in list(self._sessions.values()):
                last.callback(session.close)
                last.callback(session.cancel)

    def pin(self) -> None:
        """Store each store's head in the others, so that none can be reset unnoticed."""
        if (self.control.writes, self.ledger.writes) != self._recorded_writes:
            self._write(Event(at=self.clock(), kind="session", protocol="server", reason="heads"))
        self.stores.pin()

    def _pin_on_close(self) -> None:
        with suppress(DiscreetError):  # statements report a store that cannot be reached
            self.pin()

    def recover(self) -> bool:
        """Complete a definition that a crash interrupted; return whether there was one."""
        with closing(self.database.connect()) as connection:
            return self.pending.recover(connection)

    # --- what decisions need ------------------------------------------------------------------

    def catalog(self, authority: Authority, subject: Subject) -> SystemCatalog:
        """Return the server's catalog, as `subject` sees it."""
        from discreet.serve.catalog.catalog import SystemCatalog

        settings = {name: value for name, value in subject.settings.items() if "now" not in name}
        return SystemCatalog(
            authority, subject, version="PostgreSQL 16.4 (discreet)", settings=settings
        )

    def find_plan(self, key: object, basis: DecisionBasis) -> PreparedStatement | None:
        """Return a cached decision on a statement, if nothing changed since."""
        with self._lock:
            found = self._known.get((key, basis.role, basis.clearance))
            if found is None:
                return None
            self._known.move_to_end((key, basis.role, basis.clearance))
        plan: Any = found.plan
        return found if plan.basis.is_unchanged(basis) else None

    def cache_plan(self, key: object, prepared: PreparedStatement) -> None:
        """Cache a decision, and drop the oldest."""
        basis: DecisionBasis = prepared.plan.basis  # pyright: ignore[reportAttributeAccessIssue]
        with self._lock:
            self._known[key, basis.role, basis.clearance] = prepared
            if len(self._known) > PLANS_CACHED:
                self._known.popitem(last=False)

    def lattice(self, authority: Authority) -> LabelLattice:
        """Return the levels of this database."""
        if authority.lattice is None:
            raise StatementFailed(
                "55000",
                "no levels are defined",
                hint="Define them first: SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'",
            )
        if authority.lattice not in self._lattices:
            self._lattices[authority.lattice] = LabelLattice.parse(authority.lattice)
        return self._lattices[authority.lattice]

    def label(self, authority: Authority, clearance: str | None) -> Label:
        """Return a clearance as a label; a user without one sees no labeled data."""
        if clearance is None:
            raise AccessDenied("you have no clearance for labeled data")
        return self.lattice(authority).label(clearance)

    def require_clearance(self, session: GatewaySession, wanted: str) -> None:
        """Refuse a session's clearance that is above the user's."""
        role = session.authority.roles.get(session.user)
        own = self.label(session.authority, role.clearance if role is not None else None)
        lattice = self.lattice(session.authority)
        if not lattice.dominates(own, lattice.label(wanted)):
            raise AccessDenied("your clearance does not dominate this label")

    def is_cleared(self, authority: Authority, own: str, wanted: str) -> bool:
        """Whether a user with one clearance may work at another one."""
        try:
            lattice = self.lattice(authority)
            return lattice.dominates(lattice.label(own), lattice.label(wanted))
        except StatementFailed:
            return False

    def labeled_view(self, session: GatewaySession, relation: Relation) -> ClearanceView:
        """Return how this session reads a multi-level relation."""
        return ClearanceView(
            relation,
            self.lattice(session.authority),
            self.label(session.authority, session.clearance),
            self.settings.null_label,
        )

    def source(self, session: GatewaySession) -> Callable[[Relation, Subject], exp.Query]:
        """Return how each relation is read in this session: by labels, decrypted, or directly."""

        def read(relation: Relation, subject: Subject) -> exp.Query:
            if relation.multilevel:
                sight = self.labeled_view(session, relation)
                return read_levels(
                    relation, sight.lattice, sight.clearance, null_label=sight.null_label
                )
            if any(column.key is not None for column in relation.columns):
                return self.vault.source(session, relation)
            return plain_source(relation, subject)

        return read

    def returning_fields(
        self, session: GatewaySession, permitted: PermittedWrite
    ) -> tuple[ResultField, ...]:
        """Return the columns that a write returns."""
        from discreet.guard.rewrite.bind import bind_query
        from discreet.sql import build

        wanted = exp.select(*(item.copy() for item in permitted.returning or ()))
        source = self.vault.undecrypted_source(session)(permitted.relation, session.subject)
        query = wanted.from_(build.subquery(source, permitted.relation.name))
        blank = bind_query(query, permitted.parameters, [None] * len(permitted.parameters))
        return session.transaction.read().describe(blank)  # pyright: ignore[reportArgumentType]

    # --- what is written down -----------------------------------------------------------------

    def record(
        self,
        session: GatewaySession,
        text: str,
        note: AuditDraft,
        decision: str,
        values: Sequence[object],
    ) -> None:
        """Record a decision in the journal; returns when it is durable."""
        self.counts[decision] += 1
        self._write(
            Event(
                at=self.clock(),
                kind=note.kind,
                decision=decision,  # pyright: ignore[reportArgumentType]
                session=session.id,
                user=session.user,
                role=session.role,
                clearance=session.clearance,
                address=session.client.address,
                protocol=session.client.protocol,
                statement=text,
                parameters=tuple(self.journal.fingerprint(value) for value in values),
                reads=note.reads,
                writes=note.writes,
                reason=note.reason,
                sqlstate=note.sqlstate,
                rows=note.rows,
                price=note.price,
                balance=note.balance,
                version=session.authority.version,
                engine=self.database.name,
                duration_ms=note.milliseconds,
                # In such a session a text may be in double quotes, and is redacted, too.
                detail={"discreet.lenient": "on"} if session.variables.is_lenient else {},
            )
        )

    def record_login(self, verdict: LoginDecision) -> None:
        """Record who was admitted and who was refused, with the true reason."""
        self.counts["login" if verdict.is_admitted else "login refused"] += 1
        self._write(
            Event(
                at=verdict.at,
                kind="login",
                decision="allowed" if verdict.is_admitted else "denied",
                user=verdict.user,
                address=verdict.visitor.address,
                protocol=verdict.visitor.protocol,
                reason=f"{verdict.method}: {verdict.reason}",
            )
        )

    def record_act(self, visitor: ClientInfo, what: str, decision: Decision = "allowed") -> None:
        """Record what a client does without a statement, before it is done, or is refused."""
        self.counts[decision] += 1
        self._write(
            Event(
                at=self.clock(),
                kind="setting",
                decision=decision,
                user=visitor.user,
                role=visitor.user,
                address=visitor.address,
                protocol=visitor.protocol,
                reason=what,
            )
        )

    def log_bug(self, error: Exception) -> None:
        """Log an unexpected error for the operator, without its message."""
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
            trace = trace.tb_next
        _log.error("%s at %s", type(error).__name__, " < ".join(reversed(frames[-6:])))

    def _write(self, event: Event) -> None:
        done = (self.control.writes, self.ledger.writes)
        if done != self._recorded_writes:
            event = replace(event, heads=self.stores.heads())
        self.journal.record(event)
        if self._recorded_writes is None or done[0] != self._recorded_writes[0]:
            self.stores.pin_rights()
        self._recorded_writes = done
