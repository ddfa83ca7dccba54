"""The attributes that earlier anonymized views publish and a query does not, read beside its rows.

Releases are composed over people of whom the adversary knows what either of them publishes, so the
gate needs these attributes of the same people. They are never published with the query's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from discreet.errors import AccessDenied
from discreet.guard.rewrite.authorize import authorize_query, relations_of
from discreet.guard.rewrite.permitted import PermittedQuery
from discreet.serve.gateway.session_state import SessionState
from discreet.serve.gateway.sources import require_level, session_source

# With any of these, another column changes which rows there are.
_CHANGES_ROWS = ("distinct", "group", "having", "with_")


def add_attributes(
    session: SessionState, query: exp.Query, names: Sequence[str], wanted: Iterable[str]
) -> PermittedQuery | None:
    """Return `query`, whose columns are `names`, with the wanted columns of the relations it reads.

    None if there is none to add: the relations do not have them, the subject may not read them, or
    the query's rows are not rows of its relations.
    """
    if not isinstance(query, exp.Select) or not _shows_rows_of_relations(query):
        return None
    left = [name for name in dict.fromkeys(wanted) if name not in names]
    added: list[exp.Expr] = []
    for table in _tables_of(query):
        there = _column_names(session, table)
        added += [_column_of(table, name) for name in left if name in there]
        left = [name for name in left if name not in there]
    if not added:
        return None
    try:
        permitted = authorize_query(
            query.copy().select(*added, copy=False),
            session.authority,
            session.subject,
            dialect=session.dialect,
            source=session_source(session),
        )
        require_level(session, permitted.reads)
    except AccessDenied:
        return None
    return permitted


def _shows_rows_of_relations(query: exp.Select) -> bool:
    if any(query.args.get(part) for part in _CHANGES_ROWS):
        return False
    return not any(one.find(exp.AggFunc) for one in query.expressions)


def _tables_of(query: exp.Select) -> list[exp.Table]:
    """Return the tables that a query reads itself, not those of its subqueries."""
    source = query.args.get("from_")
    sources = [source.this] if source is not None else []
    sources += [join.this for join in query.args.get("joins") or ()]
    return [one for one in sources if isinstance(one, exp.Table)]


def _column_of(table: exp.Table, name: str) -> exp.Column:
    alias = table.args.get("alias")
    qualifier = alias.this if alias is not None else table.this
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier.copy())


def _column_names(session: SessionState, table: exp.Table) -> set[str]:
    bare = table.copy()
    for part in ("alias", "joins"):
        bare.set(part, None)
    reading = exp.Select(expressions=[exp.Star()]).from_(bare)
    found = relations_of(reading, session.authority, session.subject)
    return {column.name for relation in found for column in relation.columns}
