"""Anonymized views that were shown: saved copies can be composed with later ones, so all count.

Releases are composed over people of whom the adversary knows what either of them publishes, so the
gate needs the attributes that earlier views publish and a query does not, read beside its rows. They
are never published with the query's own.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
from sqlglot import exp

from discreet.engines.engine import ArrowTable
from discreet.errors import AccessDenied
from discreet.guard.access.authority import Authority, Name, Relation
from discreet.guard.access.dependents import named_in, parse_stored_sql
from discreet.guard.rewrite.authorize import authorize_query, relations_of
from discreet.guard.rewrite.permitted import PermittedQuery
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import require_level, session_source
from discreet.sql import build

# With any of these, another column changes which rows there are.
_CHANGES_ROWS = ("distinct", "group", "having", "with_")
_KIND = "withdrawn release"


@dataclass(frozen=True)
class ShownView:
    """An anonymized view that was shown: its columns, its rows, and which columns outsiders know.

    `quasi` is None where it was not recorded.
    """

    columns: tuple[str, ...]
    rows: exp.Query | ArrowTable
    quasi: tuple[str, ...] | None = None


def record_shown_view(
    session: SessionState,
    authority: Authority,
    relation: Relation,
    rows: ArrowTable,
    *,
    quasi: Sequence[str],
) -> None:
    """Store the rows of a new view and the tables they come from, independent of its name.

    They are stored before the transaction commits, which can read them, and are not in the database
    if it is rolled back. After the commit, the database has them.
    """
    body = {
        "physical": list(relation.physical),
        "columns": [column.name for column in relation.columns],
        "quasi": list(quasi),
        "base": sorted(list(name) for name in _base_relations(authority, relation.key)),
    }
    control, name = session.control, ".".join(relation.physical)
    control.put(_KIND, name, {**body, "rows": _encode_rows(rows)})
    session.transaction.after_commit(lambda: control.put(_KIND, name, body))


def _encode_rows(rows: ArrowTable) -> str:
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="zstd")
    return base64.b64encode(sink.getvalue()).decode("ascii")


def rolled_back_views(session: SessionState, base: set[Name]) -> Iterator[ShownView]:
    """Return the anonymized views of these tables that only their own transaction showed."""
    there = set(session.database.tables())
    there |= {relation.physical for relation in session.authority.relations.values()}
    for body in session.control.documents(_KIND).values():
        is_about = {tuple(name) for name in body["base"]} & base
        if is_about and "rows" in body and tuple(body["physical"]) not in there:
            rows = pq.read_table(io.BytesIO(base64.b64decode(body["rows"])))
            yield ShownView(tuple(rows.column_names), rows, _recorded_quasi(body))


def earlier_views(session: SessionState, base: set[Name]) -> Iterator[ShownView]:
    """Return every anonymized view of these tables that is or was shown; its rows are a query."""
    authority, found = session.authority, dict[tuple[str, ...], list[str]]()
    quasi = dict[tuple[str, ...], tuple[str, ...] | None]()
    for relation in authority.relations.values():
        if relation.kind == "anonymized" and _base_relations(authority, relation.key) & base:
            found[relation.physical] = [column.name for column in relation.columns]
    there = set(session.database.tables())
    for body in session.control.documents(_KIND).values():
        physical = tuple(body["physical"])
        quasi[physical] = _recorded_quasi(body)
        if physical in there and {tuple(name) for name in body["base"]} & base:
            found.setdefault(physical, body["columns"])
    for physical, names in found.items():
        columns = [build.column(name) for name in names]
        rows = build.select(*columns, source=build.table(*physical))
        yield ShownView(tuple(names), rows, quasi.get(physical))


def is_shown(session: SessionState, base: Name) -> bool:
    """Whether there is or was an anonymized view of a relation, also one that was rolled back."""
    authority = session.authority
    there = any(
        relation.kind == "anonymized" and base in _base_relations(authority, relation.key)
        for relation in authority.relations.values()
    )
    return there or any(
        base in {tuple(name) for name in body["base"]}
        for body in session.control.documents(_KIND).values()
    )


def _recorded_quasi(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the quasi-identifiers of a record; those of earlier versions have none."""
    return None if body.get("quasi") is None else tuple(body["quasi"])


def _base_relations(authority: Authority, name: Name) -> set[Name]:
    """Return the relations that a view reads, through other views."""
    found: set[Name] = set()
    waiting = [name]
    while waiting:
        relation = authority.relations.get(waiting.pop())
        if relation is not None and relation.query is not None:
            fresh = named_in(parse_stored_sql(relation.query)) - found
            found |= fresh
            waiting += fresh
    return found


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
            traits=session.traits,
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
