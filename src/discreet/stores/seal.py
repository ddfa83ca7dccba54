"""The seal of a store: authentication under a key that the store does not hold."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Table, bindparam, select, update

from discreet.stores.plain import StatementConnection
from discreet.stores.schema import StoreSchema

OPTION = "seal"  # of a connection: the seal of the store it belongs to


class Seal:
    """Computes message authentication codes (HMAC-SHA-256) under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = bytes(key)

    def bound(self, *names: str) -> Seal:
        """Return the seal of one store, which is not valid for another one."""
        return Seal(self._compute_digest(("store", *names)))

    def mac(self, *parts: str) -> str:
        """Return the code of some texts, in hexadecimal digits."""
        return self._compute_digest(("text", *parts)).hex()

    def number(self, *parts: str) -> int:
        """Return another code of them as a number, for sums over sets of texts."""
        return int.from_bytes(self._compute_digest(("member", *parts)), "big")

    def fits(self, mac: str, *parts: str) -> bool:
        """Return whether `mac` is the code of these texts."""
        return hmac.compare_digest(mac.encode(), self.mac(*parts).encode())

    def _compute_digest(self, parts: tuple[str, ...]) -> bytes:
        encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
        return hmac.new(self._key, framed, hashlib.sha256).digest()


@dataclass(frozen=True)
class SealRecord:
    """A store's identity, the last sealed state, and its code; empty without a key."""

    identity: str
    state: str
    mac: str


def read_seal(connection: StatementConnection, schema: StoreSchema) -> SealRecord:
    """Return the seal of a store, unchecked."""
    row = connection.execute(_select_seal(schema.seal)).one_or_none()
    if row is None:
        raise schema.tampered("its seal is missing")
    return SealRecord(row.identity, row.state, row.mac)


def require_seal(
    connection: StatementConnection, schema: StoreSchema, state: str | None = None
) -> SealRecord:
    """Return the seal of a store if it matches the content; before every write.

    `state` is the state in the store's head, None where only the seal has it.

    Raises:
        DiscreetError: the store's own failure: it was changed, or is written without its key.
    """
    found = read_seal(connection, schema)
    seal = seal_of(connection)
    if seal is None:
        if found.mac:
            raise schema.locked()
        return found
    if not found.mac:
        raise schema.unsealed()
    if state is not None and state != found.state:
        raise schema.tampered("its last entry is not the one that was sealed")
    if not seal.fits(found.mac, schema.noun, found.state):
        raise schema.tampered("its seal does not fit")
    return found


def renew_seal(connection: StatementConnection, schema: StoreSchema, state: str) -> None:
    """Store the state and, with a key, seal it; after every write."""
    seal = seal_of(connection)
    mac = "" if seal is None else seal.mac(schema.noun, state)
    connection.execute(_update_seal(schema.seal), {"new_state": state, "new_mac": mac})


def seal_of(connection: StatementConnection) -> Seal | None:
    """Return the seal of a connection."""
    found: Any = connection.get_execution_options().get(OPTION)
    return found


@lru_cache(maxsize=16)
def _select_seal(table: Table) -> Any:
    return select(table.c.identity, table.c.state, table.c.mac)


@lru_cache(maxsize=16)
def _update_seal(table: Table) -> Any:
    return update(table).values(state=bindparam("new_state"), mac=bindparam("new_mac"))
