"""Foreign keys that a transaction checks at its end: deferrable ones, as SET CONSTRAINTS says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from discreet.engines.databases.database import DatabaseConnection
from discreet.guard.access.authority import Authority, ForeignKey, Name, Relation
from discreet.guard.integrity.keys import check_whole_key

KeyName = tuple[Name, str]  # the table that has the foreign key, and the key's name


@dataclass
class DeferredKeys:
    """The modes of deferrable foreign keys in one transaction, and those that are still to be checked."""

    authority: Callable[[], Authority]  # with the session's temporary tables
    every: bool | None = None  # SET CONSTRAINTS ALL; None leaves each as it was declared
    modes: dict[KeyName, bool] = field(default_factory=dict[KeyName, bool])
    pending: set[KeyName] = field(default_factory=set[KeyName])

    def is_late(self, relation: Relation, key: ForeignKey) -> bool:
        """Return whether a key of `relation` is checked later; then it is noted that it must be."""
        name = (relation.key, key.name or "")
        default = key.deferred if self.every is None else self.every
        is_late = self.modes.get(name, default)
        if is_late:
            self.pending.add(name)
        return is_late

    def set_modes(self, names: Iterable[KeyName] | None, *, deferred: bool) -> None:
        """Make some keys, or all of them when None, deferred or immediate."""
        if names is None:
            self.every, self.modes = deferred, {}
        else:
            self.modes |= dict.fromkeys(names, deferred)

    def check(
        self,
        connection: DatabaseConnection,
        names: Iterable[KeyName] | None = None,
    ) -> None:
        """Check the pending keys, or those of them in `names`, on all rows of their tables.

        Raises:
            StatementFailed: 23503.
        """
        authority = self.authority()
        wanted = self.pending if names is None else self.pending & set(names)
        for place, name in sorted(wanted):
            relation = authority.relations.get(place)
            for key in relation.foreign_keys if relation else ():
                target = authority.relations.get(key.target)
                if relation is not None and target is not None and key.name == name:
                    check_whole_key(connection, relation, key, target)
        self.pending -= wanted

    def clear(self) -> None:
        """Forget modes and pending checks: the transaction has ended."""
        self.every, self.modes, self.pending = None, {}, set()
