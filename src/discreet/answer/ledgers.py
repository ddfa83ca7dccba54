"""The ledger that a question is charged in by default."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.dp.ledger.ledger import Ledger
from discreet.stores.state_folder import state_folder
from discreet.writing import make_private_folder


def open_ledger(ledger: Path | str | None, source: object) -> Ledger:
    """Return the ledger at a place, or the default one of a source."""
    place = ledger if ledger is not None else ledger_location(source)
    if ledger is None and isinstance(place, Path):
        # The folder of this user's state; a folder that the user named must exist.
        make_private_folder(place.parent)
    return Ledger(place)


def ledger_location(source: object) -> str | Path:
    """Return the default ledger, which all sessions of this user share."""
    named = os.environ.get("DISCREET_LEDGER")
    if named:
        return named
    if not isinstance(source, (str, Path)):
        return ":memory:"
    return state_folder() / "ledger.sqlite"
