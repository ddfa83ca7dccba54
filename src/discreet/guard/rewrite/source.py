"""How a plain table is read."""

from __future__ import annotations

from sqlglot import exp

from discreet.guard.access.authority import Relation, Subject
from discreet.sql import build


def plain_source(relation: Relation, _subject: Subject) -> exp.Query:
    """Return `SELECT columns FROM physical`: how a plain table is read."""
    columns = [build.column(column.name) for column in relation.columns]
    return build.select(*columns, source=build.table(*relation.physical))
