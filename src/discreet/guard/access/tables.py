"""The columns and keys of a new table: completeness, references, and the right to reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import ForeignKey, Privilege, Relation, RelationColumn
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.decide import privilege_on
from discreet.guard.access.names import find_relation
from discreet.guard.statements.objects import CreateTable
from discreet.guard.statements.statement import Written


def whole_columns(
    statement: CreateTable, columns: Sequence[RelationColumn]
) -> tuple[RelationColumn, ...]:
    """Return the columns of a new table; those of its primary key are not null.

    The column names in CREATE TABLE t (a, b) AS apply to the query's columns in order.
    """
    given = tuple(columns) if statement.query is not None else statement.columns
    if statement.query is not None and statement.columns:
        if len(statement.columns) > len(given):
            raise StatementFailed("42601", "too many column names were specified")
        names = [column.name for column in statement.columns]
        renamed = (replace(c, name=n) for c, n in zip(given, names, strict=False))
        given = (*renamed, *given[len(names) :])
    seen: set[str] = set()
    for column in given:
        # Engines may ignore case.
        if column.name.lower() in seen:
            raise StatementFailed("42701", f'column "{column.name}" specified more than once')
        seen.add(column.name.lower())
    names = {column.name for column in given}
    for key in (statement.primary_key, *statement.uniques):
        _need_key_columns(key, names)
    return tuple(
        replace(column, not_null=True) if column.name in statement.primary_key else column
        for column in given
    )


def _need_key_columns(key: tuple[str, ...], names: set[str]) -> None:
    for name in key:
        if name not in names:
            raise StatementFailed("42703", f'column "{name}" named in key does not exist')
    if len(set(key)) < len(key):
        raise StatementFailed("42701", "a column appears twice in a key")


def resolved_keys(
    change: AuthorityChange, relation: Relation, keys: Iterable[tuple[ForeignKey, Written]]
) -> tuple[ForeignKey, ...]:
    """Return the foreign keys of a new table, each with the table and columns it references."""
    return tuple(_resolve_key(change, relation, key, written) for key, written in keys)


def _resolve_key(
    change: AuthorityChange, relation: Relation, key: ForeignKey, written: Written
) -> ForeignKey:
    is_self = written in ((None, relation.name), relation.key)
    target = relation if is_self else find_relation(change.authority, change.role, written)
    if target.kind != "table":
        raise StatementFailed("42809", f'referenced relation "{target.name}" is not a table')
    for name in key.columns:
        if relation.column(name) is None:
            raise StatementFailed(
                "42703", f'column "{name}" referenced in foreign key constraint does not exist'
            )
    columns = key.target_columns or target.primary_key
    if not columns:
        raise StatementFailed(
            "42704", f'there is no primary key for referenced table "{target.name}"'
        )
    _need_unique(target, columns)
    if len(columns) != len(key.columns):
        raise StatementFailed(
            "42830", "number of referencing and referenced columns for foreign key disagree"
        )
    if target is not relation:
        _need_references(change, target, columns)
    return replace(key, target=target.key, target_columns=columns)


def _need_unique(target: Relation, columns: tuple[str, ...]) -> None:
    for name in columns:
        if target.column(name) is None:
            raise StatementFailed(
                "42703", f'column "{name}" referenced in foreign key constraint does not exist'
            )
    if set(columns) not in [set(key) for key in (target.primary_key, *target.uniques)]:
        raise StatementFailed(
            "42830",
            "there is no unique constraint matching given keys for referenced table "
            f'"{target.name}"',
        )


def _need_references(change: AuthorityChange, target: Relation, columns: Iterable[str]) -> None:
    for name in columns:
        decision = privilege_on(
            change.authority, change.role, target, Privilege.REFERENCES, column=name
        )
        if not decision:
            raise AccessDenied(f"permission denied for table {target.name}", reason=decision.reason)
