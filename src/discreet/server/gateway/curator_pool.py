"""A bounded cache of curators; none is closed while it is in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.answer.curator import Curator


@dataclass(eq=False)
class _PooledCurator:
    """A curator, its number of current users, and whether it is cached."""

    curator: Curator
    users: int = 0
    is_kept: bool = True


class CuratorPool:
    """The most recently used curators by key.

    Guarantee: a curator is closed once, when it is no longer cached and no longer in use.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, _PooledCurator] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self, key: Hashable, make: Callable[[], Curator]) -> Generator[Curator]:
        """Lend the curator of `key`, made by `make` if there is none, for as long as it is used."""
        lent = self._borrow_kept(key)
        if lent is None:
            # Created without the lock: opening a database may take long.
            lent = self._add_borrowed(key, make())
        try:
            yield lent.curator
        finally:
            with self._lock:
                lent.users -= 1
                is_over = not lent.is_kept and lent.users == 0
            if is_over:
                lent.curator.leave()

    def close(self) -> None:
        """Empty the cache: curators in use are closed afterwards."""
        with self._lock:
            found = [self._evict_curator(key) for key in list(self._kept)]
        _close_curators(found)

    def _borrow_kept(self, key: Hashable) -> _PooledCurator | None:
        with self._lock:
            found, lost = self._kept.get(key), None
            if found is not None and is_lost(found.curator):
                found, lost = None, self._evict_curator(key)
            if found is not None:
                found.users += 1
                self._kept.move_to_end(key)
        _close_curators([lost])
        return found

    def _add_borrowed(self, key: Hashable, curator: Curator) -> _PooledCurator:
        lent = _PooledCurator(curator, users=1)
        with self._lock:
            # Of two that were created at the same time the newer one is cached.
            gone = [self._evict_curator(key)] if key in self._kept else []
            self._kept[key] = lent
            gone += [self._evict_curator(next(iter(self._kept))) for _ in range(self._excess_count)]
        _close_curators(gone)
        return lent

    @property
    def _excess_count(self) -> int:
        return max(0, len(self._kept) - self._most)

    def _evict_curator(self, key: Hashable) -> Curator | None:
        """Remove one from the cache, and return it if it can be closed now."""
        lent = self._kept.pop(key)
        lent.is_kept = False
        return None if lent.users else lent.curator


def is_lost(curator: Curator) -> bool:
    """Whether the connection to a curator's database was lost."""
    return curator.engine.is_lost


def _close_curators(curators: list[Curator | None]) -> None:
    for curator in curators:
        if curator is not None:
            curator.leave()
