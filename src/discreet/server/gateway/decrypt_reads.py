"""Where cells are decrypted: in the database if it can, otherwise in the gateway."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, ResultField
from discreet.engines.engine import ArrowTable
from discreet.errors import Bug, StatementFailed
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.rewrite.authorize import authorize_query
from discreet.guard.rewrite.bind import (
    bind_query,
    bind_write,
    engine_values,
    with_engine_parameters,
)
from discreet.guard.rewrite.confirm import confirm_query
from discreet.guard.rewrite.permitted import (
    PermittedQuery,
    PermittedWrite,
    RowLocks,
    TouchedRelation,
)
from discreet.guard.rewrite.targets import NEW
from discreet.guard.rewrite.writes import authorize_write
from discreet.guard.statements.statement import Statement, Write
from discreet.server.gateway.encrypt_writes import EXCLUDED, encrypt_cells
from discreet.server.gateway.encrypted_columns import has_cells, stored_relation
from discreet.server.gateway.encrypted_lookups import (
    add_index_lookups,
    reads_cells,
    require_unlocked,
    uses_cells,
)
from discreet.server.gateway.out_of_engine import literal_rows as listed
from discreet.server.gateway.parameters import blank_parameters, require_row_query
from discreet.server.gateway.plans import BoundQuery, RowsPlan
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import require_level, undecrypted_source
from discreet.sql import build

_MOST_CHANGED = 2000  # rows, which are found one by one
_MOST_FORMS = 16  # of the numeric values of a query, whose scale is part of their type


def decide_rows(
    session: SessionState, tree: exp.Query, declared: Sequence[str | None]
) -> tuple[PermittedQuery, tuple[ResultField, ...], bool]:
    """Return a permitted query, its columns, and whether it must run in the gateway.

    Raises:
        AccessDenied: 42501.
        StatementFailed: 42501, it uses a column that is locked.
    """
    permitted = authorize_query(
        tree,
        session.authority,
        session.subject,
        traits=session.traits,
        source=undecrypted_source(session),
        declared=declared,
    )
    if permitted.locks is not None:
        _require_lockable(session, permitted.reads, permitted.locks)
    if reads_cells(permitted.reads, session.authority):
        if session.vault.is_out_of_engine and uses_cells(permitted.tree, session.authority):
            return _decide_out_of_engine(session, tree, declared)
        require_unlocked(permitted.tree, session.authority, session.ciphers)
    empty = blank_parameters(permitted.tree, permitted.parameters)
    confirm_query(empty, permitted.physical, dialect=session.traits.dialect)
    return permitted, session.transaction.read().describe(empty), False


def _require_lockable(
    session: SessionState, reads: Sequence[TouchedRelation], locks: RowLocks
) -> None:
    """Refuse FOR UPDATE where a write of these tables would be refused, too."""
    require_level(session, reads)
    if not session.database.is_writable:
        raise StatementFailed("0A000", f"{session.database.name} is served for reading only")
    if not all(session.authority.relations[name].writable for name in locks.relations):
        raise StatementFailed("0A000", "FOR UPDATE of a table that cannot be written here")


def _decide_out_of_engine(
    session: SessionState, tree: exp.Query, declared: Sequence[str | None]
) -> tuple[PermittedQuery, tuple[ResultField, ...], bool]:
    apart = session.ciphers.out_of_engine
    authority = apart.authority(session.authority)
    permitted = authorize_query(
        tree,
        authority,
        session.subject,
        traits=apart.traits,
        source=apart.source(session.ciphers.decrypt),
        declared=declared,
    )
    require_unlocked(permitted.tree, authority, session.ciphers)
    empty = blank_parameters(permitted.tree, permitted.parameters)
    confirm_query(empty, permitted.physical, dialect=apart.traits.dialect)
    return permitted, apart.describe(empty, session.authority), True


def read_permitted_rows(
    session: SessionState, plan: RowsPlan, values: Sequence[object]
) -> ArrowTable:
    """Return the rows of a permitted query with values for its parameters."""
    if plan.permitted.locks is not None:
        _lock_rows(session, plan.permitted.locks)
    if plan.has_cells:
        return _read_cells(session, plan, values)
    permitted = plan.permitted
    given = engine_values(permitted.parameters, values, traits=session.traits)
    connection = session.transaction.read()
    bound = plan.queries.get(given.forms)
    if bound is None:
        bound = _bind_to_engine(session, permitted, given.forms, connection)
        if len(plan.queries) < _MOST_FORMS:
            plan.queries[given.forms] = bound
    texts = [given.texts[place] for place in bound.places]
    return connection.run(bound.query, texts, limit=session.limits.rows)


def _lock_rows(session: SessionState, locks: RowLocks) -> None:
    """Keep others from writing tables until this transaction ends.

    All of a table: an engine cannot lock rows of the queries that stand for it here.
    """
    session.variables.require_writes("SELECT FOR UPDATE")
    if session.transaction.status == "T":  # else the lock would end with the statement
        session.transaction.write().lock_tables(sorted(locks.physical), waits=locks.waits)


def _bind_to_engine(
    session: SessionState,
    permitted: PermittedQuery,
    forms: tuple[str, ...],
    connection: DatabaseConnection,
) -> BoundQuery:
    tree, places = with_engine_parameters(
        permitted.tree, permitted.parameters, forms, traits=session.traits
    )
    return BoundQuery(connection.prepare(require_row_query(tree)), places)


def _read_cells(session: SessionState, plan: RowsPlan, values: Sequence[object]) -> ArrowTable:
    """Return the rows of a query over encrypted columns, which literals find by their blind index."""
    permitted, limit = plan.permitted, session.limits.rows
    traits = session.ciphers.out_of_engine.traits if plan.is_out_of_engine else session.traits
    tree = require_row_query(
        bind_query(permitted.tree, permitted.parameters, values, traits=traits)
    )
    if not plan.is_out_of_engine:
        add_index_lookups(tree, session.authority, session.ciphers)
        return session.transaction.read().query(tree, limit=limit)
    apart = session.ciphers.out_of_engine
    add_index_lookups(tree, apart.authority(session.authority), session.ciphers)
    return apart.query(tree, session.authority, session.transaction.read(), limit=limit)


def require_encryptable_write(session: SessionState, permitted: PermittedWrite) -> None:
    """Refuse a write that reads encrypted columns of other tables, if the gateway decrypts them."""
    if not session.vault.is_out_of_engine or has_cells(permitted.relation):
        return
    if any(uses_cells(tree, session.authority) for tree in _write_expressions(permitted)):
        raise StatementFailed(
            "0A000",
            "a write cannot read encrypted columns of another table of this database",
            hint="Select the values first, and write them as parameters.",
        )


def require_plain(session: SessionState, tree: exp.Query) -> None:
    """Refuse a query in the database over columns that the gateway decrypts."""
    if session.vault.is_out_of_engine and uses_cells(tree, session.authority):
        raise StatementFailed(
            "0A000", "encrypted columns of this database cannot be copied into another table"
        )


def encrypt_write(
    session: SessionState,
    permitted: PermittedWrite,
    statement: Statement,
    values: Sequence[object],
) -> PermittedWrite:
    """Return a write, without parameters, of encrypted cells in place of values."""
    if permitted.sources is not None:
        raise StatementFailed(
            "0A000", "WITH, FROM and USING are not supported in a write of encrypted columns"
        )
    if not session.vault.is_out_of_engine:
        return encrypt_cells(permitted, session.ciphers, session.subject.settings)
    if not _touches_cells(session, permitted):
        return replace(permitted, relation=stored_relation(permitted.relation))
    if not isinstance(statement, Write):
        raise Bug("A write has no statement.")
    return _encrypt_out_of_engine(session, permitted, statement, values)


def _write_expressions(permitted: PermittedWrite) -> Iterator[exp.Expr]:
    conflict = permitted.on_conflict
    found = [
        permitted.sources,
        permitted.rows,
        permitted.condition,
        *permitted.assignments.values(),
        *_result_expressions(permitted),
    ]
    if conflict is not None:
        found += [conflict.condition, *(conflict.assignments or {}).values()]
    yield from (tree for tree in found if tree is not None)


def _result_expressions(permitted: PermittedWrite) -> list[exp.Expr | None]:
    return [permitted.with_check, *(permitted.returning or ())]


def _touches_cells(session: SessionState, permitted: PermittedWrite) -> bool:
    relation = permitted.relation
    cells = {column.name for column in relation.columns if column.key is not None}
    if cells & {*permitted.columns, *permitted.assignments}:
        return True
    return any(
        _names_cells(tree, permitted) or uses_cells(tree, session.authority)
        for tree in _write_expressions(permitted)
    )


def _names_cells(tree: exp.Expr | None, permitted: PermittedWrite) -> bool:
    """Whether an expression over the written row names one of its encrypted columns."""
    if tree is None:
        return False
    rows = (permitted.target.alias_or_name, EXCLUDED, NEW)
    cells = {column.name for column in permitted.relation.columns if column.key is not None}
    return any(node.table in rows and node.name in cells for node in tree.find_all(exp.Column))


def _encrypt_out_of_engine(
    session: SessionState, permitted: PermittedWrite, statement: Write, values: Sequence[object]
) -> PermittedWrite:
    conflict = permitted.on_conflict
    has_conflict = conflict is not None and conflict.assignments is not None
    if has_conflict or any(
        _names_cells(tree, permitted) for tree in _result_expressions(permitted)
    ):
        raise StatementFailed(
            "0A000",
            "RETURNING, row policies and ON CONFLICT DO UPDATE cannot use encrypted columns of "
            "this database",
        )
    apart = session.ciphers.out_of_engine
    away = authorize_write(
        statement.tree,
        apart.authority(session.authority),
        session.subject,
        traits=apart.traits,
        source=apart.source(session.ciphers.decrypt),
        declared=permitted.parameters,
    )
    sealed = encrypt_cells(
        bind_write(away, values, traits=apart.traits), session.ciphers, session.subject.settings
    )
    relation = stored_relation(permitted.relation)
    if sealed.kind == "INSERT" and sealed.rows is not None:
        rows = _query_out_of_engine(session, sealed.rows)
        columns = [_require_column(relation, name) for name in sealed.columns]
        query = exp.select(exp.Star()).from_(listed(rows, columns, "rows"))
        return replace(permitted, relation=relation, columns=sealed.columns, rows=query)
    return _change_by_key(session, replace(permitted, relation=relation), sealed)


def _change_by_key(
    session: SessionState, permitted: PermittedWrite, sealed: PermittedWrite
) -> PermittedWrite:
    """Return an UPDATE or DELETE, by primary key, of rows that were found in the gateway."""
    relation = permitted.relation
    there = sealed.target.alias_or_name
    wanted = {name: build.column(name, of=there) for name in relation.primary_key}
    query = build.select(
        *wanted.values(),
        *(build.alias_as(value, name) for name, value in sealed.assignments.items()),
        source=sealed.target,
    )
    if sealed.condition is not None:
        query = query.where(sealed.condition)
    rows = _query_out_of_engine(session, query)
    if rows.num_rows > _MOST_CHANGED:
        raise StatementFailed("54000", "too many rows with encrypted values are changed at once")
    names = [*wanted, *sealed.assignments]
    found = listed(rows, [_require_column(relation, name) for name in names], "found")
    handle = permitted.target.alias_or_name
    same = build.same(relation.primary_key, "found", handle)

    def looked_up(value: exp.Expr) -> exp.Select:
        return build.select(value, source=found.copy()).where(same.copy())

    assignments = {
        name: exp.Subquery(this=looked_up(build.column(name, of="found")))
        for name in sealed.assignments
    }
    condition = exp.Exists(this=looked_up(build.number(1)))
    return replace(permitted, assignments=assignments, condition=condition)


def _query_out_of_engine(session: SessionState, query: exp.Query) -> ArrowTable:
    limit = session.limits.rows
    apart = session.ciphers.out_of_engine
    return apart.query(query, session.authority, session.transaction.write(), limit=limit)


def _require_column(relation: Relation, name: str) -> RelationColumn:
    column = relation.column(name)
    if column is None:
        raise StatementFailed("XX000", "internal error: a column was not resolved")
    return column
