"""ALTER TABLE in the engine: a table whose form changes is written anew, under another physical name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.engines.render import (
    add_foreign_key,
    drop_referenced_table,
    drop_table,
    rename_column,
)
from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import (
    TEMPORARY,
    Authority,
    Name,
    Privilege,
    Relation,
    RelationColumn,
)
from discreet.guard.access.names import find_relation, look_up_relation
from discreet.guard.access.sequences import default_sequence
from discreet.guard.integrity.changes import new
from discreet.guard.integrity.create import (
    build_create_table,
    compile_row_value,
    engine_column_type,
    engine_default,
    foreign_key_definition,
)
from discreet.guard.integrity.keys import AffectedForeignKeys, check_keys
from discreet.guard.journal.redact import redact_statement
from discreet.guard.levels import physical as levels
from discreet.guard.levels.change import check_labels
from discreet.guard.rewrite.kinds import can_assign, kind_named
from discreet.guard.statements import objects
from discreet.guard.statements.objects import AlterTable
from discreet.server.gateway import engine_effects
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.encrypted_columns import stored_relation
from discreet.server.gateway.policy_tables import find_policy_table
from discreet.server.gateway.sequences import number_series, require_usage, start_sequences
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.shown_views import is_shown
from discreet.server.session import Notice, Outcome
from discreet.sql import build

# Of a table with labels: what would depend on cells that its owner may not see.
_DEPENDENT_ON_CELLS = (objects.AddConstraint, objects.SetType)


def run_alter_table(session: SessionState, statement: AlterTable, note: AuditDraft) -> Outcome:
    """Change the columns, constraints or the name of a relation, in the session's transaction."""
    before = session.authority
    applied = apply(before, statement, session.subject, revoke_scope=session.settings.revoke_scope)
    after = applied.authority
    check_labels(before, after)
    _require_name_free(session, statement)
    start_sequences(session, before, after, statement)
    place = _find_changed(before, statement, session.role)
    if place is not None:
        after = _change_physical(session, statement, after, place)
        note.add_write(place[1], ())
    session.change_authority(after)
    session.definitions.append(redact_statement(statement.text))
    notices = tuple(Notice(one.severity, one.message, one.sqlstate) for one in applied.notices)
    return Outcome(f"ALTER {statement.kind.upper()}", notices=notices)


def run_index(
    session: SessionState, statement: objects.CreateIndex | objects.DropIndex, note: AuditDraft
) -> Outcome:
    """Create or drop indexes: a table that gets or loses a unique one is written anew."""
    before = session.authority
    applied = apply(before, statement, session.subject, revoke_scope=session.settings.revoke_scope)
    after = applied.authority
    if isinstance(statement, objects.CreateIndex):
        _check_index(session, statement)
    for key, old in before.relations.items():
        made = after.relations[key]
        if made.uniques != old.uniques:
            _require_checked(session, old)
            if old.multilevel:
                raise StatementFailed("0A000", f'"{old.name}" has labels: its keys cannot change')
            made = replace(made, physical=engine_effects.new_physical_name(session, made))
            after = replace(after, relations={**after.relations, key: made})
            _rebuild_plain(session, old, made, set(), {}, after)
            note.add_write(key, ())
    session.change_authority(after)
    session.definitions.append(redact_statement(statement.text))
    notices = tuple(Notice(one.severity, one.message, one.sqlstate) for one in applied.notices)
    verb = "CREATE" if isinstance(statement, objects.CreateIndex) else "DROP"
    return Outcome(f"{verb} INDEX", notices=notices)


def _check_index(session: SessionState, statement: objects.CreateIndex) -> None:
    """Refuse an index on what its table does not have."""
    relation = find_relation(session.authority, session.role, statement.relation)
    index = statement.index
    for name in (*index.keys, *index.included):
        compile_row_value(
            build.column(name).sql(dialect="postgres") if relation.column(name) else name,
            relation,
            session.traits,
            place="index expression",
        )
    if index.condition is not None:
        compile_row_value(index.condition, relation, session.traits, place="index predicate")


def _require_name_free(session: SessionState, statement: AlterTable) -> None:
    """Refuse to rename what is accounted for by its name: questions, controls and releases.

    Under another name, its budget would be whole again, and earlier releases of it would not count.
    """
    renames = (objects.RenameRelation, objects.RenameColumn)
    if not any(isinstance(action, renames) for action in statement.actions):
        return
    relation = look_up_relation(session.authority, session.role, statement.relation)
    if relation is None:
        return
    reason = None
    if find_policy_table(session.policy, relation) is not None:
        reason = "the server's policy names it"
    elif relation.controls:
        reason = "a control counts the answers about it"
    elif is_shown(session, relation.key):
        reason = "there are or were anonymized views of it"
    if reason is not None:
        raise StatementFailed(
            "0A000",
            f'"{relation.name}" and its columns cannot be renamed: {reason}',
            hint="Create a view with other names.",
        )


def _find_changed(
    before: Authority, statement: AlterTable, role: str
) -> tuple[Relation, Name] | None:
    """Return the relation before the change, and its key after it; None if there is none."""
    relation = look_up_relation(before, role, statement.relation)
    if relation is None:
        return None
    name = relation.name
    for action in statement.actions:
        name = action.new if isinstance(action, objects.RenameRelation) else name
    return relation, (relation.schema, name)


def _change_physical(
    session: SessionState,
    statement: AlterTable,
    after: Authority,
    place: tuple[Relation, Name],
) -> Authority:
    old, key = place
    _require_checked(session, old)
    if old.kind != "table":
        return after
    if not session.database.is_writable:
        raise StatementFailed("0A000", f"{session.database.name} is served for reading only")
    made = after.relations[key]
    if old.multilevel:
        _require_blind(statement)
        _require_same_key(old, made)
    for action in statement.actions:
        if isinstance(action, objects.RenameColumn):
            _rename_physical(session, old, action)
            return after
    fresh = _added_columns(old, statement)
    if _physical_form(old) == _physical_form(made) and not fresh:
        _check_new_keys(session, old, made, after)
        return after
    made = replace(made, physical=engine_effects.new_physical_name(session, made))
    after = replace(after, relations={**after.relations, key: made})
    if old.multilevel:
        made = _rebuild_labeled(session, old, made, fresh)
        return replace(after, relations={**after.relations, key: made})
    _rebuild_plain(session, old, made, fresh, _types_changed(statement), after)
    _check_new_keys(session, old, made, after)
    return after


def _require_checked(session: SessionState, relation: Relation) -> None:
    """Refuse to alter a table whose foreign keys, or those that reference it, are still to be checked."""
    for place, _ in session.transaction.deferred.pending:
        other = session.authority.relations.get(place)
        targets = {key.target for key in other.foreign_keys} if other else set[Name]()
        if relation.key == place or relation.key in targets:
            raise StatementFailed(
                "55006",
                f'cannot ALTER TABLE "{relation.name}" because it has pending trigger events',
                hint="SET CONSTRAINTS ALL IMMEDIATE first.",
            )


def _added_columns(old: Relation, statement: AlterTable) -> set[str]:
    """Return the columns that are new, also those that replace a dropped one of the same name."""
    there = {column.name for column in old.columns}
    added: set[str] = set()
    for action in statement.actions:
        if isinstance(action, objects.DropColumn):
            there.discard(action.name)
        elif isinstance(action, objects.AddColumn):
            name = action.table.columns[0].name
            added |= {name} - there
            there.add(name)
    return added


def _physical_form(relation: Relation) -> tuple[object, ...]:
    """Return what the physical table depends on."""
    columns = [(column.name, column.type, column.not_null) for column in relation.columns]
    keys = [replace(key, name=None) for key in relation.foreign_keys]
    checks = [check.condition for check in relation.checks]
    if relation.multilevel:
        return ([column.name for column in relation.columns],)
    return (columns, relation.primary_key, relation.uniques, keys, checks)


def _require_blind(statement: AlterTable) -> None:
    """Refuse changes of a table with labels that would depend on cells hidden from the owner."""
    for action in statement.actions:
        is_bare = not isinstance(action, objects.AddColumn) or not (
            action.table.columns[0].not_null
            or action.table.columns[0].default is not None
            or action.table.primary_key
            or action.table.uniques
            or action.table.checks
            or action.table.foreign_keys
        )
        is_numbered = isinstance(action, objects.SetIdentity) or (
            isinstance(action, objects.SetDefault) and "nextval" in (action.default or "").lower()
        )
        is_required = isinstance(action, objects.SetNotNull) and action.not_null
        if isinstance(action, _DEPENDENT_ON_CELLS) or not is_bare or is_required or is_numbered:
            raise StatementFailed(
                "0A000",
                "a table with labels takes no new constraints, types or filled columns: whether its "
                "cells fit them would reveal cells of other levels",
                hint="Add the column without constraints, or create another table.",
            )


def _require_same_key(old: Relation, made: Relation) -> None:
    """Refuse a table with labels without its primary key, whose label the rows of each level have."""
    if len(made.primary_key) != len(old.primary_key):
        raise StatementFailed(
            "0A000",
            f'table "{old.name}" has labels, so its primary key cannot be dropped',
            hint="Create another table, and copy what you may see into it.",
        )


def _rename_physical(
    session: SessionState, relation: Relation, action: objects.RenameColumn
) -> None:
    connection = session.transaction.write()
    names = [(action.name, action.new)]
    if relation.multilevel and action.name not in relation.primary_key:
        names.append((levels.label_column(action.name), levels.label_column(action.new)))
    for name, other in names:
        tree = rename_column(build.table(*relation.physical), name, other)
        connection.execute(tree, touches=[relation.physical])


def _types_changed(statement: AlterTable) -> Mapping[str, objects.SetType]:
    return {one.name: one for one in statement.actions if isinstance(one, objects.SetType)}


def _rebuild_plain(
    session: SessionState,
    old: Relation,
    made: Relation,
    fresh: set[str],
    types: Mapping[str, objects.SetType],
    after: Authority,
) -> None:
    """Create the table in its new form, copy the rows, and drop the old one."""
    connection, traits = session.transaction.write(), session.traits
    targets = {key: other.physical for key, other in after.relations.items()}
    stored, source = stored_relation(made), stored_relation(old)
    tree = build_create_table(stored, traits, targets)
    if made.schema == TEMPORARY:
        tree.set("properties", exp.Properties(expressions=[exp.TemporaryProperty()]))
    connection.execute(tree, touches=[stored.physical])
    values: list[exp.Expr] = []
    for column in stored.columns:
        value: exp.Expr = build.column(column.name)
        if column.name in fresh or source.column(column.name) is None:
            default = _number_rows(session, after, column, old)
            default = default or engine_default(column, traits, session.subject.settings)
            value = exp.cast(default or exp.null(), engine_column_type(column, traits))
        elif column.name in types:
            value = _converted_value(session, old, types[column.name])
        values.append(build.alias_as(value, column.name))
    rows = build.select(*values, source=build.table(*old.physical))
    engine_effects.fill_new_table(session, stored, rows)
    if not traits.enforces_foreign_keys:
        engine_effects.drop_physical(session, old.physical)
        return
    tree = drop_referenced_table(build.table(*old.physical))
    connection.execute(tree, touches=[old.physical])
    for other in after.relations.values():
        for key in other.foreign_keys:
            if key.target == made.key and other.key != made.key:
                table = build.table(*other.physical)
                again = add_foreign_key(table, foreign_key_definition(key, targets))
                connection.execute(again, touches=[other.physical])


def _number_rows(
    session: SessionState, after: Authority, column: RelationColumn, old: Relation
) -> exp.Expr | None:
    """Return the numbers of a new serial or identity column; None for other columns."""
    sequence = after.relations.get(default_sequence(column) or ("", ""))
    if sequence is None:
        return None
    require_usage(session, sequence, Privilege.USAGE, Privilege.UPDATE)
    counted = build.select(
        build.alias_as(build.count_star(), "n"), source=build.table(*old.physical)
    )
    count = session.transaction.write().query(counted).to_pylist()[0]["n"]
    return number_series(session, sequence, count)


def _converted_value(session: SessionState, old: Relation, action: objects.SetType) -> exp.Expr:
    column = old.column(action.name)
    if column is None or column.key is not None:
        raise StatementFailed("0A000", f'the type of "{action.name}" cannot change')
    text = action.using
    if text is None:
        wanted = kind_named(action.type)
        if wanted is None or not can_assign(kind_named(column.type), wanted):
            raise StatementFailed(
                "42804",
                f'column "{action.name}" cannot be cast automatically to type {action.type}',
                hint="You might need to specify USING.",
            )
        text = build.column(action.name).sql(dialect="postgres", identify=True)
    value = compile_row_value(text, old, session.traits, place="transform expression")
    return exp.cast(value, engine_column_type(replace(column, type=action.type), session.traits))


def _check_new_keys(session: SessionState, old: Relation, made: Relation, after: Authority) -> None:
    """Refuse a new foreign key that rows of the table violate, where the engine has none."""
    if session.traits.enforces_foreign_keys or made.multilevel:
        return
    added = [key for key in made.foreign_keys if key not in old.foreign_keys]
    names = {name for key in added for name in key.columns}
    if not names:
        return
    columns = [build.alias_as(build.column(name), new(name)) for name in sorted(names)]
    rows = build.select(*columns, source=build.table(*made.physical))
    outward = tuple((key, after.relations[key.target]) for key in added)
    check_keys(session.transaction.write(), AffectedForeignKeys(outward, ()), made, rows)


def _rebuild_labeled(
    session: SessionState, old: Relation, made: Relation, fresh: set[str]
) -> Relation:
    """Write a table with labels anew; a new column is empty, and has the label of its key."""
    *outer, last = made.physical
    made = replace(made, physical=(*outer, f"{levels.PREFIX}{last}"))
    values: list[exp.Expr] = []
    known = set(levels.physical_columns(old)) - fresh
    known -= {levels.label_column(name) for name in fresh}
    for name in levels.physical_columns(made):
        column = made.column(name)
        if name in known:
            value: exp.Expr = build.column(name)
        elif column is not None:
            value = exp.cast(exp.null(), engine_column_type(column, session.traits))
        else:
            value = build.column(levels.KEY_LABEL)
        values.append(build.alias_as(value, name))
    rows = build.select(*values, source=build.table(*old.physical))
    fill = exp.Create(this=build.table(*made.physical), kind="TABLE", expression=rows)
    connection = session.transaction.write()
    connection.execute(fill, touches=[old.physical, made.physical])
    connection.execute(drop_table(build.table(*old.physical)), touches=[old.physical])
    return made
