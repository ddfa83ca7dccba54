"""The parts that every store of a server has: a name, an identity, a head and a seal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from discreet.stores.schema import StoreSchema
    from discreet.stores.seal import Seal


@dataclass(frozen=True)
class StoreHead:
    """The head of a store: its identity, its number of changes, and the last hash if chained."""

    identity: str
    sequence: int
    hash: str = ""

    def is_at_least(self, other: StoreHead) -> bool:
        """Return whether this is the same store, and not earlier than `other`."""
        return self.identity == other.identity and self.sequence >= other.sequence

    @property
    def text(self) -> str:
        """The head in one line, for storage in other stores."""
        return f"{self.identity} {self.sequence} {self.hash}".rstrip()


def read_store_head(text: str) -> StoreHead:
    """Return the head that was written as `text`."""
    identity, sequence, *digest = text.split(" ")
    return StoreHead(identity, int(sequence), "".join(digest))


class AuthenticatedStore(ABC):
    """A store that can be sealed with a key, so that changes without the key are detected."""

    def __init__(self, place: str | Path, schema: StoreSchema) -> None:
        from discreet.stores.store import open_store

        self._store, self._schema = open_store(place, schema), schema

    @property
    def name(self) -> str:
        """Its location, without secrets."""
        return self._store.name

    @property
    def identity(self) -> str:
        """The store's unique identity."""
        return self._store.sealed().identity

    @property
    def is_sealed(self) -> bool:
        """Whether it was sealed with a key."""
        return bool(self._store.sealed().mac)

    def authenticate(self, seal: Seal, *, accept: bool = False) -> None:
        """Check that the store matches its seal under this key, and seal it from now on.

        With `accept`, it is sealed as it is; an empty store always is.

        Raises:
            DiscreetError: the store's own failure: it was changed, or was never sealed.
        """
        from discreet.stores.seal import read_seal

        self._store.use_seal(seal)

        def work(connection: Connection) -> None:
            is_sealed = bool(read_seal(connection, self._schema).mac)
            if accept or (not is_sealed and self._has_no_content(connection)):
                self._seal_content(connection)
            else:
                self._verify_content(connection)

        self._store.write(work)

    @abstractmethod
    def newest_head(self) -> StoreHead:
        """Return the store's head, for storage in other stores."""

    @abstractmethod
    def includes(self, head: StoreHead) -> bool:
        """Return whether the store has everything up to `head`: it was neither replaced nor reset."""

    def close(self) -> None:
        """Close all connections; the store opens new ones if it is used again."""
        self._store.close()

    @abstractmethod
    def _has_no_content(self, connection: Connection) -> bool:
        """Return whether nothing was ever stored."""

    @abstractmethod
    def _seal_content(self, connection: Connection) -> None:
        """Seal everything as it is."""

    @abstractmethod
    def _verify_content(self, connection: Connection) -> None:
        """Refuse content that does not match the seal."""
