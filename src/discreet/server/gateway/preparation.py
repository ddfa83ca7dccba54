"""Preparation of statements: decided and described, neither run nor charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from discreet.engines.databases.database import ResultField
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Privilege, Subject
from discreet.guard.access.decide import any_column_privilege
from discreet.guard.access.names import find_relation
from discreet.guard.access.reach import bootstrap
from discreet.guard.rewrite.authorize import authorize_query, relations_of
from discreet.guard.rewrite.bind import bind_query
from discreet.guard.rewrite.parameters import infer_parameter_types
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.guard.rewrite.scope import Origin
from discreet.guard.rewrite.writes import authorize_write
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.statement import Statement
from discreet.server.catalog.oids import OidAllocator
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.decrypt_reads import decide_rows, require_encryptable_write
from discreet.server.gateway.encrypted_lookups import reads_cells
from discreet.server.gateway.incoming_copy import build_copy_insert
from discreet.server.gateway.inference_control import prepare_controlled
from discreet.server.gateway.large_statements import require_rights
from discreet.server.gateway.parameters import blank_parameters, require_row_query
from discreet.server.gateway.plans import (
    CallPlan,
    CatalogPlan,
    DecisionBasis,
    InnerPlan,
    PrivatePlan,
    RowsPlan,
    WritePlan,
)
from discreet.server.gateway.private_answers import QUESTION_TRAITS
from discreet.server.gateway.sequences import (
    NumberPlan,
    NumberReader,
    is_overriding,
    may_call_sequences,
    settle_identity,
)
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import (
    require_bottom,
    require_level,
    session_catalog,
    undecrypted_source,
)
from discreet.server.gateway.variables import SHOWN
from discreet.server.session import PreparedStatement
from discreet.sql import build

CALLS = ("discreet_unlock", "discreet_lock", "discreet_backup", "discreet_learn", "set_config")
# A value of each type, to parse a query whose values are not known yet.
_SAMPLES: dict[str, object] = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8"), 1),
    "bool": True,
    "date": "2000-01-01",
    "timestamp": "2000-01-01 00:00:00",
    "timestamptz": "2000-01-01 00:00:00+00",
    "time": "00:00:00",
}


def prepare_statement(
    session: SessionState, statement: Statement, declared: Sequence[str | None], note: AuditDraft
) -> PreparedStatement:
    """Return the parameters and result columns of `statement`."""
    match statement:
        case kinds.Query():
            return _prepare_query(session, statement, statement.tree, declared, note)
        case kinds.Write():
            return _prepare_write(session, statement, declared, note)
        case kinds.CopyOut() | kinds.CopyIn() | kinds.DeclareCursor():
            return _prepare_wrapper(session, statement, declared, note)
        case kinds.Explain():
            return _prepare_explain(session, statement, declared, note)
        case kinds.Show():
            names = SHOWN if statement.name == "all" else (statement.name,)
            return PreparedStatement(
                statement, (), tuple(ResultField(name, "text") for name in names)
            )
        case kinds.Fetch():
            cursor = session.cursors.get(statement.name)
            is_told = cursor is not None and not statement.move
            return PreparedStatement(statement, (), cursor.fields if cursor and is_told else None)
        case kinds.Execute():
            return _prepare_execute(session, statement, note)
        case _:
            return PreparedStatement(statement, (), None)


def renew_statement(
    session: SessionState, prepared: PreparedStatement, note: AuditDraft
) -> PreparedStatement:
    """Return the statement, decided again if rights, role, clearance or keys changed since."""
    if isinstance(prepared.statement, kinds.Fetch):
        _renew_cursor(session, prepared.statement.name)
    plan: Any = prepared.plan
    if isinstance(plan, InnerPlan):
        inner = renew_statement(session, plan.prepared, note)
        return (
            prepared
            if inner is plan.prepared
            else _replace_plan(prepared, InnerPlan(inner, plan.values))
        )
    if not hasattr(plan, "basis"):
        return prepared
    decided: Any = plan.inner.plan if isinstance(plan, NumberPlan) else plan
    is_passing = isinstance(decided, (RowsPlan, WritePlan)) and decided.permitted.is_passing
    if plan.basis.is_unchanged(decision_basis(session)) and not is_passing:
        _draft_audit(decided, note)
        return prepared
    again = prepare_statement(session, prepared.statement, prepared.parameters, note)
    if isinstance(again.plan, InnerPlan):  # COPY and DECLARE are the statement of the query inside
        again = again.plan.prepared
    if again.fields != prepared.fields:
        raise StatementFailed("0A000", "cached plan must not change result type")
    return again


def require_still_permitted(
    session: SessionState, prepared: PreparedStatement, note: AuditDraft
) -> PreparedStatement:
    """Return a statement that has run, decided by the current rights, before it returns more rows.

    Raises:
        AccessDenied: its sender may no longer read what it read, or now sees other rows or masks.
    """
    plan: Any = prepared.plan
    if not hasattr(plan, "basis") or plan.basis.authority is session.authority:
        return prepared
    again = prepare_statement(session, prepared.statement, prepared.parameters, note)
    if isinstance(again.plan, InnerPlan):  # a cursor's plan is inside its declaration
        again = again.plan.prepared
    if _decision_key(again.plan) != _decision_key(plan):
        raise AccessDenied(
            "rights have changed since these rows were read", hint="Run the query again."
        )
    return again


def _renew_cursor(session: SessionState, name: str) -> None:
    """Close a cursor whose query is not permitted as before.

    PostgreSQL returns the rows of a cursor whatever was revoked since. Here a REVOKE applies to open
    cursors, too, held ones included.
    """
    cursor = session.cursors.get(name)
    if cursor is None:
        return
    try:
        cursor.prepared = require_still_permitted(session, cursor.prepared, AuditDraft())
    except StatementFailed:
        del session.cursors[name]
        raise


def _decision_key(plan: object) -> tuple[object, ...]:
    """Return the parts of a plan that decide which rows and values it shows."""
    return (type(plan), plan.permitted.tree if isinstance(plan, RowsPlan) else None)


def decision_basis(session: SessionState) -> DecisionBasis:
    """Return the current basis of this session's decisions."""
    return DecisionBasis(
        session.authority,
        session.role,
        session.clearance,
        session.keys.handles,
        session.variables.get("row_security"),
    )


def _replace_plan(prepared: PreparedStatement, plan: object) -> PreparedStatement:
    return PreparedStatement(prepared.statement, prepared.parameters, prepared.fields, plan)


def _prepare_query(
    session: SessionState,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    call = _prepare_call(tree, declared)
    if call is not None:
        return PreparedStatement(
            statement, call.parameters, (ResultField(call.name, "text"),), call
        )
    found = _prepare_numbers(session, statement, tree, declared, note)
    found = found or _prepare_catalog(session, statement, tree, declared)
    if found is not None:
        return found
    require_rights(session.authority, session.subject, statement.text, tree)
    try:
        return _prepare_rows(session, statement, tree, declared, note)
    except AccessDenied:
        asked = _prepare_private(session, statement, tree, declared)
        asked = asked or prepare_controlled(session, statement, tree, declared)
        if asked is None:
            raise
        return asked
    except StatementFailed as failed:
        # A query whose rows cannot be read may still be a private query: a quantile.
        if failed.sqlstate not in ("0A000", "42883") or not _may_only_ask(session, tree):
            raise
        asked = _prepare_private(session, statement, tree, declared)
        if asked is None:
            raise
        return asked


def _prepare_catalog(
    session: SessionState, statement: Statement, tree: exp.Query, declared: Sequence[str | None]
) -> PreparedStatement | None:
    """Return a query about the catalog; None if it is about other relations."""
    catalog = session_catalog(session)
    if not catalog.handles(tree):
        return None
    types = catalog.parameters(tree, declared)
    fields = catalog.describe(catalog.bind(tree, types))
    plan = CatalogPlan(decision_basis(session), tree, types)
    return PreparedStatement(statement, types, fields, plan)


def _prepare_numbers(
    session: SessionState,
    statement: Statement,
    tree: exp.Query | exp.Insert | exp.Update | exp.Delete,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement | None:
    """Return a statement that calls functions of sequences; None if it calls none.

    Its reads must be at the bottom: the numbers that it gives can be seen by everybody.
    """
    if not may_call_sequences(statement.text) and not is_overriding(statement):
        return None
    reader = NumberReader(session, tree.copy())
    reader.read()
    if not reader.calls and not reader.sets:
        return None
    kinds_ = [*declared, *[None] * (reader.count - len(declared))]
    kinds_ += ["int8"] * len(reader.calls)
    if isinstance(tree, exp.Query):
        query = require_row_query(reader.tree)
        inner = _prepare_rows(session, statement, query, kinds_, note)
    else:
        inner = _prepare_plain_write(session, statement, reader.tree, kinds_, note)
    found: Any = inner.plan
    if any(call.function in ("nextval", "default") for call in reader.calls) or reader.sets:
        require_level(session, found.permitted.reads)
        if isinstance(found, WritePlan):
            require_bottom(session, found.permitted.relation)
    fields = inner.fields
    hidden = sum(not isinstance(one.called, bool) for one in reader.sets)
    if fields is not None and hidden:
        fields = fields[: len(fields) - hidden]
    plan = NumberPlan(decision_basis(session), inner, tuple(reader.calls), tuple(reader.sets))
    return PreparedStatement(statement, inner.parameters[: reader.count], fields, plan)


def _may_only_ask(session: SessionState, tree: exp.Query) -> bool:
    """Whether a query names a relation of which no row may be read."""
    authority, role = session.authority, session.role
    relations = relations_of(tree, authority, session.subject)
    return not all(
        any_column_privilege(authority, role, relation, Privilege.SELECT) for relation in relations
    )


def _prepare_rows(
    session: SessionState,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    key = (statement.text, tuple(declared), session.user, session.variables.is_lenient)
    basis = decision_basis(session)
    known = session.plans.find(key, basis)
    if known is not None:
        _draft_audit(known.plan, note)
        return PreparedStatement(statement, known.parameters, known.fields, known.plan)
    permitted, described, is_apart = decide_rows(session, tree, declared)
    fields = locate_fields(described, permitted.origins)
    has_cells = is_apart or reads_cells(permitted.reads, session.authority)
    # Keys in the server's custody may have been opened meanwhile: then the plan is this session's own.
    basis = decision_basis(session) if has_cells else basis
    plan = RowsPlan(basis, permitted, is_apart, has_cells)
    _draft_audit(plan, note)
    prepared = PreparedStatement(statement, permitted.parameters, fields, plan)
    if not permitted.is_passing and not session.transaction.has_changes:
        session.plans.add(key, basis, prepared)
    return prepared


def _prepare_private(
    session: SessionState,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
) -> PreparedStatement | None:
    """Return a query as a private query, for a sender who may only aggregate."""
    relations = relations_of(tree, session.authority, session.subject)
    has_values = tree.find(exp.Parameter, exp.Placeholder) is not None
    types = _question_types(session, tree, declared) if has_values else ()
    samples = [_SAMPLES.get(name, "") for name in types]
    sampled = bind_query(tree, types, samples, traits=QUESTION_TRAITS)
    asked = session.private_answers.read(
        require_row_query(sampled), relations, session.authority, session.subject, session.variables
    )
    if asked is None:
        return None
    fields = session.private_answers.describe(asked)
    return PreparedStatement(
        statement, types, fields, PrivatePlan(decision_basis(session), tree, types)
    )


def _prepare_write(
    session: SessionState,
    statement: kinds.Write,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    tree = settle_identity(session, statement)
    found = _prepare_numbers(session, statement, tree, declared, note)
    if found is not None:
        return found
    return _prepare_plain_write(session, statement, tree, declared, note)


def _prepare_plain_write(
    session: SessionState,
    statement: Statement,
    tree: Any,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    require_rights(session.authority, session.subject, statement.text, tree)
    permitted = authorize_write(
        tree,
        session.authority,
        session.subject,
        traits=session.traits,
        source=undecrypted_source(session),
        declared=declared,
    )
    require_encryptable_write(session, permitted)
    if not permitted.relation.multilevel:
        require_level(session, permitted.reads)
    if not session.database.is_writable:
        raise StatementFailed("0A000", f"{session.database.name} is served for reading only")
    plan = WritePlan(decision_basis(session), permitted)
    _draft_audit(plan, note)
    fields = None
    if permitted.returning is not None:
        described = _returning_fields(session, permitted)
        fields = locate_fields(described, permitted.returning_origins)
    return PreparedStatement(statement, permitted.parameters, fields, plan)


def _returning_fields(session: SessionState, permitted: PermittedWrite) -> tuple[ResultField, ...]:
    """Return the columns that a write returns."""
    wanted = exp.select(*(item.copy() for item in permitted.returning or ()))
    source = undecrypted_source(session)(permitted.relation, session.subject)
    query = wanted.from_(build.subquery(source, permitted.target.alias_or_name))
    return session.transaction.read().describe(blank_parameters(query, permitted.parameters))


def locate_fields(
    fields: Sequence[ResultField], origins: Sequence[Origin | None]
) -> tuple[ResultField, ...]:
    """Return columns with the OIDs of their relations."""
    oids = OidAllocator()
    return tuple(
        field
        if origin is None
        else replace(field, table=oids.of("relation", *origin[:2]), place=origin[2])
        for field, origin in zip(fields, origins, strict=True)
    )


def _prepare_wrapper(
    session: SessionState,
    statement: kinds.CopyOut | kinds.CopyIn | kinds.DeclareCursor,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    if isinstance(statement, kinds.CopyIn):
        relation = find_relation(session.authority, session.role, statement.relation)
        if relation.kind == "view":
            raise StatementFailed("42809", f'cannot copy to view "{relation.name}"')
        insert = kinds.Write(build_copy_insert(statement, relation), text=statement.text)
        return PreparedStatement(
            statement, (), None, _prepare_write(session, insert, (), note).plan
        )
    inner = _prepare_query(session, statement, statement.query, declared, note)
    fields = inner.fields if isinstance(statement, kinds.CopyOut) else None
    return PreparedStatement(statement, inner.parameters, fields, InnerPlan(inner))


def _prepare_explain(
    session: SessionState,
    statement: kinds.Explain,
    declared: Sequence[str | None],
    note: AuditDraft,
) -> PreparedStatement:
    inner = prepare_statement(session, statement.statement, declared, note)
    title = "PRIVACY PLAN" if statement.privacy else "QUERY PLAN"
    return PreparedStatement(
        statement, inner.parameters, (ResultField(title, "text"),), InnerPlan(inner)
    )


def _prepare_execute(
    session: SessionState, statement: kinds.Execute, note: AuditDraft
) -> PreparedStatement:
    known = session.statements.get(statement.name)
    if known is None:
        raise StatementFailed("26000", f'prepared statement "{statement.name}" does not exist')
    inner = prepare_statement(session, known.statement, known.types, note)
    values = tuple(literal_value(argument) for argument in statement.arguments)
    if len(values) != len(inner.parameters):
        raise StatementFailed(
            "42601", f'wrong number of parameters for prepared statement "{statement.name}"'
        )
    return PreparedStatement(statement, (), inner.fields, InnerPlan(inner, values))


def literal_value(tree: exp.Expr) -> object:
    """Return the value of a literal; anything else is refused."""
    if isinstance(tree, exp.Null):
        return None
    if isinstance(tree, exp.Boolean):
        return bool(tree.this)
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal):
        return f"-{tree.this.this}"
    if isinstance(tree, exp.Literal):
        return str(tree.this)
    raise StatementFailed("0A000", "only literals can be given to EXECUTE")


def _prepare_call(tree: exp.Query, declared: Sequence[str | None]) -> CallPlan | None:
    """Return a query as a call, if it is one of discreet's own functions."""
    if not isinstance(tree, exp.Select) or tree.args.get("from_") or len(tree.expressions) != 1:
        return None
    call = tree.expressions[0].unalias()
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in CALLS:
        return None
    arguments = tuple(call.expressions)
    types = infer_parameter_types(tree, declared)
    return CallPlan(call.name.lower(), arguments, types)


def _question_types(
    session: SessionState, tree: exp.Query, declared: Sequence[str | None]
) -> tuple[str, ...]:
    """Return the types of a private query's parameters, as if its rows could be seen."""
    first = bootstrap(session.authority)
    try:
        return authorize_query(
            tree,
            session.authority,
            Subject(first, first, None, session.subject.settings),
            traits=session.traits,
            declared=declared,
        ).parameters
    except StatementFailed:
        return infer_parameter_types(tree, declared)


def _draft_audit(plan: object, note: AuditDraft) -> None:
    if isinstance(plan, (RowsPlan, WritePlan)):
        for touched in plan.permitted.reads:
            note.add_read(touched.relation, touched.columns)
    if isinstance(plan, WritePlan):
        note.add_write(plan.permitted.relation.key, plan.permitted.written)
