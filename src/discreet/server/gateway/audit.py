"""The audit of a server: every decision is in the journal before its result leaves."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from discreet.errors import AccessDenied, Bug, DiscreetError
from discreet.guard.access.authority import Name
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.rule_authenticator import LoginDecision
from discreet.guard.journal.event import Decision, Event
from discreet.server.gateway.session_state import SessionState
from discreet.server.store_heads import ServerStores

_log = logging.getLogger("discreet.server")


@dataclass
class AuditDraft:
    """The journal entry of a statement, filled while it is decided and run."""

    kind: str = "statement"
    reads: dict[str, set[str]] = field(default_factory=dict[str, "set[str]"])
    writes: dict[str, set[str]] = field(default_factory=dict[str, "set[str]"])
    reason: str | None = None
    sqlstate: str | None = None
    rows: int | None = None
    price: Mapping[str, float] | None = None
    balance: Mapping[str, float] | None = None
    milliseconds: float = 0.0
    started: float = field(default_factory=time.monotonic)
    is_recorded: bool = False

    def add_read(self, relation: Name, columns: Iterable[str]) -> None:
        """Record that columns were read."""
        self.reads.setdefault(".".join(relation), set()).update(columns)

    def add_write(self, relation: Name, columns: Iterable[str]) -> None:
        """Record that columns were written."""
        self.writes.setdefault(".".join(relation), set()).update(columns)


class AuditTrail:
    """Records what sessions, logins and clients do, with the heads of the other stores."""

    def __init__(
        self,
        stores: ServerStores,
        *,
        clock: Callable[[], datetime],
        engine: str,
        wait: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._stores, self._clock, self._engine = stores, clock, engine
        self._observe_wait = wait  # called with the seconds until an entry is durable
        self._recorded_writes: tuple[int, int] | None = None  # changes recorded in the journal
        self.counts: Counter[str] = Counter()

    @contextmanager
    def record_failures(
        self,
        session: SessionState,
        text: str,
        draft: AuditDraft,
        *,
        values: Sequence[object] = (),
    ) -> Generator[None]:
        """Record refusals and failures inside; an unexpected error becomes a `Bug` without details."""
        try:
            yield
        except AccessDenied as error:
            draft.sqlstate, draft.reason = error.sqlstate, error.reason
            self.record(session, text, draft, "denied", values=values)
            raise
        except DiscreetError as error:
            draft.sqlstate = getattr(error, "sqlstate", None) or error.code
            draft.reason = draft.reason or str(error)
            decision: Decision = "denied" if error.exit_code == 4 else "failed"
            self.record(session, text, draft, decision, values=values)
            raise
        except Exception as error:  # noqa: BLE001 -- its message may quote data
            kind = type(error).__name__
            log_bug(error)
            draft.sqlstate, draft.reason = "XX000", f"internal error ({kind})"
            self.record(session, text, draft, "failed", values=values)
            raise Bug(f"internal error ({kind})") from None

    def record(
        self,
        session: SessionState,
        text: str,
        draft: AuditDraft,
        decision: Decision,
        *,
        values: Sequence[object] = (),
    ) -> None:
        """Record a decision in the journal, once; returns when it is durable."""
        event = self._finish_draft(session, text, draft, decision, values)
        if event is not None:
            self._write(event)

    def record_read(
        self, session: SessionState, text: str, draft: AuditDraft, *, values: Sequence[object]
    ) -> None:
        """Record that rows were read; it is durable when the session is settled."""
        event = self._finish_draft(session, text, draft, "allowed", values)
        if event is None:
            return
        if self._count_writes() == self._recorded_writes:
            session.unsettled.append(self._stores.journal.append(event))
        else:
            self._write(event)

    def settle(self, session: SessionState) -> None:
        """Wait until everything is durable that was recorded of a session.

        Raises:
            StoreFailed: something is not. Nothing may be answered.
        """
        unsettled, session.unsettled = session.unsettled, []
        if unsettled:
            started = time.perf_counter()
            for entry in reversed(unsettled):  # the last one takes the others with it
                entry.number()
            self._observe_wait(time.perf_counter() - started)

    def _finish_draft(
        self,
        session: SessionState,
        text: str,
        draft: AuditDraft,
        decision: Decision,
        values: Sequence[object],
    ) -> Event | None:
        """Return the entry of a decision, None if it has been recorded."""
        if draft.is_recorded:
            return None
        draft.is_recorded = True
        draft.milliseconds = (time.monotonic() - draft.started) * 1000
        self.counts[decision] += 1
        return Event(
            at=self._clock(),
            kind=draft.kind,
            decision=decision,
            session=session.id,
            user=session.login,
            role=session.role,
            clearance=session.clearance,
            address=session.client.address,
            protocol=session.client.protocol,
            statement=text,
            parameters=tuple(self._stores.journal.fingerprint(value) for value in values),
            reads=draft.reads,
            writes=draft.writes,
            reason=draft.reason,
            sqlstate=draft.sqlstate,
            rows=draft.rows,
            price=draft.price,
            balance=draft.balance,
            version=session.authority.version,
            engine=self._engine,
            duration_ms=draft.milliseconds,
            # In such a session a text may be in double quotes, and is redacted, too.
            detail=_session_detail(session),
        )

    def record_session(
        self,
        session: SessionState,
        state: str,
        *,
        clearance: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Record the begin or end of a session."""
        self._write(
            Event(
                at=self._clock(),
                kind="session",
                session=session.id,
                user=session.login,
                role=session.role,
                clearance=clearance,
                address=session.client.address,
                protocol=session.client.protocol,
                reason=reason,
                detail={"state": state},
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
                address=verdict.client.address,
                protocol=verdict.client.protocol,
                reason=f"{verdict.method}: {verdict.reason}",
            )
        )

    def record_act(self, client: ClientInfo, what: str, decision: Decision = "allowed") -> None:
        """Record what a client does without a statement, before it is done, or is refused."""
        self.counts[decision] += 1
        self._write(
            Event(
                at=self._clock(),
                kind="setting",
                decision=decision,
                user=client.user,
                role=client.user,
                address=client.address,
                protocol=client.protocol,
                reason=what,
            )
        )

    def record_heads(self) -> None:
        """Record the heads of the other stores, if they changed since the last entry."""
        if self._count_writes() != self._recorded_writes:
            self._write(Event(at=self._clock(), kind="session", protocol="server", reason="heads"))

    def _count_writes(self) -> tuple[int, int]:
        return self._stores.control.writes, self._stores.ledger.writes

    def _write(self, event: Event) -> None:
        done = self._count_writes()
        if done != self._recorded_writes:
            event = replace(event, heads=self._stores.heads())
        started = time.perf_counter()
        self._stores.journal.record(event)
        self._observe_wait(time.perf_counter() - started)
        if self._recorded_writes is None or done[0] != self._recorded_writes[0]:
            self._stores.pin_rights()
        self._recorded_writes = done


def _session_detail(session: SessionState) -> dict[str, str]:
    detail = {"discreet.lenient": "on"} if session.variables.is_lenient else {}
    if session.user != session.login:
        detail["session_authorization"] = session.user
    return detail


def log_bug(error: Exception) -> None:
    """Log an unexpected error for the operator, without its message."""
    frames: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    _log.error("%s at %s", type(error).__name__, " < ".join(reversed(frames[-6:])))
