"""Permitted statements: trees with only what their reader may see, and the tables they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from sqlglot import exp

from discreet.guard.access.authority import Name, Relation, Subject
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.guard.rewrite.scope import Origin

# How a relation itself is read: a query with all of its columns, by their names.
Source: TypeAlias = Callable[[Relation, Subject], exp.Query]


@dataclass(frozen=True)
class TouchedRelation:
    """A relation that is read, its columns, and as whom: the caller, or a view's owner."""

    relation: Name
    columns: frozenset[str]
    as_role: str


@dataclass(frozen=True)
class PermittedQuery:
    """A query that may run.

    `parameters` are PostgreSQL's names of the types of `$1`, `$2` …, which are still in the tree.
    `physical` are the engine's tables that it reads. `is_filtered`: it reads a relation with rows
    that the caller may not see. `is_passing`: the time or a setting is part of it, of a view's query
    or of a policy, so that it is valid for this moment of this session only.
    """

    tree: exp.Query
    reads: tuple[TouchedRelation, ...]
    parameters: tuple[str, ...]
    physical: frozenset[tuple[str, ...]]
    is_filtered: bool
    names: tuple[str, ...] = ()
    kinds: tuple[str | None, ...] = ()
    is_passing: bool = False
    origins: tuple[Origin | None, ...] = ()
    locks: RowLocks | None = None


@dataclass(frozen=True)
class RowLocks:
    """The relations of which a query locks the rows, and whether it waits for others."""

    relations: frozenset[Name]
    physical: frozenset[tuple[str, ...]]
    waits: bool


@dataclass(frozen=True)
class OnConflict:
    """ON CONFLICT (columns) DO NOTHING, or DO UPDATE SET assignments WHERE condition.

    Expressions name the existing row by the alias of the target, and the new one `excluded`.
    """

    columns: tuple[str, ...]
    assignments: Mapping[str, exp.Expr] | None = field(default=None, hash=False)  # None: NOTHING
    condition: exp.Expr | None = None


WriteKind = Literal["INSERT", "UPDATE", "DELETE"]


@dataclass(frozen=True)
class PermittedWrite:
    """A write that may run.

    `target` is the physical table with its alias, by which `condition`, `assignments` and `returning`
    name the row: cells that the caller may not see are NULL, and masks apply. `with_check`
    is a condition on the row after the write, which it names `new`; if it is not true, the write
    fails with 42501. `view_check` is the same of WITH CHECK OPTION, with 44000. `sources` is WITH, and FROM with its joins, of UPDATE … FROM and DELETE … USING; a row
    that fits several of theirs is written once. `returning` are aliased expressions. `written` are the columns that get values.
    """

    kind: WriteKind
    relation: Relation
    target: exp.Table
    columns: tuple[str, ...]
    rows: exp.Query | None
    on_conflict: OnConflict | None
    assignments: Mapping[str, exp.Expr] = field(hash=False)
    condition: exp.Expr | None
    with_check: exp.Expr | None
    returning: tuple[exp.Expr, ...] | None
    reads: tuple[TouchedRelation, ...]
    written: frozenset[str]
    parameters: tuple[str, ...]
    physical: frozenset[tuple[str, ...]]
    is_filtered: bool
    sources: exp.Select | None = None
    view_check: exp.Expr | None = None
    returning_names: tuple[str, ...] = ()
    returning_kinds: tuple[str | None, ...] = ()
    returning_origins: tuple[Origin | None, ...] = ()
    is_passing: bool = False


def joined_rows(
    values: Sequence[exp.Expr], target: exp.Table, sources: exp.Select | None
) -> exp.Select:
    """Return values over the rows of a target, combined with those of the sources of a write."""
    query = build.select(*values, source=target)
    if sources is None:
        return query
    sources = sources.copy()
    start = sources.args.get("from_")
    first = [exp.Join(this=start.this, kind="CROSS")] if start is not None else []
    query.set("joins", [*first, *(sources.args.get("joins") or [])] or None)
    query.set("with_", sources.args.get("with_"))
    return query


def plain_source(relation: Relation, _subject: Subject) -> exp.Query:
    """Return `SELECT columns FROM physical`: how a plain table is read."""
    columns = [build.column(column.name) for column in relation.columns]
    return build.select(*columns, source=build.table(*relation.physical))
