"""Journals to record into, and the key that signs them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.guard.journal import Event, Journal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(scope="session")
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def event() -> Callable[..., Event]:
    """Make an event that happened `number` seconds after noon."""

    def make(number: int = 0, **more: Any) -> Event:
        values: dict[str, Any] = {
            "kind": "statement",
            "user": "ada",
            "statement": f"SELECT {number}",
            "rows": number,
        }
        return Event(NOON + timedelta(seconds=number), **{**values, **more})

    return make


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def filled(place: Path, key: Ed25519PrivateKey, event: Callable[..., Event]) -> Path:
    """A journal of 25 entries with a checkpoint after each ten, closed."""
    journal = Journal(place, signing_key=key, origin="test", every=10)
    for number in range(25):
        journal.record(event(number))
    journal.close()
    return place
