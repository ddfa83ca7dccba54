"""Referential actions: what a foreign key does to referencing rows when the referenced ones change."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Event, ForeignKey, Relation
from discreet.guard.integrity.changes import Changes, new, old
from discreet.guard.integrity.create import engine_default
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.sql import build

_HERE, _CHANGED = "t", "c"


def referential_writes(
    key: ForeignKey, other: Relation, changes: Changes, events: tuple[Event, ...]
) -> Iterator[PermittedWrite]:
    """Return the writes of a foreign key from `other`, after `changes` were made.

    As in PostgreSQL they need no right of the sender: the table's owner declared them.
    """
    target = changes.relation
    if "DELETE" in events and key.on_delete not in ("no action", "restrict"):
        lost = _select_lost(key, target, changes)
        if key.on_delete == "cascade":
            yield _build_write("DELETE", other, exp.Exists(this=lost))
        else:
            names = key.set_columns or key.columns
            values = _blank_values(names, other, key.on_delete, changes.connection.traits)
            yield _build_write("UPDATE", other, exp.Exists(this=lost), values)
    if "UPDATE" in events and key.on_update not in ("no action", "restrict"):
        moved = _select_moved(key, changes)
        if key.on_update == "cascade":
            values: dict[str, exp.Expr] = {
                mine: exp.Subquery(this=_select_new(key, changes, theirs))
                for mine, theirs in zip(key.columns, key.target_columns, strict=True)
            }
        else:
            values = _blank_values(key.columns, other, key.on_update, changes.connection.traits)
        yield _build_write("UPDATE", other, exp.Exists(this=moved), values)


def _blank_values(
    names: tuple[str, ...], other: Relation, action: str, traits: EngineTraits
) -> dict[str, exp.Expr]:
    found: dict[str, exp.Expr] = {}
    for name in names:
        column = other.column(name)
        default = engine_default(column, traits) if column and action == "set default" else None
        found[name] = default or exp.Null()
    return found


def _select_changed(key: ForeignKey, changes: Changes, *shown: exp.Expr) -> exp.Select:
    """Return the changes of rows that a row of the other table references."""
    same = build.all_of(
        exp.EQ(this=build.column(mine, of=_HERE), expression=build.column(old(theirs), of=_CHANGED))
        for mine, theirs in zip(key.columns, key.target_columns, strict=True)
    )
    return build.select(*shown, source=changes.table(_CHANGED)).where(same)


def _select_lost(key: ForeignKey, target: Relation, changes: Changes) -> exp.Select:
    rows = _select_changed(key, changes, build.number(1))
    still = build.select(build.number(1), source=build.table(*target.physical, alias="h")).where(
        build.all_of(
            exp.EQ(
                this=build.column(theirs, of="h"), expression=build.column(old(theirs), of=_CHANGED)
            )
            for theirs in key.target_columns
        )
    )
    return rows.where(exp.not_(exp.Exists(this=still)))


def _select_moved(key: ForeignKey, changes: Changes) -> exp.Select:
    differs = build.any_of(
        exp.NullSafeNEQ(
            this=build.column(old(theirs), of=_CHANGED),
            expression=build.column(new(theirs), of=_CHANGED),
        )
        for theirs in key.target_columns
    )
    return _select_changed(key, changes, build.number(1)).where(exp.Paren(this=differs))


def _select_new(key: ForeignKey, changes: Changes, column: str) -> exp.Select:
    return _select_changed(key, changes, build.column(new(column), of=_CHANGED)).limit(1)


def _build_write(
    kind: Event,
    other: Relation,
    condition: exp.Expr,
    assignments: dict[str, exp.Expr] | None = None,
) -> PermittedWrite:
    if other.multilevel:
        raise StatementFailed(
            "0A000", f'"{other.name}" has labels: a foreign key cannot change its rows'
        )
    values = assignments or {}
    return PermittedWrite(
        kind=kind,
        relation=other,
        target=build.table(*other.physical, alias=_HERE),
        columns=tuple(values),
        rows=None,
        on_conflict=None,
        assignments=values,
        condition=condition,
        with_check=None,
        returning=None,
        reads=(),
        written=frozenset(values),
        parameters=(),
        physical=frozenset({other.physical}),
        is_filtered=False,
    )
