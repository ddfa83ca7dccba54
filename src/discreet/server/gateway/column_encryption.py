"""ALTER TABLE … SET ENCRYPTED: encrypts a column under a key of the vault, or decrypts it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import (
    TEMPORARY,
    Authority,
    Relation,
    RelationColumn,
    Trigger,
)
from discreet.guard.access.names import find_relation
from discreet.guard.integrity.create import build_create_table
from discreet.guard.journal.redact import redact_statement
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.statements.dialect import ClientPostgres
from discreet.guard.statements.objects import EncryptColumn
from discreet.guard.vault.keys import OWN
from discreet.server.gateway import engine_effects
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.encrypted_columns import INDEX, encrypted_value_type, stored_relation
from discreet.server.gateway.out_of_engine import copy_name, insert_all
from discreet.server.gateway.session_state import SessionState
from discreet.server.session import Notice, Outcome
from discreet.sql import build

_LEFT_BEHIND = Notice(
    "WARNING",
    "the values were stored unencrypted until now: free blocks and backups may still hold them",
    hint="Encrypt the whole file (discreet key create), and destroy old backups.",
)


def run_encrypt_column(
    session: SessionState, statement: EncryptColumn, note: AuditDraft
) -> Outcome:
    """Encrypt a column under a key; an encrypted one is re-encrypted under the active version.

    Without a key the column is decrypted permanently. The table is rewritten, under another
    physical name, in the session's transaction.
    """
    before = find_relation(session.authority, session.role, statement.relation)
    applied = apply(
        session.authority,
        statement,
        session.subject,
        revoke_scope=session.settings.revoke_scope,
    )
    relation = find_relation(applied.authority, session.role, statement.relation)
    column = before.column(statement.column)
    if column is None:
        raise StatementFailed("42703", f'column "{statement.column}" does not exist')
    if statement.key is None and column.key is None:
        raise StatementFailed("55000", f'column "{column.name}" is not encrypted')
    session.vault.require_cells(session.database)
    _require_fit(session, before, column, statement)
    made = replace(relation, physical=engine_effects.new_physical_name(session, relation))
    count = _rebuild_table(session, before, made, column)
    relations = {**applied.authority.relations, made.key: made}
    session.change_authority(replace(applied.authority, relations=relations))
    session.definitions.append(redact_statement(statement.text))
    note.add_write(made.key, (column.name,))
    note.rows = count
    note.reason = f"key {statement.key or column.key}"
    is_new = column.key is None and count > 0
    return Outcome("ALTER TABLE", notices=(_LEFT_BEHIND,) if is_new else ())


def require_free(relation: Relation, trigger: Trigger) -> None:
    """Refuse a trigger on an encrypted column: it would have to read what its user cannot.

    Raises:
        StatementFailed: 0A000.
    """
    for column in relation.columns:
        if column.key is not None and _may_name_column(trigger.condition, column.name):
            raise StatementFailed(
                "0A000", f'a trigger cannot use column "{column.name}", which is encrypted'
            )


def _require_fit(
    session: SessionState, relation: Relation, column: RelationColumn, statement: EncryptColumn
) -> None:
    if not relation.primary_key:
        raise StatementFailed(
            "0A000",
            f'"{relation.name}" has no primary key, to which encrypted values are bound',
            hint="Create a table with one, and insert the rows into it.",
        )
    if relation.multilevel or not relation.writable or relation.schema == TEMPORARY:
        raise StatementFailed(
            "0A000",
            f'columns of "{relation.name}" cannot be encrypted: it has labels, or is foreign',
        )
    session.keys.refresh()
    if column.key is not None:
        session.ciphers.require_open(relation, column)
    if statement.key is None:
        return
    _require_key(session, statement.key)
    session.ciphers.require_open(relation, column, key=statement.key)
    _require_fit_values(relation, column)
    if session.vault.is_out_of_engine and _is_referred_to(session.authority, relation):
        raise StatementFailed(
            "0A000", f'"{relation.name}" cannot be rewritten: foreign keys reference it'
        )
    user = _user_of(session.authority, relation, column)
    if user is not None:
        raise StatementFailed(
            "0A000", f'column "{column.name}" cannot be encrypted: {user} needs its values'
        )


def _require_fit_values(relation: Relation, column: RelationColumn) -> None:
    encrypted_value_type(column)
    for name in relation.primary_key:
        key = relation.column(name)
        if key is not None and kind_named(key.type) == "bpchar":
            raise StatementFailed("0A000", "a primary key of type character is padded. Use text.")
    if relation.column(column.name + INDEX) is not None:
        raise StatementFailed("42701", f'column "{column.name}{INDEX}" already exists')


def _require_key(session: SessionState, key: str) -> None:
    if key.startswith(OWN) or not session.vault.has_key(key):
        raise StatementFailed(
            "42704",
            f'key "{key}" does not exist',
            hint=f"Create it: discreet key create DIR {key}",
        )


def _user_of(authority: Authority, relation: Relation, column: RelationColumn) -> str | None:
    """Return what uses a column's values in the engine or a trigger, None for nothing."""
    name = column.name
    if name in relation.primary_key or any(name in key for key in relation.uniques):
        return "a key"
    referring = [
        names
        for other in authority.relations.values()
        for key in other.foreign_keys
        for names, owner in ((key.columns, other.key), (key.target_columns, key.target))
        if owner == relation.key
    ]
    if any(name in names for names in referring):
        return "a foreign key"
    if any(_may_name_column(check.condition, name) for check in relation.checks):
        return "a check"
    if any(_may_name_column(trigger.condition, name) for trigger in relation.triggers):
        return "a trigger"
    return "its default" if column.default is not None else None


def _is_referred_to(authority: Authority, relation: Relation) -> bool:
    return any(
        key.target == relation.key
        for other in authority.relations.values()
        for key in other.foreign_keys
    )


def _may_name_column(text: str, column: str) -> bool:
    """Whether a condition may name a column; one that cannot be parsed may."""
    try:
        tree = parse_one(text, dialect=ClientPostgres)
    except (SqlglotError, RecursionError):
        return True
    if tree.find(exp.Star) is not None:
        return True
    return any(node.name.lower() == column.lower() for node in tree.find_all(exp.Column))


def _rebuild_table(
    session: SessionState, before: Relation, after: Relation, column: RelationColumn
) -> int:
    """Rewrite the table with the column encrypted or decrypted, and drop the old one."""
    connection = session.transaction.write()
    traits = session.traits
    is_apart = session.vault.is_out_of_engine
    targets = {key: other.physical for key, other in session.authority.relations.items()}
    made = stored_relation(after)
    connection.execute(build_create_table(made, traits, targets), touches=[made.physical])
    old = {item.name: build.column(item.name) for item in stored_relation(before).columns}
    wanted: dict[str, exp.Expr] = {
        item.name: old[item.name] for item in made.columns if item.name in old
    }
    plain = old[column.name]
    if column.key is not None:
        plain = session.ciphers.decrypt(before, column)
    wanted[column.name] = plain
    now = after.column(column.name)
    if now is not None and now.key is not None:
        keys = [build.column(name) for name in after.primary_key]
        sealed = session.ciphers.encrypt(after, now, plain.copy(), keys)
        wanted[column.name], wanted[column.name + INDEX] = sealed
    physical = copy_name(before) if is_apart else before.physical
    rows = build.select(
        *(build.alias_as(wanted[item.name], item.name) for item in made.columns),
        source=build.table(*physical),
    )
    if is_apart:
        limit = session.limits.rows
        found = session.ciphers.out_of_engine.query(
            rows, session.authority, connection, limit=limit
        )
        count = insert_all(connection, made, found)
    else:
        count = engine_effects.fill_new_table(session, made, rows)
    engine_effects.drop_physical(session, before.physical)
    return count
