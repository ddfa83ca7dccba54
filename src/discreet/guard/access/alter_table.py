"""ALTER TABLE: columns, constraints and names, with all that refers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet.errors import StatementFailed
from discreet.guard.access.authority import CheckConstraint, ForeignKey, Privilege, Relation
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.constraint_names import (
    NamedConstraint,
    columns_named,
    named_constraints,
    with_names,
)
from discreet.guard.access.decide import schema_privilege
from discreet.guard.access.dependents import (
    dependents_failure,
    drop_with_dependents,
    named_in,
    parse_stored_sql,
)
from discreet.guard.access.names import (
    KIND_NAMES,
    find_owned,
    format_written_name,
    look_up_relation,
    need_table,
)
from discreet.guard.access.relations import find_existing, resolve_keys, whole_columns
from discreet.guard.access.renaming import (
    pin_columns,
    rename_column_in,
    rename_relation_in,
)
from discreet.guard.access.sequences import (
    number_columns_of,
    owned_sequences,
    settle_default,
)
from discreet.guard.statements import objects
from discreet.guard.statements.objects import AlterTable


def alter_table(change: AuthorityChange, statement: AlterTable) -> AuthorityChange:
    """ALTER TABLE | VIEW; only the owner.

    Raises:
        StatementFailed: as PostgreSQL fails; 2BP01 also for what policies, masks and triggers name,
            which are never dropped with a column: they protect data.
    """
    written = statement.relation
    authority = change.authority
    if statement.if_exists and (
        written[0] not in (None, *authority.schemas)
        or look_up_relation(authority, change.role, written) is None
    ):
        text = f'relation "{format_written_name(written)}" does not exist, skipping'
        return change.with_notice("NOTICE", text)
    relation = find_owned(authority, change.role, written)
    is_view = relation.kind in ("view", "anonymized")
    if (statement.kind == "view" and not is_view) or (
        statement.kind == "sequence" and relation.kind != "sequence"
    ):
        raise StatementFailed("42809", f'"{relation.name}" is not a {statement.kind}')
    if not relation.writable and relation.kind == "table":
        raise StatementFailed("0A000", f'"{relation.name}" is defined by the database behind it')
    change = change.with_relation(with_names(relation))
    key = relation.key
    for action in statement.actions:
        relation = change.authority.relations[key]
        is_of_view = isinstance(action, objects.SetDefault) and relation.kind == "view"
        if not is_of_view and not isinstance(
            action, (objects.RenameRelation, objects.RenameColumn)
        ):
            need_table(relation)
        change = _STEPS[type(action)](change, relation, action)
        if isinstance(action, objects.RenameRelation):
            key = (key[0], action.new)
    return change


def _find_column(relation: Relation, name: str) -> None:
    if relation.column(name) is None:
        raise StatementFailed(
            "42703", f'column "{name}" of relation "{relation.name}" does not exist'
        )


def _replace_column(relation: Relation, name: str, **changed: Any) -> Relation:
    columns = tuple(
        replace(column, **changed) if column.name == name else column for column in relation.columns
    )
    return replace(relation, columns=columns)


def _add_column(
    change: AuthorityChange, relation: Relation, action: objects.AddColumn
) -> AuthorityChange:
    column = settle_default(change, action.table.columns[0])
    if relation.column(column.name) is not None:
        text = f'column "{column.name}" of relation "{relation.name}" already exists'
        if action.if_not_exists:
            return change.with_notice("NOTICE", f"{text}, skipping", "42701")
        raise StatementFailed("42701", text)
    change = pin_columns(change, relation)
    wider = replace(relation, columns=(*relation.columns, column))
    change, wider = number_columns_of(change, wider, dict(action.table.numbered))
    return _with_constraints(change, wider, action.table)


def _add_constraint(
    change: AuthorityChange, relation: Relation, action: objects.AddConstraint
) -> AuthorityChange:
    return _with_constraints(change, relation, action.table)


def _with_constraints(
    change: AuthorityChange, relation: Relation, added: objects.CreateTable
) -> AuthorityChange:
    """Return the change with the keys and checks of `added` on a relation."""
    if added.primary_key and relation.primary_key:
        raise StatementFailed(
            "42P16", f'multiple primary keys for table "{relation.name}" are not allowed'
        )
    merged = replace(
        relation,
        primary_key=added.primary_key or relation.primary_key,
        uniques=tuple(dict.fromkeys((*relation.uniques, *added.uniques))),
        checks=(*relation.checks, *added.checks),
        key_names=(*relation.key_names, *added.key_names),
    )
    merged = replace(merged, columns=whole_columns(merged))
    keys = resolve_keys(change, merged, added.foreign_keys)
    merged = replace(merged, foreign_keys=(*merged.foreign_keys, *keys))
    return change.with_relation(with_names(merged))


def _drop_column(
    change: AuthorityChange, relation: Relation, action: objects.DropColumn
) -> AuthorityChange:
    name = action.name
    if relation.column(name) is None and action.if_exists:
        text = f'column "{name}" of relation "{relation.name}" does not exist, skipping'
        return change.with_notice("NOTICE", text)
    _find_column(relation, name)
    what = f"column {name} of table {relation.name}"
    _need_no_rule(relation, name, what)
    change = _drop_readers(change, relation, name, cascade=action.cascade, what=what)
    change = _drop_incoming(
        change, relation, lambda key: name in key, cascade=action.cascade, what=what
    )
    owned = [one.key for one in owned_sequences(change.authority, relation.key, name)]
    change = drop_with_dependents(change, owned, cascade=action.cascade, what=what)
    relation = change.authority.relations[relation.key]
    gone = {
        one.name
        for one in named_constraints(relation)
        if (name in one.columns if one.kind != "c" else _reads_column(one, relation, name))
    }
    narrow = _without_constraints(relation, gone)
    kept = tuple(index for index in narrow.indexes if name not in _index_columns(index, relation))
    return change.with_relation(
        replace(
            narrow,
            columns=tuple(column for column in narrow.columns if column.name != name),
            masks=tuple(mask for mask in narrow.masks if mask.column != name),
            indexes=kept,
            uniques=tuple(key for key in narrow.uniques if name not in key),
            key_names=tuple(item for item in narrow.key_names if name not in item[1]),
        )
    )


def _reads_column(one: NamedConstraint, relation: Relation, name: str) -> bool:
    return isinstance(one.item, CheckConstraint) and name in (
        columns_named(one.item.condition, relation) or ()
    )


def _index_columns(index: Any, relation: Relation) -> set[str]:
    texts = [*index.keys, *index.included, *([index.condition] if index.condition else [])]
    return {name for text in texts for name in columns_named(text, relation) or ()} | {
        *index.keys,
        *index.included,
    }


def _need_no_rule(relation: Relation, name: str, what: str) -> None:
    """Refuse to drop a column that a policy, a mask or a trigger names."""
    rules = [
        (f"policy {policy.name}", text)
        for policy in relation.policies
        for text in (policy.using, policy.check)
        if text
    ]
    rules += [(f"mask {m.name}", m.expression) for m in relation.masks if m.column != name]
    rules += [(f"trigger {one.name}", one.condition) for one in relation.triggers]
    rules += [(f"trigger {one.name}", " + ".join(one.columns)) for one in relation.triggers]
    for rule, text in rules:
        named = columns_named(text, relation) if text else ()
        if named is None or name in named:
            raise dependents_failure(what, f"{rule} on table {relation.name} depends on {what}")


def _drop_readers(
    change: AuthorityChange, relation: Relation, name: str, *, cascade: bool, what: str
) -> AuthorityChange:
    """Return the change without the views that may read a column."""
    for other in list(change.authority.relations.values()):
        if other.query is None or other.key not in change.authority.relations:
            continue
        tree = parse_stored_sql(other.query)
        if relation.key not in named_in(tree):
            continue
        named = columns_named(other.query, replace(relation, name=""))
        if named is not None and name not in named:
            continue
        if not cascade:
            raise dependents_failure(what, f"view {other.name} depends on {what}")
        change = change.with_notice("NOTICE", f"drop cascades to view {other.name}")
        change = drop_with_dependents(change, [other.key], cascade=True, what=what)
    return change


def _drop_incoming(
    change: AuthorityChange,
    relation: Relation,
    is_gone: Callable[[tuple[str, ...]], bool],
    *,
    cascade: bool,
    what: str,
) -> AuthorityChange:
    """Return the change without the foreign keys that reference a key which is dropped."""
    for other in list(change.authority.relations.values()):
        kept = tuple(
            key
            for key in other.foreign_keys
            if key.target != relation.key or not is_gone(key.target_columns)
        )
        if len(kept) == len(other.foreign_keys):
            continue
        if not cascade and other.key != relation.key:
            text = f"a foreign key of table {other.name} depends on {what}"
            raise dependents_failure(what, text)
        change = change.with_relation(replace(other, foreign_keys=kept))
    return change


def _without_constraints(relation: Relation, gone: set[str]) -> Relation:
    """Return a relation without some constraints; columns of a dropped primary key stay NOT NULL."""
    found = [one for one in named_constraints(relation) if one.name in gone]
    keys = {one.columns for one in found if one.kind in ("p", "u")}
    items = {id(one.item) for one in found if one.item is not None}
    has_primary = any(one.kind == "p" for one in found)
    return replace(
        relation,
        primary_key=() if has_primary else relation.primary_key,
        uniques=tuple(key for key in relation.uniques if key not in keys or has_primary),
        key_names=tuple(item for item in relation.key_names if item[0] not in gone),
        foreign_keys=tuple(key for key in relation.foreign_keys if id(key) not in items),
        checks=tuple(check for check in relation.checks if id(check) not in items),
    )


def _set_default(
    change: AuthorityChange, relation: Relation, action: objects.SetDefault
) -> AuthorityChange:
    _find_column(relation, action.name)
    column = relation.column(action.name)
    if column is not None and column.identity:
        raise StatementFailed(
            "42601", f'column "{action.name}" of relation "{relation.name}" is an identity column'
        )
    if column is not None:
        column = settle_default(change, replace(column, default=action.default))
        relation = _replace_column(relation, action.name, default=column.default)
    return change.with_relation(relation)


def _set_identity(
    change: AuthorityChange, relation: Relation, action: objects.SetIdentity
) -> AuthorityChange:
    _find_column(relation, action.name)
    column = next(one for one in relation.columns if one.name == action.name)
    what = f'column "{column.name}" of relation "{relation.name}"'
    if action.options is not None:  # ADD GENERATED
        if column.identity:
            raise StatementFailed("55000", f"{what} is already an identity column")
        if column.default is not None:
            raise StatementFailed("55000", f"{what} already has a default value")
        if not column.not_null:
            raise StatementFailed(
                "55000", f"{what} must be declared NOT NULL before identity can be added"
            )
        options = replace(action.options, type=action.options.type or column.type)
        change, relation = number_columns_of(change, relation, {column.name: options})
        return change.with_relation(
            _replace_column(relation, column.name, identity=action.identity)
        )
    if not column.identity:
        if action.if_exists:
            return change.with_notice("NOTICE", f"{what} is not an identity column, skipping")
        raise StatementFailed("55000", f"{what} is not an identity column")
    if action.identity:
        return change.with_relation(
            _replace_column(relation, column.name, identity=action.identity)
        )
    keys = [one.key for one in owned_sequences(change.authority, relation.key, column.name)]
    change = change.without_relations(keys)
    return change.with_relation(_replace_column(relation, column.name, identity="", default=None))


def _set_not_null(
    change: AuthorityChange, relation: Relation, action: objects.SetNotNull
) -> AuthorityChange:
    _find_column(relation, action.name)
    column = relation.column(action.name)
    if not action.not_null and column is not None and column.identity:
        raise StatementFailed("42601", f'column "{action.name}" is an identity column')
    if not action.not_null and action.name in relation.primary_key:
        raise StatementFailed("42P16", f'column "{action.name}" is in a primary key')
    return change.with_relation(_replace_column(relation, action.name, not_null=action.not_null))


def _set_type(
    change: AuthorityChange, relation: Relation, action: objects.SetType
) -> AuthorityChange:
    """ALTER COLUMN TYPE; as in PostgreSQL, not of a column that a view or a policy names."""
    _find_column(relation, action.name)
    what = f"column {action.name} of table {relation.name}"
    for other in change.authority.relations.values():
        if other.query is not None and relation.key in named_in(parse_stored_sql(other.query)):
            named = columns_named(other.query, replace(relation, name=""))
            if named is None or action.name in named:
                raise StatementFailed(
                    "0A000", "cannot alter type of a column used by a view or rule"
                )
    masked = [mask for mask in relation.masks if mask.column == action.name]
    try:
        _need_no_rule(relation, action.name, what)
    except StatementFailed:
        masked = list(relation.masks) or masked
        raise StatementFailed(
            "0A000",
            "cannot alter type of a column used in a policy, mask or trigger definition",
            hint="Drop that first, and create it again.",
        ) from None
    if masked:
        raise StatementFailed(
            "0A000",
            "cannot alter type of a column that has a mask",
            hint="Drop the mask first, and create it again.",
        )
    return change.with_relation(_replace_column(relation, action.name, type=action.type))


def _drop_constraint(
    change: AuthorityChange, relation: Relation, action: objects.DropConstraint
) -> AuthorityChange:
    found = next((one for one in named_constraints(relation) if one.name == action.name), None)
    if found is None:
        text = f'constraint "{action.name}" of relation "{relation.name}" does not exist'
        if not action.if_exists:
            raise StatementFailed("42704", text)
        return change.with_notice("NOTICE", f"{text}, skipping")
    if found.kind in ("p", "u"):
        others = [
            set(one.columns)
            for one in named_constraints(relation)
            if one.kind in ("p", "u") and one.name != found.name
        ]
        change = _drop_incoming(
            change,
            relation,
            lambda key: set(key) == set(found.columns) and set(key) not in others,
            cascade=action.cascade,
            what=f"constraint {found.name} on table {relation.name}",
        )
        relation = change.authority.relations[relation.key]
    return change.with_relation(_without_constraints(relation, {action.name}))


def _alter_constraint(
    change: AuthorityChange, relation: Relation, action: objects.AlterConstraint
) -> AuthorityChange:
    found = next((one for one in named_constraints(relation) if one.name == action.name), None)
    what = f'constraint "{action.name}" of relation "{relation.name}"'
    if found is None:
        raise StatementFailed("42704", f"{what} does not exist")
    if found.kind != "f":
        raise StatementFailed("42809", f"{what} is not a foreign key constraint")
    keys = tuple(
        replace(key, deferrable=action.deferrable, deferred=action.deferred)
        if key.name == action.name
        else key
        for key in relation.foreign_keys
    )
    return change.with_relation(replace(relation, foreign_keys=keys))


def _rename_constraint(
    change: AuthorityChange, relation: Relation, action: objects.RenameConstraint
) -> AuthorityChange:
    names = {one.name for one in named_constraints(relation)}
    if action.name not in names:
        text = f'constraint "{action.name}" for table "{relation.name}" does not exist'
        raise StatementFailed("42704", text)
    if action.new in names:
        text = f'constraint "{action.new}" for relation "{relation.name}" already exists'
        raise StatementFailed("42710", text)

    def rename(name: str | None) -> str | None:
        return action.new if name == action.name else name

    keys = tuple((rename(name) or name, columns) for name, columns in relation.key_names)
    foreign: tuple[ForeignKey, ...] = tuple(
        replace(key, name=rename(key.name)) for key in relation.foreign_keys
    )
    checks = tuple(replace(check, name=rename(check.name)) for check in relation.checks)
    return change.with_relation(
        replace(relation, key_names=keys, foreign_keys=foreign, checks=checks)
    )


def _rename_column(
    change: AuthorityChange, relation: Relation, action: objects.RenameColumn
) -> AuthorityChange:
    _find_column(relation, action.name)
    if action.new.lower() in {
        column.name.lower() for column in relation.columns if column.name != action.name
    }:
        raise StatementFailed(
            "42701", f'column "{action.new}" of relation "{relation.name}" already exists'
        )
    if any(column.key is not None for column in relation.columns):
        raise StatementFailed(
            "0A000",
            f'columns of "{relation.name}" cannot be renamed: cells are encrypted under their names',
            hint="ALTER COLUMN … DROP ENCRYPTED first.",
        )
    return rename_column_in(change, relation, action.name, action.new)


def _rename_relation(
    change: AuthorityChange, relation: Relation, action: objects.RenameRelation
) -> AuthorityChange:
    authority = change.authority
    if find_existing(authority, (relation.schema, action.new)) is not None:
        raise StatementFailed("42P07", f'relation "{action.new}" already exists')
    decision = schema_privilege(authority, change.role, relation.schema, Privilege.CREATE)
    if not decision:
        raise StatementFailed("42501", f"permission denied for schema {relation.schema}")
    if relation.kind == "anonymized" or any(c.key is not None for c in relation.columns):
        raise StatementFailed(
            "0A000",
            f'{KIND_NAMES[relation.kind]} "{relation.name}" cannot be renamed: its content is bound '
            "to its name",
        )
    return rename_relation_in(change, relation, action.new)


_STEPS: Mapping[type, Callable[..., AuthorityChange]] = {
    objects.AddColumn: _add_column,
    objects.DropColumn: _drop_column,
    objects.SetDefault: _set_default,
    objects.SetNotNull: _set_not_null,
    objects.SetType: _set_type,
    objects.SetIdentity: _set_identity,
    objects.AddConstraint: _add_constraint,
    objects.DropConstraint: _drop_constraint,
    objects.AlterConstraint: _alter_constraint,
    objects.RenameConstraint: _rename_constraint,
    objects.RenameColumn: _rename_column,
    objects.RenameRelation: _rename_relation,
}
