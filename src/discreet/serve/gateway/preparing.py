"""From a statement to what it takes and returns: decided, described, and neither run nor charged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from discreet.engines.databases.database import Field
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Privilege, Subject
from discreet.guard.access.decide import any_column_privilege
from discreet.guard.access.reach import bootstrap
from discreet.guard.rewrite.authorize import authorize_query, relations_of
from discreet.guard.rewrite.bind import bind
from discreet.guard.rewrite.parameters import parameter_types
from discreet.guard.rewrite.writes import authorize_write
from discreet.guard.statements import statement as kinds
from discreet.serve.catalog.oids import Oids
from discreet.serve.gateway.controlled import prepare_controlled
from discreet.serve.gateway.flow import require_level
from discreet.serve.gateway.large import require_rights
from discreet.serve.gateway.opening import decide_rows, require_writable
from discreet.serve.gateway.parameters import as_query
from discreet.serve.gateway.plans import Basis, Call, Change, Inner, Private, Rows, System
from discreet.serve.gateway.variables import SHOWN
from discreet.serve.session import Prepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.guard.rewrite.scope import Origin
    from discreet.guard.statements.statement import Statement
    from discreet.serve.gateway.note import Note
    from discreet.serve.gateway.session import GatewaySession

CALLS = ("discreet_unlock", "discreet_lock", "discreet_backup")
# A value of each type, to read a question whose values are not known yet.
_SAMPLES: dict[str, object] = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8"), 1),
    "bool": True,
    "date": "2000-01-01",
    "timestamp": "2000-01-01 00:00:00",
    "timestamptz": "2000-01-01 00:00:00+00",
    "time": "00:00:00",
}


def prepare(
    session: GatewaySession, statement: Statement, declared: Sequence[str | None], note: Note
) -> Prepared:
    """Return what `statement` takes and returns."""
    match statement:
        case kinds.Query():
            return _query(session, statement, statement.tree, declared, note)
        case kinds.Write():
            return _write(session, statement, declared, note)
        case kinds.CopyOut() | kinds.DeclareCursor():
            return _around(session, statement, declared, note)
        case kinds.Explain():
            return _explain(session, statement, declared, note)
        case kinds.Show():
            names = SHOWN if statement.name == "all" else (statement.name,)
            return Prepared(statement, (), tuple(Field(name, "text") for name in names))
        case kinds.Fetch():
            cursor = session.cursors.get(statement.name)
            is_told = cursor is not None and not statement.move
            return Prepared(statement, (), cursor.fields if cursor and is_told else None)
        case kinds.Execute():
            return _execute(session, statement, note)
        case _:
            return Prepared(statement, (), None)


def renewed(session: GatewaySession, prepared: Prepared, note: Note) -> Prepared:
    """Return the statement decided again if rights, role, clearance or keys changed since."""
    plan: Any = prepared.plan
    if isinstance(plan, Inner):
        inner = renewed(session, plan.prepared, note)
        return prepared if inner is plan.prepared else _with(prepared, Inner(inner, plan.values))
    if not hasattr(plan, "basis"):
        return prepared
    is_passing = isinstance(plan, (Rows, Change)) and plan.permitted.is_passing
    if plan.basis.is_still(basis(session)) and not is_passing:
        _note(plan, note)
        return prepared
    again = prepare(session, prepared.statement, prepared.parameters, note)
    if again.fields != prepared.fields:
        raise StatementFailed("0A000", "cached plan must not change result type")
    return again


def still_permitted(session: GatewaySession, prepared: Prepared, note: Note) -> Prepared:
    """Return a statement that has run, decided by the rights of now: more of its rows may be handed out.

    Raises:
        AccessDenied: its sender may no longer read what it read, or sees other rows or masks by now.
    """
    plan: Any = prepared.plan
    if not hasattr(plan, "basis") or plan.basis.authority is session.authority:
        return prepared
    again = prepare(session, prepared.statement, prepared.parameters, note)
    if isinstance(again.plan, Inner):  # that of a cursor is inside its declaration
        again = again.plan.prepared
    if _decision(again.plan) != _decision(plan):
        raise AccessDenied(
            "rights have changed since these rows were read", hint="Run the query again."
        )
    return again


def _decision(plan: object) -> tuple[object, ...]:
    """Return what decides which rows and values a plan shows."""
    return (type(plan), plan.permitted.tree if isinstance(plan, Rows) else None)


def basis(session: GatewaySession) -> Basis:
    """Return what decisions of this session rest on now."""
    return Basis(
        session.authority,
        session.role,
        session.clearance,
        session.keys.handles,
        session.variables.get("row_security"),
    )


def _with(prepared: Prepared, plan: object) -> Prepared:
    return Prepared(prepared.statement, prepared.parameters, prepared.fields, plan)


def _query(
    session: GatewaySession,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
    note: Note,
) -> Prepared:
    call = _own_call(tree, declared)
    if call is not None:
        return Prepared(statement, call.parameters, (Field(call.name, "text"),), call)
    catalog = session.house.catalog(session.authority, session.subject)
    if catalog.handles(tree):
        types = catalog.parameters(tree, declared)
        fields = catalog.describe(catalog.bind(tree, types))
        return Prepared(statement, types, fields, System(basis(session), tree, types))
    require_rights(session, statement.text, tree)
    try:
        return _rows(session, statement, tree, declared, note)
    except AccessDenied:
        asked = _private(session, statement, tree, declared)
        asked = asked or prepare_controlled(session, statement, tree, declared)
        if asked is None:
            raise
        return asked
    except StatementFailed as failed:
        # What rows cannot be asked for may be a question all the same: a quantile.
        if failed.sqlstate not in ("0A000", "42883") or not _may_only_ask(session, tree):
            raise
        asked = _private(session, statement, tree, declared)
        if asked is None:
            raise
        return asked


def _may_only_ask(session: GatewaySession, tree: exp.Query) -> bool:
    """Whether of something that a query names, no row may be read."""
    authority, role = session.authority, session.role
    relations = relations_of(tree, authority, session.subject)
    return not all(
        any_column_privilege(authority, role, relation, Privilege.SELECT) for relation in relations
    )


def _rows(
    session: GatewaySession,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
    note: Note,
) -> Prepared:
    house = session.house
    key = (statement.text, tuple(declared), session.user, session.variables.is_lenient)
    known = house.known(key, basis(session))
    if known is not None:
        _note(known.plan, note)
        return Prepared(statement, known.parameters, known.fields, known.plan)
    permitted, described, is_apart = decide_rows(session, tree, declared)
    fields = located(described, permitted.origins)
    plan = Rows(basis(session), permitted, is_apart)
    _note(plan, note)
    prepared = Prepared(statement, permitted.parameters, fields, plan)
    if not permitted.is_passing and not session.work.has_changes:
        house.remember(key, prepared)
    return prepared


def _private(
    session: GatewaySession,
    statement: Statement,
    tree: exp.Query,
    declared: Sequence[str | None],
) -> Prepared | None:
    """Return the question that the query is for who may only ask about what it names."""
    house = session.house
    relations = relations_of(tree, session.authority, session.subject)
    has_values = tree.find(exp.Parameter, exp.Placeholder) is not None
    types = _question_types(session, tree, declared) if has_values else ()
    sampled = bind(tree, types, [_SAMPLES.get(name, "") for name in types])
    asked = house.questions.read(
        as_query(sampled), relations, session.authority, session.subject, session.variables
    )
    if asked is None:
        return None
    fields = house.questions.describe(asked)
    return Prepared(statement, types, fields, Private(basis(session), tree, types))


def _write(
    session: GatewaySession, statement: kinds.Write, declared: Sequence[str | None], note: Note
) -> Prepared:
    house = session.house
    require_rights(session, statement.text, statement.tree)
    permitted = authorize_write(
        statement.tree,
        session.authority,
        session.subject,
        dialect=house.database.dialect,
        source=house.vault.plainly(session),
        declared=declared,
    )
    require_writable(session, permitted)
    if not permitted.relation.multilevel:
        require_level(session, permitted.reads)
    if not house.database.is_writable:
        raise StatementFailed("0A000", f"{house.database.name} is served for reading only")
    plan = Change(basis(session), permitted)
    _note(plan, note)
    fields = None
    if permitted.returning is not None:
        described = house.returning_fields(session, permitted)
        fields = located(described, permitted.returning_origins)
    return Prepared(statement, permitted.parameters, fields, plan)


def located(fields: Sequence[Field], origins: Sequence[Origin | None]) -> tuple[Field, ...]:
    """Return columns with the OIDs of the relations that they are columns of."""
    oids = Oids()
    return tuple(
        field
        if origin is None
        else replace(field, table=oids.of("relation", *origin[:2]), place=origin[2])
        for field, origin in zip(fields, origins, strict=True)
    )


def _around(
    session: GatewaySession,
    statement: kinds.CopyOut | kinds.DeclareCursor,
    declared: Sequence[str | None],
    note: Note,
) -> Prepared:
    inner = _query(session, statement, statement.query, declared, note)
    fields = inner.fields if isinstance(statement, kinds.CopyOut) else None
    return Prepared(statement, inner.parameters, fields, Inner(inner))


def _explain(
    session: GatewaySession,
    statement: kinds.Explain,
    declared: Sequence[str | None],
    note: Note,
) -> Prepared:
    inner = prepare(session, statement.statement, declared, note)
    title = "PRIVACY PLAN" if statement.privacy else "QUERY PLAN"
    return Prepared(statement, inner.parameters, (Field(title, "text"),), Inner(inner))


def _execute(session: GatewaySession, statement: kinds.Execute, note: Note) -> Prepared:
    known = session.statements.get(statement.name)
    if known is None:
        raise StatementFailed("26000", f'prepared statement "{statement.name}" does not exist')
    inner = prepare(session, known.statement, known.types, note)
    values = tuple(literal_value(argument) for argument in statement.arguments)
    if len(values) != len(inner.parameters):
        raise StatementFailed(
            "42601", f'wrong number of parameters for prepared statement "{statement.name}"'
        )
    return Prepared(statement, (), inner.fields, Inner(inner, values))


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


def _own_call(tree: exp.Query, declared: Sequence[str | None]) -> Call | None:
    """Return the call that the whole query is, if it is one of discreet's own functions."""
    if not isinstance(tree, exp.Select) or tree.args.get("from_") or len(tree.expressions) != 1:
        return None
    call = tree.expressions[0].unalias()
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in CALLS:
        return None
    arguments = tuple(call.expressions)
    types = parameter_types(tree, declared)
    return Call(call.name.lower(), arguments, types)


def _question_types(
    session: GatewaySession, tree: exp.Query, declared: Sequence[str | None]
) -> tuple[str, ...]:
    """Return the types of a question's parameters, as they would be if its rows could be seen."""
    first = bootstrap(session.authority)
    try:
        return authorize_query(
            tree,
            session.authority,
            Subject(first, first, None, session.subject.settings),
            dialect=session.house.database.dialect,
            declared=declared,
        ).parameters
    except StatementFailed:
        return parameter_types(tree, declared)


def _note(plan: object, note: Note) -> None:
    if isinstance(plan, (Rows, Change)):
        for touched in plan.permitted.reads:
            note.read(touched.relation, touched.columns)
    if isinstance(plan, Change):
        note.wrote(plan.permitted.relation.key, plan.permitted.written)
