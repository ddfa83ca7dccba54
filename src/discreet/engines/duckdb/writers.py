"""The order of writers: one at a time per database, and what each commit changed.

DuckDB gives every transaction a snapshot, but allows write skew: two transactions may each write
based on what the other is changing. Here a transaction waits for the right to write before its
first write. If anything it has read changed since its snapshot, it fails; otherwise its snapshot is
renewed, and no other transaction commits until it ends. So writers run one after the other.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from discreet.engines.databases.failures import statement_failure

Names = tuple[str, ...]


class WriterQueue:
    """A queue for the right to write, first come, first served."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._holder: object | None = None

    def acquire(self, who: object, *, timeout: float, is_stopped: Callable[[], bool]) -> None:
        """Wait until `who` holds the right to write.

        Raises:
            StatementFailed: 55P03 when that took longer than `timeout` seconds, 57014 when stopped.
        """
        with self._changed:
            if self._holder is who:
                return
            self._waiting.append(who)
            try:
                came = self._changed.wait_for(
                    lambda: is_stopped() or self._is_next(who), timeout=timeout
                )
                if is_stopped():
                    raise statement_failure("57014")
                if not came:
                    raise statement_failure("55P03")
                self._holder = who
            finally:
                self._waiting.remove(who)
                self._changed.notify_all()

    def release(self, who: object) -> None:
        """Pass the right to write to the next in the queue."""
        with self._changed:
            if self._holder is who:
                self._holder = None
                self._changed.notify_all()

    def wake(self) -> None:
        """Wake the waiting transactions so that they check whether they were canceled."""
        with self._changed:
            self._changed.notify_all()

    def _is_next(self, who: object) -> bool:
        return self._holder is None and self._waiting[0] is who


class CommitClock:
    """A logical clock that advances with every commit, and the time of each table's last write."""

    def __init__(self) -> None:
        self._boot = secrets.token_hex(8)
        # Reentrant: a commit also reads the clock.
        self._order = threading.RLock()
        self._now = 0
        self._all = 0
        self._tables: dict[Names, int] = {}

    @contextmanager
    def hold_clock(self) -> Generator[int]:
        """Hold the clock, so that no commit comes between a snapshot and its time."""
        with self._order:
            yield self._now

    @contextmanager
    def commit(self, tables: Iterable[Names] | None) -> Generator[None]:
        """Hold the clock while a commit happens that wrote `tables`; None means any table."""
        with self._order:
            self._now += 1
            if tables is None:
                self._all = self._now
            else:
                self._tables |= dict.fromkeys(tables, self._now)
            yield

    def is_changed(self, tables: Iterable[Names], *, since: int) -> bool:
        """Return whether one of `tables` was written after a moment."""
        with self._order:
            return any(self._last_written(table) > since for table in tables)

    def version(self, table: Names) -> str:
        """Return a text that changes with every commit that wrote `table`, unless `restore` goes on from there."""
        with self._order:
            return f"{self._boot}-{self._last_written(table)}"

    def to_plain(self) -> dict[str, Any]:
        """Return the clock as plain JSON values."""
        with self._order:
            tables = [[list(names), moment] for names, moment in self._tables.items()]
            return {"boot": self._boot, "now": self._now, "all": self._all, "tables": tables}

    def restore(self, found: Mapping[str, Any]) -> None:
        """Go on from a clock that was written by `to_plain`, for the same content."""
        with self._order:
            self._boot, self._now, self._all = found["boot"], found["now"], found["all"]
            self._tables = {tuple(names): moment for names, moment in found["tables"]}

    def _last_written(self, table: Names) -> int:
        return max(self._all, self._tables.get(table, 0))


def physical_tables(tree: exp.Expr) -> set[Names]:
    """Return the tables that a tree names with a schema; others are CTEs and temporary tables."""
    return {names(table) for table in tree.find_all(exp.Table) if table.db}


def written_tables(statement: exp.Expr, touches: Sequence[Sequence[str]]) -> set[Names] | None:
    """Return the tables that a statement writes; None when it does not name them."""
    named = {fold_name_parts(each) for each in touches}
    target = _target_table(statement)
    if target is not None:
        named.add(names(target))
    return named or None


def names(table: exp.Table) -> Names:
    """Return the parts of a table's name, outermost first, as engines that ignore case compare them."""
    return fold_name_parts([part.name for part in table.parts])


def fold_name_parts(parts: Sequence[str]) -> Names:
    """Return names in one case."""
    return tuple(part.casefold() for part in parts)


def _target_table(statement: exp.Expr) -> exp.Table | None:
    found = statement.args.get("this")
    if isinstance(found, exp.Schema):
        found = found.this
    return found if isinstance(found, exp.Table) else None
