"""The head of each store, stored in the others: a store reset to an earlier state is detected.

Each store holds the heads of the other two: the journal in entries and checkpoints, the control store in
documents, the ledger in its own head. So one or two of them that were reset are detected. The control
store also holds how many checkpoints the journal has. Copies of checkpoints at a witness also detect a
folder that was reset as a whole.
"""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.dp.ledger.ledger import Ledger
from discreet.errors import StoreFailed
from discreet.guard.control import ControlStore
from discreet.guard.journal import Journal
from discreet.guard.journal.checkpoints import Checkpoint, is_signed, read_checkpoints
from discreet.stores import AuthenticatedStore, StoreHead
from discreet.stores.authenticated import read_store_head

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from discreet.server.settings import Settings

KIND = "head"  # of documents in the control store
_NOUNS = {"control": "control store"}


@dataclass(frozen=True)
class ServerStores:
    """The three stores of a server."""

    settings: Settings
    control: ControlStore
    ledger: Ledger
    journal: Journal

    def heads(self) -> dict[str, str]:
        """Return the heads of control store and ledger, for the journal."""
        return {
            "control": self.control.newest_head().text,
            "ledger": self.ledger.newest_head().text,
        }

    def pin(self) -> None:
        """Store the heads in control store and ledger, each that of the other and that of the journal."""
        self._pin_head("ledger", self.ledger.newest_head())
        self._pin_head("journal", self.journal.newest_head())
        self._pin_checkpoints(self.journal.count_checkpoints())
        self._store_in_ledger("control", "journal")

    def pin_rights(self) -> None:
        """Store the head of the control store in the ledger."""
        self._store_in_ledger("control")

    def behind(self, *, key: Ed25519PublicKey | None = None) -> dict[str, str]:
        """Return which stores are behind what others know of them, each with the evidence."""
        found: dict[str, str] = {}
        for name in ("ledger", "journal"):
            pinned = self.control.get(KIND, place_name(self.settings, name))
            if pinned is not None and not self._store(name).includes(StoreHead(**pinned)):
                found[name] = "the control store knows of entries that it does not have"
        signed = self.control.get(KIND, self._checkpoints_name)
        if signed is not None and self.journal.count_checkpoints() < signed["count"]:
            found["journal"] = "the control store knows of checkpoints that it does not have"
        known = self.ledger.known_heads()
        for name in ("control", "journal"):
            head = known.get(self._ledger_name(name))
            if head is not None and not self._store(name).includes(head):
                found[_NOUNS.get(name, name)] = "the ledger knows of changes that it does not have"
        if behind := self._behind_heads(self.journal.newest_heads()):
            found |= dict.fromkeys(behind, "the journal knows of changes that it does not have")
        for path in self.settings.audit.witness:
            found |= self._behind_witness(self.settings.data / path, key)
        return found

    def accept(self) -> None:
        """Make all of them count as the latest, whatever the others know."""
        for name in ("ledger", "journal"):
            self.control.delete(KIND, place_name(self.settings, name))
        self.control.delete(KIND, self._checkpoints_name)
        self.ledger.forget_heads([self._ledger_name(name) for name in ("control", "journal")])
        for path in self.settings.audit.witness:
            where = self.settings.data / path
            self.control.put(KIND, f"witness {where}", {"checkpoints": len(_read_witness(where))})

    def _pin_head(self, name: str, head: StoreHead) -> None:
        new = asdict(head)

        def change(old: Mapping[str, Any] | None) -> Mapping[str, Any]:
            if old is not None and StoreHead(**old).is_at_least(head):
                return old  # another gateway was ahead
            return new

        place = place_name(self.settings, name)
        if self.control.get(KIND, place) != new:
            self.control.update(KIND, place, change)

    @property
    def _checkpoints_name(self) -> str:
        return place_name(self.settings, "checkpoints")

    def _pin_checkpoints(self, count: int) -> None:
        def change(old: Mapping[str, Any] | None) -> Mapping[str, Any]:
            return {"count": max(count, old["count"] if old is not None else 0)}

        pinned = self.control.get(KIND, self._checkpoints_name)
        if pinned is None or pinned["count"] < count:
            self.control.update(KIND, self._checkpoints_name, change)

    def _store_in_ledger(self, *names: str) -> None:
        self.ledger.remember_heads(
            {self._ledger_name(name): self._store(name).newest_head() for name in names}
        )

    def _ledger_name(self, name: str) -> str:
        """Return under which name the ledger knows a store; other servers may share the ledger."""
        is_own = self.settings.ledger is None
        return name if is_own else f"{name} {self._store(name).identity}"

    def _store(self, name: str) -> AuthenticatedStore:
        return {"control": self.control, "ledger": self.ledger, "journal": self.journal}[name]

    def _behind_heads(self, heads: Mapping[str, str]) -> list[str]:
        return [
            _NOUNS.get(name, name)
            for name, head in heads.items()
            if not self._store(name).includes(read_store_head(head))
        ]

    def _behind_witness(self, path: Path, key: Ed25519PublicKey | None) -> dict[str, str]:
        every = _read_witness(path)
        accepted = self.control.get(KIND, f"witness {path}") or {"checkpoints": 0}
        later = every[accepted["checkpoints"] :]
        if not later:
            return {}
        signed = [found for found in later if key is None or is_signed(found, key)]
        if not signed:
            return {"journal": f"the witness {path} has checkpoints of another key only"}
        reason = f"the witness {path} knows of entries that it does not have"
        last = max(signed, key=lambda found: found.size)
        behind = self._behind_heads(last.heads)
        if not self.journal.includes(StoreHead(self.journal.identity, last.size, last.hash)):
            behind.append("journal")
        return dict.fromkeys(behind, reason)


def refuse_behind(stores: ServerStores, *, key: Ed25519PublicKey | None = None) -> None:
    """Refuse stores that were reset to an earlier state.

    Raises:
        StoreFailed: one was; the message names it, the evidence, and what to do.
    """
    behind = stores.behind(key=key)
    if behind:
        reason = "; ".join(
            f"the {name} was replaced or put back: {why}" for name, why in behind.items()
        )
        raise StoreFailed(
            f"The server is not started, because {reason}. Restore the latest one. If it is lost, run: "
            f"discreet key accept {stores.settings.data} --reason TEXT; budgets then count as spent, and "
            "logins are suspended, until you confirm."
        )


def witnessed_heads(path: Path) -> Mapping[str, str]:
    """Return the heads of control store and ledger in the newest checkpoint at a witness."""
    found = [checkpoint for checkpoint in _read_witness(path) if checkpoint.heads]
    return max(found, key=lambda checkpoint: checkpoint.size).heads if found else {}


def _read_witness(path: Path) -> list[Checkpoint]:
    if not path.is_file() or not path.stat().st_size:
        return []
    return read_checkpoints(path.read_text("utf-8"), place=str(path))


def place_name(settings: Settings, store: str) -> str:
    """Return the name under which the control store knows a store of this server."""
    place = settings.ledger if store == "ledger" else settings.journal
    if settings.control is None:
        return store  # no other server has this control store
    where = place or f"{socket.gethostname()} {settings.data.absolute()}"
    return f"{store} {hashlib.sha256(where.encode()).hexdigest()[:16]}"
