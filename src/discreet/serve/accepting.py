"""A custodian accepts stores and settings as they are: what they may have forgotten counts as happened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.guard.journal import Event
from discreet.guard.journal.keys import load_public_key
from discreet.guard.vault.authentication import open_control
from discreet.serve.accepted import accept_settings
from discreet.serve.suspension import suspend

if TYPE_CHECKING:
    from discreet.guard.vault.keys import Act
    from discreet.guard.vault.wrapping import WrappingKey
    from discreet.serve.heads import Stores
    from discreet.stores.seal import Seal


def accept_stores(stores: Stores, key: WrappingKey | None, *, act: Act, reason: str) -> list[str]:
    """Seal stores and settings as they are, and return what is held back because of that.

    Where a store is behind what others know of it, or was changed by somebody without the key, budgets
    count as spent, or nobody enters, until the custodian says otherwise.

    Raises:
        LedgerFailed: the ledger does not agree with itself, so that it cannot be accepted.
        JournalBroken: entries of the journal are missing or were changed.
    """
    stores.ledger.verify()
    stores.journal.require_end()
    doubtful = set(_behind(stores))
    seal = _accept_control(stores, key, act=act, doubtful=doubtful)
    if seal is not None:
        _accept_others(stores, seal, doubtful)
        accept_settings(stores.control, stores.settings)
    told: list[str] = []
    if "ledger" in doubtful:
        stores.ledger.close_budget(f"the ledger was put back or replaced ({reason})", at=act.at)
        told.append("Budgets count as spent until: discreet budget --reopen REASON")
    if "control store" in doubtful:
        suspend(stores.control, f"rights were put back or replaced ({reason})", at=act.at)
        told.append("Nobody enters until: discreet user confirm DIR --reason TEXT")
    settle_heads(
        stores, Event(act.at, "key", user=act.by, protocol="cli", reason=f"accept: {reason}")
    )
    return told


def settle_heads(stores: Stores, event: Event) -> None:
    """Let all stores count as the latest from now on, and write down who said so."""
    stores.accept()
    stores.journal.record(replace(event, heads=stores.heads()))
    stores.pin()


def _behind(stores: Stores) -> list[str]:
    public = stores.settings.place("keys/journal.pub")
    return list(stores.behind(key=load_public_key(public) if public.is_file() else None))


def _accept_control(
    stores: Stores, key: WrappingKey | None, *, act: Act, doubtful: set[str]
) -> Seal | None:
    if key is not None and stores.control.is_sealed:
        try:
            return open_control(stores.control, key, act=act)[1]
        except DiscreetError as error:
            if error.code != "store-failed":
                raise
            doubtful.add("control store")
    return open_control(stores.control, key, act=act, accept=True)[1]


def _accept_others(stores: Stores, seal: Seal, doubtful: set[str]) -> None:
    stores.journal.authenticate(seal, accept=True)
    if stores.ledger.is_sealed:
        try:
            stores.ledger.authenticate(seal)
        except DiscreetError:
            doubtful.add("ledger")
    stores.ledger.authenticate(seal, accept=True)
