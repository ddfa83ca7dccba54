"""Foreign keys enforced by the gateway, where the engine's own are too strict: on DuckDB.

They are checked after each statement, on its changes. Writers run one after the other, so no other
transaction can remove a referenced row meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Event, ForeignKey, Name, Relation
from discreet.guard.integrity.changes import new, old
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
    if traits.enforces_foreign_keys:
        return AffectedForeignKeys((), ())
    written = set(changed) if "INSERT" not in events else {item.name for item in relation.columns}
    outward = [
        (key, _find_target(key, relation, authority))
        for key in relation.foreign_keys
        if events & {"INSERT", "UPDATE"} and written & set(key.columns)
    ]
    inward = [
        (key, other)
        for other in authority.relations.values()
        for key in other.foreign_keys
        if key.target == relation.key
        and ("DELETE" in events or ("UPDATE" in events and set(changed) & set(key.target_columns)))
        and not other.multilevel  # checks its own keys
    ]
    return AffectedForeignKeys(tuple(outward), tuple(inward))


def check_keys(
    connection: DatabaseConnection,
    keys: AffectedForeignKeys,
    relation: Relation,
    changes: exp.Query,
) -> None:
    """Refuse a write after which a foreign key references a missing row.

    Raises:
        StatementFailed: 23503.
    """
    for key, target in keys.outward:
        if _is_any(connection, _dangling_rows(key, target, changes)):
            raise StatementFailed(
                "23503",
                f'insert or update on table "{relation.name}" violates foreign key constraint'
                f"{_format_key_name(key)}",
            )
    for key, other in keys.inward:
        if _is_any(connection, _orphaned_rows(key, other, relation, changes)):
            raise StatementFailed(
                "23503",
                f'update or delete on table "{relation.name}" violates foreign key constraint'
                f'{_format_key_name(key)} on table "{other.name}"',
            )


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
    given = build.all_of(
        exp.not_(build.is_null(build.column(new(mine), of="c"))) for mine, _ in pairs
    )
    missing = exp.not_(exp.Exists(this=there.where(same)))
    rows = build.select(
        build.alias_as(build.number(1), "one"), source=build.subquery(changes.copy(), "c")
    )
    return rows.where(exp.and_(given, missing))


def _orphaned_rows(
    key: ForeignKey, other: Relation, relation: Relation, changes: exp.Query
) -> exp.Select:
    """Return rows elsewhere that reference an old key which no row here has any more."""
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
    return rows.where(exp.and_(exp.Exists(this=referring), exp.not_(exp.Exists(this=still))))


def _is_any(connection: DatabaseConnection, query: exp.Select) -> bool:
    return connection.query(query.limit(1)).num_rows > 0


def _format_key_name(key: ForeignKey) -> str:
    return f' "{key.name}"' if key.name else ""
