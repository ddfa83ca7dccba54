"""Indexes: a unique one is a key of its table, others are only listed."""

from __future__ import annotations

import re
from dataclasses import replace

from discreet.errors import StatementFailed
from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    Authority,
    Privilege,
    Relation,
    TableIndex,
)
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.constraint_names import (
    default_name,
    named_constraints,
    unused_name,
    with_names,
)
from discreet.guard.access.decide import schema_privilege
from discreet.guard.access.names import find_owned, format_written_name, need_owner, need_table
from discreet.guard.statements.objects import CreateIndex, DropIndex, RenameIndex
from discreet.guard.statements.statement import Written


def create_index(change: AuthorityChange, statement: CreateIndex) -> AuthorityChange:
    """CREATE INDEX; only the owner of the table, who may create in its schema."""
    relation = find_owned(change.authority, change.role, statement.relation)
    need_table(relation)
    decision = schema_privilege(change.authority, change.role, relation.schema, Privilege.CREATE)
    if not decision:
        raise StatementFailed("42501", f"permission denied for schema {relation.schema}")
    index = _name_index(change.authority, relation, statement.index)
    if index.name in index_names(change.authority, relation.schema):
        text = f'relation "{index.name}" already exists'
        if statement.if_not_exists:
            return change.with_notice("NOTICE", f"{text}, skipping", "42P07")
        raise StatementFailed("42P07", text)
    relation = with_names(relation)
    if not index.unique:
        return change.with_relation(replace(relation, indexes=(*relation.indexes, index)))
    names = {column.name for column in relation.columns}
    if index.condition is not None or not set(index.keys) <= names:
        raise StatementFailed(
            "0A000",
            "a unique index on an expression or with WHERE is not supported",
            hint="Index columns, all rows of them.",
        )
    if index.keys in relation.uniques:  # they are unique already
        plain = replace(index, unique=False)
        return change.with_relation(replace(relation, indexes=(*relation.indexes, plain)))
    return change.with_relation(
        replace(
            relation,
            indexes=(*relation.indexes, index),
            uniques=(*relation.uniques, index.keys),
            key_names=(*relation.key_names, (index.name, index.keys)),
        )
    )


def _name_index(authority: Authority, relation: Relation, index: TableIndex) -> TableIndex:
    if index.name:
        return index
    names = {column.name for column in relation.columns}
    words = tuple(key if key in names else _name_expression(key) for key in index.keys)
    name = default_name(relation.name, words, "idx")
    return replace(index, name=unused_name(name, index_names(authority, relation.schema)))


def _name_expression(text: str) -> str:
    """Return the name that an expression gives a column: that of its function."""
    found = re.match(r"(\w+)\(.*\)$", text)
    return found[1].lower() if found else "expr"


def index_names(authority: Authority, schema: str) -> set[str]:
    """Return the names of relations and indexes of a schema."""
    found: set[str] = set()
    for relation in authority.relations.values():
        if relation.schema == schema:
            found |= {relation.name, *(index.name for index in relation.indexes)}
            found |= {one.name for one in named_constraints(relation) if one.kind in ("p", "u")}
    return found


def drop_index(change: AuthorityChange, statement: DropIndex) -> AuthorityChange:
    """DROP INDEX; only the owner of the table."""
    for written in statement.names:
        found = _find_index(change, written)
        if found is None:
            text = f'index "{format_written_name(written)}" does not exist'
            if not statement.if_exists:
                raise StatementFailed("42704", text)
            change = change.with_notice("NOTICE", f"{text}, skipping")
            continue
        relation, index = found
        need_owner(change.authority, change.role, relation)
        change = change.with_relation(_without_index(change.authority, relation, index))
    return change


def _without_index(authority: Authority, relation: Relation, index: TableIndex) -> Relation:
    kept = tuple(one for one in relation.indexes if one.name != index.name)
    if not index.unique:
        return replace(relation, indexes=kept)
    for other in authority.relations.values():
        for key in other.foreign_keys:
            if key.target == relation.key and set(key.target_columns) == set(index.keys):
                raise StatementFailed(
                    "2BP01",
                    f"cannot drop index {index.name} because other objects depend on it",
                    detail=f"a foreign key of table {other.name} depends on index {index.name}",
                )
    return replace(
        relation,
        indexes=kept,
        uniques=tuple(key for key in relation.uniques if key != index.keys),
        key_names=tuple(one for one in relation.key_names if one[0] != index.name),
    )


def _find_index(change: AuthorityChange, written: Written) -> tuple[Relation, TableIndex] | None:
    schema, name = written
    for relation in change.authority.relations.values():
        if relation.schema != (schema or DEFAULT_SCHEMA):
            continue
        for index in relation.indexes:
            if index.name == name:
                return relation, index
        for one in named_constraints(relation):
            if one.kind in ("p", "u") and one.name == name:
                need_owner(change.authority, change.role, relation)
                raise StatementFailed(
                    "2BP01",
                    f"cannot drop index {name} because constraint {name} on table {relation.name} "
                    "requires it",
                    hint=f"You can drop constraint {name} on table {relation.name} instead.",
                )
        if relation.name == name:
            raise StatementFailed("42809", f'"{name}" is not an index')
    return None


def rename_index(change: AuthorityChange, statement: RenameIndex) -> AuthorityChange:
    """ALTER INDEX … RENAME TO; that of a constraint is renamed with it."""
    relation = _find_holder(change.authority, statement.name)
    if relation is None:
        text = f'relation "{format_written_name(statement.name)}" does not exist'
        if not statement.if_exists:
            raise StatementFailed("42P01", text)
        return change.with_notice("NOTICE", f"{text}, skipping")
    need_owner(change.authority, change.role, relation)
    old, new = statement.name[1], statement.new
    if new in index_names(change.authority, relation.schema):
        raise StatementFailed("42P07", f'relation "{new}" already exists')
    relation = with_names(relation)
    return change.with_relation(
        replace(
            relation,
            indexes=tuple(
                replace(one, name=new) if one.name == old else one for one in relation.indexes
            ),
            key_names=tuple(
                (new if name == old else name, key) for name, key in relation.key_names
            ),
        )
    )


def _find_holder(authority: Authority, written: Written) -> Relation | None:
    schema, name = written[0] or DEFAULT_SCHEMA, written[1]
    for relation in authority.relations.values():
        keys = {one.name for one in named_constraints(relation) if one.kind in ("p", "u")}
        if relation.schema == schema and name in keys | {one.name for one in relation.indexes}:
            return relation
    return None
