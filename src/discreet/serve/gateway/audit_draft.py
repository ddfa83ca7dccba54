"""The journal entry of a statement, filled while it runs: what it touched and cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from discreet.guard.access.authority import Name


@dataclass
class AuditDraft:
    """A record that is filled while a statement is decided and run."""

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
