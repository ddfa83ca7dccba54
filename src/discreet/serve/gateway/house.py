"""Everything that sessions share: the database, the rights, the books, and what is kept of decisions."""

from __future__ import annotations

import logging
import tempfile
import threading
from collections import Counter, OrderedDict
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.errors import AccessDenied, DiscreetError, StatementFailed
from discreet.guard.journal.event import Event
from discreet.guard.levels.lattice import Label, Lattice
from discreet.guard.levels.read import Sight
from discreet.guard.levels.read import read as read_levels
from discreet.guard.rewrite.source import plain_source
from discreet.guard.statements.limits import Bounds
from discreet.serve.gateway.deadlines import Deadlines
from discreet.serve.gateway.health import Pulse
from discreet.serve.gateway.pending import Pending
from discreet.serve.gateway.pressure import Pressure
from discreet.serve.gateway.questions import Questions
from discreet.serve.gateway.session import GatewaySession
from discreet.serve.gateway.turns import Turns
from discreet.serve.suspension import refuse_suspended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from discreet.engines.databases.database import Database, Field
    from discreet.guard.access.authority import Authority, Relation, Subject
    from discreet.guard.identity.door import Visitor
    from discreet.guard.identity.doorkeeper import Verdict
    from discreet.guard.journal.event import Decision
    from discreet.guard.rewrite.permitted import PermittedWrite
    from discreet.guard.vault.session_keys import Unlocked
    from discreet.policy import model
    from discreet.serve.catalog.catalog import Catalog
    from discreet.serve.gateway.note import Note
    from discreet.serve.gateway.plans import Basis
    from discreet.serve.gateway.vault import Vault
    from discreet.serve.heads import Stores
    from discreet.serve.session import Prepared

_log = logging.getLogger("discreet.serve")
KEPT = 2048  # decided statements


class House:
    """One server's state; every session is opened here."""

    def __init__(
        self,
        stores: Stores,
        *,
        database: Database,
        policy: model.Policy | None,
        vault: Vault,
        clock: Callable[[], datetime],
    ) -> None:
        self.stores, self.settings = stores, stores.settings
        self.control, self.journal, self.ledger = stores.control, stores.journal, stores.ledger
        self.policy, self.vault, self.database, self.clock = policy, vault, database, clock
        self._told: tuple[int, int] | None = None  # changes of which the journal knows
        settings, control, ledger = self.settings, self.control, self.ledger
        self.journal.witness_heads(stores.heads)
        vault.serve(database)
        self.pending = Pending(database, control)
        self.deadlines, self.turns = Deadlines(), Turns()
        self.bounds = Bounds(
            characters=settings.limits.statement_characters,
            tokens=settings.limits.statement_tokens,
            depth=settings.limits.statement_depth,
            values=settings.limits.statement_values,
        )
        self.pulse = Pulse(self)
        self.questions = Questions(
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
        self._known: OrderedDict[object, Prepared] = OrderedDict()
        self._lock = threading.Lock()
        self._sessions: dict[str, GatewaySession] = {}
        self._lattices: dict[str, Lattice] = {}
        self.counts: Counter[str] = Counter()
        self._scratch = tempfile.TemporaryDirectory(prefix="discreet-", ignore_cleanup_errors=True)
        self.pressure = Pressure(settings.limits.process_bytes, self._relieve)

    def open(self, visitor: Visitor, parameters: Mapping[str, str], method: str) -> GatewaySession:
        """Return a session for a visitor whom the door let in."""
        refuse_suspended(self.control)
        session = GatewaySession(self, visitor, parameters, method)
        try:
            self._seat(session)
            self._tell(session, "opened", clearance=session.clearance, reason=method)
        except BaseException:
            self._sessions.pop(session.id, None)  # what never opened is not told to be closed
            session.close()
            raise
        return session

    def _seat(self, session: GatewaySession) -> None:
        """Count a session, unless its user has as many as they may."""
        role = session.authority.roles.get(session.user)
        with self._lock:  # over both, so that of two who come at once the second is counted
            mine = sum(each.user == session.user for each in self._sessions.values())
            if role is not None and 0 <= role.connection_limit <= mine and not role.superuser:
                raise StatementFailed("53300", f'too many connections for role "{session.user}"')
            self._sessions[session.id] = session

    def unlocked(self) -> Unlocked:
        """Return the keys that a new session has."""
        return self.vault.unlocked()

    @property
    def scratch(self) -> str:
        """A private folder for what must not stay."""
        return self._scratch.name

    def left(self, session: GatewaySession) -> None:
        """Note that a session ended."""
        with self._lock:
            known = self._sessions.pop(session.id, None)
        self.pressure.forget()
        if known is not None:
            self._tell(session, "closed")

    def _tell(
        self,
        session: GatewaySession,
        state: str,
        *,
        clearance: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Write down that a session begins or ends."""
        self._write(
            Event(
                at=self.clock(),
                kind="session",
                session=session.id,
                user=session.user,
                role=session.role,
                clearance=clearance,
                address=session.visitor.address,
                protocol=session.visitor.protocol,
                reason=reason,
                detail={"state": state},
            )
        )

    def _relieve(self) -> None:
        """End what runs: there is not enough memory for it."""
        with self._lock:
            known = list(self._sessions.values())
        for session in known:
            session.starve()

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    def close(self) -> None:
        """End all sessions and let go of everything; what fails keeps nothing else open."""
        with ExitStack() as last:  # goes from the end to the beginning
            last.callback(self._scratch.cleanup)
            for thing in (self.database, self.control, self.ledger, self.journal):
                last.callback(thing.close)
            last.callback(self._pin_at_last)
            for watch in (self.pressure, self.deadlines, self.questions):
                last.callback(watch.close)
            for session in list(self._sessions.values()):
                last.callback(session.close)
                last.callback(session.cancel)

    def pin(self) -> None:
        """Tell each store how far the others are, so that none can be put back unnoticed."""
        if (self.control.writes, self.ledger.writes) != self._told:
            self._write(Event(at=self.clock(), kind="session", protocol="server", reason="heads"))
        self.stores.pin()

    def _pin_at_last(self) -> None:
        with suppress(DiscreetError):  # a store that cannot be reached was told of by statements
            self.pin()

    def recover(self) -> bool:
        """Keep the rights of a definition that a crash cut off from its rows; return whether one was."""
        with closing(self.database.connect()) as connection:
            return self.pending.recover(connection)

    # --- what decisions need ------------------------------------------------------------------

    def catalog(self, authority: Authority, subject: Subject) -> Catalog:
        """Return what clients may know about the server, as `subject` sees it."""
        from discreet.serve.catalog.catalog import Catalog

        settings = {name: value for name, value in subject.settings.items() if "now" not in name}
        return Catalog(authority, subject, version="PostgreSQL 16.4 (discreet)", settings=settings)

    def known(self, key: object, basis: Basis) -> Prepared | None:
        """Return a statement that was decided before, if nothing changed since."""
        with self._lock:
            found = self._known.get((key, basis.role, basis.clearance))
            if found is None:
                return None
            self._known.move_to_end((key, basis.role, basis.clearance))
        plan: Any = found.plan
        return found if plan.basis.is_still(basis) else None

    def remember(self, key: object, prepared: Prepared) -> None:
        """Keep what was decided, and forget the oldest."""
        basis: Basis = prepared.plan.basis  # pyright: ignore[reportAttributeAccessIssue]
        with self._lock:
            self._known[key, basis.role, basis.clearance] = prepared
            if len(self._known) > KEPT:
                self._known.popitem(last=False)

    def lattice(self, authority: Authority) -> Lattice:
        """Return the levels of this database."""
        if authority.lattice is None:
            raise StatementFailed(
                "55000",
                "no levels are defined",
                hint="Define them first: SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'",
            )
        if authority.lattice not in self._lattices:
            self._lattices[authority.lattice] = Lattice.parse(authority.lattice)
        return self._lattices[authority.lattice]

    def label(self, authority: Authority, clearance: str | None) -> Label:
        """Return a clearance as a label; who has none sees nothing that has labels."""
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
        """Whether somebody with one clearance may work at another one."""
        try:
            lattice = self.lattice(authority)
            return lattice.dominates(lattice.label(own), lattice.label(wanted))
        except StatementFailed:
            return False

    def sight(self, session: GatewaySession, relation: Relation) -> Sight:
        """Return how this session looks at a multi-level relation."""
        return Sight(
            relation,
            self.lattice(session.authority),
            self.label(session.authority, session.clearance),
            self.settings.null_label,
        )

    def source(self, session: GatewaySession) -> Callable[[Relation, Subject], exp.Query]:
        """Return how each relation is read in this session: filtered by labels, decrypted, or plainly."""

        def read(relation: Relation, subject: Subject) -> exp.Query:
            if relation.multilevel:
                sight = self.sight(session, relation)
                return read_levels(
                    relation, sight.lattice, sight.clearance, null_label=sight.null_label
                )
            if any(column.key is not None for column in relation.columns):
                return self.vault.source(session, relation)
            return plain_source(relation, subject)

        return read

    def returning_fields(
        self, session: GatewaySession, permitted: PermittedWrite
    ) -> tuple[Field, ...]:
        """Return the columns that a write gives back."""
        from discreet.guard.rewrite.bind import bind
        from discreet.sql import build

        wanted = exp.select(*(item.copy() for item in permitted.returning or ()))
        source = self.vault.plainly(session)(permitted.relation, session.subject)
        query = wanted.from_(build.subquery(source, permitted.relation.name))
        blank = bind(query, permitted.parameters, [None] * len(permitted.parameters))
        return session.work.read().describe(blank)  # pyright: ignore[reportArgumentType]

    # --- what is written down -----------------------------------------------------------------

    def record(
        self,
        session: GatewaySession,
        text: str,
        note: Note,
        decision: str,
        values: Sequence[object],
    ) -> None:
        """Write a decision into the journal; returns when it is on the disk."""
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
                address=session.visitor.address,
                protocol=session.visitor.protocol,
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
                # In such a session a text may stand in double quotes, and is redacted, too.
                detail={"discreet.lenient": "on"} if session.variables.is_lenient else {},
            )
        )

    def record_login(self, verdict: Verdict) -> None:
        """Write down who was let in and who was not, and truly why."""
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

    def record_act(self, visitor: Visitor, what: str, decision: Decision = "allowed") -> None:
        """Write down what a visitor does without a statement, before it is done, or may not do."""
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
        """Leave a trace of an unforeseen failure for whoever runs the server; no words of it."""
        frames = []
        trace = error.__traceback__
        while trace is not None:
            frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
            trace = trace.tb_next
        _log.error("%s at %s", type(error).__name__, " < ".join(reversed(frames[-6:])))

    def _write(self, event: Event) -> None:
        done = (self.control.writes, self.ledger.writes)
        if done != self._told:
            event = replace(event, heads=self.stores.heads())
        self.journal.record(event)
        self._told = done
