"""Health of the parts that an answer needs: checked quickly, reported without reasons."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass

from sqlglot import exp

from discreet.dp.ledger.ledger import Ledger
from discreet.engines.databases.database import Database
from discreet.guard.control import ControlStore
from discreet.guard.journal import Journal

PROBE_TIMEOUT = 2.0  # seconds: a part that does not respond by then is down
HEALTH_TTL = 1.0  # seconds for which a check is cached


@dataclass(frozen=True)
class Health:
    """Which parts can be reached, and how many checkpoints of the journal no witness has."""

    parts: Mapping[str, bool]
    unwitnessed: int

    @property
    def is_healthy(self) -> bool:
        """Whether every part can be reached."""
        return all(self.parts.values())


class HealthMonitor:
    """Checks the parts of a server, each in a thread of its own, at most one at a time."""

    def __init__(
        self, control: ControlStore, ledger: Ledger, journal: Journal, database: Database
    ) -> None:
        self._journal, self._database = journal, database
        self._looks: dict[str, Callable[[], object]] = {
            "control": control.authority,
            "ledger": lambda: ledger.entries(limit=1),
            "journal": journal.size,
            "database": self._ask_database,
        }
        self._lock = threading.Lock()
        self._probes: dict[str, _Probe] = {}
        self._known: Health | None = None
        self._looked = 0.0

    def check(self) -> Health:
        """Return which parts work; one that does not respond in time does not."""
        with self._lock:
            if self._known is None or time.monotonic() - self._looked > HEALTH_TTL:
                self._known = Health(self._probe_parts(), self._journal.unwitnessed)
                self._looked = time.monotonic()
            return self._known

    def _probe_parts(self) -> dict[str, bool]:
        for name, look in self._looks.items():
            running = self._probes.get(name)
            if running is None or running.has_ended:
                self._probes[name] = _Probe(look)
        until = time.monotonic() + PROBE_TIMEOUT
        return {name: self._probes[name].wait(until) for name in self._looks}

    def _ask_database(self) -> None:
        with closing(self._database.connect()) as connection:
            connection.query(exp.select(exp.alias_(exp.Literal.number(1), "one")))


class _Probe:
    """One check and its result."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._is_well = False
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, until: float) -> bool:
        self._thread.join(max(0.0, until - time.monotonic()))
        return self.has_ended and self._is_well

    def _run(self) -> None:
        try:
            self._look()
        except Exception:  # noqa: BLE001 -- the part itself logs why it fails
            return
        self._is_well = True
