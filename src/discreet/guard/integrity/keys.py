"""Foreign keys enforced by the gateway, where the engine's own are too strict: on DuckDB.

They are checked after each statement, on its changes. Writers run one after the other, so no other
transaction can remove a referenced row meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Event, ForeignKey, Name, Relation
from discreet.guard.integrity.changes import new, old
from discreet.guard.integrity.create import is_checked_by_engine
from discreet.sql import build


@dataclass(frozen=True)
class AffectedForeignKeys:
    """The foreign keys from a relation and to it that one write could break."""

    outward: tuple[tuple[ForeignKey, Relation], ...]  # with the referenced relation
    inward: tuple[tuple[ForeignKey, Relation], ...]  # with the referencing relation

    def __bool__(self) -> bool:
        return bool(self.outward or self.inward)


def keys_of(
    relation: Relation,
    authority: Authority,
    *,
    events: Iterable[Event],
    changed: Collection[str],
    traits: EngineTraits,
) -> AffectedForeignKeys:
    """Return the foreign keys that the gateway must check after a write."""
    events = set(events)
    written = set(changed) if "INSERT" not in events else {item.name for item in relation.columns}
    outward = [
        (key, _find_target(key, relation, authority))
        for key in relation.foreign_keys
        if events & {"INSERT", "UPDATE"}
        and written & set(key.columns)
        and is_checked_here(key, traits)
    ]
    inward = [
        (key, other)
        for other in authority.relations.values()
        for key in other.foreign_keys
        if key.target == relation.key
        and is_checked_here(key, traits)
        and ("DELETE" in events or ("UPDATE" in events and set(changed) & set(key.target_columns)))
        and not other.multilevel  # checks its own keys
    ]
    return AffectedForeignKeys(tuple(outward), tuple(inward))


def is_checked_here(key: ForeignKey, traits: EngineTraits) -> bool:
    """Whether the gateway checks a foreign key and runs its actions: triggers must see what they change."""
    return not (traits.enforces_foreign_keys and is_checked_by_engine(key))


class KeyDeferral(Protocol):
    """Which foreign keys wait for the end of the transaction."""

    def is_late(self, relation: Relation, key: ForeignKey) -> bool:
        """Return whether a key of `relation` is checked later; then it is noted that it must be."""
        ...


def check_keys(
    connection: DatabaseConnection,
    keys: AffectedForeignKeys,
    relation: Relation,
    changes: exp.Query,
    deferral: KeyDeferral | None = None,
) -> None:
    """Refuse a write after which a foreign key references a missing row.

    Raises:
        StatementFailed: 23503.
    """

    def is_late(owner: Relation, key: ForeignKey) -> bool:
        return key.deferrable and deferral is not None and deferral.is_late(owner, key)

    for key, target in keys.outward:
        if not is_late(relation, key) and _is_any(connection, _dangling_rows(key, target, changes)):
            raise StatementFailed(
                "23503",
                f'insert or update on table "{relation.name}" violates foreign key constraint'
                f"{_format_key_name(key)}",
            )
    for key, other in keys.inward:
        if key.on_update == "restrict" and _is_any(
            connection, _orphaned_rows(key, other, relation, changes, is_strict=True)
        ):
            raise _referenced_failure(relation, key, other)
        is_strict = key.on_delete == "restrict"
        if (is_strict or not is_late(other, key)) and _is_any(
            connection, _orphaned_rows(key, other, relation, changes)
        ):
            raise _referenced_failure(relation, key, other)


def check_whole_key(
    connection: DatabaseConnection, relation: Relation, key: ForeignKey, target: Relation
) -> None:
    """Refuse a foreign key that any row of its table violates: the check at the end of a transaction.

    Raises:
        StatementFailed: 23503.
    """
    shown = [build.alias_as(build.column(name), new(name)) for name in key.columns]
    rows = build.select(*shown, source=build.table(*relation.physical))
    check_keys(connection, AffectedForeignKeys(((key, target),), ()), relation, rows)


def require_unreferenced(
    relation: Relation, authority: Authority, emptied: Collection[Name]
) -> None:
    """Refuse TRUNCATE of a table that others reference, unless they are truncated, too.

    Raises:
        StatementFailed: 0A000, as PostgreSQL does.
    """
    for other in authority.relations.values():
        refers = any(key.target == relation.key for key in other.foreign_keys)
        if refers and other.key not in {relation.key, *emptied}:
            raise StatementFailed(
                "0A000", "cannot truncate a table referenced in a foreign key constraint"
            )


def _find_target(key: ForeignKey, relation: Relation, authority: Authority) -> Relation:
    target = relation if key.target == relation.key else authority.relations.get(key.target)
    if target is None or target.multilevel:
        raise StatementFailed(
            "0A000",
            f'a foreign key cannot refer to "{key.target[1]}": its rows depend on the reader',
        )
    return target


def _dangling_rows(key: ForeignKey, target: Relation, changes: exp.Query) -> exp.Select:
    """Return new rows whose referenced key is missing; a key with a NULL references nothing."""
    there = build.select(build.number(1), source=build.table(*target.physical, alias="there"))
    pairs = list(zip(key.columns, key.target_columns, strict=True))
    same = build.all_of(
        exp.EQ(this=build.column(theirs, of="there"), expression=build.column(new(mine), of="c"))
        for mine, theirs in pairs
    )
    parts = [exp.not_(build.is_null(build.column(new(mine), of="c"))) for mine, _ in pairs]
    given = build.all_of(one.copy() for one in parts)
    missing = exp.not_(exp.Exists(this=there.where(same)))
    rows = build.select(
        build.alias_as(build.number(1), "one"), source=build.subquery(changes.copy(), "c")
    )
    if not key.full or len(pairs) == 1:
        return rows.where(exp.and_(given, missing))
    some = exp.Paren(this=build.any_of(parts))
    partial = exp.and_(some, exp.not_(exp.Paren(this=given.copy())))
    dangling = exp.and_(given, missing)
    return rows.where(exp.or_(exp.Paren(this=partial), exp.Paren(this=dangling)))


def _referenced_failure(relation: Relation, key: ForeignKey, other: Relation) -> StatementFailed:
    return StatementFailed(
        "23503",
        f'update or delete on table "{relation.name}" violates foreign key constraint'
        f'{_format_key_name(key)} on table "{other.name}"',
    )


def _orphaned_rows(
    key: ForeignKey,
    other: Relation,
    relation: Relation,
    changes: exp.Query,
    *,
    is_strict: bool = False,
) -> exp.Select:
    """Return rows elsewhere that reference an old key which no row here has any more.

    With `is_strict` (RESTRICT), one that a row has lost, even if another row has it now.
    """
    pairs = list(zip(key.columns, key.target_columns, strict=True))
    refers = build.all_of(
        exp.EQ(this=build.column(theirs, of="o"), expression=build.column(old(mine), of="c"))
        for theirs, mine in pairs
    )
    still = build.select(build.number(1), source=build.table(*relation.physical, alias="h")).where(
        build.all_of(
            exp.EQ(this=build.column(mine, of="h"), expression=build.column(old(mine), of="c"))
            for _, mine in pairs
        )
    )
    referring = build.select(build.number(1), source=build.table(*other.physical, alias="o")).where(
        refers
    )
    rows = build.select(
        build.alias_as(build.number(1), "one"), source=build.subquery(changes.copy(), "c")
    )
    if is_strict:
        moved = build.any_of(
            exp.NullSafeNEQ(
                this=build.column(old(mine), of="c"), expression=build.column(new(mine), of="c")
            )
            for _, mine in pairs
        )
        return rows.where(exp.and_(exp.Exists(this=referring), exp.Paren(this=moved)))
    return rows.where(exp.and_(exp.Exists(this=referring), exp.not_(exp.Exists(this=still))))


def _is_any(connection: DatabaseConnection, query: exp.Select) -> bool:
    return connection.query(query.limit(1)).num_rows > 0


def _format_key_name(key: ForeignKey) -> str:
    return f' "{key.name}"' if key.name else ""
