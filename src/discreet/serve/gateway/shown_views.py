"""Anonymized views that were shown: saved copies can be composed with later ones, so all count."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
from sqlglot import exp

from discreet.engines.engine import ArrowTable
from discreet.guard.access.authority import Authority, Name, Relation
from discreet.guard.access.dependents import named_in, parse_stored_sql
from discreet.serve.gateway.session_state import SessionState
from discreet.sql import build

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
