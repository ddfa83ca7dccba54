"""Definitions: rights and relations change together with their physical tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sqlglot import exp

from discreet.engines.databases.database import ResultField
from discreet.errors import AccessDenied, StatementFailed, WrongUsage
from discreet.guard.access.apply import AppliedStatement, apply
from discreet.guard.access.authority import (
    TEMPORARY,
    Allowance,
    Authority,
    Relation,
    RelationColumn,
    Subject,
)
from discreet.guard.access.change import ChangeNotice
from discreet.guard.access.decide import is_officer
from discreet.guard.access.names import KIND_NAMES, find_relation, role_name
from discreet.guard.access.reach import bootstrap
from discreet.guard.identity import accounts, passwords, scram
from discreet.guard.integrity.triggers import check_trigger
from discreet.guard.journal.redact import redact_statement
from discreet.guard.levels.declassify import declassify_cells
from discreet.guard.rewrite.authorize import authorize_condition, authorize_query, relations_of
from discreet.guard.rewrite.policies import check_rule
from discreet.guard.statements import objects, rights
from discreet.guard.statements.statement import Statement
from discreet.guard.statements.types import COLUMN_TYPES
from discreet.server.catalog.visibility import RoleVisibility
from discreet.server.gateway import (
    alter_tables,
    anonymized_views,
    column_encryption,
    engine_effects,
    sequences,
)
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.decrypt_reads import require_plain
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import require_level, session_source, undecrypted_source
from discreet.server.session import Notice, Outcome

_TAGS: Mapping[type[Statement], str] = {
    rights.CreateRole: "CREATE ROLE",
    rights.AlterRole: "ALTER ROLE",
    rights.DropRole: "DROP ROLE",
    rights.GrantRole: "GRANT ROLE",
    rights.RevokeRole: "REVOKE ROLE",
    rights.Grant: "GRANT",
    rights.Revoke: "REVOKE",
    rights.CreateExclusion: "CREATE EXCLUSION",
    rights.DropExclusion: "DROP EXCLUSION",
    objects.CreateSchema: "CREATE SCHEMA",
    objects.DropSchema: "DROP SCHEMA",
    objects.CreateTable: "CREATE TABLE",
    objects.CreateView: "CREATE VIEW",
    objects.CreateSequence: "CREATE SEQUENCE",
    objects.AlterSequence: "ALTER SEQUENCE",
    objects.CreateIndex: "CREATE INDEX",
    objects.DropIndex: "DROP INDEX",
    objects.RenameIndex: "ALTER INDEX",
    objects.AlterOwner: "ALTER TABLE",
    objects.AlterViewOptions: "ALTER VIEW",
    objects.AlterRowSecurity: "ALTER TABLE",
    objects.CreatePolicy: "CREATE POLICY",
    objects.AlterPolicy: "ALTER POLICY",
    objects.CommentOn: "COMMENT",
    objects.CreateMask: "CREATE MASK",
    objects.CreateControl: "CREATE CONTROL",
    objects.CreateTrigger: "CREATE TRIGGER",
    objects.SecurityLabel: "SECURITY LABEL",
    objects.EncryptColumn: "ALTER TABLE",
}


def run_definition(session: SessionState, statement: Statement, note: AuditDraft) -> Outcome:
    """Execute a definition within the session's transaction."""
    note.kind = "grant" if isinstance(statement, _OF_RIGHTS) else "definition"
    session.variables.require_writes(_command_tag(statement))
    runner = _RUNNERS.get(type(statement))
    if runner is not None:
        return runner(session, statement, note)
    if isinstance(statement, objects.CreateView) and statement.anonymized:
        return anonymized_views.create_anonymized_view(session, statement, note)
    if isinstance(statement, objects.SecurityLabel) and _is_temporary(session, statement):
        raise StatementFailed("0A000", "a temporary table has no labels")
    _check_password(statement)
    before = session.authority
    applied = _apply_definition(session, statement)
    _check_definition(session, statement, applied.authority)
    after = engine_effects.apply_effects(session, before, applied.authority)
    sequences.start_sequences(session, before, after, statement)
    session.change_authority(after)
    session.definitions.append(redact_statement(statement.text))
    _schedule_credentials(session, statement, before)
    tag = _command_tag(statement)
    if isinstance(statement, objects.CreateTable) and statement.query is not None:
        tag = "CREATE TABLE AS"
        if len(after.relations) > len(before.relations):  # else IF NOT EXISTS found one
            tag = f"SELECT {_fill_table(session, statement, statement.query, note)}"
    if isinstance(statement, objects.CreateTable) and statement.drops_on_commit:
        session.transaction.after_commit(
            partial(session.drop_temporary, [(TEMPORARY, statement.relation[1])])
        )
    return Outcome(tag, notices=tuple(_make_notice(found) for found in applied.notices))


def _is_temporary(session: SessionState, statement: objects.SecurityLabel) -> bool:
    written = statement.relation or (None, "")
    return written[0] in (None, TEMPORARY) and (TEMPORARY, written[1]) in session.temporary


_OF_RIGHTS = (
    rights.Grant,
    rights.Revoke,
    rights.GrantRole,
    rights.RevokeRole,
    rights.GrantSystem,
    rights.CreateRole,
    rights.AlterRole,
    rights.DropRole,
)


def _apply_definition(session: SessionState, statement: Statement) -> AppliedStatement:
    columns: tuple[RelationColumn, ...] = ()
    if isinstance(statement, objects.CreateView):
        columns = describe_view(session, statement.query, statement.columns)
    elif isinstance(statement, objects.CreateTable) and statement.query is not None:
        columns = describe_view(session, statement.query, ())
    return apply(
        session.authority,
        statement,
        session.subject,
        revoke_scope=session.settings.revoke_scope,
        columns=columns,
    )


def _check_definition(session: SessionState, statement: Statement, after: Authority) -> None:
    match statement:
        case objects.CreateTrigger():
            _check_trigger(session, statement, after)
        case objects.CreatePolicy() | objects.CreateMask() | objects.AlterPolicy():
            _check_rule(session, statement, after)
        case rights.Grant(budget=Allowance() as allowance):
            _check_allowance(session, allowance, after)
        case _:
            pass


def _check_allowance(session: SessionState, allowance: Allowance, after: Authority) -> None:
    """Refuse a budget that exceeds that of a table it is granted on."""
    before = session.authority.relations
    for key, relation in after.relations.items():
        if relation != before.get(key):
            session.private_answers.check_allowance(relation, allowance)


def _check_trigger(
    session: SessionState, statement: objects.CreateTrigger, authority: Authority
) -> None:
    """Refuse a trigger that could not run, before the first write."""
    relation = find_relation(authority, session.role, statement.relation)
    if relation.schema != TEMPORARY:  # its condition never means a temporary table
        authority = _without_temporary(authority)
    column_encryption.require_free(relation, statement.trigger)
    check_trigger(
        next(one for one in relation.triggers if one.name == statement.trigger.name),
        relation,
        authority,
        session.subject,
        traits=session.traits,
    )


def _without_temporary(authority: Authority) -> Authority:
    relations = {key: one for key, one in authority.relations.items() if key[0] != TEMPORARY}
    return replace(authority, relations=relations)


def _check_rule(
    session: SessionState,
    statement: objects.CreatePolicy | objects.CreateMask | objects.AlterPolicy,
    after: Authority,
) -> None:
    """Refuse a policy or a mask that could not be evaluated, before the first read."""
    is_mask = isinstance(statement, objects.CreateMask)
    match statement:
        case objects.CreateMask():
            texts: tuple[str | None, ...] = (statement.mask.expression,)
        case objects.CreatePolicy():
            texts = (statement.policy.using, statement.policy.check)
        case objects.AlterPolicy():
            texts = (statement.using, statement.check)
    for text in filter(None, texts):
        check_rule(
            text,
            find_relation(after, session.role, statement.relation),
            after,
            session.subject,
            traits=session.traits,
            is_condition=not is_mask,
        )


def describe_view(
    session: SessionState, query: exp.Query, names: tuple[str, ...]
) -> tuple[RelationColumn, ...]:
    """Return the columns of a view's query; as in PostgreSQL, rights are checked on reads."""
    relations = relations_of(query, session.authority, session.subject)  # in schemas it may use
    if any(isinstance(star.parent, (exp.Select, exp.Column)) for star in query.find_all(exp.Star)):
        _require_known(session, relations)
    first = bootstrap(session.authority)
    everything = replace(
        session.authority,
        relations={
            key: replace(relation, owner=first)
            for key, relation in session.authority.relations.items()
        },
    )
    permitted = authorize_query(
        query,
        everything,
        Subject(first, first, session.clearance, session.subject.settings),
        traits=session.traits,
        source=undecrypted_source(session),
    )
    if permitted.parameters:
        raise StatementFailed("42P02", "there is no parameter $1")
    fields = session.transaction.read().describe(permitted.tree)
    if len(names) > len(fields):
        raise StatementFailed("42601", "CREATE VIEW specifies more column names than columns")
    called = [*names, *(field.name for field in fields[len(names) :])]
    return tuple(
        RelationColumn(name, _type_name(field)) for name, field in zip(called, fields, strict=True)
    )


def _require_known(session: SessionState, relations: Iterable[Relation]) -> None:
    """Refuse `*` over a relation with columns hidden from the sender: the view would list them."""
    seen = RoleVisibility(session.authority, session.role)
    for relation in relations:
        if seen.columns(relation) != relation.columns:
            raise AccessDenied(
                f"permission denied for {KIND_NAMES[relation.kind]} {relation.name}",
                reason=f"{session.role} has no right on some columns of {relation.name}",
                hint="Name the columns.",
            )


def _type_name(field: ResultField) -> str:
    if field.type == "numeric" and field.precision is not None:
        return f"numeric({field.precision},{field.scale or 0})"
    if field.type.endswith("[]"):
        return COLUMN_TYPES.get(field.type.removesuffix("[]"), "text") + "[]"
    return COLUMN_TYPES.get(field.type, field.type)


def _fill_table(
    session: SessionState, statement: objects.CreateTable, query: exp.Query, note: AuditDraft
) -> int:
    """Insert the rows of CREATE TABLE … AS into the new table, as its sender sees them."""
    permitted = authorize_query(
        query,
        session.authority,
        session.subject,
        traits=session.traits,
        source=undecrypted_source(session),
    )
    require_plain(session, permitted.tree)
    require_level(session, permitted.reads)
    session.require_same(permitted.reads)
    for touched in permitted.reads:
        note.add_read(touched.relation, touched.columns)
    relation = find_relation(session.authority, session.role, statement.relation)
    return engine_effects.fill_new_table(session, relation, permitted.tree)


def _command_tag(statement: Statement) -> str:
    match statement:
        case objects.AlterTable():
            return f"ALTER {statement.kind.upper()}"
        case objects.AlterOwner():
            return " ".join(statement.text.split()[:2]).upper()
        case objects.Drop():
            return f"DROP {statement.kind.upper()}"
        case objects.DropAttached():
            return f"DROP {statement.kind.upper()}"
        case rights.GrantSystem():
            return "REVOKE" if statement.revoke else "GRANT"
        case objects.Declassify():
            return "DECLASSIFY"
        case _:
            return _TAGS.get(type(statement), "OK")


def _make_notice(found: ChangeNotice) -> Notice:
    return Notice(found.severity, found.message, found.sqlstate)


def _declassify_column(
    session: SessionState, statement: objects.Declassify, note: AuditDraft
) -> Outcome:
    note.kind = "declassify"
    authority = session.authority
    if not is_officer(authority, session.role):
        raise AccessDenied("only members of security_officer may declassify")
    relation = find_relation(authority, session.role, statement.relation)
    if not relation.multilevel:
        raise StatementFailed("42809", f'"{relation.name}" has no labels')
    if relation.column(statement.column) is None:
        raise StatementFailed("42703", f'column "{statement.column}" does not exist')
    lattice = session.labels.lattice(authority)
    condition = authorize_condition(
        statement.condition,
        relation,
        authority,
        session.subject,
        traits=session.traits,
        source=session_source(session),
    )
    count = declassify_cells(
        session.transaction.write(),
        relation,
        lattice,
        clearance=session.labels.label(authority, session.clearance),
        column=statement.column,
        source=lattice.label(statement.source),
        target=lattice.label(statement.target),
        condition=condition,
    )
    note.add_write(relation.key, (statement.column,))
    note.rows = count
    note.reason = f"{statement.source} to {statement.target}"
    return Outcome(f"DECLASSIFY {count}")


def _check_password(statement: Statement) -> None:
    """Refuse a password that could not be stored."""
    if not isinstance(statement, (rights.CreateRole, rights.AlterRole)):
        return
    password = statement.password
    if password is None or scram.read_verifier(password) is not None:
        return
    name = statement.name if isinstance(statement, rights.AlterRole) else statement.names[0]
    try:
        passwords.require_acceptable(password, user=name)
    except WrongUsage as error:
        raise StatementFailed("22023", str(error)) from None


def _schedule_credentials(session: SessionState, statement: Statement, before: Authority) -> None:
    """Store or delete credentials once the transaction is committed.

    They are stored under the role's identity, so a crash in between leaves them to no other role.
    """
    documents, now = session.vault.documents, session.clock()

    def later(act: Callable[[str], None], authority: Authority, names: tuple[str, ...]) -> None:
        for written in names:
            holder = authority.identity_of(role_name(session.subject, written))
            if holder is not None:
                session.transaction.after_commit(partial(act, holder))

    def set_password(password: str) -> Callable[[str], None]:
        return lambda holder: accounts.set_password(documents, holder, password, now=now)

    match statement:
        case rights.CreateRole(password=str(password)):
            later(set_password(password), session.authority, statement.names)
        case rights.AlterRole(password=str(password)):
            later(set_password(password), session.authority, (statement.name,))
        case rights.AlterRole(no_password=True):
            forget = partial(accounts.remove_password, documents)
            later(forget, session.authority, (statement.name,))
        case rights.DropRole():
            later(partial(accounts.remove_account, documents), before, statement.names)
        case _:
            pass


# Definitions that also read or write rows.
_RUNNERS: Mapping[type[Statement], Callable[[SessionState, Any, AuditDraft], Outcome]] = {
    objects.Declassify: _declassify_column,
    objects.EncryptColumn: column_encryption.run_encrypt_column,
    objects.AlterTable: alter_tables.run_alter_table,
    objects.CreateIndex: alter_tables.run_index,
    objects.DropIndex: alter_tables.run_index,
}
