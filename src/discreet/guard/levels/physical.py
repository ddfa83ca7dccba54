"""The physical form of a multi-level relation: a label beside every cell, one for the whole key.

The physical table has a number for each tuple, the columns of the key and their label, and every
other column with its label. NULL always has the label of the key. The engine holds no constraint
on it, as a constraint would fail because of cells that the writer may not see.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sqlglot import exp

from discreet.engines.render import drop_table
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.integrity.create import is_checked_by_engine
from discreet.guard.levels.lattice import BOTTOM
from discreet.sql import build

TID = "_tid"
KEY_LABEL = "_key_l"
TC = "tc"
PREFIX = "_mls_"  # of physical tables: no table of a user may start with it
_SERIAL = ("serial", "bigserial", "smallserial", "serial2", "serial4", "serial8")


def label_column(name: str) -> str:
    """Return the name of the physical column of a column's label."""
    return f"{name}_l"


def shown_label(name: str) -> str:
    """Return the name under which users see the label of a column."""
    return f"{name}_label"


def attributes(relation: Relation) -> tuple[RelationColumn, ...]:
    """Return the columns outside the key: each has a label of its own."""
    return tuple(column for column in relation.columns if column.name not in relation.primary_key)


def system_columns(relation: Relation) -> tuple[str, ...]:
    """Return the columns that a multi-level relation shows besides its own, all of them text."""
    return (*(shown_label(column.name) for column in relation.columns), TC)


def physical_table(relation: Relation, *, alias: str | None = None) -> exp.Table:
    """Return the physical table of `relation`."""
    return build.table(*relation.physical, alias=alias)


def multilevel_relation(relation: Relation) -> Relation:
    """Return `relation` as it is after `convert_to_multilevel` ran: multi-level, in another physical table.

    Raises:
        StatementFailed: 42P16 without a primary key, 42701 if a name is taken by a label, 0A000
            for identity columns, since gaps would reveal what others insert, for
            encrypted ones, and for tables that cannot be written here.
    """
    _check(relation)
    *outer, last = relation.physical
    return replace(relation, multilevel=True, physical=(*outer, f"{PREFIX}{last}"))


def convert_to_multilevel(relation: Relation, bottom: int = BOTTOM) -> list[exp.Expr]:
    """Return the statements that move a plain table into multi-level form, all cells at `bottom`.

    They create the physical table of `multilevel_relation(relation)` and drop the plain one.

    Raises:
        StatementFailed: As `multilevel_relation` does.
    """
    target = multilevel_relation(relation)
    number = exp.Window(this=exp.RowNumber())
    label = exp.cast(build.number(bottom), exp.DataType.Type.BIGINT)
    values: dict[str, exp.Expr] = {TID: number, KEY_LABEL: label}
    for name in physical_columns(target):
        is_own = relation.column(name) is not None
        values.setdefault(name, build.column(name) if is_own else label.copy())
    source = build.select(
        *(build.alias_as(values[name], name) for name in physical_columns(target)),
        source=build.table(*relation.physical),
    )
    fill = exp.Create(this=physical_table(target), kind="TABLE", expression=source)
    return [fill, drop_table(build.table(*relation.physical))]


def physical_columns(relation: Relation) -> list[str]:
    """Return the names of the physical columns, in their order."""
    names = [TID, *relation.primary_key, KEY_LABEL]
    for column in attributes(relation):
        names += [column.name, label_column(column.name)]
    return names


def insert_target(relation: Relation) -> exp.Schema:
    """Return the physical table with its columns, as the target of an INSERT."""
    names = [exp.to_identifier(name, quoted=True) for name in physical_columns(relation)]
    return exp.Schema(this=physical_table(relation), expressions=names)


def same_entity(relation: Relation, left: str, right: str) -> exp.Expr:
    """Return the condition that two rows are of one entity: the same key, at the same label."""
    return build.same((*relation.primary_key, KEY_LABEL), left, right)


def _check(relation: Relation) -> None:
    if not relation.primary_key:
        raise StatementFailed(
            "42P16",
            f'table "{relation.name}" needs a primary key to be multi-level',
            hint="A cell is labeled as part of the entity that the key names.",
        )
    if not relation.writable or any(column.key is not None for column in relation.columns):
        raise StatementFailed(
            "0A000",
            f'table "{relation.name}" cannot be multi-level: it is foreign, or has encrypted columns',
        )
    if not all(is_checked_by_engine(key) for key in relation.foreign_keys):
        raise StatementFailed(
            "0A000",
            f'table "{relation.name}" cannot be multi-level: its foreign keys have actions or delays',
            hint="Write ON DELETE NO ACTION: an action would change cells of other levels.",
        )
    # Physical names and shown names must differ, ignoring case.
    names = Counter(
        name.lower() for name in (*physical_columns(relation), *system_columns(relation))
    )
    for name, times in names.items():
        if times > 1:
            raise StatementFailed("42701", f'column name "{name}" is taken by a label')
    for column in relation.columns:
        if column.type.lower() in _SERIAL or "nextval" in (column.default or "").lower():
            raise StatementFailed(
                "0A000",
                f'column "{column.name}" of a multi-level table cannot be an identity column: '
                "gaps would reveal what others insert",
                hint="Use gen_random_uuid() or numbers of your own.",
            )
