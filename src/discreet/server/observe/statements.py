"""What is observed of each statement: a metric; if it was slow, a line of the log; if wanted, a span."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.errors import AccessDenied, DiscreetError
from discreet.guard.journal.redact import redact_statement
from discreet.server.observe.logs import log_event
from discreet.server.observe.metrics import ServerMetrics
from discreet.server.observe.spans import SpanExporter

WARNING = 30  # as in logging


@dataclass(frozen=True)
class ObservedSession:
    """The session of observed statements; who it belongs to is in the journal, by `id`."""

    id: str
    protocol: str
    parent: str | None = None  # of its spans


class StatementObserver:
    """Observes the statements of all sessions."""

    def __init__(
        self, metrics: ServerMetrics, *, slow: float | None, spans: SpanExporter | None
    ) -> None:
        self._metrics, self._spans = metrics, spans
        self._slow = float("inf") if slow is None else slow

    @contextmanager
    def observe(self, session: ObservedSession, kind: str, text: str) -> Generator[None]:
        """Observe the statement that is run inside."""
        started = time.perf_counter()
        outcome, sqlstate = "allowed", None
        try:
            yield
        except BaseException as error:
            is_denied = (
                isinstance(error, DiscreetError) and error.exit_code == AccessDenied.exit_code
            )
            outcome = "denied" if is_denied else "failed"
            sqlstate = getattr(error, "sqlstate", None)
            raise
        finally:
            seconds = time.perf_counter() - started
            self._metrics.observe_statement(kind, outcome, seconds)
            if seconds >= self._slow:
                _log_slow(session, kind, text, outcome, seconds)
            if self._spans is not None:
                self._spans.add(
                    kind,
                    outcome=outcome,
                    sqlstate=sqlstate,
                    session=session.id,
                    protocol=session.protocol,
                    ended=time.time_ns(),
                    seconds=seconds,
                    parent=session.parent,
                )

    def close(self) -> None:
        """Send what is left."""
        if self._spans is not None:
            self._spans.close()


def _log_slow(session: ObservedSession, kind: str, text: str, outcome: str, seconds: float) -> None:
    log_event(
        "slow statement",
        level=WARNING,
        kind=kind,
        outcome=outcome,
        milliseconds=round(seconds * 1000),
        session=session.id,
        # A word in double quotes may be a value that was meant to be in single ones.
        statement=redact_statement(text, hide_quoted=True),
    )
