"""Scopes: the names that a part of a query may refer to, and those it referred to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.sql import build
from discreet.sql.names import find_in_scopes

Origin: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True)
class ScopeField:
    """A column of something in FROM: `name` is the user's, `key` the one in the tree that runs.

    `origin` is the relation that it is a column of, by schema and name, and its place there from 1.
    """

    name: str
    key: str
    kind: str | None
    weight: float = 1.0
    in_star: bool = True
    origin: Origin | None = None


@dataclass(eq=False)
class RangeTableEntry:
    """An entry of FROM: a relation, or a subquery, with the columns used.

    `handle` is its unique alias in the tree that runs. `schema` is set when the relation goes by its
    own name, and may be qualified.
    """

    name: str
    handle: str
    fields: Sequence[ScopeField]
    relation: Relation | None = None
    schema: str | None = None
    used: set[str] = field(default_factory=set[str])
    is_whole: bool = False  # the row itself was referred to
    is_locked: bool = False  # by FOR UPDATE or FOR SHARE

    def reference(self, item: ScopeField) -> exp.Column:
        """Return a reference to one of its columns, and record it."""
        self.used.add(item.key)
        return build.column(item.key, of=self.handle)


@dataclass(frozen=True)
class VisibleColumn:
    """A column that can be named without its table: one, or several that a join merged.

    `shown` are those whose first non-missing value is the column's; `parts` are all of them.
    """

    name: str
    shown: tuple[tuple[RangeTableEntry, ScopeField], ...]
    parts: tuple[tuple[RangeTableEntry, ScopeField], ...]
    in_star: bool = True

    @property
    def item(self) -> ScopeField:
        """The first of its parts, for kind and weight."""
        return self.shown[0][1]

    def reference(self) -> exp.Expr:
        """Return the expression for it, and record every part as used."""
        for entry, item in self.parts:
            entry.used.add(item.key)
        columns = [entry.reference(item) for entry, item in self.shown]
        if len(columns) == 1:
            return columns[0]
        return exp.Coalesce(this=columns[0], expressions=columns[1:])


def visible_fields(entry: RangeTableEntry) -> list[VisibleColumn]:
    """Return the columns of an entry as they can be named without it."""
    return [
        VisibleColumn(item.name, ((entry, item),), ((entry, item),), item.in_star)
        for item in entry.fields
    ]


@dataclass
class CommonTableExpression:
    """A common table expression, or another named query, as later parts see it."""

    handle: str
    fields: Sequence[ScopeField]


@dataclass
class Scope:
    """One level of a query: its entries, and the enclosing levels."""

    parent: Scope | None = None
    commons: dict[str, CommonTableExpression] = field(
        default_factory=dict[str, CommonTableExpression]
    )
    entries: list[RangeTableEntry] = field(default_factory=list[RangeTableEntry])
    columns: list[VisibleColumn] = field(default_factory=list[VisibleColumn])

    def levels(self) -> Iterable[Scope]:
        """Return this level and the enclosing ones, innermost first."""
        level: Scope | None = self
        while level is not None:
            yield level
            level = level.parent

    def common(self, name: str) -> CommonTableExpression | None:
        """Return the common table expression called `name`, or None."""
        return next((level.commons[name] for level in self.levels() if name in level.commons), None)

    def column(self, name: str) -> VisibleColumn | None:
        """Return the column called `name` of the nearest level that has one, or None."""
        columns = (level.columns for level in self.levels())
        return find_in_scopes(columns, lambda column: column.name == name, _ambiguous_column(name))

    def entry(self, name: str, schema: str | None = None) -> RangeTableEntry | None:
        """Return the entry called `name` of the nearest level that has one, or None."""
        return find_in_scopes(
            (level.entries for level in self.levels()),
            lambda entry: entry.name == name and schema in (None, entry.schema),
            lambda _: StatementFailed("42P09", f'table reference "{name}" is ambiguous'),
        )


def _ambiguous_column(name: str) -> Callable[[object], StatementFailed]:
    return lambda _: StatementFailed("42702", f'column reference "{name}" is ambiguous')


def entry_column(entry: RangeTableEntry, name: str) -> ScopeField:
    """Return a column of an entry, or fail as PostgreSQL does."""
    found = find_in_scopes([entry.fields], lambda item: item.name == name, _ambiguous_column(name))
    if found is None:
        raise StatementFailed("42703", f"column {entry.name}.{name} does not exist")
    return found


class Handles:
    """Generates names that differ even for engines that ignore case."""

    def __init__(self) -> None:
        # Rows of writes have these names, also within subqueries.
        self._taken: set[str] = {"new", "old", "excluded"}

    def new(self, name: str) -> str:
        """Return `name`, or a similar one when it is taken."""
        # PostgreSQL cuts names after 63 bytes.
        base = name.encode()[:56].decode(errors="ignore").strip() or "t"
        number, handle = 1, base
        while handle.lower() in self._taken:
            number += 1
            handle = f"{base}_{number}"
        self._taken.add(handle.lower())
        return handle


def distinct_keys(names: Iterable[str]) -> list[str]:
    """Return names for columns that differ even for engines that ignore case.

    >>> distinct_keys(["a", "A", "b"])
    ['a', 'A_2', 'b']
    """
    handles = Handles()
    return [handles.new(name) for name in names]
