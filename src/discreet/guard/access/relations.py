"""Tables and views: create, replace, drop and change the owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.acl import change_acl_owner
from discreet.guard.access.authority import (
    TEMPORARY,
    Authority,
    ForeignKey,
    Name,
    Privilege,
    Relation,
    RelationColumn,
)
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.constraint_names import with_names
from discreet.guard.access.decide import masked_columns, owns, privilege_on, schema_privilege
from discreet.guard.access.dependents import (
    base_tables,
    dependents_failure,
    drop_with_dependents,
    named_in,
    reads_of,
)
from discreet.guard.access.names import (
    KIND_NAMES,
    creation_schema,
    find_named_role,
    find_owned,
    find_relation,
    format_written_name,
    look_up_relation,
)
from discreet.guard.access.reach import can_set, is_superuser
from discreet.guard.access.sequences import (
    number_columns_of,
    owned_sequences,
    settle_default,
    users_of,
)
from discreet.guard.statements.objects import (
    AlterOwner,
    AlterViewOptions,
    CreateTable,
    CreateView,
    Drop,
)
from discreet.guard.statements.statement import Written
from discreet.guard.statements.views import check_view_options, switch
from discreet.sql.views import shows_rows

if TYPE_CHECKING:
    from sqlglot import exp


def create_table(
    change: AuthorityChange,
    statement: CreateTable,
    columns: Sequence[RelationColumn],
    catalog: tuple[str, ...],
) -> AuthorityChange:
    """CREATE TABLE; `columns` are those of its query, when it has one."""
    schema = creation_schema(change.authority, change.role, statement.relation[0])
    key = (schema, statement.relation[1])
    if find_existing(change.authority, key) is not None:
        if statement.if_not_exists and key in change.authority.relations:
            return change.with_notice(
                "NOTICE", f'relation "{key[1]}" already exists, skipping', "42P07"
            )
        raise StatementFailed("42P07", f'relation "{key[1]}" already exists')
    relation = Relation(
        schema,
        key[1],
        "table",
        change.role,
        _whole_columns(statement, columns),
        primary_key=statement.primary_key,
        uniques=statement.uniques,
        checks=statement.checks,
        key_names=statement.key_names,
        physical=(*catalog, *key),
    )
    columns = tuple(settle_default(change, column) for column in relation.columns)
    relation = replace(relation, columns=columns)
    change, relation = number_columns_of(change, relation, dict(statement.numbered))
    keys = resolve_keys(change, relation, statement.foreign_keys)
    return change.with_relation(with_names(replace(relation, foreign_keys=keys)))


def find_existing(authority: Authority, key: Name) -> Relation | None:
    """Return the relation that already has a name; engines may ignore case."""
    if key in authority.relations:
        return authority.relations[key]
    folded = (key[0].lower(), key[1].lower())
    for other, relation in authority.relations.items():
        if (other[0].lower(), other[1].lower()) == folded:
            return relation
    return None


def create_view(
    change: AuthorityChange, statement: CreateView, columns: Sequence[RelationColumn]
) -> AuthorityChange:
    """CREATE [OR REPLACE] [ANONYMIZED] VIEW; `columns` are those of its query."""
    authority = change.authority
    schema = creation_schema(authority, change.role, statement.relation[0])
    key = (schema, statement.relation[1])
    old = find_existing(authority, key)
    if old is not None and (not statement.replace or old.key != key):
        raise StatementFailed("42P07", f'relation "{key[1]}" already exists')
    _need_lasting(authority, statement.query)
    view = Relation(
        schema,
        key[1],
        "anonymized" if statement.anonymized else "view",
        change.role,
        _rename_columns(statement.columns, columns),
        query=_qualify_relations(statement.query),
        security_invoker=statement.security_invoker,
        options=dict(statement.options),
        writable=False,
    )
    if view.kind == "view":
        require_check_option(view.options, view.query or "")
    if key in reads_of(authority, named_in(statement.query)):
        raise StatementFailed("42P17", f'infinite recursion detected in view "{key[1]}"')
    return change.with_relation(view if old is None else _replace_view(change, old, view))


def _need_lasting(authority: Authority, query: exp.Query) -> None:
    """Refuse a view of a session's own table: others could not read it."""
    for table in base_tables(query):
        if table.db == TEMPORARY or (
            not table.db and (TEMPORARY, table.name) in authority.relations
        ):
            raise StatementFailed(
                "0A000",
                f'a view cannot read temporary table "{table.name}"',
                hint="Write the query where you need it.",
            )


def _replace_view(change: AuthorityChange, old: Relation, new: Relation) -> Relation:
    if old.kind == "table":
        raise StatementFailed("42809", f'"{old.name}" is not a view')
    if not owns(change.authority, change.role, old):
        raise AccessDenied(
            f"must be owner of view {old.name}",
            reason=f"{change.role} does not have the rights of {old.owner}",
        )
    if old.kind != new.kind:
        raise StatementFailed(
            "42809",
            f'"{old.name}" is {"an anonymized" if old.kind == "anonymized" else "a plain"} view',
            hint="Privileges on one kind do not apply to the other: drop it first.",
        )
    if len(new.columns) < len(old.columns):
        raise StatementFailed("42P16", "cannot drop columns from view")
    for before, after in zip(old.columns, new.columns, strict=False):
        if before.name != after.name:
            text = f'cannot change name of view column "{before.name}" to "{after.name}"'
            raise StatementFailed("42P16", text)
        if before.type != after.type:
            raise StatementFailed(
                "42P16",
                f'cannot change data type of view column "{before.name}"'
                f" from {before.type} to {after.type}",
            )
    columns = (*old.columns, *new.columns[len(old.columns) :])
    return replace(new, owner=old.owner, acl=old.acl, columns=columns)


def _rename_columns(
    names: Sequence[str], columns: Sequence[RelationColumn]
) -> tuple[RelationColumn, ...]:
    if len(names) > len(columns):
        raise StatementFailed("42601", "CREATE VIEW specifies more column names than columns")
    renamed = [replace(column, name=name) for column, name in zip(columns, names, strict=False)]
    out = (*renamed, *columns[len(names) :])
    seen: set[str] = set()
    for column in out:
        if column.name in seen:
            raise StatementFailed("42701", f'column "{column.name}" specified more than once')
        seen.add(column.name)
    return out


def _qualify_relations(query: exp.Query) -> str:
    """Return the SQL of a query in which every relation has its schema."""
    from sqlglot import exp

    from discreet.guard.access.authority import DEFAULT_SCHEMA

    tree = query.copy()
    for table in base_tables(tree):
        if not table.db:
            table.set("db", exp.to_identifier(DEFAULT_SCHEMA))
    return tree.sql(dialect="postgres", comments=False)


def drop_relation(change: AuthorityChange, statement: Drop) -> AuthorityChange:
    """DROP TABLE or VIEW."""
    found: list[Relation] = []
    for written in statement.relations:
        relation = _find_droppable(change, written, statement)
        if relation is None:
            text = f'{statement.kind} "{format_written_name(written)}" does not exist, skipping'
            change = change.with_notice("NOTICE", text)
        elif relation not in found:
            found.append(relation)
    what = f"{statement.kind} {found[0].name}" if found else statement.kind
    keys = [one.key for one in found]
    for relation in found:
        if relation.kind == "sequence":
            change = _drop_defaults(change, relation, keys, cascade=statement.cascade)
        keys += [one.key for one in owned_sequences(change.authority, relation.key)]
    return drop_with_dependents(change, keys, cascade=statement.cascade, what=what)


def _drop_defaults(
    change: AuthorityChange, sequence: Relation, gone: Sequence[Name], *, cascade: bool
) -> AuthorityChange:
    """Return the change without the defaults that get their numbers from a sequence."""
    for table, column in users_of(change.authority, sequence.key):
        if table.key in gone:
            continue
        what = f"sequence {sequence.name}"
        if column.identity or not cascade:
            detail = (
                f"default value for column {column.name} of table {table.name} depends on {what}"
            )
            raise dependents_failure(what, detail)
        current = change.authority.relations[table.key]
        columns = tuple(
            replace(one, default=None) if one.name == column.name else one
            for one in current.columns
        )
        change = change.with_relation(replace(current, columns=columns))
    return change


def _find_droppable(change: AuthorityChange, written: Written, statement: Drop) -> Relation | None:
    authority = change.authority
    if statement.if_exists and written[0] not in (None, *authority.schemas):
        return None
    relation = look_up_relation(authority, change.role, written)
    if relation is None:
        if statement.if_exists:
            return None
        raise StatementFailed(
            "42P01", f'{statement.kind} "{format_written_name(written)}" does not exist'
        )
    word = KIND_NAMES[relation.kind]
    if word != statement.kind:
        raise StatementFailed(
            "42809",
            f'"{relation.name}" is not a {statement.kind}',
            hint=f"Use DROP {word.upper()} to remove a {word}.",
        )
    schema = authority.schemas[relation.schema]
    if not owns(authority, change.role, relation) and not owns(authority, change.role, schema):
        raise AccessDenied(
            f"must be owner of {word} {relation.name}",
            reason=f"{change.role} does not have the rights of {relation.owner}",
        )
    return relation


def alter_view_options(change: AuthorityChange, statement: AlterViewOptions) -> AuthorityChange:
    """ALTER VIEW name SET (…) or RESET (…)."""
    found = look_up_relation(change.authority, change.role, statement.relation)
    if found is None and statement.if_exists:
        text = f'relation "{statement.relation[1]}" does not exist, skipping'
        return change.with_notice("NOTICE", text)
    relation = find_owned(change.authority, change.role, statement.relation)
    if relation.kind != "view":
        raise StatementFailed("42809", f'"{relation.name}" is not a view')
    check_view_options(statement.options)
    given = {name: value for name, value in statement.options.items() if value is not None}
    kept = {
        name: value for name, value in relation.options.items() if name not in statement.options
    }
    invoker = relation.security_invoker
    if "security_invoker" in statement.options:
        invoker = switch(given, "security_invoker", default=False)
    given.pop("security_barrier", None)
    options = {**kept, **{name: value.lower() for name, value in given.items()}}
    require_check_option(options, relation.query or "")
    return change.with_relation(replace(relation, options=options, security_invoker=invoker))


def require_check_option(options: Mapping[str, str], query: str) -> None:
    """Refuse WITH CHECK OPTION of a view that cannot be written."""
    from sqlglot import parse_one

    if "check_option" in options and not shows_rows(parse_one(query, dialect="postgres")):
        raise StatementFailed(
            "0A000", "WITH CHECK OPTION is supported only on automatically updatable views"
        )


def alter_owner(
    change: AuthorityChange, written: Written, statement: AlterOwner
) -> AuthorityChange:
    """ALTER TABLE | VIEW name OWNER TO role."""
    authority = change.authority
    relation = find_owned(authority, change.role, written)
    new = find_named_role(authority, change.subject, statement.owner).name
    if relation.owner == new:
        return change
    if not is_superuser(authority, change.role):
        if not can_set(authority, change.role, new):
            raise AccessDenied(f'must be able to SET ROLE "{new}"')
        decision = schema_privilege(authority, new, relation.schema, Privilege.CREATE)
        if not decision:
            text = f"permission denied for schema {relation.schema}"
            raise AccessDenied(text, reason=decision.reason)
    old = relation.owner
    acl = None if relation.acl is None else change_acl_owner(relation.acl, old=old, new=new)
    columns = tuple(
        replace(c, acl=change_acl_owner(c.acl, old=old, new=new)) for c in relation.columns
    )
    if relation.options.get("table"):
        raise StatementFailed(
            "0A000", f'cannot change owner of sequence "{relation.name}": a table owns it'
        )
    for sequence in owned_sequences(authority, relation.key):
        listed = sequence.acl and change_acl_owner(sequence.acl, old=old, new=new)
        change = change.with_relation(replace(sequence, owner=new, acl=listed))
    return change.with_relation(replace(relation, owner=new, acl=acl, columns=columns))


def _whole_columns(
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


def whole_columns(relation: Relation) -> tuple[RelationColumn, ...]:
    """Return the columns of a relation that was altered; those of its primary key are not null."""
    altered = CreateTable(
        (None, relation.name), relation.columns, relation.primary_key, relation.uniques
    )
    return _whole_columns(altered, ())


def _need_key_columns(key: tuple[str, ...], names: set[str]) -> None:
    for name in key:
        if name not in names:
            raise StatementFailed("42703", f'column "{name}" named in key does not exist')
    if len(set(key)) < len(key):
        raise StatementFailed("42701", "a column appears twice in a key")


def resolve_keys(
    change: AuthorityChange, relation: Relation, keys: Iterable[tuple[ForeignKey, Written]]
) -> tuple[ForeignKey, ...]:
    """Return the foreign keys of a new table, each with the table and columns it references."""
    return tuple(_resolve_key(change, relation, key, written) for key, written in keys)


def _resolve_key(
    change: AuthorityChange, relation: Relation, key: ForeignKey, written: Written
) -> ForeignKey:
    is_self = written in ((None, relation.name), relation.key)
    target = relation if is_self else find_relation(change.authority, change.role, written)
    if (target.schema == TEMPORARY) != (relation.schema == TEMPORARY):
        kind = "temporary" if relation.schema == TEMPORARY else "permanent"
        raise StatementFailed(
            "42P16", f"constraints on {kind} tables may reference only {kind} tables"
        )
    if target.kind != "table":
        raise StatementFailed("42809", f'referenced relation "{target.name}" is not a table')
    for name in key.columns:
        if relation.column(name) is None:
            raise StatementFailed(
                "42703", f'column "{name}" referenced in foreign key constraint does not exist'
            )
    _need_own_columns(relation, key)
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
    _need_comparable(relation, key, target, columns)
    if target is not relation:
        _need_references(change, target, columns)
    return replace(key, target=target.key, target_columns=columns)


# Types that can be compared with each other, and to which others their values can be cast without loss.
_FAMILIES = {
    **dict.fromkeys(("smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("real", "double precision"), "float"),
    **dict.fromkeys(("text", "character varying", "name"), "text"),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), "time"),
}
_WIDER = {("integer", "numeric"), ("integer", "float"), ("numeric", "float")}


def _need_comparable(
    relation: Relation, key: ForeignKey, target: Relation, columns: Sequence[str]
) -> None:
    for mine, theirs in zip(key.columns, columns, strict=True):
        kinds = [
            column.type.split("(")[0]
            for column in (relation.column(mine), target.column(theirs))
            if column is not None
        ]
        families = tuple(_FAMILIES.get(kind, kind) for kind in kinds)
        if families[0] != families[-1] and families not in _WIDER:
            raise StatementFailed(
                "42804",
                "foreign key constraint cannot be implemented",
                detail=f'Key columns "{mine}" and "{theirs}" are of incompatible types: '
                f"{kinds[0]} and {kinds[-1]}.",
            )


def _need_own_columns(relation: Relation, key: ForeignKey) -> None:
    for name in key.set_columns:
        if name not in key.columns:
            state = "42703" if relation.column(name) is None else "42P10"
            text = f'column "{name}" referenced in ON DELETE SET action must be part of foreign key'
            raise StatementFailed(state, text)


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


def _need_references(change: AuthorityChange, target: Relation, columns: Sequence[str]) -> None:
    for name in columns:
        decision = privilege_on(
            change.authority, change.role, target, Privilege.REFERENCES, column=name
        )
        if not decision:
            raise AccessDenied(f"permission denied for table {target.name}", reason=decision.reason)
    for name in sorted(masked_columns(change.authority, change.role, target) & set(columns)):
        raise AccessDenied(
            f'a foreign key cannot reference column "{name}" of table {target.name}',
            reason="its values are masked for you: the key would check them, and ON UPDATE CASCADE copy them",
            hint="Ask the owner of the table to create the foreign key, or reference another column.",
        )
