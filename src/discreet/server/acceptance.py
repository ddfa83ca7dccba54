"""Acceptance of stores and settings by the custodian: what they may have lost counts as happened."""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import DiscreetError
from discreet.guard.journal import Event
from discreet.guard.journal.keys import load_public_key
from discreet.guard.vault.authentication import open_control
from discreet.guard.vault.keys import KeyAction
from discreet.guard.vault.wrapping import WrappingKey
from discreet.server.accepted_settings import accept_settings
from discreet.server.store_heads import ServerStores
from discreet.server.suspension import suspend_logins
from discreet.stores.seal import Seal


def accept_stores(
    stores: ServerStores, key: WrappingKey | None, *, act: KeyAction, reason: str
) -> list[str]:
    """Seal stores and settings as they are, and return which restrictions follow from that.

    Where a store is behind what others know of it, or was changed without the key, budgets count as
    spent, or logins are suspended, until the custodian confirms.

    Raises:
        LedgerFailed: the ledger is inconsistent, so it cannot be accepted.
        JournalBroken: entries of the journal are missing or were changed.
    """
    place = stores.settings.place("keys/journal.pub")
    public = load_public_key(place) if place.is_file() else None
    stores.ledger.verify()
    stores.journal.require_end(key=public)
    doubtful = set(stores.behind(key=public))
    seal = _accept_control(stores, key, act=act, doubtful=doubtful)
    if seal is not None:
        _accept_others(stores, seal, doubtful)
        accept_settings(stores.control, stores.settings)
    notes: list[str] = []
    if "ledger" in doubtful:
        stores.ledger.close_budget(f"the ledger was put back or replaced ({reason})", at=act.at)
        notes.append("Budgets count as spent until: discreet budget --reopen REASON")
    if "control store" in doubtful:
        suspend_logins(stores.control, f"rights were put back or replaced ({reason})", at=act.at)
        notes.append("Logins are suspended until: discreet user confirm DIR --reason TEXT")
    settle_heads(
        stores, Event(act.at, "key", user=act.by, protocol="cli", reason=f"accept: {reason}")
    )
    return notes


def settle_heads(stores: ServerStores, event: Event) -> None:
    """Make all stores count as the latest from now on, and record who decided it."""
    stores.accept()
    stores.journal.record(replace(event, heads=stores.heads()))
    stores.pin()


def _accept_control(
    stores: ServerStores, key: WrappingKey | None, *, act: KeyAction, doubtful: set[str]
) -> Seal | None:
    if key is not None and stores.control.is_sealed:
        try:
            return open_control(stores.control, key, act=act)[1]
        except DiscreetError as error:
            if error.code != "store-failed":
                raise
            doubtful.add("control store")
    return open_control(stores.control, key, act=act, accept=True)[1]


def _accept_others(stores: ServerStores, seal: Seal, doubtful: set[str]) -> None:
    stores.journal.authenticate(seal, accept=True)
    if stores.ledger.is_sealed:
        try:
            stores.ledger.authenticate(seal)
        except DiscreetError:
            doubtful.add("ledger")
    stores.ledger.authenticate(seal, accept=True)
